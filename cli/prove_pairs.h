/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prove_pairs: the rules of `speclab prove`, paired with draft strategies.
 * If the user names rules, each is paired with every strategy, even with those that it does not
 * support. Otherwise every rule is paired with the strategies that its claim covers, and one line
 * lists the rules that are left out. The caller frees the lists. Exits 2 if memory runs out or a
 * strategy is wrong. */
#ifndef SPECLAB_PROVE_PAIRS_H
#define SPECLAB_PROVE_PAIRS_H

#include "models/model.h"

#include <stdbool.h>

typedef struct {
    char *rule, *drafting; /* one pair per line: line i of both is pair i */
    char *left_out;        /* lines about rules that are left out */
    int levels;            /* depth of the deepest tree with a fixed depth; 0: none */
} spec_prove_pairs;

/* Pairs rules with strategies. All lists are names separated by commas; `option` is the option that
 * gave the strategies. A rule is left out if it does not support one of the policies, or the
 * draft's kind of model. */
void spec_prove_pairs_init(spec_prove_pairs *pairs, const char *verb, const char *opt_rules,
                           const char *option, const char *strategies, const char *policies,
                           const spec_model_kind *opt_draft);
void spec_prove_pairs_free(spec_prove_pairs *pairs);

/* Says which rules were left out, if any. Call it after the proof, so that an error remains a
 * single line. */
void spec_prove_pairs_say_left_out(const spec_prove_pairs *pairs, const char *verb);

/* Returns the tree strategies: each kind of siblings with every number of drafts per position in
 * opt_n ("2:4"), or every shape in opt_shapes ("3.2.1,children=2.1.0"). They are separated by
 * commas; the caller frees them. */
char *spec_prove_trees(const char *verb, const char *opt_n, const char *opt_shapes,
                       const char *siblings);

/* Returns whether the strategy of that name needs a draft model. */
bool spec_prove_needs_model(const char *drafting);

#endif
