/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/claim_quantities.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* The costs of SpecDecode-Bench: Llama-3.1-8B with EAGLE on an H100 [LiuX25]. */
static const char h100[] = "step=7.093ms,token=21.01us,kv=39.26ns", eagle[] = "round=2.135ms";

static void check(int status, const spec_error *error)
{
    if (status != GSL_SUCCESS) fail_msg("%s", error->text);
}

static spec_claim_value compute(const char *name, const char *cost, const char *draft,
                                spec_claim claim)
{
    spec_error error = {""};
    spec_claim_value value;
    spec_step_cost *made;
    const spec_claim_quantity *quantity = spec_claim_quantity_find(name, &error);
    if (quantity == NULL) fail_msg("%s", error.text);
    check(spec_step_cost_create(&made, cost, draft, &error), &error);
    claim.cost = made;
    claim.seed = 42;
    if (claim.spread == NULL) claim.spread = "one";
    if (claim.window == 0.0) claim.window = 1e9;
    if (claim.output == 0.0) claim.output = 256.0;
    check(quantity->compute(&value, &claim, &error), &error);
    assert_true(value.low <= value.value && value.value <= value.high);
    spec_step_cost_free(made);
    return value;
}

/* Claims, written as designated initialisers. */
#define EXACT(name, cost, draft, ...) compute(name, cost, draft, (spec_claim){__VA_ARGS__}).value

/* Numbers that were derived without this program, with as many digits as were written down. */
TEST(formulas_give_known_numbers)
{
    assert_prints(EXACT("capacity", h100, eagle, .alpha = 0.8, .K = 3, .prompt = 512.0), 1, "49.4");
    assert_prints(EXACT("capacity", h100, eagle, .alpha = 0.6, .K = 5, .prompt = 512.0), 1, "37.0");
    assert_prints(EXACT("break_even_batch", h100, eagle, .alpha = 0.6, .K = 3), 0, "162");
    assert_prints(EXACT("break_even_context", h100, eagle, .alpha = 0.8, .K = 3), 0, "287");
    assert_prints(EXACT("static_rounds", h100, eagle, .alpha = 0.8, .K = 4, .batch = 32.0), 2,
                  "1.12");
    assert_prints(EXACT("static_rounds", h100, eagle, .alpha = 0.8, .K = 4, .batch = 32.0,
                        .spread = "beta?concentration=5"),
                  2, "2.03");
    assert_prints(EXACT("implied_round", h100, eagle, .alpha = 0.71, .K = 2, .speedup = 0.71), 2,
                  "3.12");
    assert_prints(EXACT("implied_round", h100, eagle, .alpha = 0.8, .K = 3, .speedup = 1.38), 2,
                  "2.14");
    assert_prints(EXACT("ahead_gain", h100, eagle, .alpha = 0.9, .K = 4, .c = 0.1, .guess = 0.8,
                        .batch = 2.0),
                  3, "1.085");
    assert_prints(EXACT("floor", h100, eagle, .alpha = 0.6, .K = 5), 3, "0.397");
}

/* At the break-even batch and context the speed-up of tokens per second is 1. */
TEST(break_even_is_where_the_speedup_is_1)
{
    const double B = EXACT("break_even_batch", h100, eagle, .alpha = 0.7, .K = 5);
    assert_true(EXACT("tokens_speedup", h100, eagle, .alpha = 0.7, .K = 5, .batch = floor(B)) >=
                1.0);
    assert_true(EXACT("tokens_speedup", h100, eagle, .alpha = 0.7, .K = 5, .batch = ceil(B) + 1.0) <
                1.0);
    const double s = EXACT("break_even_context", h100, eagle, .alpha = 0.7, .K = 5);
    assert_near(EXACT("tokens_speedup", h100, eagle, .alpha = 0.7, .K = 5, .batch = 1e6,
                      .context = floor(s)),
                1.0, 1e-3);
    /* At the break-even, accepted/drafted equals the threshold. */
    assert_near(
        EXACT("threshold", h100, eagle, .alpha = 0.7, .K = 5, .batch = 1e6, .context = floor(s)),
        1.0, 3e-3);
}

