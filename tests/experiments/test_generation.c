/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/generation.h"
#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/drawing_backend.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

/* The tokens of one text, as they are received. */
typedef struct {
    int token[512];
    spec_origin origin[512];
    int n, calls, fails_at; /* the call that fails, or 0 */
} ear;

static int hear(void *self, const int *token, const spec_origin *origin, int n, spec_error *error)
{
    ear *e = self;
    if (++e->calls == e->fails_at) return spec_fail(error, GSL_EFAILED, "deaf");
    for (int i = 0; i < n; i++, e->n++) {
        e->token[e->n] = token[i];
        e->origin[e->n] = origin[i];
    }
    return GSL_SUCCESS;
}

/* Generates a text of n tokens into `e`. The generation is freed, but its numbers stay. */
static spec_generation generate(ear *e, spec_ending *ret_ending, spec_generation_plan plan,
                                const int *prompt, size_t n_prompt, uint64_t n_tokens)
{
    OWNED(spec_generation) g;
    *e = (ear){.fails_at = e->fails_at};
    plan.hear = hear;
    plan.self = e;
    assert_works(spec_generation_init(&g, &plan, &error));
    assert_works(spec_generation_text(&g, ret_ending, prompt, n_prompt, 0, n_tokens, &error));
    const spec_generation kept = g;
    return kept;
}

TEST(a_token_says_where_it_came_from)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_EQUAL, 27);
    ear e = {0};
    spec_ending ending;
    spec_generation_plan plan = {.decoder = s.config, .seed = 5};
    plan.decoder.K = 3;
    spec_generation g =
        /* equal models: all drafts accepted, then the bonus */
        generate(&e, &ending, plan, NULL, 0, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(e.origin[i], i % 4 < 3 ? SPEC_FROM_DRAFT : SPEC_FROM_BONUS);
    assert_true(e.calls == 2 && g.tally.rounds == 2 && g.tokens == 8 && ending == SPEC_ENDED_ASKED);
    generate(&e, &ending, plan, NULL, 0, 6); /* the text ends within a round */
    assert_true(e.n == 6 && e.origin[5] == SPEC_FROM_DRAFT);
    stage_free(&s);

    stage_init(&s, 4, PAIR_DISJOINT, 27);
    plan.decoder = s.config;
    generate(&e, &ending, plan, NULL, 0, 9); /* disjoint models: only corrections */
    for (int i = 0; i < 9; i++) assert_int_equal(e.origin[i], SPEC_FROM_CORRECTION);
    plan.decoder.K = 0;
    generate(&e, &ending, plan, NULL, 0, 9);
    for (int i = 0; i < 9; i++) assert_int_equal(e.origin[i], SPEC_FROM_TARGET);
    plan.plain = true;
    g = generate(&e, &ending, plan, NULL, 0, 9);
    for (int i = 0; i < 9; i++) assert_int_equal(e.origin[i], SPEC_FROM_TARGET);
    assert_true(g.tally.rounds == 0 && g.tokens == 9 && e.calls == 9);
}

TEST(a_text_ends_for_one_of_four_reasons)
{
    for (int plain = 0; plain < 2; plain++) {
        OWNED(stage) s;
        stage_init(&s, 3, PAIR_PLAIN, 27);
        ear e = {0};
        spec_ending ending;
        volatile int stop = 0;
        const int prompt[] = {1, 2};
        spec_generation_plan plan = {
            .decoder = s.config, .plain = plain == 1, .opt_stop = &stop, .baseline = plain == 0};
        generate(&e, &ending, plan, prompt, 2, 50);
        assert_true(ending == SPEC_ENDED_ASKED && e.n == 50);

        s.target.head.window = 20;
        generate(&e, &ending, plan, prompt, 2, 50);
        assert_true(ending == SPEC_ENDED_WINDOW && e.n == 20 + 1 - 2);

        s.target.head.ends = spec_text_ends_one(e.token[6]);
        generate(&e, &ending, plan, prompt, 2, 50);
        assert_true(ending == SPEC_ENDED_TEXT && e.n <= 7);
        assert_true(spec_model_ends_text(&s.target.head, e.token[e.n - 1]));

        stop = 1;
        const spec_generation g = generate(&e, &ending, plan, prompt, 2, 50);
        assert_true(ending == SPEC_ENDED_STOPPED && e.n == 0 && g.prompt_tokens == 2);
    }
}

