/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_decoding.h"

#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "tools/bench/acceptance_theory.h"

#include <assert.h>
#include <gsl/gsl_randist.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The state of one way of decoding during a run. */
typedef struct {
    spec_timing_way *result;
    spec_decoder decoder;
    gsl_rng *rng;
    uint64_t seed;
    bool done;      /* it has finished this text */
    double *sum;    /* (SPEC_TIMING_FIELDS) sums over this text */
} runner;

typedef struct {
    const spec_timing_plan *plan;
    spec_timing *timed;
    runner *way; /* (n_ways) */
    spec_timing_passes target, draft;
    gsl_rng *rng;
    int *text;   /* (turn) */
    size_t n_prompt;
    double begun; /* start time, by the plan's clock */
    spec_error *error;
} run;

int spec_timing_column(int way, spec_timing_field field)
{
    return way * SPEC_TIMING_FIELDS + (int)field;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int add_width(spec_timing_plan *plan, int width, spec_error *error)
{
    int at = 0;
    while (at < plan->n_widths && plan->width[at] < width) at++;
    if (at < plan->n_widths && plan->width[at] == width) return GSL_SUCCESS;
    if (plan->n_widths == SPEC_TIMING_WIDTHS_MAX)
        return spec_fail(error, GSL_EINVAL, "more than %d widths", SPEC_TIMING_WIDTHS_MAX);
    memmove(plan->width + at + 1, plan->width + at,
            (size_t)(plan->n_widths - at) * sizeof plan->width[0]);
    plan->width[at] = width;
    plan->n_widths++;
    return GSL_SUCCESS;
}

/* Checks that the longest text that a way can write, including its last draft, fits the window. */
static int check_window(const run *r, const spec_model *opt_model, const char *which, int deepest)
{
    const size_t longest = spec_timing_prompts_longest(r->plan->prompts);
    const size_t needed = longest + (size_t)r->plan->tokens + (size_t)deepest;
    if (opt_model == NULL || opt_model->window == 0 || needed <= (size_t)opt_model->window)
        return GSL_SUCCESS;
    return spec_fail(
        r->error, GSL_EINVAL,
        "%d tokens after a prompt of %zu, with drafts of %d, are too long: the %s's context is %d; "
        "--tokens and --context make them shorter",
        r->plan->tokens, longest, deepest, which, opt_model->window);
}

/* Returns the K of a way: first the plan's K in order, then those above 0 again, for drafting
 * ahead. */
static int K_of(const spec_timing_plan *plan, int way)
{
    if (way <= plan->n_K) return plan->K[way > 0 ? way - 1 : 0];
    int at = -1;
    for (int left = way - plan->n_K; left > 0; left--)
        while (plan->K[++at] == 0) {}
    return plan->K[at];
}

static int open_way(run *r, int i)
{
    const spec_timing_plan *plan = r->plan;
    runner *way = &r->way[i];
    char name[32];
    spec_decoder_config config = plan->decoder;
    config.K = K_of(plan, i);
    config.clock = plan->clock;
    config.ahead = i > plan->n_K;
    if (i == 0) config.verify = SPEC_VERIFY_HOST;
    if (plan->one_session && i > 0)
        config.opt_beside = &r->way[i > plan->n_K + 1 ? plan->n_K + 1 : 0].decoder;
    snprintf(name, sizeof name,
             i == 0         ? "bench plain"
             : config.ahead ? "bench ahead K=%d"
                            : "bench K=%d",
             config.K);
    way->result = &r->timed->way[i];
    way->seed = spec_rng_named_seed(plan->seed, name);
    if ((way->rng = spec_rng_alloc()) == NULL)
        return spec_fail(r->error, GSL_ENOMEM, "out of memory");
    const int status = spec_decoder_init(&way->decoder, &config, r->error);
    if (status != GSL_SUCCESS) return status;
    way->result->K = i > 0 ? way->decoder.policy.K : 0;
    way->result->widest = i > 0 ? way->decoder.nodes + 1 : 1;
    way->result->ahead = config.ahead;
    way->result->device = way->decoder.device.on;
    return GSL_SUCCESS;
}

/* The sessions that single passes share with the decoders, if each model has only one. A draft that
 * reads the target's states lends none, because its passes are timed by themselves. NULL: the
 * passes open their own. */
static const spec_session *lent_target(const run *r)
{
    return r->plan->one_session ? &r->way[0].decoder.target : NULL;
}

static const spec_session *lent_draft(const run *r)
{
    const spec_decoder *decoder =
        &r->way[r->timed->n_ways > r->plan->n_K + 1 ? r->plan->n_K + 1 : 0].decoder;
    const bool can =
        r->plan->one_session && !decoder->shared && decoder->drafter.session.model != NULL;
    return can ? &decoder->drafter.session : NULL;
}

static int open_all(run *r)
{
    spec_timing *timed = r->timed;
    spec_timing_plan *plan = &timed->plan;
    int deepest = 0, status = GSL_SUCCESS;
    bool on_device = false;
    for (int i = 1; i < plan->n_widths; i++)
        if (plan->width[i] <= plan->width[i - 1])
            SPEC_TRY(spec_fail(r->error, GSL_EINVAL, "the widths of passes must ascend"));
    if (plan->n_widths > 0 &&
        (plan->width[0] < 1 || plan->width[plan->n_widths - 1] > SPEC_NODES_MAX + 1))
        SPEC_TRY(spec_fail(r->error, GSL_EINVAL, "a pass has 1 to %d tokens", SPEC_NODES_MAX + 1));
    for (int i = 0; i < timed->n_ways; i++) {
        SPEC_TRY(open_way(r, i));
        if (timed->way[i].K > deepest) deepest = timed->way[i].K;
        on_device = on_device || timed->way[i].device;
        SPEC_TRY(add_width(plan, timed->way[i].widest, r->error));
    }
    SPEC_TRY(add_width(plan, 2, r->error));
    SPEC_TRY(check_window(r, plan->decoder.target, "target", deepest));
    SPEC_TRY(check_window(r, plan->decoder.opt_draft, "draft", deepest));
    SPEC_TRY(spec_timing_passes_init(&r->target, plan->decoder.target, NULL, lent_target(r),
                                     plan->width, plan->n_widths, on_device, r->error));
    if (plan->decoder.opt_draft != NULL)
        SPEC_TRY(spec_timing_passes_init(&r->draft, plan->decoder.opt_draft, plan->decoder.target,
                                         lent_draft(r), plan->width, plan->n_widths, on_device,
                                         r->error));
    timed->first_target = spec_timing_column(timed->n_ways, 0);
    timed->first_draft = timed->first_target + SPEC_TIMING_SUM * plan->n_widths;
    timed->pick = timed->first_draft + SPEC_TIMING_SUM * plan->n_widths;
    timed->queued = timed->pick + SPEC_TIMING_SUM;
    timed->passes_load = timed->queued + SPEC_TIMING_SUM;
    timed->spin = timed->passes_load + 3;
    timed->n_columns = timed->spin + 1;
    r->text = malloc((size_t)plan->turn * sizeof *r->text);
    r->rng = spec_rng_alloc();
    if (r->text == NULL || r->rng == NULL)
        SPEC_TRY(spec_fail(r->error, GSL_ENOMEM, "out of memory"));
done:
    return status;
}

/* ---- a turn of a way ------------------------------------------------------------------------- */

/* Adds up what the process used since a reading, in three sums: wall, processor and switched. */
static void add_load(double sum[3], const run *r, const spec_load_reading *begun)
{
    const spec_load_reading now = spec_machine_load_read(&r->plan->load);
    sum[0] += now.wall - begun->wall;
    sum[1] += now.processor - begun->processor;
    sum[2] += now.switched - begun->switched;
}

/* Returns how many tokens the text still needs. */
static size_t missing(const run *r, const runner *way)
{
    const size_t n = way->decoder.n_context - r->n_prompt, wanted = (size_t)r->plan->tokens;
    return n < wanted ? wanted - n : 0;
}

static int plain_turn(run *r, runner *way)
{
    const spec_clock *clock = &r->plan->clock;
    const spec_model *target = way->decoder.config.target;
    spec_chance chance = spec_chance_sampled(way->rng);
    size_t n;
    double time;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_decode_plain(&way->decoder, 1, r->text, &n, &chance, &time, r->error));
    way->sum[SPEC_TIMING_ALL_TOKENS]++;
    way->done = spec_model_ends_text(target, r->text[0]) || missing(r, way) == 0;
    if (way->done) goto done;
    const size_t left = missing(r, way), turn = (size_t)r->plan->turn;
    const spec_load_reading load = spec_machine_load_read(&r->plan->load);
    const double begun = spec_clock_read(clock);
    SPEC_TRY(spec_decode_plain(&way->decoder, left < turn ? left : turn, r->text, &n, &chance,
                               &time, r->error));
    way->sum[SPEC_TIMING_SECONDS] += spec_clock_read(clock) - begun;
    add_load(way->sum + SPEC_TIMING_WALL, r, &load);
    way->sum[SPEC_TIMING_TOKENS] += (double)n;
    way->sum[SPEC_TIMING_ALL_TOKENS] += (double)n;
    way->done = spec_model_ends_text(target, r->text[n - 1]) || missing(r, way) == 0;
done:
    return status;
}

