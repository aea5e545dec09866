/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advice.h"

#include "analysis/acceptance/round_times.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

/* The first token of an output comes from the prefill. If outputs have 50 tokens or more, first
 * tokens are at most this share of what an engine counts while it decodes. */
#define FIRST_TOKENS 0.02

static int check(const spec_advice_question *question, spec_error *error)
{
    if (!(question->error > 0.0 && question->error < 1.0))
        return spec_fail(error, GSL_EDOM, "confidence: must be between 0 and 1");
    if (question->plain_tokens_per_s <= 0.0 || isinf(question->plain_tokens_per_s))
        return spec_fail(error, GSL_EDOM, "plain tokens per second: must be positive");
    if (question->round_over_plain < 1.0 || isinf(question->round_over_plain))
        return spec_fail(error, GSL_EDOM,
                         "time of a round over a plain token: must be at least 1, not %g",
                         question->round_over_plain);
    if (question->K_high >= SPEC_ADVICE_K || question->K_low >= SPEC_ADVICE_K)
        return spec_fail(error, GSL_EDOM, "K: at most %d", SPEC_ADVICE_K - 1);
    if (question->K_high >= 0 && question->K_low > question->K_high)
        return spec_fail(error, GSL_EDOM, "K: %d is more than %d", question->K_low,
                         question->K_high);
    return GSL_SUCCESS;
}

static void forget(spec_advice *advice)
{
    static const spec_cluster_ratio none = {NAN, NAN, NAN, NAN, NAN, NAN};
    *advice = (spec_advice){
        .K = -1, .to_K = -1, .decides_K = -1, .verdict = SPEC_ADVICE_NOTHING, .alpha = none,
        .without_longest = none, .longest_share = NAN, .accepted_over_drafted = NAN, .missing = NAN,
        .mixture_z = NAN, .mixture = {NAN, NAN, NAN, NAN}, .plain_seconds = NAN, .running = NAN,
        .drift = {.p = 1.0, .before = NAN, .after = NAN}, .plain_running = NAN, .break_even = NAN,
        .gain = {NAN, NAN, NAN, NAN}, .loss = NAN};
}

/* Computes the seconds per token of plain decoding. */
static int plain_decoding(spec_advice *advice, const spec_observed_runs *runs,
                          const spec_advice_question *question)
{
    const spec_observed_run *plain = spec_observed_runs_find(runs, 0, -1);
    const spec_cluster_question seconds = {.passed = spec_cluster_column,
                                           .passed_arg = SPEC_SUM_BUSY,
                                           .tested = spec_cluster_column,
                                           .tested_arg = SPEC_SUM_BUSY_EMITTED};
    spec_cluster_ratio ratio;
    if (question->plain_tokens_per_s > 0.0) {
        advice->plain_seconds = 1.0 / question->plain_tokens_per_s;
        advice->plain_given = true;
    } else if (plain != NULL) {
        if (spec_observed_run_ratio(&ratio, plain, &seconds, question->error) != GSL_SUCCESS)
            return GSL_ENOMEM;
        if (ratio.value > 0.0) advice->plain_seconds = ratio.value;
    }
    return GSL_SUCCESS;
}

/* ---- draft lengths --------------------------------------------------------------------------- */

/* Computes tokens per round: 1 + K times the share of K tokens per pass that were accepted. The
 * interval of that share is formed on the scale of log-odds. A few requests may by chance include
 * none with low acceptance, which would have many rounds; so the low end of the interval allows for
 * one more request that accepts nothing. */
static int fill_tokens(spec_advice_length *length, const spec_observed_run *run, double error)
{
    enum { FEW = 20 };
    const spec_cluster_question accepted = {.passed = spec_cluster_column,
                                            .passed_arg = SPEC_SUM_ACCEPTED,
                                            .tested = spec_cluster_most,
                                            .tested_arg = length->K,
                                            .proportion = true};
    spec_cluster_ratio *tokens = &length->tokens;
    const int status = spec_observed_run_ratio(tokens, run, &accepted, error);
    tokens->value = 1.0 + length->K * tokens->value;
    tokens->low = 1.0 + length->K * tokens->low;
    tokens->high = 1.0 + length->K * tokens->high;
    tokens->se *= length->K;
    const double n = (double)run->n;
    if (run->requests && n < FEW && tokens->se > 0.0)
        tokens->low = fmin(tokens->low, (n + 1.0) / (n / tokens->value + 1.0));
    return status;
}

