/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/drawing_backend.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/timing_workshop.h"
#include "tools/bench/timing_prediction.h"
#include "tools/bench/timing_report.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(measured_speed_is_the_one_that_was_programmed)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    w->plan.n_K = 5;
    for (int K = 0; K < 5; K++) w->plan.K[K] = K;
    workshop_run(w);
    const spec_timing_prediction *p = &w->prediction;
    assert_int_equal(p->n_speeds, 5);
    assert_near(p->plain.value, 0.0271, 1e-9);
    assert_near(p->c.value, 0.00385 / 0.0271, 1e-9);
    assert_within(p->alpha, 0.7, 5.0 * sqrt(0.7 * 0.3 / 10000.0)); /* over 10,000 tests */
    for (int K = 0; K < 5; K++) {
        const spec_timing_speed *s = &p->speed[K];
        assert_int_equal(s->way->K, K);
        assert_within(s->speedup.value, workshop_speedup(w, K), 5.0 * s->speedup.se + 1e-12);
        assert_true(s->speedup.se < 0.03 * s->speedup.value);
        assert_true(s->speedup.low <= s->speedup.value && s->speedup.value <= s->speedup.high);
        assert_within(s->tokens_per_round.value, spec_capped_geometric_mean(0.7, K),
                      5.0 * s->tokens_per_round.se + 1e-12);
        assert_near(s->tokens_theorem, spec_capped_geometric_mean(p->alpha, K), 1e-14);
        assert_near(s->speedup_theorem, spec_speedup(p->alpha, K, p->c.value), 1e-14);
        assert_within(s->tokens_by_depth, s->tokens_theorem, 0.1);

        /* Single passes give the times of the round's parts, to the last digit. */
        assert_near(s->round.draft, s->draft_costed, 1e-9);
        assert_near(s->round.score, s->verify_costed, 1e-9);
        assert_near(s->verify_costed, 0.0271 + K * 0.0013, 1e-9);
        assert_within(s->round.rule + s->round.rest, 0.0, 1e-12);
        assert_near(s->speedup_costed,
                    s->tokens_by_depth * 0.0271 / (s->round.draft + s->round.score), 1e-9);
        if (K > 0) assert_near(s->c_in_run, s->round.draft / K / 0.0271, 1e-9);
        else assert_nan(s->c_in_run);

        const double gaps =
            s->gap_tokens * s->gap_draft * s->gap_verify * s->gap_rule * s->gap_rest;
        assert_near(gaps * s->speedup_theorem, s->speedup.value, 1e-9);
        assert_true(fabs(s->beta_z) < 5.0);
    }
    for (int i = 0; i < p->n_passes; i++) {
        const int n = p->pass[i].width;
        assert_near(p->pass[i].target, 0.0271 + (n - 1) * 0.0013, 1e-9);
        assert_near(p->pass[i].target_ratio.value, 1.0 + (n - 1) * 0.0013 / 0.0271, 1e-9);
        assert_near(p->pass[i].draft_ratio.value, 1.0 + (n - 1) * 0.0002 / 0.00385, 1e-9);
        assert_true(p->pass[i].target_ratio.se < 1e-9);
    }
    assert_int_equal(p->pass[0].width, 1);
    assert_int_equal(p->n_passes, 5);
    workshop_free(w);
}

/* In rounds a pass of the target takes .9 of its time alone, and the first one of a draft 1.2: from
 * passes alone, predictions would be over 4 % too low. */
TEST(predictions_take_the_caches_of_rounds_from_the_nearest_other_K)
{
    const spec_model *last = NULL;
    workshop *w = workshop_init(0.0013, 0.0002);
    w->target.opt_last = w->draft.opt_last = &last;
    w->target.after_other = 0.9;
    w->draft.after_other = 1.2;
    w->plan.n_K = 3;
    for (int i = 0; i < 3; i++) w->plan.K[i] = 2 + 2 * i;
    workshop_run(w);
    for (int i = 0; i < 3; i++) {
        const spec_timing_speed *s = &w->prediction.speed[i];
        const double round = s->round.draft + s->round.score;
        assert_near(s->round.score, 0.9 * s->verify_costed, 1e-9);
        assert_true((s->draft_costed + s->verify_costed) / round > 1.04);
        assert_within(s->speedup_costed, s->tokens_by_depth * 0.0271 / round,
                      0.02 * s->speedup_costed);
    }
    const spec_timing_speed *s = w->prediction.speed;
    const double drafting = s[1].round.draft / s[1].draft_costed;
    assert_near(s[0].speedup_costed,
                s[0].tokens_by_depth * 0.0271 /
                    (drafting * s[0].draft_costed + 0.9 * s[0].verify_costed),
                1e-9);
    workshop_free(w);
}

