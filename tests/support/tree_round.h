/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tree_round: the exact law of one round, by enumeration of all drafts and decisions.
 * The round starts from no context; its distance from the target is that of texts which the target
 * continues to full length. This is cheaper than texts that take several rounds. */
#ifndef SPECLAB_TESTS_TREE_ROUND_H
#define SPECLAB_TESTS_TREE_ROUND_H

#include "sim/decode.h"
#include "tests/support/table_model.h"

enum { TREE_ROUND_LENGTH = 4, TREE_ROUND_TEXTS = 256, TREE_ROUND_LIMIT = 20000000 };

/* prefix[n][i]: the probability that a round emits exactly the n tokens that are the digits of
 * i. */
typedef struct {
    double prefix[TREE_ROUND_LENGTH + 1][TREE_ROUND_TEXTS];
    double accepted; /* expected n_accepted */
    uint64_t branches;
} tree_round;

/* A decoder's settings: the fixed policy. */
spec_decoder_config tree_round_config(const spec_model *target, const spec_model *draft,
                                      const char *rule, const char *drafting, int K);

/* A case that cannot be enumerated fails the test. */
void tree_round_enumerate(tree_round *ret, const spec_decoder_config *config);

/* Returns the total variation between the target and the round's output, continued to `length`
 * tokens. */
double tree_round_tv(const tree_round *law, const table_model *target, int length);

#endif
