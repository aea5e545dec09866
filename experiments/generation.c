/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/generation.h"

#include "base/clock.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

const char *const spec_origin_names[] = {"draft", "correction", "bonus", "target", NULL};

static double now(const spec_generation *g)
{
    return spec_clock_read(&g->plan.clock);
}

/* Returns the config with only the target. */
static spec_decoder_config alone(const spec_decoder_config *config)
{
    spec_decoder_config plain = *config;
    plain.opt_draft = plain.opt_inner = NULL;
    plain.drafting = "lookup";
    plain.policy = "fixed";
    plain.K = 0;
    plain.ahead = false;
    plain.verify = SPEC_VERIFY_HOST;
    return plain;
}

int spec_generation_init(spec_generation *g, const spec_generation_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    *g = (spec_generation){.plan = *plan};
    if (plan->clock.seconds == NULL) g->plan.clock = spec_clock_wall();
    spec_decoder_config plain = alone(&plan->decoder);
    SPEC_TRY(spec_decoder_init(&g->decoder, plan->plain ? &plain : &plan->decoder, error));
    plain.opt_beside = &g->decoder;
    if (plan->baseline) {
        SPEC_TRY(spec_decoder_init(&g->beside, &plain, error));
        SPEC_TRY(spec_generation_segments_init(&g->segments, &plan->load, SPEC_GENERATION_SEGMENT,
                                               error));
    }
    g->rng = spec_rng_alloc();
    g->beside_rng = spec_rng_alloc();
    if (g->rng == NULL || g->beside_rng == NULL) status = spec_no_memory(error);
done:
    if (status != GSL_SUCCESS) spec_generation_free(g);
    return status;
}

void spec_generation_free(spec_generation *g)
{
    if (g->plan.baseline) spec_decoder_free(&g->beside);
    spec_generation_segments_free(&g->segments);
    spec_decoder_free(&g->decoder);
    if (g->rng != NULL) gsl_rng_free(g->rng);
    if (g->beside_rng != NULL) gsl_rng_free(g->beside_rng);
    *g = (spec_generation){0};
}

/* ---- a text ---------------------------------------------------------------------------------- */

/* Lets a draft read the prompt, if its window holds it. */
static int read_prompt(spec_session *draft, spec_decoder *decoder, size_t n, spec_error *error)
{
    const spec_model *model = draft->model;
    if (model == NULL || (model->window > 0 && n > (size_t)model->window)) return GSL_SUCCESS;
    return spec_session_row(draft, decoder->context, n, decoder->weight, error) != NULL
               ? GSL_SUCCESS
               : GSL_EFAILED;
}

/* Begins the text, and lets the models read the prompt before the first round. */
static int begin(spec_decoder *decoder, const int *prompt, size_t n, uint64_t text,
                 spec_error *error)
{
    decoder->text = text;
    int status = spec_decoder_reset(decoder, prompt, n, error);
    if (status != GSL_SUCCESS) return status;
    if (spec_session_row(&decoder->target, decoder->context, n, decoder->target_store, error) ==
        NULL)
        return GSL_EFAILED;
    status = read_prompt(&decoder->drafter.session, decoder, n, error);
    return status == GSL_SUCCESS ? read_prompt(&decoder->drafter.inner, decoder, n, error) : status;
}

/* The n tokens of a round, and their origins. */
typedef struct {
    int token[SPEC_K_MAX + 1];
    spec_origin origin[SPEC_K_MAX + 1];
    int n;
} heard;

static int speculate(spec_generation *g, heard *ret, spec_chance *chance, spec_error *error)
{
    const spec_round *round = &g->decoder.round;
    const int status = spec_decoder_round(&g->decoder, chance, &g->tally, error);
    if (status != GSL_SUCCESS) return status;
    g->draft_passes += (uint64_t)g->decoder.drafter.n_calls;
    g->inner_passes += (uint64_t)g->decoder.drafter.n_inner_calls;
    ret->n = round->n_emitted;
    for (int i = 0; i < ret->n; i++) {
        ret->token[i] = round->token[i];
        ret->origin[i] = i < round->n_accepted                    ? SPEC_FROM_DRAFT
                         : round->n_drafted == 0                  ? SPEC_FROM_TARGET
                         : round->n_tested > round->n_accepted    ? SPEC_FROM_CORRECTION
                                                                  : SPEC_FROM_BONUS;
    }
    return GSL_SUCCESS;
}

static int decode_plain(spec_generation *g, heard *ret, spec_chance *chance, spec_error *error)
{
    size_t n;
    double calls;
    const int status = spec_decode_plain(&g->decoder, 1, ret->token, &n, chance, &calls, error);
    if (status != GSL_SUCCESS) return status;
    ret->n = 1;
    ret->origin[0] = SPEC_FROM_TARGET;
    return GSL_SUCCESS;
}

/* Decodes the new part of the text plainly: samples a token at every position, but then continues
 * with the text's own token. */
