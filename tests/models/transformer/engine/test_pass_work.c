/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "models/transformer/engine/pass_work.h"
#include "models/transformer/engine/transformer_session.h"
#include "tests/support/contexts.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <string.h>

static const spec_transformer *open_model(spec_model **ret, const char *spec,
                                          const spec_model *opt_target)
{
    assert_works(spec_model_open(ret, spec, opt_target, spec_test_context(0), &error));
    return spec_transformer_of(*ret);
}

/* dim 64, ffn 96, 4 heads and 2 kv heads: 64 (64 + 32 + 32) + 64 64 + 2 96 64 + 64 96 weights per
 * layer, and 100 64 in the output. */
TEST(work_is_counted_by_the_shape)
{
    OWNED_MODEL *model;
    const spec_pass_work work = spec_pass_work_of(open_model(
        &model, "random?dim=64&layers=3&heads=4&kv_heads=2&ffn=96&vocab=100&type=q8_0", NULL));
    assert_true(work.weights[SPEC_TENSOR_Q8_0] == 3.0 * (8192 + 4096 + 12288 + 6144) + 6400.0);
    assert_true(work.weights[SPEC_TENSOR_F32] == 0.0 && work.weights[SPEC_TENSOR_BF16] == 0.0);
    assert_true(work.kv_bytes == 2.0 * 2 * 16 * 3 * 2); /* F16 */
    assert_int_equal(work.launches, 0); /* operations are calls */
    assert_true(work.weight_bytes == (double)spec_transformer_of(model)->weights->bytes);
}

/* A mixture of 8 experts, 3 per token: 3 (3 32 64) weights per layer in place of 3 96 64, and a
 * router of 8 64 floats. */
TEST(a_token_has_the_work_of_its_experts)
{
    OWNED_MODEL *model;
    const spec_pass_work work = spec_pass_work_of(
        open_model(&model,
                   "random?dim=64&layers=3&heads=4&kv_heads=2&experts=8&active=3&expert_ffn=32&"
                   "vocab=96&type=q8_0",
                   NULL));
    assert_true(work.weights[SPEC_TENSOR_Q8_0] == 3.0 * (8192 + 4096 + 3 * 6144) + 6144.0);
    assert_true(work.weights[SPEC_TENSOR_F32] == 3.0 * 512);
    assert_true(work.expert_bytes == 3.0 * 6144 * 34 / 32);
    assert_true(work.mixtures == 3 && work.n_experts == 8 && work.n_active == 3);
    assert_true(work.weight_bytes == (double)spec_transformer_of(model)->weights->bytes);
    assert_true(spec_pass_work_bytes(&work, 3.0) == work.weight_bytes);
    assert_true(spec_pass_work_bytes(&work, 5.5) - work.weight_bytes == 2.5 * work.expert_bytes);
}

/* One of the two layers attends, with gates as wide as its queries. The other one has 2 32 + 64
 * channels, a gate of 64, 2 rows for each of 4 heads, and a state of 16 16 for each. */
TEST(a_hybrid_has_the_work_of_both_kinds_of_layers)
{
    OWNED_MODEL *model;
    const spec_pass_work work = spec_pass_work_of(open_model(
        &model, "random?dim=64&layers=4&heads=4&kv_heads=2&ffn=96&vocab=100&attends=2&type=q8_0",
        NULL));
    const double attending = 64.0 * (2 * 64 + 2 * 32 + 64), recurrent = 64.0 * (128 + 64 + 8 + 64);
    assert_true(work.weights[SPEC_TENSOR_Q8_0] ==
                2.0 * (attending + recurrent) + 4.0 * 3 * 64 * 96 + 6400.0);
    assert_true(work.kv_bytes == 2.0 * 2 * 16 * 2 * 2); /* F16 */
    assert_true(work.state_bytes == 2.0 * 4 * 16 * 16 * 4);
    assert_true(spec_pass_work_kv_bytes(&work, 10.0) == work.state_bytes + 10.0 * work.kv_bytes);
    assert_true(work.weight_bytes == (double)spec_transformer_of(model)->weights->bytes);
}

