/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set_flow: finds the largest flow from sets of tokens to their tokens, exactly, in whole units.
 * A set sends at most its supply, to tokens that it contains; a token receives at most its demand.
 * This is the algorithm of [Dinic70] without floating point, so it needs no tolerance and its time
 * is bounded. */
#ifndef SPECLAB_SET_FLOW_H
#define SPECLAB_SET_FLOW_H

#include <stdint.h>

enum { SPEC_SET_FLOW_VOCAB = 32 };

/* Sends as many units as possible.
 *
 *   ret_flow  (n_sets, V) what each set sends to each token
 *   supply    (n_sets) what each set can send; on return, what it has left
 *   demand    (V) what each token can receive; on return, what it still can receive
 *   set       (n_sets) one bit per token; sets may be equal or empty
 *   vocab     V, 1..SPEC_SET_FLOW_VOCAB
 *
 * The sum of all supplies must be below 2^64. If there are several largest flows, the order of sets
 * and tokens decides which one results. Makes at most V + 1 searches, which take O(n_sets V^4)
 * together. Allocates nothing. docs/formulas/rules.md#transport proves it. */
void spec_set_flow_maximise(uint64_t *ret_flow, uint64_t *supply, uint64_t *demand,
                            const uint32_t *set, int n_sets, int vocab);

#endif