static int follow(spec_generation *g, const int *text, size_t n, spec_chance *chance,
                  spec_error *error)
{
    const size_t read = g->beside.n_context;
    const spec_load_reading load = spec_generation_segments_begin(&g->segments);
    const double began = now(g);
    while (g->beside.n_context < n) {
        int token;
        size_t one;
        double calls;
        const size_t at = g->beside.n_context;
        const int status = spec_decode_plain(&g->beside, 1, &token, &one, chance, &calls, error);
        if (status != GSL_SUCCESS) return status;
        g->beside.context[at] = text[at];
    }
    const double took = now(g) - began;
    spec_generation_segments_end(&g->segments, &load);
    if (n > read)
        spec_generation_segments_add(&g->segments, g->seconds - g->compared_seconds, took,
                                   (double)(n - read));
    g->beside_seconds += took;
    g->compared_seconds = g->seconds;
    return GSL_SUCCESS;
}

int spec_generation_begin(spec_generation *g, const int *prompt, size_t n_prompt, uint64_t text,
                          uint64_t n_tokens, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_rng_stream(g->rng, g->plan.seed, text);
    spec_rng_stream(g->beside_rng, g->plan.seed + 1, text);
    g->n_prompt = n_prompt;
    g->n = 0;
    g->n_most = n_tokens;
    const double began = now(g);
    SPEC_TRY(begin(&g->decoder, prompt, n_prompt, text, error));
    g->prompt_seconds += now(g) - began;
    g->prompt_tokens += n_prompt;
    if (g->plan.baseline) SPEC_TRY(begin(&g->beside, prompt, n_prompt, text, error));
done:
    return status;
}

/* Returns whether the text has ended, and why. */
static bool has_ended(const spec_generation *g, spec_ending *ret_ending)
{
    const volatile int *stop = g->plan.opt_stop;
    *ret_ending = SPEC_ENDED_ASKED;
    if (g->n >= g->n_most) return true;
    *ret_ending = SPEC_ENDED_STOPPED;
    if (spec_stop_is_set(stop)) return true;
    *ret_ending = SPEC_ENDED_WINDOW;
    return spec_decoder_room(&g->decoder) < 0;
}

int spec_generation_round(spec_generation *g, bool *ret_ended, spec_ending *ret_ending,
                          spec_error *error)
{
    heard round;
    int kept = 0, status = GSL_SUCCESS;
    spec_chance chance = spec_chance_sampled(g->rng);
    *ret_ended = has_ended(g, ret_ending);
    if (*ret_ended) return status;
    const spec_load_reading load = spec_generation_segments_begin(&g->segments);
    const double start = now(g);
    SPEC_TRY(g->plan.plain ? decode_plain(g, &round, &chance, error)
                           : speculate(g, &round, &chance, error));
    g->seconds += now(g) - start;
    spec_generation_segments_end(&g->segments, &load);

    while (kept < round.n && g->n + (uint64_t)kept < g->n_most && !*ret_ended)
        *ret_ended = spec_model_ends_text(g->plan.decoder.target, round.token[kept++]);
    *ret_ending = *ret_ended ? SPEC_ENDED_TEXT : SPEC_ENDED_ASKED;
    g->n += (uint64_t)kept;
    g->tokens += (uint64_t)kept;
    *ret_ended = *ret_ended || g->n == g->n_most;
    status = g->plan.hear(g->plan.self, round.token, round.origin, kept, error);
done:
    return status;
}

int spec_generation_text(spec_generation *g, spec_ending *ret_ending, const int *prompt,
                         size_t n_prompt, uint64_t text, uint64_t n_tokens, spec_error *error)
{
    int status = GSL_SUCCESS;
    bool ended = false;
    spec_chance beside_chance = spec_chance_sampled(g->beside_rng);
    SPEC_TRY(spec_generation_begin(g, prompt, n_prompt, text, n_tokens, error));
    while (!ended) {
        SPEC_TRY(spec_generation_round(g, &ended, ret_ending, error));
        const size_t length = n_prompt + g->n;
        const size_t least = ended ? 0 : SPEC_GENERATION_SEGMENT;
        if (g->plan.baseline && length >= g->beside.n_context + least)
            SPEC_TRY(follow(g, g->decoder.context, length, &beside_chance, error));
    }
done:
    return status;
}

int spec_generation_speedup(spec_block_interval *ret_speedup, spec_ratio_verdict *ret_verdict,
                            spec_timing_trust *ret_trust, const spec_generation *g,
                            spec_error *error)
{
    const spec_decoder_config *config = &g->plan.decoder;
    *ret_trust = (spec_timing_trust){.processors = 0};
    ret_trust->processor_clock = g->plan.clock.seconds == spec_clock_processor().seconds;
    spec_timing_trust_of_models(ret_trust, config->target, config->opt_draft);
    return spec_generation_segments_speedup(ret_speedup, ret_verdict, ret_trust, &g->segments,
                                          (double)g->tally.emitted / (double)g->tally.rounds,
                                          g->plan.seed, error);
}
