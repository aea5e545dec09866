/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks devices by name, and the memory budget. */
#include "models/gpu/card.h"
#include "models/model_open.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/resource.h>

#define MODEL "random?dim=64&layers=2&heads=4&ffn=96&vocab=99&context=32"

TEST(a_device_is_opened_by_name_and_twice_is_once)
{
    const spec_backend *cpu, *gpu, *again, *automatic;
    spec_error error = {{0}};
    assert_works(spec_device_open(&cpu, spec_test_context(0), "cpu", &error));
    assert_ptr_equal(cpu, spec_test_context(0)->cpu);
    assert_works(spec_device_open(&gpu, spec_test_context(0), "gpu", &error));
    assert_string_equal(gpu->name, "gpu:0");
    assert_works(spec_device_open(&again, spec_test_context(0), "gpu:0", &error));
    assert_works(spec_device_open(&automatic, spec_test_context(0), "auto", &error));
    assert_ptr_equal(again, gpu);
    assert_ptr_equal(automatic, gpu);
    spec_device_close(gpu);
    spec_device_close(automatic);
    void *memory;
    assert_int_equal(again->alloc(again, &memory, 100, &error), GSL_SUCCESS); /* it is still open */
    again->free(again, memory);
    spec_device_close(again);
    spec_device_close(cpu);
    spec_device_close(NULL);
}

TEST(invalid_names_are_refused)
{
    static const char *const bad[] = {
        "", "CPU", "gpu:", "gpu:-1", "gpu: 1", "gpu:1x", "gpu:99999999999", "gpux", "cuda"};
    const spec_backend *backend = spec_test_context(0)->cpu;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(spec_device_is_name(bad[i]));
        assert_fails(spec_device_open(&backend, spec_test_context(0), bad[i], &error), GSL_EINVAL,
                     "no such device; use one of cpu, gpu, gpu:N, auto");
        assert_null(backend);
    }
    assert_true(spec_device_is_name("gpu:12"));
    assert_fails_with(spec_device_open(&backend, spec_test_context(0), "gpu:99999", &error),
                      GSL_EINVAL, "there is no GPU 99999: this machine has ");
}

TEST(auto_is_the_first_card_that_can_be_used)
{
    const spec_backend *backend;
    if (spec_card_is_real()) skip();
    setenv("SIM_CAPABILITY", "7.5", 1);
    assert_works(spec_device_open(&backend, spec_test_context(0), "auto", &error));
    unsetenv("SIM_CAPABILITY");
    assert_ptr_equal(backend, spec_test_context(0)->cpu);
    spec_device_close(backend);
}

TEST(devices_are_described_in_a_line_each)
{
    spec_context *context = spec_test_context(0);
    char line[512];
    assert_true(spec_device_describe(line, sizeof line, context, 0));
    assert_string_equal(line, "cpu  the processor");
    assert_true(spec_device_describe(line, sizeof line, context, 1));
    assert_int_equal(strncmp(line, "gpu:0  ", 7), 0);
    if (!spec_card_is_real()) assert_string_equal(line, "gpu:0  simulated card, 8 GiB");
    const int count = spec_card_count(context->cards, NULL);
    assert_false(spec_device_describe(line, sizeof line, context, 1 + count));
    assert_string_equal(line, "");
    assert_true(spec_device_describe(line, sizeof line, NULL, 0));
    assert_false(spec_device_describe(line, sizeof line, NULL, 1));
    assert_string_equal(line, "a GPU needs a context");
}

static spec_tensor_type kv_of(const char *spec, const spec_model *opt_target)
{
    OWNED_MODEL *model = model_of(spec, opt_target);
    const spec_tensor_type type = spec_transformer_of(model)->kv_type;
    return type;
}

