/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/sources.h"

#include "base/int_math.h"
#include "base/noise.h"
#include "base/wide_rng.h"
#include "sim/chance/rng.h"
#include "sim/fixed_pair.h"

#include <stdbool.h>
#include <stdlib.h>

/* ---- acceptance processes -------------------------------------------------------------------- */

static int acceptance_worker_init(const void *self, void **ret_worker, spec_error *error)
{
    const spec_acceptance_config *config = self;
    *ret_worker = NULL;
    if (config->K < 0 || config->K > SPEC_K_MAX)
        return spec_fail(error, GSL_EINVAL, "K must be 0 to %d, got %d", SPEC_K_MAX, config->K);
    return spec_acceptance_process_check(&config->process, config->K, error);
}

/* Returns the time of a round that drafts a chain of K tokens and verifies all of them. */
static double chain_time(const spec_costs *costs, int K)
{
    return spec_costs_round(costs, &(spec_charges){.calls = K, .rows = K, .tokens = K});
}

static int acceptance_batch(const void *self, void *worker, uint64_t seed, uint64_t stream,
                            uint64_t n_rounds, spec_tally *tally, spec_error *error)
{
    const spec_acceptance_config *config = self;
    (void)worker;
    (void)error;
    spec_acceptance_rounds(tally, &config->process, config->K, n_rounds, seed, stream);
    tally->time += (double)n_rounds * chain_time(&config->costs, config->K);
    return GSL_SUCCESS;
}

spec_round_source spec_sources_acceptance(const spec_acceptance_config *config)
{
    return (spec_round_source){.self = config,
                               .worker_init = acceptance_worker_init,
                               .batch = acceptance_batch,
                               .usual_batch = 1 << 18,
                               .independent = true};
}

/* ---- decoding loops -------------------------------------------------------------------------- */

typedef struct {
    spec_decoder decoder;
    spec_fixed_pair pair; /* vocab = 0: run the decoder */
    gsl_rng *rng;
    int prompt[SPEC_PROMPT_MAX];
} decoding_worker;

static void decoding_worker_free(void *worker)
{
    decoding_worker *w = worker;
    spec_fixed_pair_free(&w->pair);
    spec_decoder_free(&w->decoder);
    if (w->rng != NULL) gsl_rng_free(w->rng);
    free(w);
}

static bool is_fixed_pair(const spec_decoder *decoder)
{
    const spec_model *target = decoder->config.target, *draft = decoder->config.opt_draft;
    return target->vocab >= SPEC_SOURCES_FIXED_VOCAB && target->order == 0 &&
           !spec_model_has_ends(target) && draft != NULL && draft->order == 0 &&
           !spec_model_has_ends(draft) && decoder->rule.verify == spec_verify_token.verify &&
           decoder->drafter.kind == &spec_draft_chain &&
           decoder->policy.kind == &spec_policy_fixed && !decoder->ahead.on;
}

static int pack_pair(decoding_worker *w, spec_error *error)
{
    spec_decoder *decoder = &w->decoder;
    const double *target =
        spec_session_row(&decoder->target, NULL, 0, decoder->target_store, error);
    if (target == NULL) return GSL_EFAILED;
    const double *draft =
        spec_session_row(&decoder->drafter.session, NULL, 0, decoder->weight, error);
    if (draft == NULL) return GSL_EFAILED;
    return spec_fixed_pair_init(&w->pair, target, draft, decoder->config.target->vocab, error);
}

static int decoding_worker_init(const void *self, void **ret_worker, spec_error *error)
{
    const spec_decoding_config *config = self;
    int status = GSL_SUCCESS;
    decoding_worker *w = calloc(1, sizeof *w);
    *ret_worker = NULL;
    if (w == NULL) return spec_fail(error, GSL_ENOMEM, "no memory for a decoding loop");
    w->rng = spec_rng_alloc();
    if (w->rng == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "no memory for a generator");
        goto done;
    }
    SPEC_TRY(spec_decoder_init(&w->decoder, &config->decoder, error));
    if (is_fixed_pair(&w->decoder)) SPEC_TRY(pack_pair(w, error));
    *ret_worker = w;
done:
    if (status != GSL_SUCCESS) decoding_worker_free(w);
    return status;
}

