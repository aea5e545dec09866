/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks predicted speed-ups: weights counted by hand, the best length by comparison, measured
 * passes. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/train/training_speed.h"

enum { DIM = 16, LAYERS = 2, FFN = 40, VOCAB = 30, K = 3 };

static const char target_spec[] =
    "random?dim=16&layers=2&heads=4&kv_heads=2&ffn=40&vocab=30&context=64&type=f32";

typedef struct {
    spec_model *target;
    spec_head_shape head;
    spec_training_plan plan;
} case_of;

static void open_case(case_of *c, int kind)
{
    *c = (case_of){0};
    assert_works(spec_model_open(&c->target, target_spec, NULL, spec_test_context(1), &error));
    const spec_checkpoint *checkpoint = spec_transformer_of(c->target)->checkpoint;
    c->plan = (spec_training_plan){
        .opt_target = checkpoint, .shape = {.shape = checkpoint->shape}, .K = K, .seed = 1};
    if (kind < 0) return;
    c->head = spec_training_head_shape((spec_head_kind)kind, &checkpoint->shape, K);
    c->plan.opt_head = &c->head;
}

/* Queries and output of 16, keys and values of 8: a layer without norms, and the output. */
enum { LAYER = DIM * (2 * 16 + 2 * 8 + 3 * FFN), OUTPUT = VOCAB * DIM };

TEST(weights_of_drafts_are_counted)
{
    const double pass = LAYERS * LAYER + OUTPUT;
    const struct {
        int kind;
        double once, per_token, norms; /* norms: norms may add at most this many to each */
    } cases[] = {
        {-1, 0.0, pass, 0.0},
        {SPEC_HEAD_MEDUSA, 0.0, DIM * DIM + OUTPUT, DIM},
        {SPEC_HEAD_EAGLE, 0.0, 2 * DIM * DIM + LAYER + OUTPUT, 2 * DIM},
        {SPEC_HEAD_EAGLE3, 3 * DIM * DIM, LAYER + DIM * (16 + 2 * 8) + OUTPUT, 4 * DIM},
        {SPEC_HEAD_MTP, 0.0, 2 * DIM * DIM + LAYER + OUTPUT, 5 * DIM},
        {SPEC_HEAD_PARALLEL, 3 * DIM * DIM + LAYER + DIM * (16 + 2 * 8) + OUTPUT, 0.0, 4 * DIM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int k = 1; k <= K; k++) {
            case_of c;
            open_case(&c, cases[i].kind);
            const double expected = cases[i].once + k * cases[i].per_token,
                         counted = spec_training_speed_of_draft(&c.plan, k) * pass;
            if (!(counted >= expected - 1e-9 && counted <= expected + k * cases[i].norms + 1e-9))
                fail_msg("case %zu, k = %d: %g weights instead of %g", i, k, counted, expected);
            spec_model_close(c.target);
        }
}

/* Acceptance is 0.8 at every position, so tokens per round are 1.8, 2.44 and 2.952. */
TEST(the_best_length_has_the_largest_speed_up)
{
    double accept[300 * K], room[300];
    spec_exact_walk walk = {.K = K};
    spec_training_speed speed = {
        .K = K, .pass = {0.0, 1.0, 1.1, 1.2, 1.9}, .draft = {0.0, 0.2, 0.4, 0.6}};
    int best;
    for (int i = 0; i < 300 * K; i++) accept[i] = 0.8;
    spec_exact_walk_add(&walk, accept, 300, 1, room);
    assert_near(spec_training_speed_best(&best, &speed, &walk), 2.44 / 1.6, 1e-9);
    assert_int_equal(best, 2);
    for (int k = 1; k <= K; k++) speed.draft[k] = 3.0;
    assert_near(spec_training_speed_best(&best, &speed, &walk), 1.0, 1e-12);
    assert_int_equal(best, 0);
}

TEST(passes_of_the_target_are_measured)
{
    case_of c;
    spec_training_speed speed;
    int text[20];
    open_case(&c, SPEC_HEAD_MEDUSA);
    for (int i = 0; i < 20; i++) text[i] = i;
    assert_works(spec_training_speed_measure(&speed, c.target, NULL, &c.plan, text, 20, &error));
    assert_true(speed.pass[1] == 1.0);
    for (int n = 2; n <= K + 1; n++) assert_true(speed.pass[n] > 0.0 && speed.pass[n] < 1e3);
    assert_true(speed.draft[0] == 0.0 && speed.draft[2] > speed.draft[1]);
    assert_false(speed.draft_measured);
    assert_works(
        spec_training_speed_measure(&speed, c.target, c.target, &c.plan, text, 20, &error));
    assert_true(speed.draft_measured && speed.draft[1] > 0.0);
    assert_near(speed.draft[3], 3.0 * speed.draft[1], 1e-12);
    spec_model_close(c.target);
}
