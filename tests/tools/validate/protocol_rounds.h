/* SPDX-License-Identifier: GPL-3.0-or-later */
/* protocol_rounds: the rounds that tests of the protocol ask for. */
#ifndef SPECLAB_TESTS_PROTOCOL_ROUNDS_H
#define SPECLAB_TESTS_PROTOCOL_ROUNDS_H

#include "tests/support/support.h"
#include "tools/validate/samplers/protocol.h"

/* Two rounds of a chain of two nodes, in a batch of three; the first round is skipped. */
enum { CAPACITY = 3, NODES = 2, PLACES = NODES + 1, FROM = 1, ROUNDS = 2, SERIAL = 7 };

typedef struct {
    int32_t n_nodes[CAPACITY], token[CAPACITY * NODES], state[CAPACITY * PLACES];
    uint64_t request[CAPACITY], seed[CAPACITY], offset[CAPACITY];
    float coin[CAPACITY * 2];
    int32_t emitted[CAPACITY * PLACES], n_emitted[CAPACITY], n_accepted[CAPACITY];
    uint32_t fault[CAPACITY];
    spec_round_batch batch;
} rounds;

static inline void fill(rounds *r)
{
    *r = (rounds){.n_nodes = {2, 2, 1},
                  .token = {9, 9, 3, 1, 2, 8},
                  .state = {9, 9, 9, 0, 1, 2, 0, 2, 8},
                  .request = {9, 4, 5},
                  .seed = {9, UINT64_C(0xfedcba9876543210), 6},
                  .offset = {9, 1, 2},
                  .coin = {9, 9, 0.25f, 0.5f, 0.125f, 0.75f}};
    r->batch = (spec_round_batch){.capacity = CAPACITY,
                                  .nodes = NODES,
                                  .n_nodes = r->n_nodes,
                                  .token = r->token,
                                  .state = r->state,
                                  .request = r->request,
                                  .seed = r->seed,
                                  .offset = r->offset,
                                  .emitted = r->emitted,
                                  .n_emitted = r->n_emitted,
                                  .n_accepted = r->n_accepted,
                                  .fault = r->fault};
}

static inline spec_question question_in(uint32_t scope)
{
    return spec_protocol_question(SPEC_FRAME_STEPS, SERIAL, scope, FROM, ROUNDS, NODES);
}

#endif
