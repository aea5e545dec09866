/* prove_pairs: which rules `speclab prove` pairs with which draft strategies. Rules that were asked for meet every
 * strategy, fit or not; where none was, every rule meets those for which its claim holds, and one line says what was
 * left out. The lists are the caller's to free; out of memory or a wrong strategy exits 2. */
#ifndef SPECLAB_PROVE_PAIRS_H
#define SPECLAB_PROVE_PAIRS_H

#include <stdbool.h>

typedef struct {
    char *rule, *drafting; /* a pair a line: line i of both is pair i */
    int levels;            /* of the deepest tree that has a depth of its own; 0: there is none */
} spec_prove_pairs;

/* All lists are names separated by commas; `option` is the one that gave the strategies. A rule that does not hold for
 * one of the policies is left out. */
void spec_prove_pairs_init(spec_prove_pairs *pairs, const char *verb, const char *opt_rules, const char *option,
                           const char *strategies, const char *policies);
void spec_prove_pairs_free(spec_prove_pairs *pairs);

/* The strategies of trees: for every number of drafts a position of opt_n ("2:4"), or every form of opt_shapes
 * ("3.2.1,children=2.1.0"), each kind of siblings. Separated by commas; the caller frees. */
char *spec_prove_trees(const char *verb, const char *opt_n, const char *opt_shapes, const char *siblings);

/* Does the strategy of that name draft from a model? */
bool spec_prove_needs_model(const char *drafting);

#endif
