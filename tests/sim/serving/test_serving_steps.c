/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs that can be followed by hand: a step takes 1 s and a token 1/64 s, so times are exact. */
#include "tests/support/serving_setup.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

#define STEP "step=1s,token=15.625ms"
#define TOKEN 0.015625

static spec_serving_result run(const serving_setup *s)
{
    spec_serving_result result;
    assert_works(spec_serving_run(&result, &s->plan, 42, 0, NULL, &error));
    return result;
}

static void assert_equal(double got, double expected)
{
    if (got != expected) fail_msg("%.17g, not %.17g", got, expected);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

TEST(plain_decoding_takes_a_step_per_token)
{
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0.5s", "fixed?K=0", 24, 0.9);
    s.plan.slots = 4;
    const spec_serving_sums sums = serving_setup_sums(&s, 42, 0);
    const double t = 1.0 + 4 * TOKEN;
    assert_true(sums.requests == 300 && sums.steps == 75 * 24 && sums.rounds == 300 * 24);
    assert_true(sums.drafted == 0 && sums.accepted == 0 && sums.cut == 0 && sums.drafting == 0);
    assert_equal(sums.latency, 300 * 24 * t);
    assert_equal(sums.first_token, 300 * t);
    assert_equal(sums.per_token, 300 * t);
    assert_equal(sums.wait, 0.0);
    assert_equal(sums.extra, 300 * 24 * TOKEN);
    assert_equal(sums.in_system, 4 * sums.seconds);
}

TEST(acceptance_of_zero_and_one_are_exact)
{
    for (int alpha = 0; alpha <= 1; alpha++) {
        OWNED(serving_setup) s;
        serving_setup_init(&s, STEP, "round=0.5s,pass=0.25s", "fixed?K=4", 24, alpha);
        const spec_serving_sums sums = serving_setup_sums(&s, 42, 0);
        const uint64_t rounds = alpha == 0 ? 24 : 5; /* 5 tokens each, but 4 in the last one */
        const double t = 1.5 + 4 * 0.25 + 5 * TOKEN;
        assert_true(sums.rounds == 300 * rounds && sums.steps == 300 * rounds);
        assert_true(sums.accepted == (alpha == 0 ? 0 : sums.drafted));
        assert_true(sums.cut == (alpha == 0 ? 0 : 300u));
        assert_true(sums.passes == 4 * sums.steps && sums.drafting == sums.steps);
        assert_equal(sums.latency, 300 * (double)rounds * t);
    }
}

TEST(accepted_lengths_are_replayed_in_order)
{
    int64_t first[] = {0, 3};
    int8_t length[] = {2, 0, 7};
    const spec_accepted_lengths accepted = {.n = 1, .first = first, .length = length, .most = 7};
    const spec_request request = {.output = 13, .alpha = 0.5f, .replay = 0};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=4", 1, 0.5);
    serving_setup_list(&s, &request, 1);
    s.plan.opt_accepted = &accepted;
    const spec_serving_sums sums = serving_setup_sums(&s, 42, 0);
    /* 3 + 1 + 5 + 3 tokens, then one of the second round's lengths */
    assert_true(sums.rounds == 5 && sums.accepted == 8 && sums.cut == 0);
}

TEST(a_round_without_a_draft_replays_a_length_too)
{
    int64_t first[] = {0, 4};
    int8_t length[] = {3, 0, 2, 1};
    const spec_request requests[] = {{.output = 1, .replay = -1}, {.output = 4, .replay = 0}};
    for (int by_position = 0; by_position <= 1; by_position++) {
        const spec_accepted_lengths accepted = {
            .n = 1, .first = first, .length = length, .most = 3, .by_position = by_position};
        OWNED(serving_setup) s;
        serving_setup_init(&s, STEP, "round=0", "schedule:[[1,1,4],[2,2,0]]", 1, 0.5);
        serving_setup_list(&s, requests, 2);
        s.plan.slots = 2;
        s.plan.opt_accepted = &accepted;
        const spec_serving_sums sums = serving_setup_sums(&s, 42, 0);
        /* The first step has both requests but no draft, and uses up the length 3; then follow 1
         * and 2 of 3 tokens. */
        assert_true(sums.rounds == 4 && sums.accepted == 2 && sums.cut == 1);
    }
}

/* ---- the draft's cache ----------------------------------------------------------------------- */

/* Six steps of two requests whose drafts are all rejected; a request that is alone drafts two
 * tokens:
 *
 *     prompt of A; A; A and prompt of B; A, B without drafts; the same; A
 *
 * If it is fed, the draft computes 4, 0, 3, 2, 2, 0 more tokens, in three more passes. If it is
 * refilled, it is behind by the prompt of 4 tokens in the second step, and by 2 tokens in the last
 * one; dropped, in the last one by all 8. */
TEST(a_cache_of_the_draft_is_filled_as_it_says)
{
    static const struct {
        spec_draft_cache cache;
        int fed, passes, tokens;
    } known[] = {{SPEC_CACHE_FREE, 0, 0, 26},
                 {SPEC_CACHE_FED, 11, 3, 37},
                 {SPEC_CACHE_REFILLED, 6, 0, 32},
                 {SPEC_CACHE_DROPPED, 12, 0, 38}};
    const spec_request requests[] = {{.prompt = 4, .output = 6, .replay = -1},
                                     {.arrival = 2.5, .prompt = 3, .output = 3, .replay = -1}};
    for (int i = 0; i < 4; i++) {
        OWNED(serving_setup) s;
        serving_setup_init(&s, STEP, "round=0.5s,pass=0.25s,token=15.625ms",
                           "schedule:[[1,1,2],[2,9,0]]", 1, 0.5);
        serving_setup_list(&s, requests, 2);
        s.plan.slots = 4;
        s.plan.cache = known[i].cache;
        const spec_serving_sums sums = serving_setup_sums(&s, 42, 0);
        assert_true(sums.steps == 6 && sums.drafted == 6 && sums.fed == (uint64_t)known[i].fed);
        assert_true(sums.drafting == 3u + (unsigned)known[i].passes &&
                    sums.passes == 6u + (unsigned)known[i].passes);
        assert_equal(sums.seconds, 9.0 + 0.75 * known[i].passes + known[i].tokens * TOKEN);
        assert_equal(sums.step,
                     6.0 + 0.5 * (double)sums.drafting + 0.25 * (double)sums.passes + sums.extra);
    }
}

/* ---- prompts --------------------------------------------------------------------------------- */

TEST(prompts_are_computed_in_chunks_beside_decoding_requests)
{
    const spec_request requests[] = {{.prompt = 4, .output = 6, .replay = -1},
                                     {.prompt = 70, .output = 2, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, "step=1s,token=15.625ms,kv=7.8125ms", "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 2);
    s.plan.slots = 4;
    s.plan.budget = 33;
    s.plan.chunk = 30;
    OWNED(spec_serving_result) r = run(&s);
    /* steps: 4 + 29; 1 + 30 (reads 4 and 29); 1 + 11 (5 and 59); then both decode (6 and 70), and
     * the first one alone (7, 8) */
    const double kv = TOKEN / 2;
    const double t1 = 1 + 33 * TOKEN, t2 = 1 + 31 * TOKEN + 33 * kv, t3 = 1 + 12 * TOKEN + 64 * kv;
    const double t4 = 1 + 2 * TOKEN + 76 * kv, t5 = 1 + TOKEN + 7 * kv, t6 = 1 + TOKEN + 8 * kv;
    assert_true(r.n == 2 && r.request[0] == 1 && r.request[1] == 0 && r.sums.steps == 6);
    assert_equal(r.first_token[0], t1 + t2 + t3);
    assert_equal(r.latency[0], t1 + t2 + t3 + t4);
    assert_equal(r.first_token[1], t1);
    assert_equal(r.latency[1], t1 + t2 + t3 + t4 + t5 + t6);
    assert_equal(r.sums.step - 6.0, r.sums.extra);
    assert_true(r.sums.first == 2 && r.sums.rounds == 6 && r.sums.emitted == 8);
}

TEST(times_do_not_depend_on_how_late_requests_arrive)
{
    const double t = 1 + TOKEN;
    const spec_request requests[] = {{.arrival = 1e17, .output = 3, .replay = -1},
                                     {.arrival = 3e17, .output = 2, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 2);
    OWNED(spec_serving_result) r = run(&s);
    assert_equal(r.latency[0], 3 * t);
    assert_equal(r.latency[1], 2 * t);
    assert_equal(r.sums.in_system, 5 * t);
    assert_equal(r.sums.seconds, 3e17 + 2 * t);
}

TEST(every_third_time_is_kept)
{
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0.5s", "fixed?K=0", 24, 0.9);
    s.plan.slots = 4;
    s.plan.keep_every = 1;
    OWNED(spec_serving_result) all = run(&s);
    s.plan.keep_every = 3;
    OWNED(spec_serving_result) third = run(&s);
    assert_true(all.n == 300 && all.kept == 300 && third.n == 300 && third.kept == 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(third.request[i], all.request[3 * i]);
        assert_true(third.latency[i] == all.latency[3 * i]);
    }
}

TEST(requests_wait_for_a_slot_in_order_of_arrival)
{
    const double t = 1 + TOKEN;
    const spec_request requests[] = {{.arrival = 5.0, .output = 3, .replay = -1},
                                     {.arrival = 5.5, .output = 2, .replay = -1},
                                     {.arrival = 60.0, .output = 1, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 3);
    OWNED(spec_serving_result) r = run(&s);
    assert_equal(r.latency[0], 3 * t);
    assert_equal(r.latency[1], 5 * t - 0.5);
    assert_equal(r.latency[2], t);
    assert_true(isnan(r.per_token[2]) && r.sums.longer == 2);
    assert_equal(r.sums.wait, 3 * t - 0.5);
    assert_equal(r.sums.seconds, 60.0 + t);
    assert_equal(r.sums.step, 6 * t);
    assert_equal(r.sums.in_system, r.sums.latency);
}

/* Requests 1 and 2 are measured. The measured part lasts from t, where request 1 is seen, to 3 t,
 * where request 3 is; request 2 is followed beyond it. */
TEST(measured_requests_are_followed_to_their_end)
{
    const double t = 1 + TOKEN;
    const spec_request requests[] = {{.arrival = 0.0, .output = 1, .replay = -1},
                                     {.arrival = 0.5, .output = 2, .replay = -1},
                                     {.arrival = 1.5, .output = 3, .replay = -1},
                                     {.arrival = 2.5, .output = 4, .replay = -1},
                                     {.arrival = 3.5, .output = 5, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 5);
    s.plan.warm = 1;
    s.plan.measured = 2;
    OWNED(spec_serving_result) r = run(&s);
    assert_true(r.n == 2 && r.request[0] == 1 && r.request[1] == 2 && !r.grew);
    assert_equal(r.early, 3 * t - 0.5);
    assert_equal(r.late, 6 * t - 1.5);
    assert_true(r.sums.requests == 2 && r.sums.output_tokens == 5);
    assert_equal(r.sums.latency, 9 * t - 2.0);
    assert_equal(r.sums.wait, 4 * t - 2.0);
    assert_true(r.sums.steps == 2 && r.sums.emitted == 2 && r.sums.written == 2);
    assert_equal(r.sums.seconds, 2 * t);
    /* 1 and then 2 requests for a whole step each, and requests 2 and 3 from their arrivals on */
    assert_equal(r.sums.in_system, 3 * t + (2 * t - 1.5) + (3 * t - 2.5));
    assert_equal(r.sums.present, r.sums.in_system);
    assert_equal(r.sums.extra, 2 * TOKEN);
    s.plan.unfollowed = true;
    spec_serving_result_free(&r);
    r = run(&s);
    assert_true(r.n == 1 && r.sums.steps == 2);
    assert_equal(r.sums.latency, 3 * t - 0.5);
}

TEST(begun_requests_have_no_number_and_are_not_measured)
{
    const double t = 1 + TOKEN;
    const spec_request requests[] = {{.output = 2, .replay = -1, .begun = true},
                                     {.output = 3, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 2);
    OWNED(spec_serving_result) r = run(&s);
    assert_true(r.n == 1 && r.request[0] == 0 && r.sums.requests == 1 && r.sums.emitted == 5);
    assert_equal(r.sums.latency, 5 * t);
    assert_equal(r.sums.in_system, 7 * t);
    assert_equal(r.sums.present, 7 * t);
}

TEST(an_asynchronous_scheduler_sees_events_one_step_later)
{
    const double t = 1 + TOKEN;
    const spec_request requests[] = {{.arrival = 5.0, .output = 3, .replay = -1},
                                     {.arrival = 5.5, .output = 2, .replay = -1},
                                     {.arrival = 5.5, .output = 1, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 3);
    s.plan.asynchronous = true;
    s.plan.slots = 2;
    OWNED(spec_serving_result) r = run(&s);
    /* The second request misses the step at 5 + t, which is scheduled at 5. The first completes at
     * 5 + 3 t + TOKEN; its slot is free for the step after the next one. */
    assert_true(r.request[0] == 0 && r.request[1] == 1 && r.request[2] == 2);
    assert_equal(r.latency[0], 3 * t + TOKEN);
    assert_equal(r.latency[1], 4 * t + TOKEN - 0.5);
    assert_equal(r.latency[2], 5 * t + TOKEN - 0.5);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

TEST(the_youngest_request_is_preempted_and_recomputed)
{
    /* There are 5 blocks of 4 tokens. Both requests start with 2 blocks (for 5 tokens). At 9 tokens
     * each needs one more: the older one takes the last, and the younger one finds none and
     * preempts itself. */
    const spec_request requests[] = {{.prompt = 5, .output = 8, .replay = -1},
                                     {.prompt = 5, .output = 6, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 2);
    s.plan.slots = 2;
    s.plan.block = 4;
    s.plan.blocks = 5;
    OWNED(spec_serving_result) r = run(&s);
    const double prefill = 1 + 10 * TOKEN, both = 1 + 2 * TOKEN, one = 1 + TOKEN;
    /* Both have three rounds (contexts 5, 6, 7). At context 8 the younger one loses 8 tokens, and
     * the older one continues alone to its end, for 4 rounds. Then the younger one computes 9
     * tokens, which give it its fifth token, and has its last round. */
    const double alone = prefill + 3 * both + 4 * one;
    assert_true(r.sums.preempted == 1 && r.sums.recomputed_tokens == 8);
    assert_equal(r.latency[0], alone);
    assert_equal(r.latency[1], alone + (1 + 9 * TOKEN) + one);
    assert_equal(r.first_token[1], prefill);
    assert_true(r.sums.first == 3 && r.sums.emitted == 14 && r.sums.blocks_kept == 0);
    assert_true(r.sums.blocks_taken == r.sums.blocks_freed);
    assert_true(r.sums.blocks_in_use == 4 + 3 * 4 + 4 * 3 + 3 + 3);
}

TEST(a_request_enters_where_its_whole_prompt_fits)
{
    /* There are 8 blocks of 4 tokens. The first request has 5 of them, so 3 are free: the first
     * chunk of the second request would fit, but its prompt of 13 does not. */
    const spec_request requests[] = {{.prompt = 17, .output = 3, .replay = -1},
                                     {.prompt = 13, .output = 1, .replay = -1}};
    OWNED(serving_setup) s;
    serving_setup_init(&s, STEP, "round=0", "fixed?K=0", 1, 0.5);
    serving_setup_list(&s, requests, 2);
    s.plan.slots = 2;
    s.plan.block = 4;
    s.plan.blocks = 8;
    s.plan.chunk = 8;
    OWNED(spec_serving_result) r = run(&s);
    /* The first prompt takes its blocks chunk by chunk: the second request enters in step 1, when
     * 6 blocks are free, and takes chunks of 8 and 5. */
    assert_true(r.sums.steps == 5 && r.sums.preempted == 0);
    assert_equal(r.latency[0], (1 + 16 * TOKEN) + (1 + 13 * TOKEN));
    spec_serving_result_free(&r);
    /* Now 4 blocks are free in step 1, which both share; in step 2 the second request finds none
     * for its last chunk, and preempts itself. */
    s.plan.blocks = 6;
    r = run(&s);
    assert_true(r.sums.steps == 7 && r.sums.preempted == 1 && r.sums.recomputed_tokens == 8);
    spec_serving_result_free(&r);
    s.plan.chunk = 0; /* takes 5 of the 6 blocks at once */
    r = run(&s);
    assert_true(r.sums.steps == 4 && r.sums.preempted == 0);
    assert_equal(r.latency[1], (1 + 17 * TOKEN) + 2 * (1 + TOKEN) + (1 + 13 * TOKEN));
}

/* ---- drafts elsewhere ------------------------------------------------------------------------ */

TEST(half_batches_take_turns)
{
    for (int passes = 1; passes <= 8; passes *= 8) {
        OWNED(serving_setup) s;
        serving_setup_init(&s, STEP, passes == 1 ? "pass=15.625ms" : "pass=1s", "fixed?K=3", 24,
                           0.0);
        s.plan.slots = 5;
        s.plan.place = SPEC_DRAFT_HALVES;
        const spec_serving_sums sums = serving_setup_sums(&s, 42, 0);
        /* halves of 3 and 2 requests with 4 tokens each */
        const double V1 = 1 + 12 * TOKEN, V2 = 1 + 8 * TOKEN, D = passes == 1 ? 3 * TOKEN : 3.0;
        assert_equal(sums.step, (double)sums.steps * fmax(fmax(V1 + V2, D + V1), D + D));
    }
}