TEST(the_kv_cache_has_the_requested_or_the_automatic_type)
{
    assert_int_equal(kv_of(MODEL "&type=q8_0", NULL), SPEC_TENSOR_F16);
    assert_int_equal(kv_of(MODEL "&type=f32", NULL), SPEC_TENSOR_F32);
    assert_int_equal(kv_of(MODEL "&type=f32&kv=f16", NULL), SPEC_TENSOR_F16);
    assert_int_equal(kv_of(MODEL "&type=q8_0&kv=bf16", NULL), SPEC_TENSOR_BF16);
    assert_int_equal(kv_of(MODEL "&type=q8_0&kv=f32", NULL), SPEC_TENSOR_F32);
    assert_int_equal(kv_of(MODEL "&type=q8_0&device=gpu", NULL), SPEC_TENSOR_BF16);
    assert_int_equal(kv_of(MODEL "&type=q8_0&device=gpu&kv=auto", NULL), SPEC_TENSOR_BF16);
    assert_int_equal(kv_of(MODEL "&type=q8_0&device=gpu&kv=f32", NULL), SPEC_TENSOR_F32);
    assert_int_equal(kv_of(MODEL "&type=f32&device=gpu", NULL), SPEC_TENSOR_F32);
    assert_int_equal(kv_of(MODEL "&type=f32&device=gpu&kv=bf16", NULL), SPEC_TENSOR_BF16);
    spec_model *target = model_of(MODEL "&type=f32&device=gpu&kv=bf16", NULL);
    assert_int_equal(kv_of("layers?exit=1", target),
                     SPEC_TENSOR_BF16); /* it may share the target's KV cache */
    assert_int_equal(kv_of("quantised?type=bf16", target), SPEC_TENSOR_BF16);
    assert_int_equal(kv_of("quantised?type=f32", target), SPEC_TENSOR_F32);
    assert_int_equal(kv_of("quantised?type=bf16&device=cpu", target), SPEC_TENSOR_F16);
    spec_model *draft = model_of("quantised?type=bf16&device=target", target);
    assert_ptr_equal(spec_transformer_of(draft)->weights->backend,
                     spec_transformer_of(target)->weights->backend);
    spec_model_close(draft);
    draft = model_of("quantised?type=bf16&device=cpu", target);
    assert_ptr_equal(spec_transformer_of(draft)->weights->backend, spec_test_context(0)->cpu);
    spec_model_close(draft);
    spec_model_close(target);
    target = model_of(
        "random?dim=40&layers=1&heads=2&ffn=96&vocab=9&context=9&type=f32&device=gpu", NULL);
    assert_int_equal(kv_of("quantised?type=q8_0", target),
                     SPEC_TENSOR_BF16); /* one matrix is not of floats */
    spec_model_close(target);
    spec_error error;
    assert_int_equal(
        spec_model_open(&target, MODEL "&kv=f16&device=gpu", NULL, spec_test_context(0), &error),
        GSL_EINVAL);
    assert_non_null(strstr(error.text, "keeps keys and values as f32 or bf16"));
    assert_int_equal(spec_model_open(&target, MODEL "&kv=q8_0", NULL, spec_test_context(0), &error),
                     GSL_EINVAL);
}

/* The memory that is stated as needed equals what weights, KV cache and buffers of a session take,
 * counted by allocations. */
static size_t taken;
static const spec_backend *counted;

static int count_alloc(const spec_backend *backend, void **ret_memory, size_t bytes,
                       spec_error *error)
{
    (void)backend;
    taken += counted->piece(bytes);
    return counted->alloc(counted, ret_memory, bytes, error);
}

TEST(the_memory_need_is_what_weights_take)
{
    static const char *const rest[] = {"f32&device=gpu",  "f16&device=gpu",  "bf16&device=gpu",
                                       "q8_0&device=gpu", "q4_0&device=gpu", "q8_0&attends=2"};
    for (int i = 0; i < 6; i++) {
        char spec[200];
        bool all_floats;
        snprintf(spec, sizeof spec, MODEL "&kv_heads=2&type=%s", rest[i]);
        OWNED_MODEL *model = model_of(spec, NULL);
        const spec_transformer *t = spec_transformer_of(model);
        spec_weights again;
        const spec_backend *backend = counted = t->weights->backend;
        spec_backend watched = *backend;
        watched.alloc = count_alloc;
        size_t matrices = 0;
        for (int l = 0; l < 2; l++) {
            const spec_layer *layer = &t->weights->layer[l];
            const spec_matrix *const all[] = {&layer->qkv,         &layer->query_gate,
                                              &layer->delta.input, &layer->attention_output,
                                              &layer->gate_up,     &layer->delta.output,
                                              &layer->down};
            for (size_t k = 0; k < sizeof all / sizeof *all; k++)
                if (all[k]->data != NULL) matrices += backend->piece(all[k]->bytes);
        }
        matrices += backend->piece(t->weights->output.bytes);
        if (t->weights->embedding.data != t->weights->output.data)
            matrices += backend->piece(t->weights->embedding.bytes);
        taken = 0;
        assert_works(spec_weights_init(&again, t->checkpoint, SPEC_TENSOR_TYPES, &watched, &error));
        const size_t vectors = taken; /* the backend allocates matrices itself */
        assert_int_equal(spec_weights_bytes(&all_floats, t->checkpoint, SPEC_TENSOR_TYPES, backend),
                         matrices + vectors);
        assert_int_equal(all_floats, i == 0);
        spec_weights_free(&again);
        spec_weights same = *t->weights;
        same.backend = &watched;
        OWNED(spec_forward) forward;
        taken = 0;
        assert_works(spec_forward_init(&forward, &same, &error));
        assert_int_equal(spec_forward_bytes(backend, &t->checkpoint->shape),
                         taken + backend->queue_bytes(
                                     &t->checkpoint->shape)); /* the queue allocates it itself */
    }
}

