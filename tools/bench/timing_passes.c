/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_passes.h"

#include "base/int_math.h"
#include "models/transformer/engine/transformer_session.h"
#include "sim/chance/chance.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_randist.h>
#include <stdlib.h>

int spec_timing_passes_init(spec_timing_passes *passes, const spec_model *model,
                            const spec_model *opt_target, const spec_session *opt_session,
                            const int *width, int n_widths, bool on_device, spec_error *error)
{
    int status = GSL_SUCCESS;
    *passes = (spec_timing_passes){.model = model, .width = width, .n_widths = n_widths};
    const size_t widest = (size_t)width[n_widths - 1];
    passes->row = calloc(widest, sizeof *passes->row);
    passes->store = malloc(widest * (size_t)model->vocab * sizeof *passes->store);
    if (passes->row == NULL || passes->store == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %zu rows of %d probabilities",
                           widest, model->vocab));
    if (opt_session != NULL)
        passes->session = spec_session_lend(opt_session);
    else
        SPEC_TRY(spec_session_init(&passes->session, model, error));
    if (model->kind->reads_target) {
        SPEC_TRY(spec_session_init(&passes->target, opt_target, error));
        if (!spec_session_share(&passes->session, &passes->target)) SPEC_TRY(spec_no_memory(error));
    }
    if (on_device) { /* the model drafts for itself, because the chain needs a draft */
        const int K = spec_int_min((int)widest, SPEC_COLUMNS_MAX) - 1;
        SPEC_TRY(spec_chain_init(&passes->chain, &passes->session, &passes->session, K, error));
    }
done:
    if (status != GSL_SUCCESS) spec_timing_passes_free(passes);
    return status;
}

void spec_timing_passes_free(spec_timing_passes *passes)
{
    spec_chain_free(&passes->chain);
    spec_session_free(&passes->session);
    spec_session_free(&passes->target);
    free(passes->row);
    free(passes->store);
    *passes = (spec_timing_passes){0};
}

/* Prepares a pass of a model that reads the target's states: the model gets the text without its
 * last `width` tokens, and the target the states of all tokens. */
static int prepare(spec_timing_passes *passes, const int *text, size_t n, int width,
                   spec_error *error)
{
    const size_t before = n > (size_t)width ? n - (size_t)width : 0;
    const bool done = !passes->model->kind->reads_target ||
                      (spec_session_row(&passes->session, text, before, passes->store, error) &&
                       spec_session_row(&passes->target, text, n, passes->store, error));
    return done ? GSL_SUCCESS : GSL_EFAILED;
}

/* Scores the last `width` tokens of a text: the context's last token and the width - 1 after it. */
static int pass(spec_timing_passes *passes, const int *text, size_t n, int width, spec_error *error)
{
    if (passes->model->kind->reads_target)
        return spec_session_row(&passes->session, text, n, passes->store, error) != NULL
                   ? GSL_SUCCESS
                   : GSL_EFAILED;
    const size_t context = n - (size_t)(width - 1);
    if (passes->chain.K > 0 && width - 1 <= passes->chain.K) {
        const int status =
            spec_chain_score_begin(&passes->chain, text, context, text + context, width - 1, error);
        return status == GSL_SUCCESS ? spec_chain_score_end(&passes->chain, error) : status;
    }
    return spec_session_score(&passes->session,
                              &(spec_score_request){.context = text,
                                                    .n_context = context,
                                                    .token = text + context,
                                                    .n_nodes = width - 1,
                                                    .ret_row = passes->row,
                                                    .scratch = passes->store},
                              error);
}

/* Times drawing a token. On the device this happens at the end of a pass, so `pass_seconds`, the
 * time of a pass alone, is subtracted. */
static int time_pick(spec_timing_sum *sum, spec_timing_passes *passes, const int *text, size_t n,
                     double pass_seconds, const spec_clock *clock, gsl_rng *rng, spec_error *error)
{
    int status = GSL_SUCCESS, token, drawn;
    spec_chance chance = spec_chance_sampled(rng);
    const bool on_device = passes->chain.K > 0;
    const double begun = spec_clock_read(clock);
    if (on_device) {
        const double uniform = gsl_rng_uniform(rng);
        SPEC_TRY(spec_chain_draw(&passes->chain, &token, &drawn, text, n, 1, &uniform, error));
    } else {
        spec_chance_pick(&chance, passes->row[0], passes->model->vocab);
    }
    sum->seconds += spec_clock_read(clock) - begun - (on_device ? pass_seconds : 0.0);
    sum->n++;
done:
    return status;
}

int spec_timing_passes_visit(spec_timing_passes *passes, spec_timing_sum *sum,
                             spec_timing_sum *opt_pick, const int *text, size_t n,
                             const spec_clock *clock, gsl_rng *rng, spec_error *error)
{
    int order[SPEC_TIMING_WIDTHS_MAX];
    int status = GSL_SUCCESS;
    for (int i = 0; i < passes->n_widths; i++) order[i] = i;
    SPEC_TRY(pass(passes, text, n, 1, error));
    for (int repeat = 0; repeat < SPEC_TIMING_PASS_REPEATS; repeat++) {
        gsl_ran_shuffle(rng, order, (size_t)passes->n_widths, sizeof order[0]);
        for (int i = 0; i < passes->n_widths; i++) {
            const int width = passes->width[order[i]];
            if (width > 1 && (size_t)width > n) continue;
            SPEC_TRY(prepare(passes, text, n, width, error));
            const uint64_t read = spec_transformer_session_experts(&passes->session);
            const double begun = spec_clock_read(clock);
            SPEC_TRY(pass(passes, text, n, width, error));
            const double seconds = spec_clock_read(clock) - begun;
            sum[order[i]].experts +=
                (double)(spec_transformer_session_experts(&passes->session) - read);
            sum[order[i]].seconds += seconds;
            sum[order[i]].n++;
            if (width == 1 && opt_pick != NULL)
                SPEC_TRY(time_pick(opt_pick, passes, text, n, seconds, clock, rng, error));
        }
    }
done:
    return status;
}

int spec_timing_passes_queued(spec_timing_passes *passes, spec_timing_sum *sum, const int *text,
                              size_t n, const spec_clock *clock, gsl_rng *rng, spec_error *error)
{
    int status = GSL_SUCCESS, token[2], drawn;
    if (passes->chain.K < 2) return GSL_SUCCESS;
    for (int repeat = 0; repeat < SPEC_TIMING_PASS_REPEATS; repeat++) {
        double seconds[2];
        for (int i = 0; i < 2; i++) {
            const double uniform[2] = {gsl_rng_uniform(rng), gsl_rng_uniform(rng)};
            const double begun = spec_clock_read(clock);
            SPEC_TRY(
                spec_chain_draw(&passes->chain, token, &drawn, text, n, i + 1, uniform, error));
            seconds[i] = spec_clock_read(clock) - begun;
        }
        sum->seconds += seconds[1] - seconds[0];
        sum->n++;
    }
done:
    return status;
}
