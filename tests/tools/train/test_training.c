/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training of a draft, a head or early exits learns and has the same bits for every number of
 * threads and instruction set. It continues from its state with the same bits. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"
#include "tools/train/training_score.h"
#include "tools/train/training_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACES = 24, STEPS = 30 };

/* A target that is easy to imitate: one layer, with sharp rows. */
static const char target_spec[] =
    "random?dim=32&layers=3&heads=2&ffn=64&vocab=20&context=32&type=f32&seed=3&temperature=0.5";

typedef struct {
    spec_model *target;
    spec_training_texts learn, judge[2];
    spec_head_shape head;
    spec_training training;
} case_of;

enum { EXITS = -2, DRAFT = -1 }; /* early exits, or a draft model */

static spec_training_plan plan_of(case_of *c, int kind, spec_losses_kind loss)
{
    const spec_shape shape = {.dim = 16,
                              .n_layers = 2,
                              .n_heads = 2,
                              .n_kv_heads = 1,
                              .head_dim = 8,
                              .ffn_dim = 24,
                              .vocab = 20,
                              .context = 32,
                              .norm_eps = 1e-5f,
                              .rope.base = 10000.0};
    const spec_checkpoint *target = spec_transformer_of(c->target)->checkpoint;
    if (kind >= 0) c->head = spec_training_head_shape((spec_head_kind)kind, &target->shape, 3);
    return (spec_training_plan){
        .opt_target = target,
        .opt_head = kind >= 0 ? &c->head : NULL,
        .opt_start = kind == EXITS ? target : NULL,
        .exits = {.dropout = 0.3, .scale = 0.2, .rotation = kind == EXITS ? 2 : 0},
        .bar = 0.05,
        .shape = {.shape = shape, .is_tied = true},
        .loss = loss,
        .texts = 4,
        .places = PLACES,
        .K = 3,
        .first = 4,
        .trained = 3,
        .clip = 1.0,
        .schedule = {1, {{STEPS, 0}}},
        .rate = 0.01,
        .seed = 5};
}

static void open_case(case_of *c, int kind, spec_losses_kind loss, int threads)
{
    *c = (case_of){0};
    assert_works(spec_model_open(&c->target, target_spec, NULL, spec_test_context(1), &error));
    const int begin = spec_transformer_of(c->target)->checkpoint->adds_begin ? 1 : -1;
    spec_training_sampling how = {
        .model = c->target, .begin = begin, .places = PLACES, .count = 64, .seed = 1};
    assert_works(spec_training_texts_sample(&c->learn, NULL, &how, NULL, &error));
    how.count = 8;
    how.seed = 2;
    assert_works(spec_training_texts_sample(&c->judge[1], NULL, &how, NULL, &error));
    how.prompt = 4;
    how.greedy = true;
    assert_works(spec_training_texts_sample(&c->judge[0], &c->judge[1], &how, NULL, &error));
    const spec_training_plan plan = plan_of(c, kind, loss);
    const spec_training_data data = {&c->learn, {&c->judge[0], &c->judge[1]}, 8};
    assert_works(spec_training_init(&c->training, &plan, &data, spec_test_pool(threads), &error));
}

static void case_of_free(case_of *c)
{
    spec_training_free(&c->training);
    spec_training_texts_free(&c->learn);
    for (int i = 0; i < 2; i++) spec_training_texts_free(&c->judge[i]);
    spec_model_close(c->target);
}

static double run_steps(case_of *c, long until)
{
    spec_error error;
    double loss = NAN;
    while (c->training.step < until)
        if (spec_training_step(&c->training, &loss, &error) != GSL_SUCCESS)
            fail_msg("%s", error.text);
        else if (c->training.step == 10 && c->training.kept != NULL)
            spec_training_keep(&c->training, 0.0);
    return loss;
}

/* Returns by how much the acceptance of a draft token at temperature 1 rises over STEPS steps. */
static double gain_of(int kind, spec_losses_kind loss, int depth)
{
    OWNED(case_of) c;
    spec_training_score before, after;
    open_case(&c, kind, loss, 1);
    assert_works(spec_training_score_judge(&before, &c.training, &error));
    run_steps(&c, STEPS);
    assert_works(spec_training_score_judge(&after, &c.training, &error));
    return spec_exact_walk_alpha(&after.walk[1], depth) -
           spec_exact_walk_alpha(&before.walk[1], depth);
}

TEST(every_loss_brings_the_draft_nearer)
{
    for (int loss = 0; loss < SPEC_LOSSES_KINDS; loss++) {
        const double gain = gain_of(DRAFT, (spec_losses_kind)loss, 1);
        if (!(gain > 0.02)) fail_msg("%s: alpha rose by %g", spec_losses_names[loss], gain);
    }
}

TEST(every_head_comes_nearer_at_each_depth, SLOW)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++)
        for (int depth = 1; depth <= 2; depth++) {
            const double gain = gain_of(kind, SPEC_LOSSES_FKL, depth);
            if (!(gain > 0.02))
                fail_msg("%s: alpha %d rose by %g", spec_head_kind_names[kind], depth, gain);
        }
}

TEST(the_bits_do_not_depend_on_threads_or_instructions, SLOW)
{
    for (int kind = EXITS; kind < SPEC_HEAD_KINDS; kind++) {
        case_of one, other;
        open_case(&one, kind, SPEC_LOSSES_JSD, 1);
        run_steps(&one, 5);
        const size_t bytes = one.training.parameters->numbers * sizeof(float);
        for (int isa = 0; isa <= (int)spec_cpu_best_isa(); isa++) {
            assert_works(spec_cpu_limit(spec_cpu_isa_name((spec_isa)isa), &error));
            open_case(&other, kind, SPEC_LOSSES_JSD, 1 + (isa + 1) % 3);
            run_steps(&other, 5);
            assert_memory_equal(one.training.parameters->value, other.training.parameters->value,
                                bytes);
            case_of_free(&other);
        }
        assert_works(spec_cpu_limit(NULL, &error));
        case_of_free(&one);
    }
}