/* Sets the memory of the simulated GPU that is opened next. */
static void have_memory(long bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", bytes);
    setenv("SIM_MEMORY", text, 1);
}

/* The draft's check includes the target's text, which is not allocated yet. On a GPU that holds
 * only the target the draft is refused; on a larger one nothing fails later. */
TEST(a_draft_leaves_memory_for_the_text_of_its_target)
{
    bool both = false;
    int target_alone = 0;
    if (spec_card_is_real()) skip();
    for (long bytes = 500000; !both; bytes += bytes / 5) {
        spec_error error = {{0}};
        spec_model *target, *draft = NULL;
        spec_session one, other;
        assert_true(bytes < 1L << 30);
        have_memory(bytes);
        if (spec_model_open(&target, MODEL "&type=f32&kv=bf16&device=gpu", NULL,
                            spec_test_context(0), &error) != GSL_SUCCESS)
            continue;
        const int status =
            spec_model_open(&draft, "quantised?type=q4_0", target, spec_test_context(0), &error);
        both = status == GSL_SUCCESS;
        target_alone += !both;
        if (both) {
            assert_works(spec_session_init(&one, target, &error));
            if (spec_session_init(&other, draft, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
            spec_session_free(&other);
            spec_session_free(&one);
        } else {
            assert_int_equal(status, GSL_ENOMEM);
            assert_non_null(strstr(error.text, ", those of the target "));
            draft = model_of("quantised?type=q4_0&device=cpu", target);
        }
        spec_model_close(draft);
        spec_model_close(target);
    }
    unsetenv("SIM_MEMORY");
    assert_true(target_alone > 0);
}

TEST(a_context_that_needs_the_most_is_named)
{
    spec_error error = {{0}};
    spec_model *model;
    const char *end;
    if (spec_card_is_real()) skip();
    have_memory(200000);
    assert_int_equal(
        spec_model_open(&model,
                        "random?dim=64&layers=2&heads=4&ffn=96&vocab=99&context=65536&device=gpu",
                        NULL, spec_test_context(0), &error),
        GSL_ENOMEM);
    assert_null(model);
    static const char begin[] = "GPU 0 (simulated card) has 195 KiB free of 195 KiB, and ";
    if (strncmp(error.text, begin, strlen(begin)) != 0) fail_msg("'%s'", error.text);
    assert_non_null(strstr(error.text, " are needed: weights "));
    assert_non_null(strstr(error.text, ", keys and values of a text of 65536 tokens "));
    assert_non_null(end = strstr(error.text, "; a smaller context= needs less"));
    assert_string_equal(end, "; a smaller context= needs less");
    assert_int_equal(
        spec_model_open(&model,
                        "random?dim=64&layers=2&heads=4&ffn=96&vocab=9999&context=32&type=f32&"
                        "device=gpu",
                        NULL, spec_test_context(0), &error),
        GSL_ENOMEM);
    assert_null(strstr(error.text, "context="));
    unsetenv("SIM_MEMORY");
}

static long most_kilobytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* 260 MB of random weights are not drawn if they do not fit. */
TEST(random_weights_are_not_drawn_if_they_do_not_fit)
{
    spec_error error = {{0}};
    spec_model *model;
    if (spec_card_is_real()) skip();
    have_memory(200000000);
    const long before = most_kilobytes();
    assert_int_equal(
        spec_model_open(&model,
                        "random?dim=2048&layers=1&heads=8&ffn=2048&vocab=10000&context=32&type=f32&"
                        "device=gpu",
                        NULL, spec_test_context(0), &error),
        GSL_ENOMEM);
    unsetenv("SIM_MEMORY");
    assert_true(most_kilobytes() - before < 100000);
    assert_non_null(strstr(error.text, " are needed: weights "));
}

TEST(one_session_too_many_is_refused_when_it_begins)
{
    spec_error error = {{0}};
    spec_session session[9];
    int n = 0;
    if (spec_card_is_real()) skip();
    have_memory(40000000);
    OWNED_MODEL *model = model_of(
        "random?dim=64&layers=2&heads=4&ffn=96&vocab=99&context=8192&type=f32&device=gpu", NULL);
    unsetenv("SIM_MEMORY");
    while (n < 9 && spec_session_init(&session[n], model, &error) == GSL_SUCCESS) n++;
    assert_in_range(n, 1, 8);
    static const char begin[] =
        "no room for the keys and values of a text of 8192 tokens: GPU 0 (simulated card) has ";
    if (strncmp(error.text, begin, strlen(begin)) != 0) fail_msg("'%s'", error.text);
    assert_non_null(strstr(error.text, " more are needed; a smaller context= needs less"));
    double scratch[99];
    assert_non_null(spec_session_row(&session[0], NULL, 0, scratch,
                                     &error)); /* the others are unaffected */
    while (n-- > 0) spec_session_free(&session[n]);
}

SUITE(SIMULATOR);
