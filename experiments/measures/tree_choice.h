/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tree_choice: the best draft tree of a method for a node budget, as text that strategies read.
 * The text is "widths=1.1.3.1" or "children=3.2.0.1". The methods are the forms of tree_shape
 * (chain, k-ary, branches, delayed), Sequoia's dynamic program and Medusa's static tree. The caller
 * owns the arrays; a choice owns its shape. */
#ifndef SPECLAB_TREE_CHOICE_H
#define SPECLAB_TREE_CHOICE_H

#include "speclab/status.h"

#include <stdbool.h>

/* The probability that the child of rank r of an accepted node on level l is accepted. */
typedef struct {
    int levels, ranks;
    const double *accept; /* (levels, ranks), in [0,1]; a row sums to at most 1 */
    bool by_level;        /* the rows differ by level, as for the heads of Medusa */
} spec_branch_chances;

typedef struct {
    int nodes, depth;
    double emitted, speedup;
    char *shape; /* owned */
} spec_tree_choice;

extern const char *const spec_tree_methods[]; /* NULL-terminated */

/* Finds the method's tree with the largest speedup = emitted / (depth c + verify[nodes]) and at
 * most `nodes` nodes, or no tree. Among equally fast trees it takes the smallest, like tree_plan
 * and tree_shape. verify (nodes+1) as in tree_plan. Returns GSL_EINVAL for an unknown method
 * (naming the nearest), for sequoia if rows differ, and for medusa if a rank has a larger
 * probability than the previous rank, which no shape can express; GSL_EDOM outside the domain;
 * GSL_ENOMEM. Zeroed on failure. */
int spec_tree_choose(spec_tree_choice *ret, const char *method, const spec_branch_chances *chances,
                     int nodes, double c, const double *verify, spec_error *error);
void spec_tree_choice_free(spec_tree_choice *choice);

#endif
