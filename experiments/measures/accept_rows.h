/* SPDX-License-Identifier: GPL-3.0-or-later */
/* accept_rows: the rows of the measure `accept`: rules, drafting methods and numbers of drafts.
 * A drafting method is a kind of siblings, "chain" (one sampled token) or "lookup" (one token from
 * the text). "greedy" is one chosen token for n = 1, and greedy siblings for n >= 2. The rows own
 * their texts. */
#ifndef SPECLAB_ACCEPT_ROWS_H
#define SPECLAB_ACCEPT_ROWS_H

#include "sim/verify/verify.h"

typedef struct {
    spec_rule rule;       /* as spec_rule_init leaves it, not opened */
    const char *spec;     /* spec of the rule, as given */
    const char *drafting; /* as given, or the default */
    int n;
    spec_siblings siblings; /* for n = 1: _TOP for a chosen token, else _IID */
    bool lookup;            /* the draft comes from the text, not from a draft model */
} spec_accept_row;

typedef struct {
    spec_accept_row *row;
    size_t n_rows;
    char *rules, *draftings; /* the texts that the rows point into */
} spec_accept_rows;

/* Lists the rows for rules, drafting methods and numbers of drafts. `rules` and `draftings` are
 * names separated by commas. "" means every rule, or every method for which the rule's claim holds;
 * n = 1 is then a chain. `n` is a list of numbers such as "1:4". Returns GSL_EINVAL for unknown
 * names, if a given rule's claim does not hold for a given method, or if a given rule or n has no
 * row. Errors begin with the name of the parameter at fault. */
int spec_accept_rows_init(spec_accept_rows *rows, const char *rules, const char *draftings,
                          const char *n, spec_error *error);
void spec_accept_rows_free(spec_accept_rows *rows);

/* Returns the row's draft strategy for a decoder with K = 1, such as "chain" or
 * "tree?n=3&siblings=iid". */
enum { SPEC_ACCEPT_STRATEGY_SIZE = 128 };
const char *spec_accept_row_strategy(char buffer[SPEC_ACCEPT_STRATEGY_SIZE],
                                     const spec_accept_row *row);

#endif
