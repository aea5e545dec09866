/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks random checkpoints: their moments, that they depend on the seed but not on threads, and
 invalid shapes. */
#include "models/transformer/files/checkpoint.h"
#include "models/transformer/files/checkpoint_parts.h"

#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <omp.h>
#include <string.h>

static int load(spec_checkpoint *ret, const char *spec, spec_error *error)
{
    OWNED(spec_settings) settings;
    assert_int_equal(spec_settings_init(&settings, spec, error), GSL_SUCCESS);
    const int status = spec_checkpoint_load_random(ret, &settings, spec_test_pool(0), error);
    if (status == GSL_SUCCESS) spec_checkpoint_draw(ret);
    return status;
}

/* Computes the z-scores of the mean and of the variance of n weights with standard deviation `sd`
 * and kurtosis at most 3. */
static void check_moments(const spec_tensor *tensor, double sd)
{
    float row[512];
    double sum = 0.0, squares = 0.0;
    const double n = (double)tensor->rows * (double)tensor->cols;
    for (int r = 0; r < tensor->rows; r++) {
        spec_tensor_decode_row(row, tensor, r);
        for (int i = 0; i < tensor->cols; i++) {
            const double x = (double)row[i] / sd;
            sum += x;
            squares += x * x;
        }
    }
    /* The scale of a block is rounded to 11 bits, which shifts the variance by up to 2^-10. */
    const double z_mean = fabs(sum) / sqrt(n),
                 z_variance = (fabs(squares - n) - n * 0x1p-10) / sqrt(2.0 * n);
    const double z = gsl_cdf_ugaussian_Qinv(SPEC_TEST_P / 2.0);
    if (z_mean > z || z_variance > z)
        fail_msg("%s: mean %g, variance %g", spec_tensor_type_names[tensor->type], z_mean,
                 z_variance);
}

/* With 98,304 weights, a standard deviation that is wrong by 2 % is off by 9 standard errors. */
TEST(weights_have_the_deviation_of_an_initialisation, STATISTICS)
{
    const unsigned long long seed = spec_test_seed();
    for (int type = 0; type < SPEC_TENSOR_TYPES; type++) {
        const int dim = spec_tensor_block_weights((spec_tensor_type)type) > 64 ? 256 : 192;
        char spec[256];
        OWNED(spec_checkpoint) model;
        snprintf(spec, sizeof spec,
                 "random?dim=%d&layers=2&heads=4&kv_heads=2&ffn=512&vocab=512&type=%s&seed=%llu",
                 dim, spec_tensor_type_names[type], seed);
        assert_works(load(&model, spec, &error));
        check_moments(&model.embedding, 1.0);
        check_moments(&model.output, 1.0 / sqrt(dim));
        check_moments(&model.layer[1].gate, 1.0 / sqrt(dim));
        check_moments(&model.layer[0].down, 1.0 / sqrt(512.0));
        check_moments(&model.layer[1].query, 1.0 / sqrt(dim));
        assert_int_equal(model.layer[1].key.rows, dim / 2);
        assert_int_equal(model.layer[1].down.type, type);
        assert_int_equal(model.layer[1].ffn_norm.type, SPEC_TENSOR_F32);
        assert_null(model.layer[1].query_bias.data);
        assert_ptr_not_equal(model.output.data, model.embedding.data);
        float norm[256];
        spec_tensor_decode_row(norm, &model.final_norm, 0);
        for (int i = 0; i < dim; i++) assert_true(norm[i] == 1.0f);
        assert_int_equal(spec_checkpoint_parts_check(&model, "random", NULL), GSL_SUCCESS);
    }
}

TEST(experts_have_the_deviation_of_an_initialisation, STATISTICS)
{
    OWNED(spec_checkpoint) model;
    char spec[200];
    snprintf(spec, sizeof spec,
             "random?dim=192&layers=2&heads=4&ffn=512&experts=16&type=q4_0&vocab=512&seed=%llu",
             (unsigned long long)spec_test_seed());
    assert_works(load(&model, spec, &error));
    assert_int_equal(model.shape.n_active, 2);
    assert_int_equal(model.shape.expert_dim, 256);
    assert_int_equal(model.shape.ffn_dim, 0);
    check_moments(&model.layer[1].expert_gate, 1.0 / sqrt(192.0));
    check_moments(&model.layer[0].expert_down, 1.0 / 16.0);
    check_moments(&model.layer[0].router, 1.0 / sqrt(192.0));
    assert_int_equal(model.layer[1].expert_down.rows, 16 * 192);
    assert_int_equal(model.layer[1].expert_up.type, SPEC_TENSOR_Q4_0);
    assert_int_equal(model.layer[1].router.type, SPEC_TENSOR_F32);
    assert_null(model.layer[1].gate.data);
    assert_null(model.layer[1].router_bias.data);
}