/* All experts are in memory, although a pass reads few. */
TEST(the_memory_need_counts_all_experts)
{
    enum { LAYERS = 3, DIM = 64, HEAD = 16, EXPERTS = 8 };
    OWNED_MODEL *model;
    bool all_floats;
    const spec_transformer *t = open_model(
        &model,
        "random?dim=64&layers=3&heads=4&kv_heads=2&experts=8&active=3&expert_ffn=32&vocab=96&"
        "type=q4_0",
        NULL);
    const spec_weights *weights = t->weights;
    size_t expected = weights->output.bytes + weights->embedding.bytes + DIM * sizeof(float);
    for (int i = 0; i < LAYERS; i++) {
        const spec_layer *layer = &weights->layer[i];
        const spec_experts *experts = &layer->experts;
        assert_int_equal(experts->up.one.type, SPEC_TENSOR_Q4_0);
        expected +=
            layer->qkv.bytes + layer->attention_output.bytes + experts->router.bytes +
            EXPERTS * (experts->gate.one.bytes + experts->up.one.bytes + experts->down.one.bytes) +
            2 * (DIM + HEAD) * sizeof(float);
    }
    assert_int_equal(
        spec_weights_bytes(&all_floats, t->checkpoint, SPEC_TENSOR_TYPES, weights->backend),
        expected);
    assert_false(all_floats);
}

/* One token reads the experts that it takes; a text that is read at once reads at most all of
 * them. */
TEST(a_session_counts_the_experts_that_it_reads)
{
    spec_model *model;
    spec_session session;
    spec_error error;
    int token[40];
    FREED double *row = malloc(96 * sizeof *row);
    for (int i = 0; i < 40; i++) token[i] = i;
    (void)open_model(&model,
                     "random?dim=64&layers=3&heads=4&experts=8&active=3&expert_ffn=32&vocab=96&"
                     "top_k=5",
                     NULL);
    assert_works(spec_session_init(&session, model, &error));
    assert_int_equal(spec_transformer_session_experts(&session), 0);
    assert_non_null(spec_session_row(&session, token, 39, row, &error));
    const uint64_t many = spec_transformer_session_experts(&session);
    assert_in_range(many, 3 * 3 + 1, 3 * 8);
    assert_non_null(spec_session_row(&session, token, 40, row, &error));
    assert_int_equal(spec_transformer_session_experts(&session), many + 3 * 3);
    spec_session_free(&session);
    spec_model_close(model);
    (void)open_model(&model, "random?dim=64&layers=1&heads=4&ffn=32&vocab=96", NULL);
    assert_works(spec_session_init(&session, model, &error));
    assert_non_null(spec_session_row(&session, token, 3, row, &error));
    assert_int_equal(spec_transformer_session_experts(&session), 0);
    spec_session_free(&session);
    spec_model_close(model);
}

/* Layers 0 and 2 of 4 have a window. */
TEST(layers_with_a_window_are_counted_apart)
{
    OWNED_MODEL *model;
    (void)open_model(&model, "random?dim=64&layers=4&heads=4&ffn=96&vocab=100&type=f32", NULL);
    spec_transformer *transformer = (spec_transformer *)model;
    transformer->own_weights.shape.window = 7;
    transformer->own_weights.layer[0].how.has_window = true;
    transformer->own_weights.layer[2].how.has_window = true;
    const spec_pass_work work = spec_pass_work_of(transformer);
    assert_true(work.kv_bytes == 2.0 * 64 * 2 * 4 && work.window_kv_bytes == work.kv_bytes);
    assert_true(spec_pass_work_kv_bytes(&work, 5.0) == 10.0 * work.kv_bytes);
    assert_true(spec_pass_work_kv_bytes(&work, 100.0) == 107.0 * work.kv_bytes);
}

/* Two of four layers have a window of 7, in which the first 3 positions lie only in short texts.
 * Second route: count the positions. */
