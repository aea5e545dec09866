/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set_flow: the largest flow from sets of tokens to their tokens, in whole units, exactly.
 * A set sends at most its supply, to tokens that it contains; a token receives at most its demand.
 * [Dinic70]'s algorithm without floating point: no tolerance, and a bound on the time. */
#ifndef SPECLAB_SET_FLOW_H
#define SPECLAB_SET_FLOW_H

#include <stdint.h>

enum { SPEC_SET_FLOW_VOCAB = 32 };

/* Sends as much as possible.
 *
 *   ret_flow  (n_sets, V) what each set sends to each token
 *   supply    (n_sets) what each set can send; on return, what it has left
 *   demand    (V) what each token can receive; on return, what it still can receive
 *   set       (n_sets) one bit per token; sets may be equal or empty
 *   vocab     V, 1..SPEC_SET_FLOW_VOCAB
 *
 * The sum of all supplies must be below 2^64. Which of several largest flows results depends only
 * on the order of sets and tokens. Makes at most V + 1 searches, together O(n_sets V^4). Allocates
 * nothing. docs/formulas.md#transport proves it. */
void spec_set_flow_maximise(uint64_t *ret_flow, uint64_t *supply, uint64_t *demand,
                            const uint32_t *set, int n_sets, int vocab);

#endif
