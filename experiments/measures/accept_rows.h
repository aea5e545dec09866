/* accept_rows: which rows the measure `accept` gives: every rule, way to draft and number of drafts that were asked for
 * and go together. A way to draft is a kind of siblings, or "chain" for one sampled token, "lookup" for one from the
 * text; "greedy" is one chosen token where n = 1, and greedy siblings from 2 on. The rows own their texts. */
#ifndef SPECLAB_ACCEPT_ROWS_H
#define SPECLAB_ACCEPT_ROWS_H

#include "sim/verify/verify.h"

typedef struct {
    spec_rule rule;       /* as _init leaves it: not opened */
    const char *spec;     /* the rule's, as given */
    const char *drafting; /* as given, or by default */
    int n;
    spec_siblings siblings; /* for n = 1: _TOP for a chosen token, else _IID */
    bool lookup;            /* no row of a draft model is drafted from */
} spec_accept_row;

typedef struct {
    spec_accept_row *row;
    size_t n_rows;
    char *rules, *draftings; /* the texts that the rows point into */
} spec_accept_rows;

/* `rules` and `draftings` are names separated by commas, "" for all: every rule, and every way for which a rule's claim
 * holds, n = 1 being a chain. `n` is a list of numbers such as "1:4". GSL_EINVAL, with the parameter at fault before
 * the line, for unknown names, for a rule and a way both asked for which do not go together, and where something asked
 * for gives no row. */
int spec_accept_rows_init(spec_accept_rows *rows, const char *rules, const char *draftings, const char *n,
                          spec_error *error);
void spec_accept_rows_free(spec_accept_rows *rows);

/* The strategy that drafts like this, for the decoder at K = 1: "chain", "tree?n=3&siblings=iid", ... */
enum { SPEC_ACCEPT_STRATEGY_SIZE = 128 };
const char *spec_accept_row_strategy(char buffer[SPEC_ACCEPT_STRATEGY_SIZE], const spec_accept_row *row);

#endif
