/* tree_choice: the tree that a method finds for a budget, with its shape in the notation that strategies read:
 * "widths=1.1.3.1" or "children=3.2.0.1". Methods by name: the forms of tree_shape (chain, k-ary, branches, delayed),
 * Sequoia's programme and Medusa's static tree. The caller owns the arrays; a choice owns its shape. */
#ifndef SPECLAB_TREE_CHOICE_H
#define SPECLAB_TREE_CHOICE_H

#include "speclab/status.h"

#include <stdbool.h>

/* The chance that the child of rank r of an accepted node on level l is accepted. */
typedef struct {
    int levels, ranks;
    const double *accept; /* (levels, ranks), in [0,1]; a row sums to at most 1 */
    bool by_level;        /* the rows differ, as those of Medusa's heads do */
} spec_branch_chances;

typedef struct {
    int nodes, depth;
    double emitted, speedup;
    char *shape; /* owned */
} spec_tree_choice;

extern const char *const spec_tree_methods[]; /* NULL-terminated */

/* The largest speedup = emitted / (depth c + verify[nodes]) among the method's trees of at most `nodes` nodes, no tree
 * among them: of equal ones the smallest, as tree_plan and tree_shape say. verify (nodes+1) as in tree_plan.
 * GSL_EINVAL for an unknown method (the nearest is named), for sequoia where rows differ, and for medusa where a rank
 * is likelier than the one before it, which no shape could tell. GSL_EDOM outside the domain; GSL_ENOMEM. Zeroed on
 * failure. */
int spec_tree_choose(spec_tree_choice *ret, const char *method, const spec_branch_chances *chances, int nodes, double c,
                     const double *verify, spec_error *error);
void spec_tree_choice_free(spec_tree_choice *choice);

#endif