/* The same K drafted ahead is no other K. */
TEST(with_a_single_K_predictions_have_passes_alone)
{
    const spec_model *last = NULL;
    workshop *w = workshop_init(0.0013, 0.0002);
    w->target.opt_last = w->draft.opt_last = &last;
    w->target.after_other = w->draft.after_other = 1.1;
    w->plan.decoder.ahead = true;
    workshop_run(w);
    const spec_timing_speed *s = w->prediction.speed;
    assert_int_equal(w->prediction.n_speeds, 2);
    assert_near(s->speedup_costed,
                s->tokens_by_depth * 0.0271 / (s->draft_costed + s->verify_costed), 1e-9);
    workshop_free(w);
}

/* If a pass costs the same for every width, and the draft catches up for nothing, the speed-up is
 * that of Theorem 3.8. */
TEST(with_flat_costs_the_full_model_is_theorem_3_8)
{
    workshop *w = workshop_init(0.0, 0.0);
    workshop_run(w);
    const spec_timing_speed *s = &w->prediction.speed[0];
    assert_near(s->speedup_costed,
                spec_speedup_from_emitted(s->tokens_by_depth, 4, 0.00385 / 0.0271), 1e-9);
    assert_within(s->speedup.value, spec_speedup(0.7, 4, 0.00385 / 0.0271), 5.0 * s->speedup.se);
    assert_near(s->gap_draft, 1.0, 1e-9);
    assert_near(s->gap_verify, 1.0, 1e-9);
    assert_true(s->gap_rule == 1.0);
    workshop_free(w);
}

/* Runs each K with and without drafting ahead, with the target on a device of its own or not; the
 * draft's most probable token is the bonus with probability .3. Parts of a round equal the single
 * passes and the programmed times. */
