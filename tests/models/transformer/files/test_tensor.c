/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the five types against C's own arithmetic: every half, rounding at every tie, and blocks
 * by definition. */
#include "base/half_float.h"
#include "models/transformer/files/tensor.h"

#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include "base/noise.h"

#include <float.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

/* Computes a half from the definition of its bits. */
static double half_value(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    const double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

TEST(every_half_is_read_and_written_back)
{
    for (uint32_t half = 0; half < 0x10000; half++) {
        const float value = spec_half_float_from_f16((uint16_t)half);
        const double expected = half_value((uint16_t)half);
        if (isnan(expected)) {
            assert_true(isnan(value) &&
                        isnan(spec_half_float_from_f16(spec_half_float_to_f16(value))));
        } else {
            assert_true((double)value == expected);
            assert_int_equal(signbit(value) != 0, half >> 15);
            assert_int_equal(spec_half_float_to_f16(value), half);
        }
        const float wide = spec_half_float_from_bf16((uint16_t)half);
        if (isnan(wide))
            assert_true(isnan(spec_half_float_from_bf16(spec_half_float_to_bf16(wide))));
        else
            assert_int_equal(spec_half_float_to_bf16(wide), half);
    }
    assert_true(spec_half_float_from_bf16(0x3f80) == 1.0f &&
                spec_half_float_from_bf16(0xc049) == -3.140625f);
}

/* Halfway between two neighbours rounding goes to the even one, and next to it to the nearer one.
 * In each type values increase with their bits. */
static void check_rounding(uint16_t (*write)(float), float (*read)(uint16_t), uint16_t infinity)
{
    for (uint16_t half = 0; half + 1 < infinity; half++) {
        const uint16_t above = (uint16_t)(half + 1), even = half % 2 == 0 ? half : above;
        const float middle = (float)(0.5 * ((double)read(half) + (double)read(above)));
        if ((double)middle != 0.5 * ((double)read(half) + (double)read(above)))
            continue; /* denormals of a float */
        assert_int_equal(write(middle), even);
        assert_int_equal(write(-middle), even | 0x8000);
        assert_int_equal(write(nextafterf(middle, 0.0f)), half);
        assert_int_equal(write(nextafterf(middle, INFINITY)), above);
    }
    assert_int_equal(write(INFINITY), infinity);
    assert_int_equal(write(-INFINITY), infinity | 0x8000);
    assert_int_equal(write(FLT_MAX), infinity);
    assert_int_equal(write(0.0f), 0);
    assert_int_equal(write(-0.0f), 0x8000);
    assert_true(isnan(read(write(NAN))));
}

TEST(halves_round_to_the_nearest_and_ties_to_even)
{
    check_rounding(spec_half_float_to_f16, spec_half_float_from_f16, 0x7c00);
    check_rounding(spec_half_float_to_bf16, spec_half_float_from_bf16, 0x7f80);
    assert_int_equal(spec_half_float_to_f16(65519.996f), 0x7bff);
    assert_int_equal(spec_half_float_to_f16(65520.0f), 0x7c00);
    assert_int_equal(spec_half_float_to_f16(0x1p-25f), 0);
    assert_int_equal(spec_half_float_to_f16(nextafterf(0x1p-25f, 1.0f)), 1);
}

TEST(rows_have_their_bytes)
{
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_F32, 7), 28);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_F16, 7), 14);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_BF16, 7), 14);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_Q8_0, 64), 68);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_Q4_0, 64), 36);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_Q8_0, 33), 0);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_Q4_0, 16), 0);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_TYPES, 32), 0);
    for (int i = 0; i < SPEC_TENSOR_TYPES; i++) assert_non_null(spec_tensor_type_names[i]);
    assert_null(spec_tensor_type_names[SPEC_TENSOR_TYPES]);
}

static void read_row(float *value, spec_tensor_type type, const void *data, int cols)
{
    for (int i = 0; i < cols; i++) value[i] = NAN; /* clears the previous row */
    spec_tensor_decode_row(value,
                           &(spec_tensor){.type = type, .rows = 1, .cols = cols, .data = data}, 0);
}

/* Writes random rows of many scales: they are within half a step of the type, and values read back
 * are written as the same bytes. */