/* Adds the accepted tokens of the last round, and their acceptance probabilities according to the
 * rows: docs/formulas/statistics.md#bootstrap. */
static void check_round(runner *way)
{
    spec_timing_way *result = way->result;
    const spec_decoder *decoder = &way->decoder;
    const spec_draft *draft = &decoder->draft;
    const bool one_by_one =
        decoder->drafter.widest <= 1 &&
        (decoder->rule.decide != NULL || decoder->rule.verify == spec_verify_token.verify);
    result->checked++;
    result->accepted += (uint64_t)decoder->round.n_accepted;
    for (int i = 0; i < decoder->round.n_tested; i++) {
        const double chance = decoder->device.used ? decoder->device.chance[i]
                              : !one_by_one || draft->row[i] == NULL
                                  ? NAN
                                  : spec_acceptance_theory_single(
                                        &decoder->rule, !draft->sampled[i], decoder->target_row[i],
                                        draft->row[i], draft->vocab);
        result->chances += chance;
        result->variance +=
            chance < 1.0 ? chance * (1.0 - chance) : 0.0; /* an overlap may round to above 1 */
    }
}

static int one_round(run *r, runner *way)
{
    spec_decoder *decoder = &way->decoder;
    spec_chance chance = spec_chance_sampled(way->rng);
    const int status = spec_decoder_round(decoder, &chance, &way->result->tally, r->error);
    if (status != GSL_SUCCESS) return status;
    const spec_round *round = &decoder->round;
    way->sum[SPEC_TIMING_ALL_TOKENS] += round->n_emitted;
    way->sum[SPEC_TIMING_ALL_ROUNDS]++;
    way->sum[SPEC_TIMING_ALL_HITS] += round->hit;
    way->done = missing(r, way) == 0 || spec_decoder_ended(decoder);
    return status;
}