TEST(drafting_ahead_is_measured_beside_the_ordinary_way)
{
    for (int alone = 0; alone < 2; alone++) {
        workshop *w = workshop_init(0.0013, 0.0002);
        const int K[] = {0, 2, 9}, n_K = 3;
        w->plan.n_K = n_K;
        memcpy(w->plan.K, K, sizeof K);
        w->plan.decoder.ahead = true;
        if (alone) w->plan.decoder.target = paced_model_alone(&w->target);
        workshop_run(w);
        const spec_timing_prediction *p = &w->prediction;
        assert_int_equal(p->n_speeds, 5);
        for (int i = 0; i < 5; i++) {
            const spec_timing_speed *s = &p->speed[i];
            const spec_timing_way *way = s->way;
            const double n = (double)way->tally.rounds, c = p->c.value;
            assert_int_equal(way->K, K[i < n_K ? i : i - n_K + 1]);
            assert_int_equal(way->ahead, i >= n_K);
            const double gaps =
                s->gap_tokens * s->gap_draft * s->gap_verify * s->gap_rule * s->gap_rest;
            assert_near(gaps * s->speedup_theorem, s->speedup.value, 1e-9);
            assert_near(s->round.draft, s->draft_costed, 1e-9);
            assert_near(s->round.ahead, s->ahead_costed, 1e-9);
            assert_near(s->round.score, s->verify_costed, 1e-9);
            assert_true(fabs(s->beta_z) < 5.0);
            if (!way->ahead) {
                assert_nan(s->hit.value);
                assert_nan(s->gain.value);
                assert_int_equal(way->tally.hits, 0);
                assert_near(s->speedup_theorem, spec_speedup(p->alpha, way->K, c), 1e-13);
                continue;
            }
            const double verify = 0.0271 + way->K * 0.0013, during = (way->K + 1) * 0.00385;
            assert_near(s->handed, alone ? 0.0 : 1.0, 1e-9);
            assert_near(s->round.ahead, during, 1e-9);
            assert_within(s->round.score, alone ? fmax(0.0, verify - during) : verify, 1e-12);
            const double after = 1.0 - 40.0 / n; /* rounds that are not the first of their text */
            const double hit = after * spec_ahead_hit(0.7, way->K, 0.3);
            assert_within(s->hit.value, hit, 5.0 * sqrt(hit * (1.0 - hit) / n));
            assert_near(s->hit.value, (double)way->tally.hits / n, 1e-14);
            /* Rounds are independent here, so an interval by texts is as wide as one by rounds. */
            assert_within((s->hit.high - s->hit.low) / (2.0 * 1.96 * sqrt(hit * (1.0 - hit) / n)),
                          1.0, 0.4);
            assert_near(s->hit_predicted, after * spec_ahead_hit(p->alpha, way->K, p->guess),
                        1e-14);
            assert_near(s->speedup_theorem,
                        spec_ahead_speedup(p->alpha, way->K, c, p->guess, s->handed), 1e-14);
            const double round =
                spec_ahead_round(spec_ahead_hit(0.7, way->K, 0.3), way->K * 0.00385, during, verify,
                                 alone ? 0.0 : verify);
            assert_within(s->speedup.value,
                          spec_capped_geometric_mean(0.7, way->K) * 0.0271 / round,
                          5.0 * s->speedup.se);
            /* With two devices drafting ahead gains, with one it loses. */
            const spec_timing_speed *before = &p->speed[i - n_K + 1];
            const double ordinary = before->speedup.value;
            assert_near(s->gain.value,
                        s->speedup.value / s->tokens_per_round.value /
                            (ordinary / before->tokens_per_round.value),
                        1e-12);
            const double gain = (way->K * 0.00385 + verify) / round;
            assert_within(s->gain.value, gain, 5.0 * s->gain.se);
            /* independent of the random number of tokens */
            assert_true(s->gain.se < 0.5 * s->speedup.se);
            assert_near(s->gain_predicted, s->speedup_theorem / before->speedup_theorem, 1e-12);
            assert_within(s->gain_costed, gain,
                          5.0 * s->gain.se +
                              /* it depends on the measured hits, not on the random number of
                               * tokens */
                              0.01);
            assert_true(s->gain.low < s->gain.value && s->gain.value < s->gain.high);
            assert_true(alone ? s->speedup.value > ordinary || way->K == 9
                              : s->speedup.value < ordinary);
        }
        assert_within(p->guess, 0.3, 5.0 * sqrt(0.21 / 1000.0));
        workshop_free(w);
    }
}

/* Chains that are verified on the device are the same, and are compared with the acceptance
 * probabilities of the device. */
TEST(a_device_verifies_the_same_chains)
{
    spec_model *target, *draft;
    const char *spec = "random?dim=32&layers=2&heads=2&ffn=32&vocab=16&context=128&type=f32&seed=1";
    assert_int_equal(spec_model_open(&target, spec, NULL, spec_test_context(0), NULL), GSL_SUCCESS);
    assert_int_equal(spec_model_open(&draft, "layers?exit=1&temperature=0.8", target,
                                     spec_test_context(0), NULL),
                     GSL_SUCCESS);
    spec_tally tally[2];
    drawing_backend drawing; /* must outlive the models on it */
    for (int there = 0; there < 2; there++) {
        workshop *w = workshop_init(0.0, 0.0);
        drawing_backend_init(&drawing, 16);
        if (there) drawing_backend_take(&drawing, target);
        spec_timing_prompts_free(&w->prompts);
        assert_int_equal(spec_timing_prompts_make(&w->prompts, target, 3, 20, 7, NULL),
                         GSL_SUCCESS);
        w->plan.decoder.target = target;
        w->plan.decoder.opt_draft = draft;
        w->plan.decoder.verify = SPEC_VERIFY_AUTO;
        w->plan.decoder.ahead = true;
        w->plan.tokens = 60;
        w->plan.turn = 8;
        w->plan.texts = 4;
        workshop_run(w);
        assert_int_equal(w->timed.n_ways, 3);
        for (int i = 1; i < 3; i++) {
            assert_int_equal(w->timed.way[i].device, there);
            assert_true(fabs(w->prediction.speed[i - 1].beta_z) < 5.0);
        }
        assert_true(there ? drawing.draws > 500 : drawing.draws == 0);
        tally[there] = w->timed.way[2].tally;
        workshop_free(w);
    }
    assert_memory_equal(&tally[0], &tally[1], sizeof tally[0]);
    spec_model_close(draft);
    spec_model_close(target);
}