/* The same for EAGLE, whose states have noise, and for exits, with dropped layers and weights that
 * were kept at step 10. */
TEST(it_continues_from_its_state)
{
    static const char settings[] = "loss=jsd\nseed=5\n";
    static const int kinds[] = {DRAFT, SPEC_HEAD_EAGLE, EXITS};
    static const spec_training_schedule replanned = {2, {{2 * STEPS, 0}, {STEPS, 12}}};
    double mine[] = {0.27, NAN, 2.385};
    const spec_training_numbers written = {mine, 3};
    for (int i = 0; i < 3; i++) {
        case_of whole, parts;
        open_case(&whole, kinds[i], SPEC_LOSSES_JSD, 1);
        whole.training.plan.schedule = replanned;
        run_steps(&whole, STEPS);
        for (int at = 1; at <= STEPS; at += 14) {
            open_case(&parts, kinds[i], SPEC_LOSSES_JSD, 1);
            parts.training.plan.schedule = replanned;
            parts.training.used = 12.5;
            run_steps(&parts, at);
            assert_works(
                spec_training_state_write(&parts.training, settings, &written, "state", &error));
            case_of_free(&parts);
            open_case(&parts, kinds[i], SPEC_LOSSES_JSD, 2);
            spec_training_numbers read;
            assert_works(
                spec_training_state_read(&parts.training, &read, settings, "state", &error));
            assert_true(parts.training.step == at && parts.training.used == 12.5);
            assert_int_equal(read.n, 3);
            assert_memory_equal(read.number, mine, sizeof mine);
            spec_training_numbers_free(&read);
            run_steps(&parts, STEPS);
            assert_memory_equal(whole.training.parameters->value, parts.training.parameters->value,
                                whole.training.parameters->numbers * sizeof(float));
            assert_int_equal(parts.training.kept_step, kinds[i] == EXITS ? 10 : 0);
            if (kinds[i] == EXITS)
                assert_memory_equal(whole.training.kept, parts.training.kept,
                                    whole.training.parameters->numbers * sizeof(float));
            case_of_free(&parts);
        }
        assert_int_not_equal(access("state.bak", F_OK), 0); /* the former state is not kept */
        case_of_free(&whole);
    }
}

TEST(other_settings_and_damage_are_refused)
{
    static const char settings[] = "loss=jsd\nseed=5\n";
    OWNED(case_of) c;
    spec_error error;
    spec_training_numbers numbers = {0};
    struct stat file;
    open_case(&c, DRAFT, SPEC_LOSSES_JSD, 1);
    run_steps(&c, 2);
    const size_t bytes = c.training.parameters->numbers * sizeof(float);
    FREED float *value = malloc(bytes);
    assert_non_null(value);
    memcpy(value, c.training.parameters->value, bytes);
    assert_works(spec_training_state_write(&c.training, settings, &numbers, "state", &error));
    assert_fails(
        spec_training_state_read(&c.training, &numbers, "loss=jsd\nseed=6\n", "state", &error),
        GSL_EINVAL,
        "state: was made with seed=5, now it is seed=6; give the same "
        "settings, or delete the file to begin again");
    assert_int_equal(spec_training_state_read(&c.training, &numbers, "loss=jsd\n", "state", &error),
                     GSL_EINVAL);
    assert_int_equal(stat("state", &file), 0);
    for (long at = 0; at < file.st_size; at += 1 + file.st_size / 500) {
        FILE *out = fopen("state", "r+");
        assert_non_null(out);
        fseek(out, at, SEEK_SET);
        const int byte = fgetc(out);
        fseek(out, at, SEEK_SET);
        fputc(byte ^ 0x11, out);
        assert_int_equal(fclose(out), 0);
        if (spec_training_state_read(&c.training, &numbers, settings, "state", &error) !=
            GSL_EINVAL)
            fail_msg("a state with byte %ld changed is read", at);
        out = fopen("state", "r+");
        fseek(out, at, SEEK_SET);
        fputc(byte, out);
        assert_int_equal(fclose(out), 0);
    }
    for (long length = 0; length < file.st_size; length += 1 + file.st_size / 40) {
        assert_works(spec_training_state_write(&c.training, settings, &numbers, "cut", &error));
        assert_int_equal(truncate("cut", length), 0);
        assert_int_not_equal(
            spec_training_state_read(&c.training, &numbers, settings, "cut", &error), GSL_SUCCESS);
    }
    assert_memory_equal(value, c.training.parameters->value, bytes);
}

TEST(a_loss_that_is_not_finite_ends_it)
{
    OWNED(case_of) c;
    double loss;
    open_case(&c, DRAFT, SPEC_LOSSES_CE, 1);
    run_steps(&c, 2);
    spec_parameters *p = c.training.parameters;
    spec_parameters_value(p, c.training.model.embedding)[3] = (float)NAN;
    const float before = p->value[p->numbers - 20];
    assert_fails(spec_training_step(&c.training, &loss, &error), GSL_EFAILED,
                 "step 3: the loss is not finite; try a lower --rate");
    assert_true(p->value[p->numbers - 20] == before);
    assert_int_equal(c.training.step, 2);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