/* Fills the numbers of runs at this length. */
static int fill_run(spec_advice_length *length, const spec_observed_run *run, double error)
{
    length->source = SPEC_ADVICE_MEASURED;
    length->rounds = spec_observed_run_sum(run, SPEC_SUM_ROUNDS);
    length->drafted = spec_observed_run_sum(run, SPEC_SUM_DRAFTED);
    length->accepted = spec_observed_run_sum(run, SPEC_SUM_ACCEPTED);
    const double busy = spec_observed_run_sum(run, SPEC_SUM_BUSY),
                 passes = spec_observed_run_sum(run, SPEC_SUM_BUSY_ROUNDS);
    if (busy > 0.0 && passes > 0.0) length->seconds = busy / passes;
    return fill_tokens(length, run, error);
}

static int fill_length(spec_advice_length *length, spec_length_samples *samples)
{
    const spec_length_plan *plan = samples->plan;
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, length->K, -1);
    int status = GSL_SUCCESS;
    length->source = length->K < plan->longest ? SPEC_ADVICE_WITHIN : SPEC_ADVICE_BEYOND;
    length->seconds = NAN;
    if (run != NULL) {
        status = fill_run(length, run, plan->question->error);
        if (status != GSL_SUCCESS) return status;
    } else {
        const spec_block_interval tokens =
            spec_length_samples_interval(samples, length->K, SPEC_LENGTH_TOKENS);
        length->tokens = (spec_cluster_ratio){tokens.value, NAN, NAN, tokens.low, tokens.high, NAN};
        /* a wide interval may go beyond what a round can emit */
        if (tokens.low < 1.0) length->tokens.low = 1.0;
        if (tokens.high > length->K + 1.0) length->tokens.high = length->K + 1.0;
    }
    if (length->K == 0) length->tokens = (spec_cluster_ratio){1.0, 0.0, NAN, 1.0, 1.0, NAN};
    length->round_over_plain = (spec_block_interval){NAN, NAN, NAN, NAN};
    length->speedup = (spec_block_interval){NAN, NAN, NAN, NAN};
    if (plan->reference == 0) {
        length->round_over_plain =
            spec_length_samples_interval(samples, length->K, SPEC_LENGTH_TIME);
        if (length->K > 0) {
            length->round_over_plain.low *= 1.0 - FIRST_TOKENS;
            length->round_over_plain.high *= 1.0 + FIRST_TOKENS;
        }
        length->speedup = spec_length_samples_interval(samples, length->K, SPEC_LENGTH_SPEED);
        if (length->K == 0) length->speedup.low = length->speedup.high = 1.0;
    }
    return spec_advice_acceptance_at(length, plan);
}

static int fill_lengths(spec_advice *advice, spec_length_samples *samples)
{
    const spec_length_plan *plan = samples->plan;
    const spec_advice_question *question = plan->question;
    const int high = spec_length_plan_highest(plan);
    for (int K = question->K_low >= 0 ? question->K_low : 0; K <= high; K++) {
        if (question->without[K]) continue;
        spec_advice_length *length = &advice->length[advice->n++];
        length->K = K;
        if (fill_length(length, samples) != GSL_SUCCESS) return GSL_ENOMEM;
    }
    return GSL_SUCCESS;
}

int spec_advice_of(spec_advice *ret, const spec_observed_sums *sums,
                   const spec_observed_sums *opt_before, const spec_advice_question *question,
                   spec_error *error)
{
    spec_observed_runs runs = {0}, before = {0};
    spec_length_plan plan;
    spec_length_samples samples = {0};
    int status;
    forget(ret);
    SPEC_TRY(check(question, error));
    SPEC_TRY(spec_observed_runs_init(&runs, sums, error));
    SPEC_TRY(spec_length_plan_init(&plan, &runs, question));
    SPEC_TRY(plain_decoding(ret, &runs, question));
    if (plan.longest == 0) goto done;
    ret->K = plan.current;
    ret->running = spec_length_plan_running(&plan, plan.current, -1);
    ret->plain_running = spec_length_plan_running(&plan, 0, -1);
    ret->equal_rate = plan.equal_rate;
    SPEC_TRY(spec_length_samples_init(&samples, &plan));
    ret->over_plain = plan.reference == 0 && samples.speed[plan.current].speed.point > 0.0;
    SPEC_TRY(fill_lengths(ret, &samples));
    SPEC_TRY(spec_advice_acceptance(ret, &plan, sums));
    SPEC_TRY(spec_advice_choose(ret, &samples));
    SPEC_TRY(spec_advice_choose_by_batch(ret, &plan));
    if (plan.reference == 0)
        ret->break_even =
            spec_round_times_break_even(samples.speed[plan.current].time.point, plan.current);
    if (opt_before != NULL) {
        SPEC_TRY(spec_observed_runs_init(&before, opt_before, error));
        SPEC_TRY(spec_advice_compare(ret, &plan, &before));
    }
done:
    spec_length_samples_free(&samples);
    spec_observed_runs_free(&before);
    spec_observed_runs_free(&runs);
    if (status != GSL_SUCCESS) forget(ret);
    return status == GSL_ENOMEM ? spec_no_memory(error) : status;
}