/* A draft of K tokens that a device draws takes K passes and draws, but one wait; one that is
 * drafted ahead takes two, the first for the guess. Passes behind the end of a text take time,
 * too. */
TEST(a_draft_of_a_device_is_charged_its_waits)
{
#define SHAPE "random?dim=32&heads=2&ffn=32&vocab=16&context=160&type=f32"
    spec_model *target = model_of(SHAPE "&layers=3&seed=1", NULL),
               *draft = model_of(SHAPE "&layers=1&seed=2", NULL);
#undef SHAPE
    drawing_backend drawing; /* must outlive the models on it */
    drawing_backend_init(&drawing, 16);
    drawing_backend_take(&drawing, target);
    drawing_backend_take(&drawing, draft);
    draft->ends = (spec_text_ends){1, {9}}; /* the target's texts go on */
    workshop *w = workshop_init(0.0, 0.0);
    drawing.opt_now = &w->now;
    drawing.sublayer = 0.0027, drawing.column = 0.00031, drawing.draw = 0.00052;
    drawing.wait = 0.0104;
    spec_timing_prompts_free(&w->prompts);
    assert_int_equal(spec_timing_prompts_make(&w->prompts, target, 3, 20, 7, NULL), GSL_SUCCESS);
    const int K[] = {1, 5};
    memcpy(w->plan.K, K, sizeof K);
    w->plan.n_K = 2;
    w->plan.decoder.target = target;
    w->plan.decoder.opt_draft = draft;
    w->plan.decoder.verify = SPEC_VERIFY_DEVICE;
    w->plan.decoder.ahead = true;
    w->plan.tokens = 100;
    w->plan.turn = 8;
    w->plan.texts = 4;
    workshop_run(w);
    const double one = 2 * drawing.sublayer + drawing.column + drawing.draw;
    assert_near(w->prediction.queued, one, 1e-9);
    const int calls = spec_timing_column(2, SPEC_TIMING_CALLS);
    double rounds = 0.0, called = 0.0;
    for (int t = 0; t < 4; t++) {
        const double *sum = w->timed.block + t * w->timed.n_columns;
        rounds += sum[spec_timing_column(2, SPEC_TIMING_ROUNDS)];
        called += sum[calls];
        assert_same(sum[spec_timing_column(2, SPEC_TIMING_WAITS)],
                    sum[spec_timing_column(2, SPEC_TIMING_ROUNDS)]);
    }
    assert_near(called, 5 * rounds, 1e-12);
    for (int i = 0; i < 4; i++) {
        const spec_timing_speed *s = &w->prediction.speed[i];
        /* After a chain that ends a text nothing is guessed, so the next draft reads two tokens,
         * which no prediction of drafting ahead counts. */
        assert_within(s->round.draft, s->draft_costed, s->way->ahead ? drawing.column : 1e-11);
        assert_near(s->round.ahead, s->ahead_costed, 1e-9);
        assert_true(s->way->ahead ? s->round.ahead > 0.0 : s->round.draft > 0.0);
    }
    /* the last token of a draft that was accepted in full is read before the next draft */
    assert_true(w->prediction.speed[1].round.draft >= 5 * one + drawing.wait);
    assert_true(w->prediction.speed[1].round.draft < 5 * one + drawing.wait + drawing.column);
    workshop_free(w);
    spec_model_close(draft);
    spec_model_close(target);
}

static int caches;

static int count_caches(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape,
                        spec_tensor_type type, int slots, spec_error *error)
{
    caches++;
    return spec_backend_cpu.kv_init(backend, ret_kv, shape, type, slots, error);
}

