/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A step of a draft that learns while it serves is a step of the offline trainer, bit for bit. It
 * learns from the marked positions only, can restart from its first weights, and stops if numbers
 * are not finite. */
#include "models/train/draft_learner.h"

#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/train/training.h"

#include <math.h>
#include <string.h>

enum { TEXTS = 4, PLACES = 16, ROWS = TEXTS * PLACES, VOCAB = 20, STEPS = 2 };

static const double rate = 0.02;
static const char target_spec[] =
    "random?dim=32&layers=3&heads=2&ffn=64&vocab=20&context=32&type=f32&seed=3&temperature=0.5";
static const char draft_spec[] =
    "random?dim=16&layers=2&heads=2&kv_heads=1&ffn=24&vocab=20&context=32&type=f32&seed=4";

typedef struct {
    spec_model *target, *draft;
    spec_training_texts texts;
    spec_training training;
    spec_draft_learner learner;
} case_of;

static const spec_checkpoint *checkpoint_of(const spec_model *model)
{
    return spec_transformer_of(model)->checkpoint;
}

static void open_case(case_of *c, spec_losses_kind loss, int threads)
{
    *c = (case_of){0};
    assert_works(spec_model_open(&c->target, target_spec, NULL, spec_test_context(1), &error));
    assert_works(spec_model_open(&c->draft, draft_spec, NULL, spec_test_context(1), &error));
    assert_works(spec_training_texts_sample(
        &c->texts, NULL,
        &(spec_training_sampling){
            .model = c->target, .begin = -1, .places = PLACES, .count = 32, .seed = 1},
        NULL, &error));
    const spec_training_plan plan = {.opt_target = checkpoint_of(c->target),
                                     .opt_start = checkpoint_of(c->draft),
                                     .loss = loss,
                                     .texts = TEXTS,
                                     .places = PLACES,
                                     .K = 1,
                                     .first = 1,
                                     .trained = 1,
                                     .clip = 1.0,
                                     .schedule = {1, {{STEPS, 0}}},
                                     .rate = rate,
                                     .seed = 5};
    assert_works(spec_training_init(&c->training, &plan, &(spec_training_data){.learn = &c->texts},
                                    spec_test_pool(threads), &error));
    const spec_draft_learner_plan online = {
        .loss = loss, .texts = TEXTS, .places = PLACES, .rate = rate};
    assert_works(spec_draft_learner_init(&c->learner, &online, checkpoint_of(c->draft),
                                         spec_test_pool(3 - threads), &error));
}

static void case_of_free(case_of *c)
{
    spec_draft_learner_free(&c->learner);
    spec_training_free(&c->training);
    spec_training_texts_free(&c->texts);
    spec_model_close(c->draft);
    spec_model_close(c->target);
}

/* Returns the learning rate of docs/training.md for the step; the trainer changes it, the learner
 * does not. */
static double rate_at(long step)
{
    const double fall = SPEC_TRAINING_RATE_END + (1.0 - SPEC_TRAINING_RATE_END) * 0.5 *
                                                     (1.0 + cos(M_PI * (double)step / STEPS));
    return rate * ((double)(step + 1) / SPEC_TRAINING_WARM_UP) * fall;
}

/* Gives the learner the batch of the trainer's last step. */
static void copy_batch(case_of *c)
{
    memcpy(c->learner.token, c->training.token, ROWS * sizeof *c->learner.token);
    memcpy(c->learner.next, c->training.next, ROWS * sizeof *c->learner.next);
    if (c->learner.target.value != NULL)
        memcpy(c->learner.target.value, c->training.target_logits->value,
               (size_t)ROWS * VOCAB * sizeof *c->learner.target.value);
    for (int i = 0; i < ROWS; i++) c->learner.learns[i] = true;
}

static bool has_the_trainers_weights(const case_of *c)
{
    const spec_parameters *a = c->training.parameters, *b = &c->learner.model.parameters;
    assert_int_equal(a->numbers, b->numbers);
    return memcmp(a->value, b->value, a->numbers * sizeof *a->value) == 0;
}

TEST(a_step_is_one_of_the_offline_trainer_bit_for_bit)
{
    for (int kind = 0; kind < SPEC_LOSSES_KINDS; kind++) {
        OWNED(case_of) c;
        double offline, online;
        open_case(&c, (spec_losses_kind)kind, 1 + kind % 2);
        for (long step = 0; step < STEPS; step++) {
            assert_works(spec_training_step(&c.training, &offline, &error));
            assert_false(has_the_trainers_weights(&c));
            copy_batch(&c);
            c.learner.plan.rate = rate_at(step);
            assert_works(spec_draft_learner_step(&c.learner, &online, &error));
            assert_same(online, offline);
            if (!has_the_trainers_weights(&c))
                fail_msg("%s, step %ld: other weights", spec_losses_names[kind], step + 1);
        }
    }
}

