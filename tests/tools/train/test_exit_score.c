/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Early exits are judged by the rows of their drafts; the bar decides which weights are kept: those
 * whose loss has risen little. */
#include "models/model_open.h"
#include "models/row.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tools/train/exit_score.h"
#include "tools/train/training_speed.h"

#include <math.h>
#include <stdlib.h>

enum { PLACES = 24, FIRST = 4, JUDGED = 8, LAYERS = 4, VOCAB = 20, K = 3 };

typedef struct {
    spec_model *target;
    spec_training_texts learn, judge[2];
    spec_training training;
    spec_exit_score score;
} case_of;

static void open_case(case_of *c, double rate, double bar)
{
    *c = (case_of){0};
    assert_works(
        spec_model_open(&c->target,
                        "random?dim=32&layers=4&heads=2&ffn=64&vocab=20&context=32&type=f32&seed=3&"
                        "temperature=0.5",
                        NULL, spec_test_context(1), &error));
    const spec_checkpoint *target = spec_transformer_of(c->target)->checkpoint;
    spec_training_sampling how = {.model = c->target,
                                  .begin = target->adds_begin ? target->begin_of_text : -1,
                                  .places = PLACES,
                                  .count = 64,
                                  .seed = 1};
    assert_works(spec_training_texts_sample(&c->learn, NULL, &how, NULL, &error));
    how.count = JUDGED;
    for (int i = 1; i >= 0; i--) {
        how.seed = 2;
        how.greedy = i == 0;
        how.prompt = i == 0 ? FIRST : 0;
        assert_works(spec_training_texts_sample(&c->judge[i], &c->judge[1], &how, NULL, &error));
    }
    const spec_training_plan plan = {.opt_target = target,
                                     .opt_start = target,
                                     .shape = {.shape = target->shape},
                                     .exits = {.dropout = 0.1, .scale = 0.2, .rotation = 2},
                                     .bar = bar,
                                     .loss = SPEC_LOSSES_FKL,
                                     .texts = 4,
                                     .places = PLACES,
                                     .K = K,
                                     .first = FIRST,
                                     .trained = K,
                                     .clip = 1.0,
                                     .schedule = {1, {{60, 0}}},
                                     .rate = rate,
                                     .seed = 5};
    const spec_training_data data = {&c->learn, {&c->judge[0], &c->judge[1]}, JUDGED};
    assert_works(spec_training_init(&c->training, &plan, &data, NULL, &error));
    assert_works(spec_exit_score_init(&c->score, &c->training, &error));
}

static void case_of_free(case_of *c)
{
    spec_exit_score_free(&c->score);
    spec_training_free(&c->training);
    spec_training_texts_free(&c->learn);
    for (int i = 0; i < 2; i++) spec_training_texts_free(&c->judge[i]);
    spec_model_close(c->target);
}

static void judge(case_of *c)
{
    assert_works(spec_exit_score_judge(&c->score, &c->training, &error));
}

static void run_steps(case_of *c, int n)
{
    double loss;
    for (int i = 0; i < n; i++) assert_works(spec_training_step(&c->training, &loss, &error));
}

/* Computes the mean acceptance of an exit's first two draft tokens from rows of sessions, over the
 * positions where rounds of K fit. */
static void alpha_by_sessions(double ret[2], const case_of *c, int exit, int temperature)
{
    char spec[64];
    spec_model *draft, *target;
    spec_session of_draft, of_target;
    spec_error error;
    double row[2][VOCAB], sum[2] = {0.0}, accept[PLACES];
    const int skip = c->judge[1].begin >= 0 ? 1 : 0, end = PLACES - K + 1;
    /* the training has the checkpoint only, not the model's temperature */
    assert_works(spec_model_open(&target,
                                 "random?dim=32&layers=4&heads=2&ffn=64&vocab=20&context=32&"
                                 "type=f32&seed=3",
                                 NULL, spec_test_context(1), &error));
    snprintf(spec, sizeof spec, "layers?of=target&exit=%d", exit);
    assert_works(spec_model_open(&draft, spec, target, spec_test_context(1), &error));
    assert_works(spec_session_init(&of_draft, draft, &error));
    assert_works(spec_session_init(&of_target, target, &error));
    for (int i = 0; i < JUDGED; i++) {
        for (int t = FIRST; t < PLACES; t++) {
            const spec_training_texts *texts = &c->judge[temperature];
            const int *text = texts->token + (size_t)i * texts->stride;
            const size_t n = (size_t)(t + 1 - skip);
            const double *a = spec_session_row(&of_target, text, n, row[0], &error),
                         *b = spec_session_row(&of_draft, text, n, row[1], &error);
            accept[t] = temperature == 1 ? spec_row_overlap(a, b, VOCAB)
                                         : spec_row_argmax(a, VOCAB) == spec_row_argmax(b, VOCAB);
        }
        for (int t = FIRST; t < end; t++) {
            sum[0] += accept[t];
            sum[1] += accept[t] * accept[t + 1];
        }
    }
    spec_session_free(&of_draft);
    spec_session_free(&of_target);
    spec_model_close(draft);
    spec_model_close(target);
    ret[0] = sum[0] / (JUDGED * (end - FIRST));
    ret[1] = sum[1] / sum[0];
}

