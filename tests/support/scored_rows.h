/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scored_rows: copies the rows that a session scores to a test's array. */
#ifndef SPECLAB_SCORED_ROWS_H
#define SPECLAB_SCORED_ROWS_H

#include "models/model.h"

#include "tests/support/support.h"

#include <string.h>

enum { SCORED_NODES_MAX = 32 };

/* rows (n_nodes + 1, V): those from `first` on, as in spec_score_request. */
static inline void score_rows(spec_session *session, const int *context, int n, const int *token,
                              const int *opt_parent, int n_nodes, int first, double *rows)
{
    const double *row[SCORED_NODES_MAX + 1];
    const size_t V = (size_t)session->model->vocab;
    const spec_score_request request = {.context = context,
                                        .n_context = (size_t)n,
                                        .token = token,
                                        .opt_parent = opt_parent,
                                        .n_nodes = n_nodes,
                                        .first = first,
                                        .ret_row = row,
                                        .scratch = rows};
    assert_true(n_nodes <= SCORED_NODES_MAX);
    assert_works(spec_session_score(session, &request, &error));
    for (int i = first; i <= n_nodes; i++)
        if (row[i] != rows + (size_t)i * V) memcpy(rows + (size_t)i * V, row[i], V * sizeof *rows);
}

#endif