/* Rows and tokens of other positions are not read, so changing them changes nothing. */
TEST(places_that_are_not_marked_do_not_count)
{
    OWNED(case_of) one, other;
    double loss;
    open_case(&one, SPEC_LOSSES_JSD, 1);
    open_case(&other, SPEC_LOSSES_JSD, 1);
    assert_works(spec_training_step(&one.training, &loss, &error));
    assert_works(spec_training_step(&other.training, &loss, &error));
    copy_batch(&one);
    copy_batch(&other);
    for (int i = 0; i < ROWS; i++) {
        one.learner.learns[i] = other.learner.learns[i] = i % 3 == 1;
        if (i % 3 == 1) continue;
        for (int k = 0; k < VOCAB; k++)
            *(spec_graph_row(other.learner.target.value, i, VOCAB) + k) = (float)(k * i % 7);
    }
    assert_works(spec_draft_learner_step(&one.learner, &loss, &error));
    assert_works(spec_draft_learner_step(&other.learner, &loss, &error));
    const spec_parameters *p = &one.learner.model.parameters;
    assert_memory_equal(p->value, other.learner.model.parameters.value,
                        p->numbers * sizeof *p->value);
}

TEST(it_restarts_from_its_first_weights)
{
    OWNED(case_of) c;
    double loss[2], unused;
    open_case(&c, SPEC_LOSSES_FKL, 1);
    const spec_parameters *p = &c.learner.model.parameters;
    const size_t bytes = p->numbers * sizeof *p->value;
    FREED float *after = malloc(bytes);
    assert_works(spec_draft_learner_step(&c.learner, &unused, &error));
    assert_int_equal(c.learner.step, 0); /* an empty batch is not a step */
    assert_works(spec_training_step(&c.training, &unused, &error));
    for (int turn = 0; turn < 2; turn++) {
        copy_batch(&c);
        for (int step = 0; step < 3; step++)
            assert_works(spec_draft_learner_step(&c.learner, &loss[turn], &error));
        if (turn == 0) memcpy(after, p->value, bytes);
        if (turn == 1) assert_memory_equal(after, p->value, bytes);
        spec_draft_learner_restart(&c.learner);
        assert_memory_equal(c.learner.start, p->value, bytes);
    }
    assert_same(loss[1], loss[0]);
}

/* Turns the row into logits z with softmax(z / T) = row. */
TEST(a_row_becomes_the_logits_that_serve_it)
{
    static const double row[VOCAB] = {0.27, 0.03, 0.5, 0.2}, temperatures[] = {0.0, 0.6, 1.0, 1.7};
    OWNED(case_of) c;
    open_case(&c, SPEC_LOSSES_TV, 1);
    for (int i = 0; i < 4; i++) {
        const double T = temperatures[i] > 0.0 ? temperatures[i] : 1.0;
        double sum = 0.0;
        spec_draft_learner_set_row(&c.learner, 7, row, temperatures[i]);
        const float *z = spec_graph_row(c.learner.target.value, 7, VOCAB);
        for (int k = 0; k < VOCAB; k++) sum += exp((double)z[k] / T);
        for (int k = 0; k < VOCAB; k++) assert_within(exp((double)z[k] / T) / sum, row[k], 1e-6);
    }
}

TEST(what_is_not_finite_or_too_large_is_refused)
{
    OWNED(case_of) c;
    spec_draft_learner learner;
    double loss;
    open_case(&c, SPEC_LOSSES_FKL, 1);
    assert_works(spec_training_step(&c.training, &loss, &error));
    copy_batch(&c);
    spec_parameters *p = &c.learner.model.parameters;
    spec_parameters_value(p, c.learner.model.embedding)[3] = (float)NAN;
    const float before = p->value[p->numbers - 20];
    assert_fails_with(spec_draft_learner_step(&c.learner, &loss, &error), GSL_EFAILED,
                      "update 1 of the draft: ");
    assert_true(p->value[p->numbers - 20] == before);
    spec_draft_learner_plan plan = {.texts = 1 << 17, .places = PLACES};
    assert_status(spec_draft_learner_init(&learner, &plan, checkpoint_of(c.draft), NULL, &error),
                  GSL_EDOM);
    plan = (spec_draft_learner_plan){.texts = 1, .places = 33};
    assert_status(spec_draft_learner_init(&learner, &plan, checkpoint_of(c.draft), NULL, &error),
                  GSL_EDOM);
}