/* The baseline uses its own random stream, and decodes every token of the text once. */
TEST(a_baseline_changes_no_token_and_reads_each_once)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    ear with = {0}, without = {0};
    spec_ending ending;
    spec_generation_plan plan = {.decoder = s.config, .seed = 9};
    OWNED(spec_generation) g = generate(&without, &ending, plan, NULL, 0, 300);
    assert_true(g.beside_seconds == 0.0);
    plan.baseline = true;
    g = generate(&with, &ending, plan, NULL, 0, 300);
    assert_true(g.beside_seconds > 0.0 && g.seconds > 0.0);
    assert_true(with.n == 300 && without.n == 300);
    assert_memory_equal(with.token, without.token, 300 * sizeof(int));

    plan.hear = hear;
    plan.self = &with;
    with = (ear){.n = 0};
    assert_works(spec_generation_init(&g, &plan, &error));
    assert_works(spec_generation_text(&g, &ending, NULL, 0, 0, 300, &error));
    assert_int_equal(g.beside.n_context, 300); /* it is fed the tokens of the text, not its own */
    assert_memory_equal(g.beside.context, without.token, 300 * sizeof(int));
}

static int caches;

static int count_caches(const spec_backend *backend, spec_kv *ret_kv, const spec_shape *shape,
                        spec_tensor_type type, int slots, spec_error *error)
{
    caches++;
    return spec_backend_cpu.kv_init(backend, ret_kv, shape, type, slots, error);
}

/* The baseline uses the keys and values that the decoder of the text has just computed. */
TEST(a_baseline_needs_no_keys_and_values_of_its_own)
{
    ear with = {0}, without = {0};
    spec_ending ending;
    spec_model *target, *draft;
    drawing_backend drawing;
    const char *spec = "random?dim=32&layers=2&heads=2&ffn=32&vocab=16&context=128&type=f32&seed=1";
    assert_int_equal(spec_model_open(&target, spec, NULL, spec_test_context(0), NULL), GSL_SUCCESS);
    assert_int_equal(spec_model_open(&draft, "layers?exit=1", target, spec_test_context(0), NULL),
                     GSL_SUCCESS);
    drawing_backend_init(&drawing, 16);
    drawing.backend.kv_init = count_caches;
    drawing_backend_take(&drawing, target);
    drawing_backend_take(&drawing, draft);
    for (int ahead = 0; ahead < 2; ahead++) {
        spec_generation_plan plan = {.decoder = SPEC_DECODER_DEFAULT, .seed = 9};
        plan.decoder.target = target;
        plan.decoder.opt_draft = draft;
        plan.decoder.ahead = ahead == 1;
        generate(&without, &ending, plan, (int[]){1, 2, 3}, 3, 120);
        caches = 0;
        plan.baseline = true;
        generate(&with, &ending, plan, (int[]){1, 2, 3}, 3, 120);
        assert_int_equal(caches, 1 + ahead); /* a decoder that drafts ahead has its own */
        assert_int_equal(with.n, 120);
        assert_memory_equal(with.token, without.token, 120 * sizeof(int));
    }
    spec_model_close(draft);
    spec_model_close(target);
}

TEST(a_listener_that_fails_ends_the_text)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    ear e = {.fails_at = 3};
    spec_generation_plan plan = {.decoder = s.config, .hear = hear, .self = &e};
    spec_generation g;
    spec_ending ending;
    assert_works(spec_generation_init(&g, &plan, &error));
    assert_fails(spec_generation_text(&g, &ending, NULL, 0, 0, 300, &error), GSL_EFAILED, "deaf");
    assert_int_equal(e.calls, 3);
    spec_generation_free(&g);
    spec_generation_free(&g); /* a zeroed object may be freed */
    plan.decoder.rule = "tokn";
    assert_status(spec_generation_init(&g, &plan, &error), GSL_EINVAL);
}