TEST(a_draft_model_costs_its_own_passes)
{
    spec_error error = {""};
    spec_step_cost *draft;
    check(spec_step_cost_create(&draft, "step=1ms,token=10us,kv=1us", NULL, &error), &error);
    /* At alpha 1, K 2, batch 4 and context 100: 3 tokens in 10 + 12 + 40 ms and two passes of 1 ms
     * + 40 us + 4 * 60 us; without a draft, 10 + 4 + 40 ms. */
    assert_near(EXACT("tokens_speedup", "step=10ms,token=1ms,kv=100us", NULL, .alpha = 1.0, .K = 2,
                      .batch = 4.0, .context = 100.0, .window = 60.0, .opt_draft = draft),
                3.0 * 54.0 / (62.0 + 2.0 * 1.28), 1e-12);
    spec_step_cost_free(draft);
}

TEST(servers_that_share_one_request_lose_throughput)
{
    /* 10 servers; a token takes .8 * .1 + .2 = .28 steps of 1 + .01 tokens seconds. With 20
     * requests, plain servers have 2 each. */
    assert_near(EXACT("parallel_throughput", "step=1s,token=10ms", NULL, .alpha = 0.8, .c = 0.1,
                      .batch = 20.0),
                1.02 / (1.01 * 20.0 * 0.28), 1e-12);
    assert_near(EXACT("parallel_throughput", "step=1s,token=10ms", NULL, .alpha = 0.8, .c = 0.1,
                      .batch = 1.0),
                1.0 / 0.28, 1e-12);
}

TEST(lengths_below_the_optimum_lose)
{
    const char *const by_token[] = {"step=10ms,token=0.5ms", "token=0.1ms"},
                      *const by_pass[] = {"step=10ms,token=0.5ms", "pass=0.7ms"};
    assert_same(EXACT("stop_worst", by_token[0], by_token[1], .K = 4), 1.0);
    const double stop = EXACT("stop_worst", by_pass[0], by_pass[1], .K = 4),
                 common = EXACT("common_worst", by_pass[0], by_pass[1], .K = 4);
    assert_true(stop > 0.3 && stop < 0.95);
    assert_true(common > 0.5 && common < 0.95);
    assert_true(EXACT("stop_mean", by_pass[0], by_pass[1], .K = 4) > stop);
    assert_true(EXACT("common_mean", by_pass[0], by_pass[1], .K = 4) > common);
}

/* ---- simulated ------------------------------------------------------------------------------- */

/* The intervals come from other arrivals and another program: 1.350(8) and 0.490(24). */
TEST(the_engine_gives_known_speedups_of_latency, SLOW)
{
    const spec_claim at_35 = {.alpha = 0.6, .K = 3, .rate = 35.0, .prompt = 512.0, .output = 256.0};
    spec_claim value = at_35;
    spec_claim_value speedup = compute("latency_speedup", h100, eagle, value);
    assert_true(speedup.low < 1.36 && speedup.high > 1.34);
    assert_true(speedup.high - speedup.low < 0.05);
    value.K = 5;
    speedup = compute("latency_speedup", h100, eagle, value);
    assert_true(speedup.low < 0.52 && speedup.high > 0.46);
}

TEST(a_continuous_batch_waits_for_no_request)
{
    const spec_claim claim = {
        .alpha = 0.8, .K = 4, .batch = 32.0, .output = 64.0, .spread = "beta?concentration=5"};
    const spec_claim_value rounds = compute("continuous_rounds", h100, eagle, claim);
    assert_true(rounds.low < 1.002 && rounds.high > 0.998);
    assert_true(rounds.high - rounds.low < 0.01);
}

