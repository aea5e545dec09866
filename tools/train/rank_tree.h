/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rank_tree: tokens per round of a static draft tree, walked along texts of the target.
 * A node is a path of ranks, e.g. the draft's best token, then its third best. A tree has the paths
 * that the target's texts follow most often [Cai24]. Siblings are the draft's likeliest tokens, so
 * a token of the text is accepted exactly if the tree has its path. */
#ifndef SPECLAB_RANK_TREE_H
#define SPECLAB_RANK_TREE_H

#include "speclab/status.h"

/* Ranks that a tree uses, 0 being the likeliest; higher ranks count as this one. */
enum { SPEC_RANK_TREE_RANKS = 8 };

/* Ranks of the texts' tokens in the draft's rows.
 *
 *   rank  (texts, places, K): [i][t][d] of draft token d of a round that begins at position t
 *   first the first round of a text begins here */
typedef struct {
    const unsigned char *rank;
    int texts, places, K, first;
} spec_rank_tree_texts;

/* Computes tokens per round, on the second half of the texts, of the tree of at most `nodes` paths
 * that the first half follows most often; among equally frequent paths the shorter one, then the
 * likelier one. texts >= 2, K <= SPEC_EXACT_WALK_K_MAX, nodes >= 1. Returns GSL_ENOMEM. */
int spec_rank_tree_tokens(double *ret_tokens, const spec_rank_tree_texts *texts, int nodes,
                          spec_error *error);

#endif