static int begin_text(decoding_worker *w, uint64_t prompt_number, uint64_t text_number,
                      spec_error *error)
{
    const spec_model *target = w->decoder.config.target;
    size_t n = 0;
    w->decoder.text = text_number;
    if (target->kind->prompt != NULL)
        n = target->kind->prompt(target, prompt_number, w->prompt,
                                 target->window > 0 && target->window < SPEC_PROMPT_MAX
                                     ? (size_t)target->window
                                     : SPEC_PROMPT_MAX);
    return spec_decoder_reset(&w->decoder, w->prompt, n, error);
}

/* Returns whether the text ended, is too long, or would have its next draft cut by a window. The
 * reach of a draft model does not count, because it cuts the drafts of every text. */
static bool text_is_over(const spec_decoder *decoder)
{
    const spec_model *draft = decoder->drafter.session.model;
    int length = decoder->policy.now;
    if (draft != NULL && draft->reach > 0) length = spec_int_min(length, draft->reach);
    return decoder->n_context > SPEC_TEXT_MAX || spec_decoder_room(decoder) < length ||
           spec_decoder_ended(decoder);
}

static int decoding_rounds(decoding_worker *w, spec_chance *chance, uint64_t n_rounds,
                           spec_tally *opt_tally, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (uint64_t i = 0; i < n_rounds; i++) {
        SPEC_TRY(spec_decoder_round(&w->decoder, chance, opt_tally, error));
        if (!text_is_over(&w->decoder)) continue;
        const uint64_t number = spec_wide_rng_word(w->rng);
        SPEC_TRY(begin_text(w, number, number, error));
    }
done:
    return status;
}

/* Runs rounds of a fixed pair. They are iid, so there is no text, prompt or burn-in. */
static void fixed_pair_rounds(decoding_worker *w, uint64_t seed, uint64_t stream, uint64_t n_rounds,
                              spec_tally *tally)
{
    const spec_costs *costs = &w->decoder.config.costs;
    spec_round *round = &w->decoder.round;
    spec_rng_state rng = spec_rng_stream_state(seed, stream);
    round->n_drafted = w->decoder.config.K;
    for (uint64_t i = 0; i < n_rounds; i++) {
        round->n_accepted = spec_fixed_pair_round(&w->pair, &rng, round->n_drafted, round->token);
        round->n_tested =
            round->n_accepted < round->n_drafted ? round->n_accepted + 1 : round->n_accepted;
        round->n_emitted = round->n_accepted + 1;
        spec_tally_add(tally, round);
    }
    tally->time += (double)n_rounds * chain_time(costs, round->n_drafted);
}

static int decoding_batch(const void *self, void *worker, uint64_t seed, uint64_t stream,
                          uint64_t n_rounds, spec_tally *tally, spec_error *error)
{
    const spec_decoding_config *config = self;
    decoding_worker *w = worker;
    int status = GSL_SUCCESS;
    if (w->pair.vocab > 0) {
        fixed_pair_rounds(w, seed, stream, n_rounds, tally);
        return GSL_SUCCESS;
    }
    spec_rng_stream(w->rng, seed, stream);
    spec_chance chance = spec_chance_sampled(w->rng);
    SPEC_TRY(spec_decoder_forget(&w->decoder, error));
    SPEC_TRY(begin_text(w, stream, spec_noise_word(seed, stream), error));
    SPEC_TRY(decoding_rounds(w, &chance, config->burn_in, NULL, error));
    SPEC_TRY(decoding_rounds(w, &chance, n_rounds, tally, error));
done:
    return status;
}

/* Returns the rounds of one text. Where texts are long enough, a batch that drafts ahead is one
 * text, because the first round of a text has no chain drafted ahead. */
static uint64_t rounds_of_a_text(const spec_decoding_config *config)
{
    const uint64_t most = SPEC_TEXT_MAX / ((uint64_t)config->decoder.K + 1);
    return most > config->burn_in + 1 ? most - config->burn_in : 1;
}

spec_round_source spec_sources_decoding(const spec_decoding_config *config)
{
    const uint64_t whole = rounds_of_a_text(config),
                   batch = config->decoder.ahead && whole < 1024 ? whole : 1024;
    return (spec_round_source){.self = config,
                               .worker_init = decoding_worker_init,
                               .worker_free = decoding_worker_free,
                               .batch = decoding_batch,
                               .usual_batch = batch};
}