TEST(a_row_is_written_within_half_a_step)
{
    enum { COLS = 96, ROWS = 200 };
    uint64_t word = spec_test_seed();
    gsl_rng rng = {spec_noise_rng_type, &word};
    for (int r = 0; r < ROWS; r++) {
        float value[COLS], back[COLS], again[COLS];
        for (int i = 0; i < COLS; i++)
            value[i] = (float)(gsl_ran_gaussian(&rng, 1.0) * exp2(r % 20 - 10));
        for (int type = 0; type <= SPEC_TENSOR_Q4_0; type++) {
            unsigned char odd[COLS * 4 + 1], data2[COLS * 4]; /* at an odd address, as in a file */
            spec_tensor_row_write(odd + 1, (spec_tensor_type)type, value, COLS);
            read_row(back, (spec_tensor_type)type, odd + 1, COLS);
            for (int block = 0; block < COLS; block += SPEC_TENSOR_BLOCK) {
                float most = 0.0f;
                for (int i = block; i < block + SPEC_TENSOR_BLOCK; i++)
                    most = fmaxf(most, fabsf(value[i]));
                for (int i = block; i < block + SPEC_TENSOR_BLOCK; i++) {
                    const double magnitude = fabs((double)value[i]);
                    const double steps[] = {0.0, magnitude * 0x1p-10, magnitude * 0x1p-7,
                                            (double)most / 127.0, (double)most / 8.0};
                    /* A scale is rounded to 11 bits or to 2^-24, and a weight whose sign differs
                     * from that of the largest is clipped at 7/8 of it. */
                    const double slack = type == SPEC_TENSOR_Q8_0
                                             ? (double)most * 0x1p-11 + 127.0 * 0x1p-25
                                         : type == SPEC_TENSOR_Q4_0
                                             ? (double)most * (0x1p-11 + 0.0625) + 8.0 * 0x1p-25
                                         : type == SPEC_TENSOR_F16 ? 0x1p-25
                                                                   : 0.0;
                    const double off = fabs((double)back[i] - (double)value[i]);
                    if (!(off <= 0.5 * steps[type] + slack))
                        fail_msg("%s: off by %g", spec_tensor_type_names[type], off);
                }
            }
            if (type <= SPEC_TENSOR_BF16) {
                spec_tensor_row_write(data2, (spec_tensor_type)type, back, COLS);
                read_row(again, (spec_tensor_type)type, data2, COLS);
                assert_memory_equal(again, back, sizeof back);
            }
        }
    }
}

/* Blocks computed by hand: scale 0.5 is 0x3800, -0.25 is 0xb400. */
TEST(blocks_are_those_of_ggml)
{
    float value[32], back[32];
    unsigned char data[34];
    for (int i = 0; i < 32; i++) value[i] = 0.5f * (float)(i - 10);
    value[31] = -63.5f;
    value[0] = 0.25f; /* ties go away from zero */
    value[1] = -0.25f;
    value[2] = 0.75f;
    spec_tensor_row_write(data, SPEC_TENSOR_Q8_0, value, 32);
    assert_int_equal(data[0], 0x00);
    assert_int_equal(data[1], 0x38);
    assert_int_equal((signed char)data[2], 1);
    assert_int_equal((signed char)data[3], -1);
    assert_int_equal((signed char)data[4], 2);
    for (int i = 3; i < 31; i++) assert_int_equal((signed char)data[2 + i], i - 10);
    assert_int_equal((signed char)data[33], -127);
    read_row(back, SPEC_TENSOR_Q8_0, data, 32);
    assert_true(back[31] == -63.5f && back[20] == 5.0f && back[0] == 0.5f);

    for (int i = 0; i < 32; i++) value[i] = 0.25f * (float)(i % 16 - 8);
    value[5] = 2.0f;   /* as large as value[0], but later: clipped at 7 steps */
    value[1] = 0.125f; /* ties go up */
    value[18] = -0.125f;
    spec_tensor_row_write(data, SPEC_TENSOR_Q4_0, value, 32);
    assert_int_equal(data[0], 0x00);
    assert_int_equal(data[1], 0x34);
    assert_int_equal(data[2], 0x00);
    assert_int_equal(data[3], 0x19);
    assert_int_equal(data[4], 0x82);
    assert_int_equal(data[7], 0x5f);
    read_row(back, SPEC_TENSOR_Q4_0, data, 32);
    assert_true(back[0] == -2.0f && back[5] == 1.75f && back[1] == 0.25f && back[18] == 0.0f &&
                back[31] == 1.75f);
    value[0] = 2.0f;
    spec_tensor_row_write(data, SPEC_TENSOR_Q4_0, value, 32);
    assert_int_equal(data[1], 0xb4);
    read_row(back, SPEC_TENSOR_Q4_0, data, 32);
    assert_true(back[0] == 2.0f && back[16] == -1.75f && back[31] == 1.75f);
}

/* In a block whose scale is 1, checks whole numbers of steps, and around each half its
 * neighbours. */