/* Compares the decoded text with one session for everything and with one for each. Target and draft
 * then keep one KV cache. A draft that shares the target's needs its own to draft ahead, and to be
 * timed alone. */
TEST(one_session_serves_all_lengths_with_the_same_texts, SLOW)
{
    static const char *const drafts[] = {"layers?exit=1&temperature=0.8",
                                         "quantised?temperature=0.8"};
    const char *spec = "random?dim=32&layers=2&heads=2&ffn=32&vocab=16&context=128&type=f32&seed=1";
    for (int c = 0; c < 8; c++) {
        const bool ahead = c & 1, there = c & 2;
        spec_model *target, *draft;
        spec_tally tally[2][7];
        drawing_backend drawing;
        assert_int_equal(spec_model_open(&target, spec, NULL, spec_test_context(0), NULL),
                         GSL_SUCCESS);
        assert_int_equal(
            spec_model_open(&draft, drafts[c >> 2], target, spec_test_context(0), NULL),
            GSL_SUCCESS);
        drawing_backend_init(&drawing, 16);
        drawing.backend.kv_init = count_caches;
        drawing_backend_take(&drawing, target);
        drawing_backend_take(&drawing, draft);
        for (int one = 0; one < 2; one++) {
            workshop *w = workshop_init(0.0, 0.0);
            spec_timing_prompts_free(&w->prompts);
            assert_int_equal(spec_timing_prompts_make(&w->prompts, target, 3, 20, 7, NULL),
                             GSL_SUCCESS);
            w->plan.decoder.target = target;
            w->plan.decoder.opt_draft = draft;
            w->plan.decoder.verify = there ? SPEC_VERIFY_DEVICE : SPEC_VERIFY_HOST;
            w->plan.decoder.ahead = ahead;
            w->plan.n_K = 3;
            memcpy(w->plan.K, (int[]){1, 3, 6}, 3 * sizeof w->plan.K[0]);
            w->plan.tokens = 60;
            w->plan.turn = 8;
            w->plan.texts = 4;
            w->plan.one_session = one;
            caches = 0;
            workshop_run(w);
            if (one) assert_int_equal(caches, 2);
            else assert_true(caches >= w->timed.n_ways + 2);
            for (int i = 0; i < w->timed.n_ways; i++) tally[one][i] = w->timed.way[i].tally;
            if (one)
                assert_memory_equal(tally[0], tally[1],
                                    (size_t)w->timed.n_ways * sizeof tally[0][0]);
            workshop_free(w);
        }
        spec_model_close(draft);
        spec_model_close(target);
    }
}

/* The speed-up peaks at K = 2 or 3, because passes soon cost more. */
TEST(the_best_K_is_found_and_its_neighbours_are_not_told_apart)
{
    workshop *w = workshop_init(0.006, 0.0);
    const int K[] = {0, 1, 2, 3, 8};
    w->plan.n_K = 5;
    memcpy(w->plan.K, K, sizeof K);
    workshop_run(w);
    const spec_timing_prediction *p = &w->prediction;
    int best = 0;
    for (int i = 0; i < 5; i++)
        if (workshop_speedup(w, K[i]) > workshop_speedup(w, K[best])) best = i;
    assert_true(p->speed[p->best].tied);
    assert_true(p->speed[best].tied);
    assert_true(!p->speed[0].tied && !p->speed[4].tied); /* 1 and .86 beside 1.3 */
    assert_true(p->best_costed > 0 && p->best_costed < 4);
    assert_int_equal(p->best_theorem, 3); /* the theorem ignores the cost of passes */
    workshop_free(w);
}

/* The seed determines the decoded text; the clock determines the order and the times. */
TEST(tallies_do_not_depend_on_the_clock)
{
    spec_tally first = {0};
    for (int run = 0; run < 2; run++) {
        workshop *w = workshop_init(run * 0.27, run * 0.01);
        w->plan.texts = 5;
        w->plan.n_K = 1 + run; /* independent of other measurements */
        w->plan.K[1] = 7;
        workshop_run(w);
        const spec_tally *tally = &w->timed.way[1].tally;
        if (run == 0) first = *tally;
        else assert_memory_equal(tally, &first, sizeof first);
        assert_true(tally->emitted >= 5 * 200 && tally->emitted <= 5 * (200 + 4));
        assert_true(w->timed.block[spec_timing_column(0, SPEC_TIMING_ALL_TOKENS)] == 200.0);
        assert_true(w->timed.block[spec_timing_column(0, SPEC_TIMING_TOKENS)] ==
                    200.0 - 7.0); /* in 7 turns */
        workshop_free(w);
    }
}