/* Returns whether the draft's next pass has more than one token: it has not yet read the last token
 * of a draft that was accepted in full, unless in a pass behind the end of a text. A draft head
 * reads every accepted token again. */
static bool falls_behind(const spec_decoder *decoder)
{
    const int n = decoder->draft.n_nodes, accepted = decoder->round.n_accepted;
    const bool whole = accepted == n && decoder->drafter.n_wasted == 0;
    const spec_model *draft = decoder->config.opt_draft;
    return n > 0 && (whole || (draft != NULL && draft->kind->reads_target && accepted > 0));
}

/* Adds draft calls, and how many of them the host waits for. */
static void add_calls(double sum[2], int calls, int most_waits)
{
    sum[0] += calls;
    sum[1] += calls < most_waits ? calls : most_waits;
}

static int speculative_turn(run *r, runner *way)
{
    const spec_clock *clock = &r->plan->clock;
    spec_decoder *decoder = &way->decoder;
    double *sum = way->sum;
    int status = GSL_SUCCESS;
    SPEC_TRY(one_round(r, way));
    check_round(way);
    const spec_model *draft = decoder->config.opt_draft;
    const bool keeps = draft != NULL && draft->order < 0 &&
                       (!decoder->shared || draft->kind->reads_target) && !decoder->ahead.on;
    bool behind = falls_behind(decoder);
    decoder->phases = (spec_phases){0};
    const spec_load_reading load = spec_machine_load_read(&r->plan->load);
    const double begun = spec_clock_read(clock);
    for (int tokens = 0; tokens < r->plan->turn && !way->done;) {
        SPEC_TRY(one_round(r, way));
        tokens += decoder->round.n_emitted;
        sum[SPEC_TIMING_TOKENS] += decoder->round.n_emitted;
        sum[SPEC_TIMING_ROUNDS]++;
        add_calls(sum + SPEC_TIMING_CALLS, decoder->drafter.n_calls + decoder->drafter.n_wasted,
                  decoder->device.used ? 1 : INT_MAX);
        add_calls(sum + SPEC_TIMING_CALLS_AHEAD, decoder->ahead.n_calls + decoder->ahead.n_wasted,
                  decoder->device.used ? 2 : INT_MAX);
        sum[SPEC_TIMING_CAUGHT_UP] += behind && keeps && decoder->drafter.n_calls > 0;
        way->result->width[decoder->draft.n_nodes + decoder->draft.n_scouts]++;
        behind = falls_behind(decoder);
    }
    sum[SPEC_TIMING_SECONDS] += spec_clock_read(clock) - begun;
    add_load(sum + SPEC_TIMING_WALL, r, &load);
    sum[SPEC_TIMING_DRAFT] += decoder->phases.draft;
    sum[SPEC_TIMING_VERIFY] += decoder->phases.score;
    sum[SPEC_TIMING_AHEAD] += decoder->phases.ahead;
    sum[SPEC_TIMING_HANDED] += decoder->phases.handed;
    sum[SPEC_TIMING_RULE] += decoder->phases.rule;
done:
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int time_passes(run *r, double *block)
{
    const spec_timing *timed = r->timed;
    const spec_decoder *plain = &r->way[0].decoder;
    const spec_clock *clock = &r->plan->clock;
    const spec_load_reading load = spec_machine_load_read(&r->plan->load);
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_timing_passes_visit(&r->target, (spec_timing_sum *)(block + timed->first_target),
                                      (spec_timing_sum *)(block + timed->pick), plain->context,
                                      plain->n_context, clock, r->rng, r->error));
    if (r->plan->decoder.opt_draft != NULL) {
        SPEC_TRY(spec_timing_passes_visit(
            &r->draft, (spec_timing_sum *)(block + timed->first_draft), NULL, plain->context,
            plain->n_context, clock, r->rng, r->error));
        SPEC_TRY(spec_timing_passes_queued(&r->draft, (spec_timing_sum *)(block + timed->queued),
                                           plain->context, plain->n_context, clock, r->rng,
                                           r->error));
    }
    add_load(block + timed->passes_load, r, &load);
done:
    return status;
}