TEST(q8_0_rounds_halves_away_from_zero)
{
    enum { BLOCK = 32, MOST = 127 };
    unsigned char block[2 + BLOCK];
    for (int k = 0; k < MOST; k++) {
        const float half = (float)k + 0.5f;
        const float near[] = {half, nextafterf(half, 0.0f), nextafterf(half, 200.0f), (float)k};
        float value[BLOCK] = {(float)MOST};
        for (int j = 1; j < BLOCK; j++) value[j] = near[j % 4] * (j % 8 < 4 ? 1.0f : -1.0f);
        spec_tensor_row_write(block, SPEC_TENSOR_Q8_0, value, BLOCK);
        for (int j = 0; j < BLOCK; j++)
            assert_int_equal((signed char)block[2 + j], (int)roundf(value[j]));
    }
}

TEST(blocks_that_cannot_be_scaled)
{
    float value[32] = {0.0f}, back[32];
    unsigned char data[34];
    for (int type = SPEC_TENSOR_Q8_0; type <= SPEC_TENSOR_Q4_0; type++) {
        memset(value, 0, sizeof value);
        memset(data, 0xff, sizeof data);
        spec_tensor_row_write(data, (spec_tensor_type)type, value, 32);
        read_row(back, (spec_tensor_type)type, data, 32);
        for (int i = 0; i < 32; i++) assert_true(back[i] == 0.0f);
        value[7] = 1e-44f; /* 1 / scale would overflow */
        spec_tensor_row_write(data, (spec_tensor_type)type, value, 32);
        read_row(back, (spec_tensor_type)type, data, 32);
        for (int i = 0; i < 32; i++) assert_true(back[i] == 0.0f);
        value[7] = 1e9f; /* the scale exceeds F16 */
        spec_tensor_row_write(data, (spec_tensor_type)type, value, 32);
        read_row(back, (spec_tensor_type)type, data, 32);
        assert_true(!isfinite(back[7]));
        const float odd[] = {NAN, INFINITY, -INFINITY};
        for (int k = 0; k < 3; k++) {
            value[9] = odd[k];
            spec_tensor_row_write(data, (spec_tensor_type)type, value, 32);
            read_row(back, (spec_tensor_type)type, data, 32);
            for (int i = 0; i < 32; i++) assert_true(isnan(back[i]));
        }
    }
}

/* In every type, at every position, makes one weight, or one block's scale, infinite or NaN. Values
 * with nearly all bits of the exponent set are finite. */
TEST(the_first_row_that_is_not_finite_is_found)
{
    enum { COLS = 64, ROWS = 5 };
    float value[COLS];
    unsigned char data[ROWS * COLS * 4];
    for (int type = 0; type <= SPEC_TENSOR_Q4_0; type++) {
        const size_t bytes = spec_tensor_row_bytes((spec_tensor_type)type, COLS);
        const spec_tensor tensor = {(spec_tensor_type)type, ROWS, COLS, data};
        const float most = type == SPEC_TENSOR_F32    ? FLT_MAX
                           : type == SPEC_TENSOR_BF16 ? 0x1.fep127f
                                                      : 65504.0f;
        for (int i = 0; i < COLS; i++) value[i] = i % 2 == 0 ? most : -0.27f;
        for (size_t row = 0; row < ROWS; row++)
            spec_tensor_row_write(data + row * bytes, tensor.type, value, COLS);
        assert_int_equal(spec_tensor_first_bad_row(&tensor, spec_test_pool(0)), -1);
        for (int i = 0; i < ROWS * COLS; i++) {
            unsigned char kept[COLS * 4], *row = data + (size_t)(i / COLS) * bytes,
                                          *last = data + (ROWS - 1) * bytes;
            memcpy(kept, row, bytes);
            value[i % COLS] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
            spec_tensor_row_write(row, tensor.type, value, COLS);
            assert_int_equal(spec_tensor_first_bad_row(&tensor, spec_test_pool(0)), i / COLS);
            spec_tensor_row_write(last, tensor.type, value, COLS);
            assert_int_equal(spec_tensor_first_bad_row(&tensor, spec_test_pool(0)), i / COLS);
            value[i % COLS] = i % 2 == 0 ? most : -0.27f;
            spec_tensor_row_write(last, tensor.type, value, COLS);
            memcpy(row, kept, bytes);
        }
    }
    /* Rows that are large enough for several threads. */
    enum { MANY = 40000 };
    FREED float *weight = calloc(MANY, COLS * sizeof *weight);
    assert_non_null(weight);
    const spec_tensor large = {SPEC_TENSOR_F32, MANY, COLS, weight};
    assert_int_equal(spec_tensor_first_bad_row(&large, spec_test_pool(0)), -1);
    weight[39999 * COLS] = NAN;
    assert_int_equal(spec_tensor_first_bad_row(&large, spec_test_pool(0)), 39999);
    weight[20001 * COLS + 63] = INFINITY;
    weight[12345 * COLS + 63] = INFINITY;
    assert_int_equal(spec_tensor_first_bad_row(&large, spec_test_pool(0)), 12345);
}