TEST(a_draft_with_a_window_reads_fewer_keys_and_values)
{
    OWNED_MODEL *target;
    spec_model *draft;
    (void)open_model(&target, "random?dim=64&layers=4&heads=4&ffn=96&vocab=100&type=f32", NULL);
    spec_transformer *transformer = (spec_transformer *)target;
    transformer->own_weights.shape.window = 7;
    transformer->own_weights.layer[0].how.has_window = true;
    transformer->own_weights.layer[2].how.has_window = true;
    const spec_pass_work all = spec_pass_work_of(transformer),
                         work = spec_pass_work_of(
                             open_model(&draft, "layers?window=5&sink=3", target));
    assert_true(work.weight_bytes == all.weight_bytes);
    for (int n = 1; n <= 30; n++) {
        int seen = 0;
        for (int t = 0; t < n; t++)
            if (t < 3 || t >= n - 5) seen += 1 + (t >= n - 7);
        assert_true(spec_pass_work_kv_bytes(&work, n) == seen * all.kv_bytes);
    }
    assert_true(spec_pass_work_kv_bytes(&work, 30.0) == 13.0 * all.kv_bytes);
    spec_model_close(draft);
}

/* The draft has the target's first and third layers, and its output. */
TEST(a_draft_of_some_layers_has_the_work_of_these)
{
    spec_model *target, *draft;
    const char *spec = "random?dim=64&layers=4&heads=4&ffn=96&vocab=100&type=bf16";
    const spec_pass_work all = spec_pass_work_of(open_model(&target, spec, NULL));
    const spec_pass_work some =
        spec_pass_work_of(open_model(&draft, "layers?exit=3&skip=1", target));
    const double output = 6400.0, layers = all.weights[SPEC_TENSOR_BF16] - output;
    assert_true(some.weights[SPEC_TENSOR_BF16] == layers / 2.0 + output);
    assert_true(some.weight_bytes < all.weight_bytes && some.weight_bytes > all.weight_bytes / 2.0);
    assert_true(some.kv_bytes == all.kv_bytes / 2.0);
    assert_int_equal(some.launches, 0);
    spec_model_close(draft);
    spec_model_close(target);
}

/* The draft skips one attention, and both sublayers of another layer. */
TEST(a_draft_without_sublayers_has_the_work_of_the_others)
{
    spec_model *target, *draft;
    const char *spec = "random?dim=64&layers=3&heads=4&kv_heads=2&ffn=96&vocab=100&type=q8_0";
    const spec_pass_work all = spec_pass_work_of(open_model(&target, spec, NULL));
    const spec_pass_work some = spec_pass_work_of(open_model(&draft, "layers?skip=0a.2", target));
    assert_true(all.weights[SPEC_TENSOR_Q8_0] - some.weights[SPEC_TENSOR_Q8_0] ==
                2 * (8192 + 4096) + 12288 + 6144);
    assert_true(some.kv_bytes == all.kv_bytes / 3.0);
    spec_model_close(draft);
    spec_model_close(target);
}