static void assert_same(const spec_checkpoint *a, const spec_checkpoint *b, bool same)
{
    for (int part = 0; part < SPEC_PARTS; part++) {
        if (spec_checkpoint_parts_copies((spec_part)part, &a->shape) == 0) continue;
        const spec_tensor *x = spec_checkpoint_parts_tensor_const((spec_part)part, a, 0);
        const spec_tensor *y = spec_checkpoint_parts_tensor_const((spec_part)part, b, 0);
        if (x->data == NULL || spec_checkpoint_parts_is_vector((spec_part)part)) continue;
        const size_t bytes = (size_t)x->rows * spec_tensor_row_bytes(x->type, x->cols);
        assert_true((memcmp(x->data, y->data, bytes) == 0) == same);
    }
}

TEST(weights_depend_on_the_seed_alone)
{
    for (int type = 0; type < SPEC_TENSOR_TYPES; type += 3) {
        char spec[128];
        spec_checkpoint model, again, other;
        const int threads = omp_get_max_threads();
        snprintf(spec, sizeof spec, "random?dim=%d&layers=1&heads=2&ffn=%d&vocab=50&type=%s&seed=3",
                 type < SPEC_TENSOR_Q4_K ? 64 : 256, type < SPEC_TENSOR_Q4_K ? 96 : 512,
                 spec_tensor_type_names[type]);
        assert_int_equal(load(&model, spec, NULL), GSL_SUCCESS);
        omp_set_num_threads(3);
        assert_int_equal(load(&again, spec, NULL), GSL_SUCCESS);
        omp_set_num_threads(threads);
        spec[strlen(spec) - 1] = '4';
        assert_int_equal(load(&other, spec, NULL), GSL_SUCCESS);
        assert_same(&model, &again, true);
        assert_same(&model, &other, false);
        spec_checkpoint_free(&model);
        spec_checkpoint_free(&again);
        spec_checkpoint_free(&other);
    }
}

TEST(invalid_shapes_are_refused)
{
    static const char *const bad[][2] = {
        {"random?heads=7", "random: heads=7 does not divide dim=768"},
        {"random?dim=12",
         "random: the width of a head is 1, which is odd: rotary embedding pairs its dimensions"},
        {"random?kv_heads=5", "random: 12 heads cannot share 5 key-value heads evenly"},
        {"random?kv_heads=24",
         "random: the number of key-value heads is 24, which is not between 1 and 12"},
        {"random?heads=1", "random: the width of a head is 768, which is not between 1 and 256"},
        {"random?dim=24", "random: type=q8_0 needs dim and ffn to be multiples of 32"},
        {"random?ffn=2049&type=q4_0", "random: type=q4_0 needs dim and ffn to be multiples of 32"},
        {"random?experts=12&active=13",
         "random: the number of experts of a token is 13, which is not between 1 and 12"},
        {"random?experts=1025", "random: experts=1025 is not a whole number between 0 and 1024"},
        {"random?active=2", "random: active= needs experts="},
        {"random?expert_ffn=64", "random: expert_ffn= needs experts="},
        {"random?experts=8&active=3",
         "random: type=q8_0 needs dim and expert_ffn to be multiples of 32"},
        {"random?experts=64&active=9&ffn=8&type=f32",
         "random: the feed-forward width of an expert is 0, which is not between 1 and 65536"},
        {"random?ffn=2080&type=q6_k", "random: type=q6_k needs dim and ffn to be multiples of 256"},
        {"random?type=q5_0",
         "random: type=q5_0 is not one of f32, f16, bf16, q8_0, q4_0, q4_k, q5_k or q6_k"},
        {"random?dim=1", "random: dim=1 is not a whole number between 2 and 65536"},
        {"random?layers=0", "random: layers=0 is not a whole number between 1 and 512"},
        {"random?vocab=1", "random: vocab=1 is not a whole number between 2 and 1048576"},
        {"random?context=1", "random: context=1 is not a whole number between 2 and 1048576"},
        {"random?dim=65536&heads=256&ffn=65536&layers=512&type=f32",
         "random: out of memory: the weights of this shape "
         "take 6.16e+04 GB, and as much again when they are packed"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        spec_checkpoint model;
        spec_error error = {""};
        assert_int_not_equal(load(&model, bad[i][0], &error), GSL_SUCCESS);
        assert_string_equal(error.text, bad[i][1]);
        assert_null(model.layer);
    }
}
