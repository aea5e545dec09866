/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prove_pairs: the rules of `speclab prove`, paired with draft strategies.
 * Rules that the user names are paired with every strategy, even unsupported ones. By default every
 * rule is paired with the strategies that its claim covers, and one line lists the rules left out.
 * The caller frees the lists. Exits 2 if memory runs out or a strategy is wrong. */
#ifndef SPECLAB_PROVE_PAIRS_H
#define SPECLAB_PROVE_PAIRS_H

#include "models/model.h"

#include <stdbool.h>

typedef struct {
    char *rule, *drafting; /* one pair per line: line i of both is pair i */
    char *left_out;        /* lines about rules that are left out */
    int levels;            /* depth of the deepest tree with a fixed depth; 0: none */
} spec_prove_pairs;

/* All lists are names separated by commas; `option` is the option that gave the strategies. A rule
 * that does not support one of the policies, or the draft's kind of model, is left out. */
void spec_prove_pairs_init(spec_prove_pairs *pairs, const char *verb, const char *opt_rules,
                           const char *option, const char *strategies, const char *policies,
                           const spec_model_kind *opt_draft);
void spec_prove_pairs_free(spec_prove_pairs *pairs);

/* Prints which rules were left out, if any. Call it after the proof, so that an error is a single
 * line. */
void spec_prove_pairs_say_left_out(const spec_prove_pairs *pairs, const char *verb);

/* Returns the tree strategies: each kind of siblings for every number of drafts per position of
 * opt_n ("2:4"), or every shape of opt_shapes ("3.2.1,children=2.1.0"). They are separated by
 * commas; the caller frees. */
char *spec_prove_trees(const char *verb, const char *opt_n, const char *opt_shapes,
                       const char *siblings);

/* Returns whether the strategy of that name drafts from a model. */
bool spec_prove_needs_model(const char *drafting);

#endif
