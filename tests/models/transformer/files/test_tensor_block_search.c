/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks scales that are found by search: compares their errors with those of ggml and of every
 * other choice. */
#include "base/half_float.h"
#include "base/noise.h"
#include "models/transformer/files/tensor.h"
#include "models/transformer/files/tensor_block.h"
#include "models/transformer/files/tensor_block_search.h"

#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { WEIGHTS = 256, BYTES_MAX = 210, BLOCKS = 128 };

static const spec_tensor_type types[] = {SPEC_TENSOR_Q4_K, SPEC_TENSOR_Q5_K, SPEC_TENSOR_Q6_K};
enum { TYPES = sizeof types / sizeof types[0] };

static void read_back(float *ret_value, spec_tensor_type type, const void *data, int cols)
{
    spec_tensor_decode_row(ret_value, &(spec_tensor){type, 1, cols, data}, 0);
}

static double error_between(const float *a, const float *b, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

/* Draws weights of three kinds: Gaussian, uniform and with heavy tails. The seed is fixed, since
 * answers are known. */
enum { GAUSSIAN, UNIFORM, HEAVY, KINDS };
static void draw(float *ret_value, int kind)
{
    uint64_t word = 42;
    gsl_rng rng = {spec_noise_rng_type, &word};
    for (int i = 0; i < BLOCKS * WEIGHTS; i++) {
        const double z = gsl_ran_gaussian(&rng, 1.0), u = gsl_rng_uniform(&rng);
        ret_value[i] = (float)(kind == GAUSSIAN  ? 0.02 * z
                               : kind == UNIFORM ? 0.04 * (u - 0.5)
                                                 : 0.02 * z * z * z);
    }
}

/* Squared errors of ggml_quantize_chunk without importance, from llama.cpp's libggml-base (in
 * llama-cpp-python 0.3.36). */
static const double error_of_ggml[KINDS][TYPES] = {
    {0.0668817189, 0.0170744052, 0.00407031414},
    {0.0129710221, 0.00333396849, 0.000797453430},
    {1.57973650, 0.487085230, 0.124548073},
};

TEST(errors_are_below_those_of_ggml)
{
    static float value[BLOCKS * WEIGHTS], back[BLOCKS * WEIGHTS];
    static unsigned char data[BLOCKS * BYTES_MAX + 1];
    for (int kind = 0; kind < KINDS; kind++) {
        draw(value, kind);
        for (int t = 0; t < TYPES; t++) {
            spec_tensor_row_write(data + 1, types[t], value, BLOCKS * WEIGHTS);
            read_back(back, types[t], data + 1, BLOCKS * WEIGHTS);
            const double ratio =
                error_between(back, value, BLOCKS * WEIGHTS) / error_of_ggml[kind][t];
            if (!(ratio < 0.985 && ratio > 0.7))
                fail_msg("%s, kind %d: %g of ggml's error", spec_tensor_type_names[types[t]], kind,
                         ratio);
        }
    }
}

/* Hashes (FNV-1a) of the bytes written for uniform weights, which no library function rounds. */
TEST(bytes_are_the_same_everywhere)
{
    static const uint64_t known[TYPES] = {0x7a7b0b2088576b2c, 0x6e08ae90efd6ee69,
                                          0xf6d173d6a1318668};
    static float value[BLOCKS * WEIGHTS];
    static unsigned char data[BLOCKS * BYTES_MAX];
    draw(value, UNIFORM);
    for (int t = 0; t < TYPES; t++) {
        const size_t bytes = spec_tensor_row_bytes(types[t], BLOCKS * WEIGHTS);
        uint64_t hash = UINT64_C(0xCBF29CE484222325);
        spec_tensor_row_write(data, types[t], value, BLOCKS * WEIGHTS);
        for (size_t i = 0; i < bytes; i++) hash = (hash ^ data[i]) * UINT64_C(0x100000001B3);
        if (hash != known[t])
            fail_msg("%s: 0x%016llx", spec_tensor_type_names[types[t]], (unsigned long long)hash);
    }
}

/* ---- every scale and minimum ----------------------------------------------------------------- */

/* Returns the error of n weights with w = step * q - minimum and q in least..most. */
static double error_with(const float *value, int n, double step, double minimum, double least,
                         double most)
{
    double sum = 0.0;
    for (int j = 0; j < n; j++) {
        const double q = step != 0.0 ? rint(((double)value[j] + minimum) / step) : 0.0,
                     off = step * fmin(fmax(q, least), most) - minimum - (double)value[j];
        sum += off * off;
    }
    return sum;
}

/* Returns the smallest error of a group that its block's scales can express. */
static double least_error(spec_tensor_type type, const float *group, const double unit[2])
{
    double least = INFINITY;
    if (type == SPEC_TENSOR_Q6_K) {
        for (int s = -128; s < 128; s++)
            least = fmin(least, error_with(group, 16, unit[0] * s, 0.0, -32.0, 31.0));
    } else {
        for (int s = 0; s < 64; s++)
            for (int m = 0; m < 64; m++)
                least = fmin(least, error_with(group, 32, unit[0] * s, unit[1] * m, 0.0,
                                               type == SPEC_TENSOR_Q4_K ? 15.0 : 31.0));
    }
    return least;
}

TEST(groups_are_near_the_best_of_all_scales_and_minima)
{
    enum { TRIED = 4 };
    static float value[BLOCKS * WEIGHTS];
    for (int kind = 0; kind < KINDS; kind++) {
        draw(value, kind);
        for (int t = 0; t < TYPES; t++) {
            const spec_tensor_type type = types[t];
            const int n = type == SPEC_TENSOR_Q6_K ? 16 : 32;
            double sum = 0.0, least = 0.0;
            for (int block = 0; block < TRIED; block++) {
                const float *const x = value + block * WEIGHTS;
                unsigned char data[BYTES_MAX];
                float back[WEIGHTS];
                uint16_t half[2];
                spec_tensor_row_write(data, type, x, WEIGHTS);
                read_back(back, type, data, WEIGHTS);
                memcpy(half, data + (type == SPEC_TENSOR_Q6_K ? 206 : 0), sizeof half);
                const bool is_last = type == SPEC_TENSOR_Q6_K;
                const double unit[2] = {(double)spec_half_float_from_f16(half[is_last ? 1 : 0]),
                                        (double)spec_half_float_from_f16(half[1])};
                for (int at = 0; at < WEIGHTS; at += n) {
                    const double error = error_between(back + at, x + at, n),
                                 best = least_error(type, x + at, unit);
                    assert_true(error > best * (1.0 - 1e-4)); /* the enumeration is complete */
                    sum += error;
                    least += best;
                }
            }
            assert_true(sum < 1.07 * least);
        }
    }
}

/* ---- single blocks --------------------------------------------------------------------------- */

/* Writes and reads a block; returns the root of its relative squared error. */
static double again(float *ret_value, spec_tensor_type type, const float *value)
{
    unsigned char data[BYTES_MAX];
    double squared = 0.0;
    spec_tensor_row_write(data, type, value, WEIGHTS);
    read_back(ret_value, type, data, WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++) squared += (double)value[i] * (double)value[i];
    return sqrt(error_between(ret_value, value, WEIGHTS) / squared);
}

/* Most weights of a file that is written again keep their values. */
TEST(weights_of_the_type_change_little)
{
    static float value[BLOCKS * WEIGHTS];
    draw(value, GAUSSIAN);
    for (int t = 0; t < TYPES; t++) {
        float once[WEIGHTS], twice[WEIGHTS];
        double sum = 0.0;
        for (int block = 0; block < BLOCKS; block++) {
            again(once, types[t], value + block * WEIGHTS);
            const double error = again(twice, types[t], once);
            sum += error * error;
        }
        const double rms = sqrt(sum / BLOCKS);
        assert_true(rms < (types[t] == SPEC_TENSOR_Q6_K ? 0.002 : 0.01));
    }
}

/* Weights of one sign, equal weights, one outlier, a group of zeros, the largest weight on either
 * side. */
TEST(blocks_of_odd_shapes_are_close)
{
    static float value[BLOCKS * WEIGHTS];
    draw(value, GAUSSIAN);
    for (int t = 0; t < TYPES; t++) {
        const double bound = types[t] == SPEC_TENSOR_Q4_K   ? 0.09
                             : types[t] == SPEC_TENSOR_Q5_K ? 0.045
                                                            : 0.03;
        for (int shape = 0; shape < 7; shape++) {
            float x[WEIGHTS], back[WEIGHTS];
            for (int i = 0; i < WEIGHTS; i++)
                x[i] = shape == 0                  ? fabsf(value[i])
                       : shape == 1                ? -fabsf(value[i])
                       : shape == 2                ? 0.27f
                       : shape == 3                ? -0.27f
                       : shape == 4 && i / 32 == 3 ? 0.0f
                                                   : value[i];
            if (shape == 5) x[77] = 0.27f;
            if (shape == 6) x[77] = -0.27f;
            const double error = again(back, types[t], x);
            if (!(error < bound))
                fail_msg("%s, shape %d: %g", spec_tensor_type_names[types[t]], shape, error);
            for (int i = 96; shape == 4 && i < 128; i++) assert_true(back[i] == 0.0f);
            if (shape == 2 || shape == 3)
                for (int i = 0; i < WEIGHTS; i++) assert_true(fabsf(back[i] / x[i] - 1.0f) < 1e-3f);
        }
    }
}

/* If all weights are multiplied by a power of two, only the scales change, as long as F16 can hold
 * them. */
TEST(a_power_of_two_changes_the_scales_alone)
{
    static float value[BLOCKS * WEIGHTS];
    draw(value, UNIFORM);
    for (int i = 0; i < WEIGHTS; i++) value[i] *= 64.0f; /* scales that F16 stores in full */
    for (int t = 0; t < TYPES; t++) {
        float once[WEIGHTS], scaled[WEIGHTS], twice[WEIGHTS];
        again(once, types[t], value);
        for (int power = 1; power <= 8; power++) {
            for (int i = 0; i < WEIGHTS; i++) scaled[i] = ldexpf(value[i], power);
            again(twice, types[t], scaled);
            for (int i = 0; i < WEIGHTS; i++) assert_true(twice[i] == ldexpf(once[i], power));
        }
    }
}

/* Near 2^-24 a scale has few bits, and its multipliers compensate for that: no weight is cut
 * off. */
TEST(small_weights_are_as_good_as_the_scales_allow)
{
    static float value[BLOCKS * WEIGHTS];
    draw(value, GAUSSIAN);
    for (int t = 0; t < TYPES; t++) {
        for (int power = 0; power > -40; power--) {
            float x[WEIGHTS], back[WEIGHTS];
            float most = 0.0f;
            for (int i = 0; i < WEIGHTS; i++) {
                x[i] = ldexpf(value[i], power);
                most = fmaxf(most, fabsf(x[i]));
            }
            const double error = again(back, types[t], x);
            /* The smallest scale above zero is 2^-24, and weights are multiples of it. */
            const double step = types[t] == SPEC_TENSOR_Q6_K ? 0x1p-24 : 2.0 * 0x1p-24;
            double worst = 0.0;
            for (int i = 0; i < WEIGHTS; i++)
                worst = fmax(worst, fabs((double)back[i] - (double)x[i]));
            if (!(worst <=
                  fmax((double)most * (types[t] == SPEC_TENSOR_Q4_K ? 0.12 : 0.06), 16.0 * step)))
                fail_msg("%s, 2^%d: off by %g of %g, error %g", spec_tensor_type_names[types[t]],
                         power, worst, (double)most, error);
        }
    }
}

TEST(blocks_that_cannot_be_scaled)
{
    for (int t = 0; t < TYPES; t++) {
        float value[WEIGHTS] = {0.0f}, back[WEIGHTS];
        unsigned char data[BYTES_MAX];
        memset(data, 0xff, sizeof data);
        spec_tensor_row_write(data, types[t], value, WEIGHTS);
        read_back(back, types[t], data, WEIGHTS);
        for (int i = 0; i < WEIGHTS; i++) assert_true(back[i] == 0.0f);
        const float tiny[] = {1e-44f, 1e-30f, 1e-12f};
        for (int k = 0; k < 3; k++) {
            value[7] = tiny[k];
            spec_tensor_row_write(data, types[t], value, WEIGHTS);
            read_back(back, types[t], data, WEIGHTS);
            for (int i = 0; i < WEIGHTS; i++) assert_true(back[i] == 0.0f);
        }
        const float odd[] = {1e9f, -1e9f, 1e38f, -1e38f, NAN, INFINITY, -INFINITY};
        for (int k = 0; k < 7; k++) {
            const spec_tensor tensor = {types[t], 1, WEIGHTS, data};
            value[255] = odd[k];
            spec_tensor_row_write(data, types[t], value, WEIGHTS);
            read_back(back, types[t], data, WEIGHTS);
            assert_true(!isfinite(back[255]));
            assert_int_equal(spec_tensor_first_bad_row(&tensor, NULL), 0);
        }
    }
}
