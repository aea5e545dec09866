/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/plan_files.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double sum_slack = 1e-9; /* tolerance of a sum of exclusive chances */

/* If a file was written by hand, we refuse a last line without a newline; a result would drop that
 * line. */
int spec_plan_read_table(spec_table *table, const char *path, spec_error *error)
{
    struct stat file;
    long good;
    int status = spec_table_read_csv(table, path, &good, error);
    if (status != GSL_SUCCESS) return status;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && (long)file.st_size != good)
        status = spec_fail(error, GSL_EINVAL, "%s: its last line has no line end", path);
    else if (table->n_rows == 0)
        status = spec_fail(error, GSL_EINVAL, "%s: there are no rows", path);
    if (status != GSL_SUCCESS) spec_table_free(table);
    return status;
}

int spec_plan_read_accuracies(double **ret_accept, int *ret_heads, int *ret_ranks, const char *path,
                              spec_error *error)
{
    spec_table table = {0};
    double *accept = NULL;
    int status = GSL_SUCCESS;
    *ret_accept = NULL;
    *ret_heads = *ret_ranks = 0;
    SPEC_TRY(spec_plan_read_table(&table, path, error));
    const int head = spec_table_column(&table, "head"), ranks = table.n_columns - (head >= 0);
    if (table.n_rows > SPEC_PLAN_LEVELS_MAX || ranks > SPEC_PLAN_RANKS_MAX || ranks < 1) {
        status = spec_fail(error, GSL_EINVAL,
                           "%s: %zu heads of %d ranks; there may be at most %d, of 1 to %d ranks",
                           path, table.n_rows, ranks, SPEC_PLAN_LEVELS_MAX, SPEC_PLAN_RANKS_MAX);
        goto done;
    }
    accept = malloc(table.n_rows * (size_t)ranks * sizeof *accept);
    if (accept == NULL) SPEC_TRY(spec_no_memory(error));
    for (size_t row = 0, i = 0; row < table.n_rows; row++) {
        double sum = 0.0;
        for (int c = 0; c < table.n_columns; c++) {
            if (c == head) continue;
            const double chance = spec_cell_number(spec_table_cell(&table, row, c));
            if (!(chance >= 0.0 && chance <= 1.0))
                SPEC_TRY(spec_fail(error, GSL_EINVAL,
                                   "%s: row %zu, '%.40s': not a probability in [0, 1]", path,
                                   row + 1, table.column[c]));
            sum += accept[i++] = chance;
        }
        if (sum > 1.0 + sum_slack)
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%s: row %zu: the probabilities sum to %.10g, but only one token "
                               "can be right",
                               path, row + 1, sum));
    }
    *ret_accept = accept;
    *ret_heads = (int)table.n_rows;
    *ret_ranks = ranks;
    accept = NULL;
done:
    free(accept);
    spec_table_free(&table);
    return status;
}
