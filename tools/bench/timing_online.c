/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_online.h"

#include "base/stop_flag.h"
#include "base/wide_rng.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = SPEC_TIMING_ONLINE_WAYS, FIELDS = SPEC_TIMING_ONLINE_FIELDS };

typedef struct {
    spec_timing_online *timed;
    spec_online_draft online;
    spec_decoder decoder[WAYS];
    gsl_rng *rng, *order;
    spec_error *error;
} run;

static int open_all(run *r)
{
    int status = GSL_SUCCESS;
    spec_timing_online *timed = r->timed;
    const spec_timing_online_plan *plan = &timed->plan;
    spec_decoder_config config = plan->decoder;
    SPEC_TRY(spec_online_draft_init(&r->online, &plan->online, plan->learning, plan->opt_pool,
                                    r->error));
    SPEC_TRY(spec_decoder_init(&r->decoder[SPEC_TIMING_ONLINE_STATIC], &config, r->error));
    if (r->decoder[SPEC_TIMING_ONLINE_STATIC].drafter.session.model == NULL)
        SPEC_TRY(spec_fail(r->error, GSL_EINVAL,
                           "draft strategy '%s' uses no draft model, so that none can learn",
                           config.drafting));
    config.opt_draft = plan->learning;
    config.opt_online = &r->online;
    SPEC_TRY(spec_decoder_init(&r->decoder[SPEC_TIMING_ONLINE_LEARNING], &config, r->error));
    timed->block = calloc((size_t)plan->texts * WAYS * FIELDS, sizeof *timed->block);
    r->rng = spec_rng_alloc();
    r->order = spec_rng_alloc();
    if (timed->block == NULL || r->rng == NULL || r->order == NULL)
        SPEC_TRY(spec_no_memory(r->error));
    spec_rng_stream(r->order, spec_rng_named_seed(plan->seed, "bench online order"), 0);
done:
    return status;
}

/* Both ways take the same random numbers, so they write the same text until the drafts differ. */
static int decode_text(run *r, int way, int text)
{
    int status = GSL_SUCCESS;
    const spec_timing_online_plan *plan = &r->timed->plan;
    spec_decoder *decoder = &r->decoder[way];
    const int prompt = text % plan->prompts->n;
    double *sum = r->timed->block + (size_t)(text * WAYS + way) * FIELDS;
    spec_chance chance = spec_chance_sampled(r->rng);
    bool done = false;
    memset(sum, 0, FIELDS * sizeof *sum);
    spec_rng_stream(r->rng, spec_rng_named_seed(plan->seed, "bench online"), (uint64_t)text);
    decoder->text = (uint64_t)text;
    SPEC_TRY(spec_decoder_reset(decoder, plan->prompts->token[prompt],
                                plan->prompts->length[prompt], r->error));
    decoder->phases = (spec_phases){0};
    const double begun = spec_clock_read(&decoder->config.clock);
    while (!done && spec_decoder_room(decoder) >= 0) {
        SPEC_TRY(spec_decoder_round(decoder, &chance, NULL, r->error));
        const spec_round *round = &decoder->round;
        sum[SPEC_TIMING_ONLINE_TOKENS] += round->n_emitted;
        sum[SPEC_TIMING_ONLINE_ROUNDS]++;
        sum[SPEC_TIMING_ONLINE_ACCEPTED] += round->n_accepted;
        sum[SPEC_TIMING_ONLINE_TESTED] += round->n_tested;
        done = sum[SPEC_TIMING_ONLINE_TOKENS] >= plan->tokens || spec_decoder_ended(decoder);
    }
    sum[SPEC_TIMING_ONLINE_SECONDS] = spec_clock_read(&decoder->config.clock) - begun;
    sum[SPEC_TIMING_ONLINE_LEARN] = decoder->phases.learn;
done:
    return status;
}

static int decode_all(run *r)
{
    int status = GSL_SUCCESS;
    const spec_timing_online_plan *plan = &r->timed->plan;
    for (int text = -1; text < plan->texts; text++) {
        const int first = (int)spec_wide_rng_below(r->order, WAYS);
        SPEC_TRY(spec_stop_check(plan->opt_stop, r->error));
        for (int i = 0; i < WAYS; i++)
            SPEC_TRY(decode_text(r, (first + i) % WAYS, text < 0 ? 0 : text));
        for (int way = 0; way < WAYS && text < 0; way++)
            SPEC_TRY(spec_decoder_forget(&r->decoder[way], r->error));
        if (plan->opt_progress != NULL)
            plan->opt_progress(plan->context, (double)(text + 1) / plan->texts);
    }
    r->timed->updates = r->online.learner.step;
done:
    return status;
}

int spec_timing_online_init(spec_timing_online *timed, const spec_timing_online_plan *plan,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    *timed = (spec_timing_online){.plan = *plan};
    run *r = calloc(1, sizeof *r);
    if (r == NULL) return spec_no_memory(error);
    r->timed = timed;
    r->error = error;
    SPEC_TRY(open_all(r));
    SPEC_TRY(decode_all(r));
done:
    for (int way = 0; way < WAYS; way++) spec_decoder_free(&r->decoder[way]);
    spec_online_draft_free(&r->online);
    if (r->rng != NULL) gsl_rng_free(r->rng);
    if (r->order != NULL) gsl_rng_free(r->order);
    free(r);
    if (status != GSL_SUCCESS) spec_timing_online_free(timed);
    return status;
}

void spec_timing_online_free(spec_timing_online *timed)
{
    free(timed->block);
    *timed = (spec_timing_online){0};
}