TEST(acceptance_is_the_overlap_of_the_draft_s_rows)
{
    OWNED(case_of) c;
    open_case(&c, 0.001, 0.1);
    judge(&c);
    assert_true(c.score.bits == c.score.target_bits && c.score.bits > 0.5);
    assert_true(fabs(c.score.overlap - 1.0) < 1e-12);
    for (int i = 0; i < 2; i++)
        for (int exit = 1; exit < LAYERS; exit++) {
            double other[2];
            alpha_by_sessions(other, &c, exit, i);
            for (int d = 1; d <= 2; d++) {
                const double is = spec_exact_walk_alpha(&c.score.walk[i][exit - 1], d);
                if (!(fabs(is - other[d - 1]) < 1e-5))
                    fail_msg("exit %d, temperature %d: alpha %d is %g, by sessions %g", exit, i, d,
                             is, other[d - 1]);
            }
        }
}

/* At the given costs, no other exit and draft length has a larger speed-up. */
TEST(the_best_exit_is_the_best_of_all)
{
    static const double pass[] = {0.0, 1.0, 1.07, 1.13, 1.21};
    OWNED(case_of) c;
    open_case(&c, 0.001, 0.1);
    judge(&c);
    const spec_shape *shape = &c.score.shape;
    const double layer = 32.0 * (4 * 32 + 3 * 64), output = 20 * 32;
    assert_true(fabs(spec_training_speed_of_exit(shape, 3) -
                     (3 * layer + output) / (4 * layer + output)) < 1e-15);
    for (int i = 0; i < 2; i++)
        for (int measured = 0; measured < 2; measured++) {
            const spec_exit_choice best = spec_exit_score_best(&c.score, i, measured ? pass : NULL);
            double most = 0.0;
            for (int exit = 1; exit < LAYERS; exit++)
                for (int k = 1; k <= K; k++)
                    most =
                        fmax(most, spec_exact_walk_tokens_per_round(&c.score.walk[i][exit - 1], k) /
                                       (k * spec_training_speed_of_exit(shape, exit) +
                                        (measured ? pass[k + 1] : 1.0)));
            assert_true(best.exit >= 1 && best.exit < LAYERS && best.K >= 1 && best.K <= K);
            assert_true(fabs(best.speed_up - most) < 1e-15);
            assert_true(best.tokens ==
                        spec_exact_walk_tokens_per_round(&c.score.walk[i][best.exit - 1], best.K));
        }
}

TEST(exits_come_nearer_to_the_model)
{
    OWNED(case_of) c;
    double before[LAYERS];
    open_case(&c, 0.003, 0.1);
    judge(&c);
    for (int l = 1; l < LAYERS; l++) before[l] = spec_exact_walk_alpha(&c.score.walk[1][l - 1], 1);
    run_steps(&c, 60);
    judge(&c);
    for (int l = 1; l < LAYERS; l++) {
        const double gain = spec_exact_walk_alpha(&c.score.walk[1][l - 1], 1) - before[l];
        if (!(gain > 0.02)) fail_msg("exit %d: alpha rose by %g", l, gain);
    }
    assert_true(c.score.overlap < 1.0 && c.score.overlap > 0.5);
}

/* A high rate: the loss rises, falls below the middle bar once more, and rises again. The weights
 * of the last row below the bar are put back. */
TEST(the_bar_is_kept)
{
    static const double bars[] = {0.0, 0.08, INFINITY};
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        OWNED(case_of) c;
        long last = 0;
        double highest = 0.0;
        open_case(&c, 0.02, bars[i]);
        const spec_parameters *const weights = c.training.parameters;
        const size_t bytes = weights->numbers * sizeof *weights->value;
        FREED void *const kept = malloc(bytes);
        for (int row = 0; row <= 20; row++) {
            if (row > 0) run_steps(&c, 1);
            judge(&c);
            const double rise = c.score.bits - c.score.target_bits;
            spec_training_keep(&c.training, rise);
            if (rise <= bars[i]) {
                last = row;
                memcpy(kept, weights->value, bytes);
            }
            highest = fmax(highest, rise);
        }
        assert_true(highest > 0.3);
        assert_int_equal(c.training.kept_step, last);
        assert_true(i == 0 ? last == 0 : i == 2 ? last == 20 : last > 0 && last < 20);
        spec_training_keep(&c.training, NAN);
        assert_int_equal(c.training.kept_step, last);
        spec_training_restore(&c.training);
        assert_memory_equal(weights->value, kept, bytes);
    }
}