TEST(a_rate_above_the_capacity_is_refused)
{
    spec_error error = {""};
    spec_claim_value value;
    spec_step_cost *cost;
    check(spec_step_cost_create(&cost, h100, eagle, &error), &error);
    const spec_claim claim = {.alpha = 0.8,
                              .K = 3,
                              .rate = 60.0,
                              .prompt = 512.0,
                              .output = 256.0,
                              .spread = "one",
                              .cost = cost};
    assert_fails_with(
        spec_claim_quantity_find("latency_speedup", &error)->compute(&value, &claim, &error),
        GSL_EINVAL, "at or above the capacity at K = 0");
    spec_step_cost_free(cost);
}

/* Two requests, with two copies of each; steps computed by hand. */
TEST(replays_follow_the_accepted_lengths)
{
    /* After the prefill's token, the first request has rounds of 1 + 1 and 2 + 1 tokens (5 in all),
     * the second one rounds of 0 + 1 and 1 + 1. */
    int64_t begin[] = {0, 2, 4};
    int8_t length[] = {1, 2, 0, 1};
    float alpha[] = {0.5f, 0.5f};
    int32_t prompt[] = {10, 20}, output[] = {6, 4};
    const spec_accepted_lengths lengths = {.n = 2,
                                           .first = begin,
                                           .length = length,
                                           .most = 2,
                                           .alpha = alpha,
                                           .prompt = prompt,
                                           .output = output};
    /* Steps take 1 s, plus 1 s per round that drafts. Plain decoding: 6 and 4 steps for 2 * 6 and 2
     * * 4 tokens. With K = 2: 1 + 2 * 2 s for each. */
    const double plain = 12.0 / 6.0 + 8.0 / 4.0, with = 12.0 / 5.0 + 8.0 / 5.0;
    const spec_claim claim = {.K = 2, .batch = 2.0, .opt_accepted = &lengths};
    const spec_claim_value value = compute("replayed_speedup", "step=1s", "round=1s", claim);
    assert_near(value.value, with / plain, 1e-12);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

TEST(verdicts_need_the_whole_interval)
{
    static const struct {
        spec_claim_value value;
        spec_claim_relation relation;
        double printed;
        const char *verdict;
    } cases[] = {
        {{1.2, 1.1, 1.3}, SPEC_CLAIM_AT_LEAST, 1.0, "holds"},
        {{1.2, 0.9, 1.3}, SPEC_CLAIM_AT_LEAST, 1.0, "undecided"},
        {{0.8, 0.7, 0.9}, SPEC_CLAIM_AT_LEAST, 1.0, "refuted"},
        {{1.2, 1.1, 1.3}, SPEC_CLAIM_AT_MOST, 1.0, "refuted"},
        {{1.0, 1.0, 1.0}, SPEC_CLAIM_AT_MOST, 1.0, "holds"},
        {{1.0, 1.0, 1.0}, SPEC_CLAIM_AT_LEAST, 1.0, "holds"},
        {{1.0, 1.0, 1.0}, SPEC_CLAIM_MORE_THAN, 1.0, "refuted"},
        {{1.2, 0.9, 1.3}, SPEC_CLAIM_MORE_THAN, 1.0, "undecided"},
        {{2.05, 1.0, 3.0}, SPEC_CLAIM_IS, 2.0, "reproduced"},
        {{2.15, 1.0, 3.0}, SPEC_CLAIM_IS, 2.0, "differs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            spec_claim_verdict(&cases[i].value, cases[i].relation, cases[i].printed, 0.03),
            cases[i].verdict);
}

TEST(an_unknown_quantity_is_named)
{
    spec_error error = {""};
    assert_null(spec_claim_quantity_find("tokens_speedups", &error));
    assert_non_null(strstr(error.text, "there is no quantity 'tokens_speedups'"));
    assert_non_null(strstr(error.text, "tokens_speedup'"));
}