/* A rule that kept more than its rows allow would be detected. */
TEST(acceptance_that_contradicts_its_chances_is_seen)
{
    workshop *w = workshop_init(0.0, 0.0);
    int K;
    double z;
    workshop_run(w);
    spec_timing_way *way = &w->timed.way[1];
    assert_true(!spec_timing_report_contradicts(&w->prediction, &K, &z));
    assert_true(way->checked >= 40 * 6 && way->variance > 0.0);
    assert_near(way->variance, 0.3 * way->chances, 1e-9); /* each has probability .7 */
    way->accepted = (uint64_t)(way->chances + 8.0 * sqrt(way->variance));
    assert_int_equal(spec_timing_predict(&w->prediction, &w->timed, 0.05, 100, NULL), GSL_SUCCESS);
    assert_true(spec_timing_report_contradicts(&w->prediction, &K, &z));
    assert_true(K == 4 && z > 7.0 && z <= 8.0);
    workshop_free(w);
}

/* A z of -5.7 from a few almost certain tokens, which occurs by chance with probability .003; and
 * one of -7 from many tokens, which has a probability below SPEC_BY_CHANCE. */
TEST(few_almost_certain_tokens_do_not_contradict)
{
    workshop *w = workshop_init(0.0, 0.0);
    int K;
    double z;
    workshop_run(w);
    spec_timing_way *way = &w->timed.way[1];
    way->variance = 0.23;
    way->chances = (double)way->accepted + 5.7 * sqrt(way->variance);
    assert_int_equal(spec_timing_predict(&w->prediction, &w->timed, 0.05, 100, NULL), GSL_SUCCESS);
    assert_near(w->prediction.speed[0].beta_z, -5.7, 1e-9);
    assert_true(w->prediction.speed[0].beta_log_e < 6.0);
    assert_true(!spec_timing_report_contradicts(&w->prediction, &K, &z));
    way->variance = 210.0;
    way->chances = (double)way->accepted + 7.0 * sqrt(way->variance);
    assert_int_equal(spec_timing_predict(&w->prediction, &w->timed, 0.05, 100, NULL), GSL_SUCCESS);
    assert_true(spec_timing_report_contradicts(&w->prediction, &K, &z));
    assert_near(z, -7.0, 1e-9);
    workshop_free(w);
}

/* Rules that judge a whole block, and drafts without a row, have no acceptance probability for each
 * token. */
TEST(acceptance_is_checked_where_tokens_are_judged_one_by_one)
{
    static const char *const rules[] = {"match", "greedy", "block", "token"};
    static const char *const draftings[] = {"chain", "greedy", "chain", "lookup"};
    static const bool checked[] = {true, true, false, false};
    for (int i = 0; i < 4; i++) {
        workshop *w = workshop_init(0.0013, 0.0002);
        w->plan.texts = 4;
        w->plan.decoder.rule = rules[i];
        w->plan.decoder.drafting = draftings[i];
        workshop_run(w);
        const spec_timing_speed *s = &w->prediction.speed[0];
        if (checked[i]) assert_true(fabs(s->beta_z) < 5.0);
        else assert_nan(s->beta_z);
        assert_true(s->speedup.value > 0.0 && s->round.score > 0.0);
        assert_true((s->round.draft == 0.0) == (i == 3)); /* prompt lookup calls no model */
        workshop_free(w);
    }
}

