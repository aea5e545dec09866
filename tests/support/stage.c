/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/stage.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

const char *const stage_rules[3] = {"token", "match", "greedy"};
const char *const stage_draftings[3] = {"chain", "greedy", "lookup"};
const char *const stage_policies[6] = {"fixed",      "heuristic", "confidence",
                                       "cumulative", "peak",      "oracle"};

void stage_init(stage *s, int V, pair_family family, uint64_t seed)
{
    *s = (stage){.config = SPEC_DECODER_DEFAULT};
    s->config.target = table_model_init(&s->target, V);
    s->config.opt_draft = table_model_init(&s->draft, V);
    uint64_t noise = seed;
    table_pair_randomize(&s->target, &s->draft, family, &noise);
    s->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    gsl_rng_set(s->rng, seed);
    s->chance = spec_chance_sampled(s->rng);
}

void stage_free(stage *s)
{
    table_model_free(&s->target);
    table_model_free(&s->draft);
    gsl_rng_free(s->rng);
}

void stage_open_decoder(spec_decoder *decoder, const spec_decoder_config *config)
{
    assert_works(spec_decoder_init(decoder, config, &error));
}
