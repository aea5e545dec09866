/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/bench/timing_limit.h"

#include <math.h>

/* The model has 1,000,000 weights in 2,000,000 bytes of bf16 and as many in 1,062,500 bytes of
 * Q8_0, with 100 bytes of KV cache per token. The GPU reads 1 GB and computes 50 G and 400 G
 * operations per second. */
static spec_timing_limit made(void)
{
    spec_timing_limit limit = {.opt_backend = &spec_backend_cpu};
    limit.work.weights[SPEC_TENSOR_BF16] = limit.work.weights[SPEC_TENSOR_Q8_0] = 1e6;
    limit.work.weight_bytes = 3062500.0;
    limit.work.kv_bytes = 100.0;
    limit.work.launches = 20;
    limit.roofline = (spec_roofline){.read = 1e9, .bf16 = 50e9, .int8 = 400e9};
    return limit;
}

TEST(memory_is_the_limit_of_few_tokens_and_products_of_many)
{
    spec_timing_limit limit = made();
    for (int n = 1; n <= 64; n *= 2) {
        const double read = (3062500.0 + 100.0 * 80.0) / 1e9,
                     products = n * (2e6 / 50e9 + 2e6 / 400e9);
        assert_near(spec_timing_limit_seconds(&limit, n, NAN, 80.0),
                    read > products ? read : products, 1e-12);
    }
    assert_true(spec_timing_limit_seconds(&limit, 64, NAN, 80.0) ==
                spec_timing_limit_seconds(&limit, 32, NAN, 80.0)); /* memory, up to 68 tokens */
    assert_true(spec_timing_limit_seconds(&limit, 128, NAN, 80.0) >
                1.8 * spec_timing_limit_seconds(&limit, 64, NAN, 80.0));
}

/* Layers with a window of 50 tokens have 30 more bytes per token. */
TEST(a_window_bounds_what_its_layers_read)
{
    spec_timing_limit limit = made();
    limit.work.window_kv_bytes = 30.0;
    limit.work.window = 50;
    assert_near(spec_timing_limit_seconds(&limit, 1, NAN, 40.0), (3062500.0 + 130.0 * 40.0) / 1e9,
                1e-12);
    assert_near(spec_timing_limit_seconds(&limit, 1, NAN, 80.0),
                (3062500.0 + 100.0 * 80.0 + 30.0 * 50.0) / 1e9, 1e-12);
}

TEST(every_operation_waits_for_its_launch)
{
    spec_timing_limit limit = made();
    const double without = spec_timing_limit_seconds(&limit, 5, NAN, 80.0);
    limit.roofline.launch = 2e-6;
    assert_near(spec_timing_limit_seconds(&limit, 5, NAN, 80.0), without + 40e-6, 1e-12);
}

/* Two mixtures of 8 experts, 2 per token, with 100,000 bytes each. */
TEST(a_mixture_reads_the_experts_of_all_its_tokens)
{
    spec_timing_limit limit = made();
    assert_nan(spec_timing_limit_experts(&limit, 3));
    limit.work.mixtures = 2;
    limit.work.n_experts = 8;
    limit.work.n_active = 2;
    limit.work.expert_bytes = 2e5;
    assert_near(spec_timing_limit_experts(&limit, 1), 2.0, 1e-12);
    assert_near(spec_timing_limit_experts(&limit, 2), 3.5, 1e-12);
    assert_near(spec_timing_limit_seconds(&limit, 1, 2.0, 80.0), (3062500.0 + 8000.0) / 1e9, 1e-12);
    assert_near(spec_timing_limit_seconds(&limit, 2, 3.25, 80.0),
                (3062500.0 + 250000.0 + 8000.0) / 1e9, 1e-12);
    assert_near(spec_timing_limit_share(&limit, 3.25, 6.625e-3), 0.5, 1e-12);
}

TEST(f16_is_two_products_and_f32_is_not_counted)
{
    spec_timing_limit limit = made();
    limit.work.weights[SPEC_TENSOR_BF16] = limit.work.weights[SPEC_TENSOR_Q8_0] = 0.0;
    limit.work.weights[SPEC_TENSOR_F16] = 1e6;
    assert_near(spec_timing_limit_seconds(&limit, 1000, NAN, 1000.0), 1000 * 2 * 2e6 / 50e9, 1e-12);
    limit.work.weights[SPEC_TENSOR_F16] = 0.0;
    limit.work.weights[SPEC_TENSOR_F32] = 1e6;
    assert_near(spec_timing_limit_seconds(&limit, 1000, NAN, 1000.0),
                (3062500.0 + 100.0 * 1000.0) / 1e9, 1e-12);
}

TEST(what_was_not_measured_is_not_known)
{
    spec_timing_limit limit = made();
    assert_near(spec_timing_limit_share(&limit, NAN, 6.125e-3), 0.5, 1e-12);
    limit.roofline.bf16 = limit.roofline.int8 = 0.0; /* then only memory counts */
    assert_near(spec_timing_limit_seconds(&limit, 1000, NAN, 0.0),
                (3062500.0 + 100.0 * 1000.0) / 1e9, 1e-12);
    limit.roofline.read = 0.0;
    assert_nan(spec_timing_limit_seconds(&limit, 1, NAN, 80.0));
    assert_nan(spec_timing_limit_share(&limit, NAN, 1.0));
    limit = made();
    limit.opt_backend = NULL;
    assert_nan(spec_timing_limit_seconds(&limit, 1, NAN, 80.0));
    assert_nan(spec_timing_limit_share(&limit, NAN, 1.0));
}

TEST(models_of_one_device_share_its_roofline)
{
    spec_timing_limit target, draft, none;
    spec_model *model, *uniform;
    spec_error error = {{0}};
    assert_int_equal(spec_model_open(&model, "random?dim=64&layers=2&heads=4&ffn=96&vocab=100",
                                     NULL, spec_test_context(0), &error),
                     0);
    assert_int_equal(spec_model_open(&uniform, "uniform?V=10", NULL, spec_test_context(0), &error),
                     0);
    assert_int_equal(spec_timing_limit_init(&target, model, NULL, &error), GSL_SUCCESS);
    target.roofline.read = 12345.0;
    assert_int_equal(spec_timing_limit_init(&draft, model, &target, &error), GSL_SUCCESS);
    assert_true(draft.roofline.read == 12345.0 && draft.work.weight_bytes > 0.0);
    assert_int_equal(spec_timing_limit_init(&none, uniform, &target, &error), GSL_SUCCESS);
    assert_null(none.opt_backend);
    assert_int_equal(spec_timing_limit_init(&none, NULL, NULL, &error), GSL_SUCCESS);
    assert_null(none.opt_backend);
    spec_model_close(model);
    spec_model_close(uniform);
}