/* Decodes one prompt in all ways; `block` is zeroed. Strategies that learn from earlier texts
 * forget them before a prompt is repeated, because at temperature 0 its text would be known. */
static int decode_text(run *r, int text, double *block)
{
    const spec_timing_prompts *prompts = r->plan->prompts;
    const int n_ways = r->timed->n_ways, prompt = text % prompts->n;
    int order[SPEC_TIMING_SPEEDS_MAX + 2], status = GSL_SUCCESS, left = n_ways;
    r->n_prompt = prompts->length[prompt];
    for (int i = 0; i <= n_ways; i++) order[i] = i;
    for (int i = 0; i < n_ways; i++) {
        runner *way = &r->way[i];
        way->done = false;
        way->sum = block + spec_timing_column(i, 0);
        way->decoder.text = (uint64_t)text;
        spec_rng_stream(way->rng, way->seed, (uint64_t)text);
        if (prompt == 0) SPEC_TRY(spec_decoder_forget(&way->decoder, r->error));
        SPEC_TRY(spec_decoder_reset(&way->decoder, prompts->token[prompt], prompts->length[prompt],
                                    r->error));
    }
    while (left > 0) {
        gsl_ran_shuffle(r->rng, order, (size_t)n_ways + 1, sizeof order[0]);
        for (int k = 0; k <= n_ways; k++) {
            SPEC_PASS(spec_stop_check(r->plan->opt_stop, r->error));
            if (order[k] == n_ways) {
                SPEC_TRY(time_passes(r, block));
                continue;
            }
            runner *way = &r->way[order[k]];
            if (way->done) continue;
            SPEC_TRY(order[k] == 0 ? plain_turn(r, way) : speculative_turn(r, way));
            left -= way->done;
        }
    }
done:
    return status;
}

/* Decodes one text before the measurement, so that all memory has been touched once. */
static int warm_up(run *r, double *block)
{
    spec_timing *timed = r->timed;
    spec_timing_plan *plan = &timed->plan;
    const int tokens = plan->tokens;
    plan->tokens = tokens < plan->turn ? tokens : plan->turn;
    spec_rng_stream(r->rng, spec_rng_named_seed(plan->seed, "bench order"), 0);
    const int status = decode_text(r, 0, block);
    plan->tokens = tokens;
    for (int i = 0; i < timed->n_ways; i++) {
        const spec_timing_way *way = &timed->way[i];
        timed->way[i] = (spec_timing_way){
            .ahead = way->ahead, .device = way->device, .K = way->K, .widest = way->widest};
    }
    return status;
}