TEST(a_tree_has_the_passes_of_its_nodes_and_no_theorem)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    w->plan.decoder.target = &w->target_rows.head; /* these cost nothing, and support trees */
    w->plan.decoder.opt_draft = &w->draft_rows.head;
    w->plan.decoder.drafting = "tree?n=2";
    w->plan.decoder.rule = "match";
    w->plan.K[0] = 2;
    w->plan.texts = 4;
    w->plan.clock = spec_clock_wall();
    workshop_run(w);
    const spec_timing_speed *s = &w->prediction.speed[0];
    assert_int_equal(s->way->widest, 7);
    assert_true(s->way->width[6] > 0 && s->way->width[2] == 0);
    assert_nan(s->tokens_theorem);
    assert_nan(s->speedup_theorem);
    assert_nan(s->beta_z);
    assert_true(s->tokens_by_depth > 1.0);
    assert_true(!(s->speedup_costed <= 0.0)); /* NaN: withheld, on a busy machine */
    workshop_free(w);
}

/* A model with one end of probability .2, or with two of .2 and .5. */
TEST(an_end_of_text_ends_the_text_in_its_way_alone)
{
    for (int ends = 1; ends <= 2; ends++) {
        workshop *w = workshop_init(0.0013, 0.0002);
        w->target.head.ends = spec_text_ends_one(2);
        if (ends == 2) spec_text_ends_add(&w->target.head.ends, 0);
        w->draft.head.ends = w->target.head.ends;
        w->plan.texts = 400;
        workshop_run(w);
        const spec_timing_prediction *p = &w->prediction;
        const double tokens = (double)w->timed.way[1].tally.emitted,
                     mean = ends == 1 ? 5.0 : 1.0 / 0.7, /* of a geometric law */
            noise = 5.0 * sqrt(400 * mean * (mean - 1.0));
        /* A round ends at its own end of text, or at most one token later. */
        assert_true(tokens > 400 * mean - noise && tokens < 400 * (mean + 1.0) + noise);
        if (ends == 1) assert_true(p->plain.value > 0.0 && p->speed[0].speedup.value > 0.0);
        workshop_free(w);
    }
}

TEST(seconds_end_it_after_two_texts)
{
    for (int run = 0; run < 2; run++) {
        workshop *w = workshop_init(0.0013, 0.0002);
        w->plan.seconds = run == 0 ? 1e-9 : 60.0;
        workshop_run(w);
        if (run == 0) assert_int_equal(w->timed.n_blocks, 2);
        else assert_true(w->timed.n_blocks > 2 && w->timed.n_blocks < 40);
        /* With two ways a text takes some 12 s in both together, and the texts before the first one
         * count. */
        if (run == 1) assert_true(w->now <= 120.0 && w->now > 100.0);
        workshop_free(w);
    }
}

static void note_share(void *self, double share)
{
    double *const last = self;
    assert_true(share > *last && share <= 1.0);
    *last = share;
}

TEST(progress_rises_to_one)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    double share = 0.0;
    w->plan.opt_progress = note_share;
    w->plan.context = &share;
    w->plan.texts = 5;
    workshop_run(w);
    assert_true(share == 1.0);
    workshop_free(w);
}

TEST(what_cannot_be_measured_is_refused_with_a_line)
{
    workshop *w = workshop_init(0.0, 0.0);
    spec_error error;
    static const volatile int stop = 1;
    w->target.head.window = 20 + 200 + 3; /* one less than needed */
    assert_int_equal(spec_timing_init(&w->timed, &w->plan, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "the target's context is 223"));
    w->target.head.window = 224;
    w->draft.head.window = 100;
    assert_int_equal(spec_timing_init(&w->timed, &w->plan, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "the draft's context is 100"));
    w->draft.head.window = 0;
    w->plan.n_widths = 2;
    w->plan.width[0] = w->plan.width[1] = 3;
    assert_int_equal(spec_timing_init(&w->timed, &w->plan, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "ascend"));
    w->plan.n_widths = 0;
    w->plan.decoder.rule = "tokn";
    assert_int_equal(spec_timing_init(&w->timed, &w->plan, &error), GSL_EINVAL);
    w->plan.decoder.rule = "token";
    w->plan.opt_stop = &stop;
    assert_int_equal(spec_timing_init(&w->timed, &w->plan, &error), GSL_EFAILED);
    assert_string_equal(error.text, "interrupted");
    assert_true(w->timed.n_blocks == 0 && w->timed.block == NULL);
    w->plan.opt_stop = NULL;
    w->plan.texts = 2;
    if (spec_timing_init(&w->timed, &w->plan, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    workshop_free(w);
}