/* A backend may pad rows to panels; here all rows are whole panels. */
TEST(the_bytes_of_weights_are_known_before_they_are_loaded)
{
    static const char *const targets[] = {
        "random?dim=64&layers=3&heads=4&kv_heads=2&ffn=96&vocab=96&type=q8_0",
        "random?dim=64&layers=3&heads=4&ffn=96&vocab=96&type=f32",
        "random?dim=64&layers=3&heads=8&ffn=96&vocab=96&attends=3&type=q8_0",
        "random?dim=64&layers=3&heads=4&experts=16&active=3&expert_ffn=32&vocab=96&type=q8_0",
        "random?dim=64&layers=3&heads=8&experts=16&active=3&expert_ffn=32&vocab=96&attends=2&"
        "type=q8_0"};
    static const char *const drafts[] = {"layers?exit=1", "layers?skip=0f.1a",
                                         "quantised?type=q4_0", "quantised?type=bf16"};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (int d = 0; d < 4; d++) {
            spec_model *target, *draft;
            spec_error error;
            if (spec_model_open_unloaded(&target, targets[t], NULL, spec_test_context(0), &error) !=
                    GSL_SUCCESS ||
                spec_model_open_unloaded(&draft, drafts[d], target, spec_test_context(0), &error) !=
                    GSL_SUCCESS)
                fail_msg("%s", error.text);
            const double of_target = spec_pass_work_weight_bytes(spec_transformer_of(target));
            const double of_draft = spec_pass_work_weight_bytes(spec_transformer_of(draft));
            assert_works(spec_model_load(target, NULL, &error));
            assert_works(spec_model_load(draft, target, &error));
            assert_true(of_target == spec_pass_work_of(spec_transformer_of(target)).weight_bytes);
            assert_true(of_draft == spec_pass_work_of(spec_transformer_of(draft)).weight_bytes);
            spec_model_close(draft);
            spec_model_close(target);
        }
}

/* The simulated GPU faults at a given launch: the pass fails at the last launch counted, not at one
 * more. With 1 layer and 3, for texts of 1 token and 40. */
TEST(a_card_launches_what_is_counted)
{
    if (spec_card_is_real()) skip();
    spec_test_context(0)->gpu.unrecorded = true;
    for (int c = 0; c < 4; c++) {
        const int layers = c % 2 ? 3 : 1, n = c < 2 ? 1 : 40, token[40] = {0};
        for (int more = 0; more < 2; more++) {
            OWNED_MODEL *model;
            OWNED(spec_session) session;
            spec_error error;
            char spec[120], at[16];
            snprintf(
                spec, sizeof spec,
                "random?dim=64&layers=%d&heads=4&kv_heads=2&ffn=96&vocab=100&type=bf16&device=gpu",
                layers);
            snprintf(at, sizeof at, "%d", 9 * layers + 5 + more);
            setenv("SIM_FAULT_AT", at, 1);
            const spec_transformer *t = open_model(&model, spec, NULL);
            const int launches = spec_pass_work_of(t).launches;
            assert_works(spec_session_init(&session, model, &error));
            spec_forward *forward = spec_transformer_session_forward(session.data);
            const int status = spec_session_score_begin(
                &session, &(spec_score_request){.context = token, .n_context = (size_t)n}, &error);
            assert_int_equal(status, GSL_SUCCESS);
            assert_int_equal(launches, 9 * layers + 5);
            assert_int_equal(spec_forward_wait(forward, &error) == GSL_SUCCESS, more);
            (void)spec_session_score_end(&session, &error);
        }
    }
    unsetenv("SIM_FAULT_AT");
    spec_test_context(0)->gpu.unrecorded = false;
}

TEST(a_card_refuses_architectures_beside_llama)
{
    spec_model *model;
    spec_error error;
    assert_int_equal(spec_model_open(&model,
                                     "random?dim=64&layers=1&heads=4&experts=8&active=2&"
                                     "expert_ffn=32&vocab=96&device=gpu",
                                     NULL, spec_test_context(0), &error),
                     GSL_EINVAL);
    assert_non_null(
        strstr(error.text, "a model of architecture qwen3moe has norms of heads, which "));
    assert_non_null(strstr(error.text, " does not compute: open it with device=cpu"));
}

TEST(a_card_refuses_a_draft_with_a_window)
{
    OWNED_MODEL *target;
    spec_model *draft;
    spec_error error;
    (void)open_model(&target, "random?dim=64&layers=1&heads=4&ffn=96&vocab=96&type=bf16&device=gpu",
                     NULL);
    assert_int_equal(
        spec_model_open(&draft, "layers?window=9", target, spec_test_context(0), &error),
        GSL_EINVAL);
    assert_non_null(strstr(error.text, "window=9: gpu:0 ("));
    assert_non_null(
        strstr(error.text, ") attends to the whole context only; open the target with device=cpu"));
}

SUITE(SIMULATOR);
