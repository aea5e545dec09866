/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode.h"

#include "base/stop_flag.h"
#include "models/row.h"
#include "models/vocabularies.h"
#include "sim/decode_fit.h"
#include "sim/online_draft.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT_AT_FIRST = 256 };

/* Grows the context buffer so that it holds `more` tokens after the context. */
static int reserve(spec_decoder *decoder, size_t more, spec_error *error)
{
    const size_t needed = decoder->n_context + more;
    if (needed <= decoder->context_capacity) return GSL_SUCCESS;
    const size_t capacity = 2 * needed;
    int *context = realloc(decoder->context, capacity * sizeof *context);
    if (context == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for a text of %zu tokens", needed);
    decoder->context = context;
    decoder->context_capacity = capacity;
    return GSL_SUCCESS;
}

static int check_online(const spec_decoder *decoder, spec_error *error)
{
    const spec_online_draft *online = decoder->config.opt_online;
    if (online == NULL) return GSL_SUCCESS;
    assert(decoder->config.opt_draft != NULL &&
           spec_transformer_of(decoder->config.opt_draft) == online->model);
    if (decoder->config.ahead)
        return spec_fail(error, GSL_EINVAL, "a draft that learns cannot draft ahead");
    if (decoder->rule.needs_schedule)
        return spec_fail(error, GSL_EINVAL,
                         "rule '%s' needs a draft whose rows do not change between rounds, and "
                         "this one learns: use rule block",
                         decoder->rule.name);
    return GSL_SUCCESS;
}

/* Opens the drafter with its session, and the target's session. */
static int open_sessions(spec_decoder *decoder, const spec_decoder *opt_beside, spec_error *error)
{
    const spec_decoder_config *config = &decoder->config;
    int status = GSL_SUCCESS;
    assert(opt_beside == NULL || opt_beside->config.target == config->target);
    const spec_session *draft = opt_beside != NULL ? &opt_beside->drafter.session : NULL;
    if (draft != NULL &&
        (draft->model != config->opt_draft || (config->ahead && opt_beside->shared)))
        draft = NULL;
    SPEC_TRY(spec_drafter_init_lent(&decoder->drafter, config->drafting, config->opt_draft, draft,
                                    error));
    if (opt_beside != NULL)
        decoder->target = spec_session_lend(&opt_beside->target);
    else
        SPEC_TRY(spec_session_init(&decoder->target, config->target, error));
    if (decoder->drafter.session.lent)
        decoder->shared = opt_beside->shared;
    else if (decoder->drafter.session.model != NULL && !config->ahead)
        decoder->shared = spec_session_share(&decoder->drafter.session, &decoder->target);
done:
    return status;
}

/* Tells the policy what the clock charges, for policies that weigh tokens against time. */
static void price(spec_decoder *decoder)
{
    const spec_costs *costs = &decoder->config.costs;
    const spec_model *draft = decoder->drafter.session.model;
    spec_policy_prices prices = {.pass = costs->verify + costs->fixed,
                                 .token = costs->verify_token};
    if (draft != NULL) {
        prices.call = costs->draft;
        prices.row = costs->token;
        prices.one_pass = costs->one_pass || draft->one_pass;
    }
    spec_policy_price(&decoder->policy, &prices);
}

int spec_decoder_init(spec_decoder *decoder, const spec_decoder_config *config, spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(config->target != NULL);
    *decoder = (spec_decoder){.config = *config};
    if (config->opt_draft != NULL)
        SPEC_TRY(spec_vocabularies_check(config->target, config->opt_draft, error));
    SPEC_TRY(spec_rule_init(&decoder->rule, config->rule, error));
    SPEC_TRY(spec_policy_init(&decoder->policy, config->policy, config->K, error));
    if (config->ahead)
        SPEC_TRY(spec_policy_init(&decoder->guessed, config->policy, config->K, error));
    SPEC_TRY(open_sessions(decoder, config->opt_beside, error));
    price(decoder);

    decoder->nodes = spec_drafter_nodes(&decoder->drafter, decoder->policy.K);
    SPEC_TRY(spec_decode_fit_check(&decoder->rule, config->rule, &decoder->drafter,
                                   config->drafting, &decoder->policy, error));
    SPEC_TRY(check_online(decoder, error));
    if (config->opt_inner != NULL) {
        SPEC_TRY(spec_vocabularies_check(config->target, config->opt_inner, error));
        SPEC_TRY(spec_session_init(&decoder->drafter.inner, config->opt_inner, error));
    }
    SPEC_TRY(spec_drafter_open(&decoder->drafter, config->target, decoder->policy.K, error));
    if (config->ahead)
        SPEC_TRY(spec_decode_ahead_init(&decoder->ahead, &decoder->drafter, &decoder->policy,
                                        config->target->vocab, error));
    SPEC_TRY(spec_decode_device_init(&decoder->device, config->verify, &decoder->rule,
                                     &decoder->drafter, &decoder->target, &decoder->policy,
                                     config->ahead, error));
    SPEC_TRY(spec_rule_open(&decoder->rule, config->target->vocab, decoder->nodes, error));

    const size_t K = (size_t)decoder->policy.K, rows = (size_t)decoder->nodes + 1;
    const size_t vocab = (size_t)config->target->vocab;
    SPEC_TRY(spec_draft_init(&decoder->draft, decoder->nodes, config->target->vocab, error));
    decoder->target_row = calloc(rows, sizeof *decoder->target_row);
    decoder->target_store = malloc(rows * vocab * sizeof *decoder->target_store);
    decoder->weight = malloc(vocab * sizeof *decoder->weight);
    decoder->round.token = calloc(K + 1, sizeof *decoder->round.token);
    decoder->round.node = calloc(K + 1, sizeof *decoder->round.node);
    if (decoder->target_row == NULL || decoder->target_store == NULL || decoder->weight == NULL ||
        decoder->round.token == NULL || decoder->round.node == NULL)
        status = spec_fail(error, GSL_ENOMEM, "out of memory for %zu rows of %zu probabilities",
                           rows, vocab);
    else
        status = reserve(decoder, CONTEXT_AT_FIRST, error);
done:
    if (status != GSL_SUCCESS) spec_decoder_free(decoder);
    return status;
}

void spec_decoder_free(spec_decoder *decoder)
{
    spec_rule_free(&decoder->rule);
    spec_policy_free(&decoder->policy);
    spec_policy_free(&decoder->guessed);
    spec_decode_ahead_free(&decoder->ahead);
    spec_decode_device_free(&decoder->device);
    spec_drafter_free(&decoder->drafter);
    spec_session_free(&decoder->target);
    spec_draft_free(&decoder->draft);
    free(decoder->target_row);
    free(decoder->target_store);
    free(decoder->weight);
    free(decoder->round.token);
    free(decoder->round.node);
    free(decoder->context);
    *decoder = (spec_decoder){0};
}

int spec_decoder_reset(spec_decoder *decoder, const int *prompt, size_t n, spec_error *error)
{
    const int vocab = decoder->config.target->vocab;
    for (size_t i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= vocab)
            return spec_fail(error, GSL_EINVAL, "token %zu of the prompt is %d, outside 0..%d",
                             i + 1, prompt[i], vocab - 1);
    const int window = decoder->config.target->window;
    if (window > 0 && n > (size_t)window)
        return spec_fail(error, GSL_EINVAL,
                         "the prompt has %zu tokens, and the context of the target holds %d", n,
                         window);
    decoder->n_context = 0;
    spec_policy_reset(&decoder->policy);
    spec_rule_reset(&decoder->rule);
    spec_decode_ahead_forget(&decoder->ahead);
    if (decoder->config.opt_online != NULL) spec_online_draft_end_text(decoder->config.opt_online);
    int status = spec_drafter_reset(&decoder->drafter, false, error);
    if (status == GSL_SUCCESS) status = reserve(decoder, n, error);
    if (status != GSL_SUCCESS) return status;
    if (n > 0) memcpy(decoder->context, prompt, n * sizeof *prompt);
    decoder->n_context = n;
    return GSL_SUCCESS;
}

int spec_decoder_forget(spec_decoder *decoder, spec_error *error)
{
    spec_online_draft *online = decoder->config.opt_online;
    const int status = spec_drafter_reset(&decoder->drafter, true, error);
    return status == GSL_SUCCESS && online != NULL ? spec_online_draft_forget(online, error)
                                                   : status;
}

/* ---- windows --------------------------------------------------------------------------------- */

static int room_of(const spec_model *model, size_t n)
{
    if (model->window == 0) return SPEC_K_MAX;
    if (n > (size_t)model->window) return -1;
    const size_t room = (size_t)model->window - n;
    return room < SPEC_K_MAX ? (int)room : SPEC_K_MAX;
}

/* Returns what spec_decoder_room would after a context of n tokens. */
static int room_after(const spec_decoder *decoder, size_t n)
{
    const spec_model *draft = decoder->drafter.session.model;
    const int target = room_of(decoder->config.target, n);
    int room = draft != NULL ? room_of(draft, n) : target;
    if (draft != NULL && draft->reach > 0 && room > draft->reach) room = draft->reach;
    return target < 0 || room >= target ? target : room > 0 ? room : 0;
}

int spec_decoder_room(const spec_decoder *decoder)
{
    return room_after(decoder, decoder->n_context);
}

/* Returns whether another round may begin: no stop was requested, and the windows have room. */
static int check_goes_on(const spec_decoder *decoder, spec_error *error)
{
    const spec_model *target = decoder->config.target;
    SPEC_PASS(spec_stop_check(decoder->config.opt_stop, error));
    if (room_of(target, decoder->n_context) >= 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "the context of %d tokens is full", target->window);
}

/* ---- a round --------------------------------------------------------------------------------- */

static double round_time(const spec_decoder *decoder)
{
    const spec_round *round = &decoder->round;
    const spec_policy *policy = &decoder->policy;
    const spec_charges charges = {
        .calls = spec_policy_charged(policy, round, decoder->drafter.n_calls),
        .rows = spec_policy_charged(policy, round, decoder->drafter.n_rows),
        .tokens = spec_policy_charged(policy, round, round->n_drafted),
        .calls_inner = decoder->drafter.n_inner_calls,
        .calls_ahead = decoder->ahead.n_calls,
        .rows_ahead = decoder->ahead.n_rows};
    return spec_costs_round(&decoder->config.costs, &charges);
}

/* Drafts the tokens of this round, or takes the chain that was drafted ahead. */
static int draft_round(spec_decoder *decoder, const spec_policy *policy, spec_chance *chance,
                       spec_error *error)
{
    spec_draft *draft = &decoder->draft;
    const bool on_device = spec_decode_device_can(&decoder->device, policy, chance);
    decoder->round.hit =
        decoder->device.used == on_device &&
        spec_decode_ahead_take(&decoder->ahead, &decoder->device, draft, decoder->n_context);
    decoder->device.used = on_device;
    if (decoder->round.hit) {
        assert(draft->depth == policy->now && draft->place == decoder->n_context);
        decoder->drafter.n_calls = decoder->drafter.n_wasted = decoder->drafter.n_rows = 0;
        return GSL_SUCCESS;
    }
    draft->text = decoder->text;
    if (on_device) {
        spec_drafter_begin(draft, &decoder->drafter, decoder->n_context, policy);
        return spec_decode_device_draft(draft, &decoder->device, &decoder->device.chain,
                                        &decoder->drafter, decoder->context, chance, error);
    }
    return spec_drafter_draft(draft, &decoder->drafter, decoder->context, decoder->n_context,
                              policy, chance, error);
}

/* Drafts ahead after the context that full acceptance would give. The policy's next length then
 * depends on that context. */
static int draft_ahead(spec_decoder *decoder, spec_chance *chance, spec_error *error)
{
    const int n = decoder->draft.n_nodes;
    const spec_round accepted = {
        .n_drafted = n, .n_accepted = n, .n_tested = n, .n_emitted = n + 1};
    spec_policy *next = &decoder->guessed;
    spec_policy_copy(next, &decoder->policy);
    const int status = spec_policy_observe(next, &decoder->draft, &accepted, error);
    if (status != GSL_SUCCESS) return status;
    const int room = room_after(decoder, decoder->n_context + (size_t)n + 1);
    if (next->now > room) next->now = room;
    const spec_ahead_request request = {.chain = &decoder->draft,
                                        .context = decoder->context,
                                        .n = decoder->n_context,
                                        .next = next};
    return spec_decode_ahead_draft(&decoder->ahead, &decoder->drafter, &decoder->device, &request,
                                   chance, error);
}

static int begin_score(spec_decoder *decoder, spec_error *error)
{
    const spec_draft *draft = &decoder->draft;
    if (decoder->device.used)
        return spec_chain_score_begin(&decoder->device.chain, decoder->context, decoder->n_context,
                                      draft->token, draft->n_nodes, error);
    return spec_session_score_begin(
        &decoder->target,
        &(spec_score_request){.context = decoder->context,
                              .n_context = decoder->n_context,
                              .token = draft->token,
                              .opt_parent = draft->branches ? draft->parent : NULL,
                              .n_nodes = draft->n_nodes + draft->n_scouts,
                              .ret_row = decoder->target_row,
                              .scratch = decoder->target_store},
        error);
}

static int end_score(spec_decoder *decoder, spec_error *error)
{
    return decoder->device.used ? spec_chain_score_end(&decoder->device.chain, error)
                                : spec_session_score_end(&decoder->target, error);
}

/* Finishes the target's pass, which began at time `begun`, and drafts ahead in the meantime. */
static int score(spec_decoder *decoder, double *ret_scored, double begun, spec_chance *chance,
                 spec_error *error)
{
    const spec_clock *clock = &decoder->config.clock;
    spec_phases *phases = &decoder->phases;
    int status = GSL_SUCCESS, unheard = GSL_SUCCESS;
    double handed = begun, drafted = begun;
    SPEC_TRY(begin_score(decoder, error));
    if (decoder->ahead.on) {
        handed = spec_clock_read(clock);
        status = draft_ahead(decoder, chance, error);
        drafted = spec_clock_read(clock);
    }
    unheard = end_score(decoder, status == GSL_SUCCESS ? error : NULL);
    if (status == GSL_SUCCESS) status = unheard;
    *ret_scored = spec_clock_read(clock);
    phases->handed += handed - begun;
    phases->ahead += drafted - handed;
    phases->score += *ret_scored - begun - (drafted - handed);
done:
    return status;
}

/* Lets a learning draft learn from the round, and times this from `verified` on. The context grows
 * only afterwards, so a failure leaves the text unchanged. */
static int learn(spec_decoder *decoder, double *ret_learnt, double verified, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_learnt = verified;
    if (decoder->config.opt_online == NULL) return GSL_SUCCESS;
    SPEC_TRY(spec_online_draft_observe(decoder->config.opt_online,
                                       &(spec_online_round){.context = decoder->context,
                                                            .n = decoder->n_context,
                                                            .target_row = decoder->target_row,
                                                            .round = &decoder->round},
                                       error));
    *ret_learnt = spec_clock_read(&decoder->config.clock);
    decoder->phases.learn += *ret_learnt - verified;
done:
    return status;
}

static int verify(spec_decoder *decoder, spec_chance *chance, spec_error *error)
{
    if (decoder->device.used)
        return spec_decode_device_verify(&decoder->round, &decoder->device, &decoder->draft, chance,
                                         error);
    decoder->rule.verify(&decoder->round, &decoder->rule, &decoder->draft, decoder->target_row,
                         decoder->weight, chance);
    return GSL_SUCCESS;
}

int spec_decoder_round(spec_decoder *decoder, spec_chance *chance, spec_tally *opt_tally,
                       spec_error *error)
{
    spec_round *round = &decoder->round;
    const spec_clock *clock = &decoder->config.clock;
    int status = GSL_SUCCESS;
    SPEC_TRY(check_goes_on(decoder, error));
    SPEC_TRY(reserve(decoder, (size_t)decoder->policy.K + 1, error));
    const double begun = spec_clock_read(clock);

    /* The draft is cut only to stay within the windows, before anything is drawn. A policy could
     * set this length. A rule with a schedule accepts it, too: its state covers the positions of
     * the last draft that are still to come. That draft was within the window, and each token
     * emitted since has shortened both the state and the room by one. */
    spec_policy policy = decoder->policy;
    const int room = spec_decoder_room(decoder);
    if (policy.now > room) policy.now = room;

    SPEC_TRY(draft_round(decoder, &policy, chance, error));
    const double drafted = spec_clock_read(clock);
    double scored;
    SPEC_TRY(score(decoder, &scored, drafted, chance, error));
    SPEC_TRY(verify(decoder, chance, error));
    const double verified = spec_clock_read(clock);
    double learnt;
    SPEC_TRY(learn(decoder, &learnt, verified, error));
    assert(round->n_emitted == round->n_accepted + 1 && round->n_accepted <= round->n_drafted);
    const double time = round_time(decoder);
    SPEC_TRY(spec_policy_observe(&decoder->policy, &decoder->draft, round, error));

    int *end = decoder->context + decoder->n_context;
    for (int i = 0; i < round->n_emitted; i++) end[i] = round->token[i];
    decoder->n_context += (size_t)round->n_emitted;
    spec_decode_ahead_settle(&decoder->ahead, round);
    spec_drafter_observe(&decoder->drafter, &decoder->draft, decoder->target_row, round);

    if (opt_tally != NULL) {
        spec_tally_add(opt_tally, round);
        opt_tally->time += time;
    }
    decoder->phases.draft += drafted - begun;
    decoder->phases.rule += verified - scored;
    decoder->phases.rest += spec_clock_read(clock) - learnt;
done:
    if (status != GSL_SUCCESS) spec_decode_ahead_forget(&decoder->ahead);
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

bool spec_decoder_ended(const spec_decoder *decoder)
{
    for (int i = 0; i < decoder->round.n_emitted; i++)
        if (spec_model_ends_text(decoder->config.target, decoder->round.token[i])) return true;
    return false;
}

int spec_decode(spec_decoder *decoder, size_t n_tokens, int *ret_token, size_t *ret_n,
                spec_chance *chance, spec_tally *opt_tally, spec_error *error)
{
    const spec_model *target = decoder->config.target;
    const size_t start = decoder->n_context;
    size_t n = 0;
    bool ended = false;
    *ret_n = 0;
    while (n < n_tokens && !ended) {
        const int status = spec_decoder_round(decoder, chance, opt_tally, error);
        if (status != GSL_SUCCESS) return status;
        for (int i = 0; i < decoder->round.n_emitted && n < n_tokens && !ended; i++) {
            ret_token[n++] = decoder->round.token[i];
            ended = spec_model_ends_text(target, decoder->round.token[i]);
        }
    }
    if (decoder->n_context != start + n) spec_decode_ahead_forget(&decoder->ahead);
    decoder->n_context = start + n;
    /* The cut is fixed beforehand, so what follows has the target's law whatever was dropped. A
     * rule must forget state from the last round, because it may describe dropped tokens. */
    spec_rule_reset(&decoder->rule);
    *ret_n = n;
    return GSL_SUCCESS;
}

int spec_decode_plain(spec_decoder *decoder, size_t n_tokens, int *ret_token, size_t *ret_n,
                      spec_chance *chance, double *ret_time, spec_error *error)
{
    const spec_model *target = decoder->config.target;
    const bool argmax = decoder->rule.claim == SPEC_LOSSLESS_ARGMAX;
    spec_shared_noise noise = decoder->rule.noise;
    noise.text = decoder->text;
    noise.place = decoder->n_context;
    spec_chance shared = spec_chance_shared(&noise);
    if (noise.kind != SPEC_NOISE_NONE) chance = &shared;
    size_t n = 0;
    spec_decode_ahead_forget(&decoder->ahead);
    *ret_n = 0;
    *ret_time = 0.0;
    while (n < n_tokens) {
        int status = check_goes_on(decoder, error);
        if (status == GSL_SUCCESS) status = reserve(decoder, 1, error);
        if (status != GSL_SUCCESS) return status;
        const double *row = spec_session_row(&decoder->target, decoder->context, decoder->n_context,
                                             decoder->target_store, error);
        if (row == NULL) return GSL_EFAILED;
        const int token = argmax ? spec_row_argmax(row, target->vocab)
                                 : spec_verify_sample(row, target->vocab, chance);
        decoder->context[decoder->n_context++] = token;
        ret_token[n++] = token;
        if (spec_model_ends_text(target, token)) break;
    }
    *ret_n = n;
    *ret_time = (double)n;
    return GSL_SUCCESS;
}