static int decode_all(run *r)
{
    spec_timing *timed = r->timed;
    const spec_timing_plan *plan = r->plan;
    const size_t width = (size_t)timed->n_columns;
    int status = GSL_SUCCESS, capacity = 0;
    double begun = 0.0, busy = NAN;
    spec_load_reading whole = {NAN, NAN, NAN};
    for (int text = -1; text < plan->texts; text++) {
        if (timed->n_blocks + 1 >= capacity) {
            capacity = 2 * capacity + 16;
            double *block = realloc(timed->block, (size_t)capacity * width * sizeof *block);
            if (block == NULL)
                SPEC_TRY(spec_fail(r->error, GSL_ENOMEM, "out of memory for %d texts", capacity));
            timed->block = block;
        }
        double *block = timed->block + (size_t)timed->n_blocks * width;
        memset(block, 0, width * sizeof *block);
        if (text < 0) {
            SPEC_TRY(warm_up(r, block));
            timed->first_spin = spec_machine_load_spin(&plan->load);
            busy = spec_machine_load_busy(&plan->load);
            whole = spec_machine_load_read(&plan->load);
            begun = spec_clock_read(&plan->clock);
            continue;
        }
        SPEC_TRY(decode_text(r, text, block));
        block[timed->spin] = spec_machine_load_spin(&plan->load);
        timed->n_blocks++;
        timed->elapsed = spec_clock_read(&plan->clock) - begun;
        const double limit = plan->seconds * timed->n_ways,
                     spent = begun - r->begun + timed->elapsed,
                     share = limit > 0.0 ? fmin(spent / limit, 1.0) : 0.0;
        if (plan->opt_progress != NULL)
            plan->opt_progress(plan->context, fmax(share, (double)timed->n_blocks / plan->texts));
        const double one_more = spent + timed->elapsed / timed->n_blocks;
        if (limit > 0.0 && one_more > limit && timed->n_blocks >= 2) break;
    }
    const spec_load_reading now = spec_machine_load_read(&plan->load);
    timed->whole = (spec_load_reading){now.wall - whole.wall, now.processor - whole.processor,
                                       now.switched - whole.switched};
    timed->busy = spec_machine_load_busy(&plan->load) - busy;
done:
    return status;
}

int spec_timing_init(spec_timing *timed, const spec_timing_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(plan->n_K >= 1 && plan->n_K <= SPEC_TIMING_K_MAX && plan->prompts->n >= 1 &&
           plan->texts >= 2 && plan->tokens >= 1 && plan->turn >= 1);
    *timed = (spec_timing){.plan = *plan, .n_ways = plan->n_K + 1};
    for (int i = 0; i < plan->n_K; i++) timed->n_ways += plan->decoder.ahead && plan->K[i] > 0;
    run r = {.plan = &timed->plan,
             .timed = timed,
             .begun = spec_clock_read(&plan->clock),
             .error = error};
    timed->way = calloc((size_t)timed->n_ways, sizeof *timed->way);
    r.way = calloc((size_t)timed->n_ways, sizeof *r.way);
    if (timed->way == NULL || r.way == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(open_all(&r));
    SPEC_TRY(spec_timing_limit_init(&timed->target_limit, plan->decoder.target, NULL, error));
    SPEC_TRY(spec_timing_limit_init(&timed->draft_limit, plan->decoder.opt_draft,
                                    &timed->target_limit, error));
    SPEC_TRY(decode_all(&r));
done:
    spec_timing_passes_free(&r.target);
    spec_timing_passes_free(&r.draft);
    for (int i = timed->n_ways;
         r.way != NULL && i-- > 0;) { /* free borrowers before the owners of their sessions */
        spec_decoder_free(&r.way[i].decoder);
        if (r.way[i].rng != NULL) gsl_rng_free(r.way[i].rng);
    }
    if (r.rng != NULL) gsl_rng_free(r.rng);
    free(r.way);
    free(r.text);
    if (status != GSL_SUCCESS) spec_timing_free(timed);
    return status;
}

void spec_timing_free(spec_timing *timed)
{
    free(timed->way);
    free(timed->block);
    *timed = (spec_timing){0};
}
