/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stage: a random pair of table models with the state of a decoder, for decoding tests.
 * Defaults are the decoder's; a test changes ->config and opens. The stage owns its models and its
 * generator. */
#ifndef SPECLAB_TESTS_STAGE_H
#define SPECLAB_TESTS_STAGE_H

#include "sim/decode.h"
#include "tests/support/table_model.h"

typedef struct {
    table_model target, draft;
    spec_decoder_config config;
    gsl_rng *rng;
    spec_chance chance; /* sampled */
} stage;

void stage_init(stage *s, int V, pair_family family, uint64_t seed);
void stage_free(stage *s);

/* Opens a decoder, or fails the test with its error. */
void stage_open_decoder(spec_decoder *decoder, const spec_decoder_config *config);

/* The lossless rules, the strategies and the policies, for loops over all of them. */
extern const char *const stage_rules[3], *const stage_draftings[3], *const stage_policies[6];

#endif
