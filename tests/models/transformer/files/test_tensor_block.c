/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks blocks of pseudo-random bytes against gguf-py's floats, which tests/oracle/ggml_blocks.py
 prints. */
#include "base/half_float.h"
#include "models/transformer/files/tensor.h"

#include "tests/support/support.h"

#include "base/noise.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 64, BYTES_MAX = 210, WEIGHTS_MAX = 256 };

/* Byte 0 is an exponent, as if it were the upper byte of a scale. */
#define EXPONENT SIZE_MAX

static const struct {
    spec_tensor_type type;
    size_t bytes;
    int weights;
    size_t scale, scale_2; /* offsets; equal if there is one */
    float first, last;     /* floats of the first block */
    uint64_t hash;         /* FNV-1a of the floats of all blocks */
} known[] = {
    {SPEC_TENSOR_Q8_0, 34, 32, 0, 0, 0x1.243c8p+6f, -0x1.000ep+6f, 0x3577618ae19c0e93},
    {SPEC_TENSOR_Q4_0, 18, 32, 0, 0, 0x1.644p-1f, -0x1.37b8p+2f, 0x64a082c3d53995a1},
    {SPEC_TENSOR_Q4_1, 20, 32, 0, 2, 0x1.37617p+3f, 0x1.e92aep+2f, 0x03b27cb0e5c94788},
    {SPEC_TENSOR_Q5_0, 22, 32, 0, 0, 0x1.bd5p+1f, -0x1.bd5p+2f, 0x923c72c85794360c},
    {SPEC_TENSOR_Q5_1, 24, 32, 0, 2, 0x1.901aep+2f, 0x1.bbf5cp+1f, 0xc438fa4c26bb66b2},
    {SPEC_TENSOR_IQ4_NL, 18, 32, 0, 0, 0x1.2174p+3f, -0x1.2174p+6f, 0xb37ce45ac51b27c5},
    {SPEC_TENSOR_MXFP4, 17, 32, EXPONENT, EXPONENT, -0x1p+17f, -0x1p+19f, 0x133eaa593e18680e},
    {SPEC_TENSOR_Q2_K, 84, 256, 80, 82, 0x1.5ce8p-3f, 0x1.3617p+1f, 0xb1cc473c6dde23e6},
    {SPEC_TENSOR_Q3_K, 110, 256, 108, 108, 0x1.739p-9f, -0.0f, 0x8365e9c69bfd0937},
    {SPEC_TENSOR_Q4_K, 144, 256, 0, 2, 0x1.20a9fp+8f, 0x1.513258p+5f, 0x78051767d723528e},
    {SPEC_TENSOR_Q5_K, 176, 256, 0, 2, 0x1.706138p+9f, 0x1.513258p+5f, 0x6ee41ea19b7aca46},
    {SPEC_TENSOR_Q6_K, 210, 256, 208, 208, -0x1.d35ep+10f, 0x1.68d5cp+9f, 0x8718904526abd494},
    {SPEC_TENSOR_IQ4_XS, 136, 256, 0, 0, -0x1.2174p+4f, 0x1.1652p+5f, 0xa77219c4fee62242},
};
enum { KNOWN = sizeof known / sizeof known[0] };

/* Fills blocks with bytes of Knuth's MMIX generator; the high bit of the scales' exponents is
 * cleared. */
static void make_blocks(unsigned char *block, size_t bytes, size_t scale, size_t scale_2)
{
    uint64_t word = 42;
    for (size_t i = 0; i < BLOCKS * bytes; i++) {
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        block[i] = (unsigned char)(word >> 56);
        if (i % bytes == scale + 1 || i % bytes == scale_2 + 1) block[i] &= 0xBF;
    }
}

TEST(blocks_are_decoded_to_the_floats_of_ggml)
{
    for (int k = 0; k < KNOWN; k++) {
        unsigned char odd[BLOCKS * BYTES_MAX + 1]; /* at an odd address, as in a file */
        static float value[BLOCKS * WEIGHTS_MAX];
        unsigned char bytes[sizeof value];
        const int cols = BLOCKS * known[k].weights;
        const spec_tensor tensor = {known[k].type, 1, cols, odd + 1};
        uint64_t hash = UINT64_C(0xCBF29CE484222325);
        make_blocks(odd + 1, known[k].bytes, known[k].scale, known[k].scale_2);
        assert_int_equal(spec_tensor_row_bytes(tensor.type, cols), BLOCKS * known[k].bytes);
        spec_tensor_decode_row(value, &tensor, 0);
        if (value[0] != known[k].first || value[known[k].weights - 1] != known[k].last)
            fail_msg("%s: %a, %a", spec_tensor_type_names[tensor.type], (double)value[0],
                     (double)value[known[k].weights - 1]);
        memcpy(bytes, value, (size_t)cols * sizeof *value);
        for (size_t i = 0; i < (size_t)cols * sizeof *value; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
        if (hash != known[k].hash)
            fail_msg("%s: %016llx", spec_tensor_type_names[tensor.type], (unsigned long long)hash);
    }
}

/* ---- by formula ------------------------------------------------------------------------------ */

/* Returns bits first..first + n - 1 of a stream of bytes, the low bits of a byte first. */
static int bits_at(const unsigned char *bytes, int first, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) value |= (bytes[(first + i) / 8] >> (first + i) % 8 & 1) << i;
    return value;
}

static double half_at(const unsigned char *block, int at)
{
    uint16_t half;
    memcpy(&half, block + at, sizeof half);
    return (double)spec_half_float_from_f16(half);
}

/* Reads step and minimum of group g of Q4_K and Q5_K, which have 6 bits each, in twelve bytes. */
static int six_bits(const unsigned char *bytes, int g, bool minimum)
{
    const int own = minimum ? 4 : 0;
    if (g < 4) return bits_at(bytes, 8 * (g + own), 6);
    return bits_at(bytes, 8 * (g + 4) + own, 4) + 16 * bits_at(bytes, 8 * (g - 4 + own) + 6, 2);
}

/* Returns a level of IQ4_NL and IQ4_XS; and a float of 4 bits: sign, two bits of exponent, one of
 * fraction. */
static double nl_level(int q)
{
    static const double level[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};
    return level[q];
}

static double e2m1(int q)
{
    const int exponent = q >> 1 & 3;
    const double value = exponent == 0 ? 0.5 * (q & 1) : ldexp(1.0 + 0.5 * (q & 1), exponent - 1);
    return q & 8 ? -value : value;
}

/* Computes weight i of a block from the definition of its type, in double precision, with one
 * rounding. */
static double weight_of(spec_tensor_type type, const unsigned char *b, int i)
{
    const int nibble = i < 16 ? 8 * i : 8 * (i - 16) + 4; /* the first of its bits among 32 */
    const int g = i / 32, j = i % 32, run = i / 32 % 4, half = i / 128, small = i / 16;
    switch (type) {
    case SPEC_TENSOR_Q8_0: return half_at(b, 0) * (signed char)b[2 + i];
    case SPEC_TENSOR_Q4_0: return half_at(b, 0) * (bits_at(b + 2, nibble, 4) - 8);
    case SPEC_TENSOR_Q4_1: return half_at(b, 0) * bits_at(b + 4, nibble, 4) + half_at(b, 2);
    case SPEC_TENSOR_Q5_0:
        return half_at(b, 0) * (bits_at(b + 6, nibble, 4) + 16 * bits_at(b + 2, i, 1) - 16);
    case SPEC_TENSOR_Q5_1:
        return half_at(b, 0) * (bits_at(b + 8, nibble, 4) + 16 * bits_at(b + 4, i, 1)) +
               half_at(b, 2);
    case SPEC_TENSOR_IQ4_NL: return half_at(b, 0) * nl_level(bits_at(b + 2, nibble, 4));
    case SPEC_TENSOR_MXFP4: return ldexp(e2m1(bits_at(b + 1, nibble, 4)), b[0] - 127);
    case SPEC_TENSOR_Q2_K:
        return half_at(b, 80) * bits_at(b, 8 * small, 4) *
                   bits_at(b + 16, 8 * (32 * half + j) + 2 * run, 2) -
               half_at(b, 82) * bits_at(b, 8 * small + 4, 4);
    case SPEC_TENSOR_Q3_K: {
        const int low = bits_at(b + 96, 8 * (small % 8) + small / 8 * 4, 4),
                  high = bits_at(b + 104, 8 * (small % 4) + small / 4 * 2, 2);
        return half_at(b, 108) * (low + 16 * high - 32) *
               (bits_at(b + 32, 8 * (32 * half + j) + 2 * run, 2) + 4 * bits_at(b, 8 * j + g, 1) -
                4);
    }
    case SPEC_TENSOR_Q4_K:
    case SPEC_TENSOR_Q5_K: {
        const bool five = type == SPEC_TENSOR_Q5_K;
        const unsigned char *const pairs = b + (five ? 48 : 16);
        const int q = bits_at(pairs, 8 * (i / 64 * 32 + j) + g % 2 * 4, 4) +
                      (five ? 16 * bits_at(b + 16, 8 * j + g, 1) : 0);
        return half_at(b, 0) * six_bits(b + 4, g, false) * q -
               half_at(b, 2) * six_bits(b + 4, g, true);
    }
    case SPEC_TENSOR_Q6_K: {
        const int low = bits_at(b, 8 * (64 * half + run % 2 * 32 + j) + run / 2 * 4, 4),
                  high = bits_at(b + 128, 8 * (32 * half + j) + 2 * run, 2);
        return half_at(b, 208) * (signed char)b[192 + small] * (low + 16 * high - 32);
    }
    case SPEC_TENSOR_IQ4_XS: {
        const int step = bits_at(b + 4, 4 * g, 4) + 16 * bits_at(b + 2, 2 * g, 2);
        return half_at(b, 0) * (step - 32) *
               nl_level(bits_at(b + 8 + 16 * g, j < 16 ? 8 * j : 8 * (j - 16) + 4, 4));
    }
    default: return NAN;
    }
}

/* Any bytes can occur: scales of every size, zero, infinite and NaN. */
TEST(every_weight_follows_the_formula_of_its_type)
{
    enum { MANY = 4000 };
    const uint64_t seed = spec_test_seed();
    uint64_t at = 0;
    for (int k = 0; k < KNOWN; k++) {
        for (int n = 0; n < MANY; n++) {
            unsigned char block[BYTES_MAX];
            float value[WEIGHTS_MAX];
            for (size_t i = 0; i < known[k].bytes; i++)
                block[i] = (unsigned char)spec_noise_word(seed, at++);
            const spec_tensor tensor = {known[k].type, 1, known[k].weights, block};
            spec_tensor_decode_row(value, &tensor, 0);
            for (int i = 0; i < known[k].weights; i++) {
                const float wanted = (float)weight_of(known[k].type, block, i);
                if (isnan(wanted) ? !isnan(value[i]) : value[i] != wanted)
                    fail_msg("%s: weight %d is %a, not %a", spec_tensor_type_names[tensor.type], i,
                             (double)value[i], (double)wanted);
            }
        }
    }
}

/* ---- in Q8_0 --------------------------------------------------------------------------------- */

static void to_q8_0(float *ret_value, const spec_tensor *tensor)
{
    unsigned char written[WEIGHTS_MAX / 32 * 34];
    spec_tensor_convert_row(written, SPEC_TENSOR_Q8_0, tensor, 0, ret_value);
    spec_tensor_decode_row(ret_value, &(spec_tensor){SPEC_TENSOR_Q8_0, 1, tensor->cols, written},
                           0);
}

/* Multiples of one scale keep their values; others are rounded as floats are. */
TEST(weights_become_q8_0_without_rounding_where_they_can)
{
    for (int k = 1; k < KNOWN; k++) {
        const spec_tensor_type type = known[k].type;
        const bool exact = type == SPEC_TENSOR_Q4_0 || type == SPEC_TENSOR_Q5_0 ||
                           type == SPEC_TENSOR_IQ4_NL || type == SPEC_TENSOR_MXFP4;
        unsigned char blocks[BLOCKS * BYTES_MAX], written[WEIGHTS_MAX / 32 * 34];
        make_blocks(blocks, known[k].bytes, known[k].scale, known[k].scale_2);
        for (size_t n = 0; n < BLOCKS; n++) {
            unsigned char *const block = blocks + n * known[k].bytes;
            float value[WEIGHTS_MAX], read[WEIGHTS_MAX];
            const spec_tensor tensor = {type, 1, known[k].weights, block};
            if (type == SPEC_TENSOR_MXFP4) block[0] = (unsigned char)(104 + n % (146 - 104));
            spec_tensor_decode_row(value, &tensor, 0);
            to_q8_0(read, &tensor);
            if (!exact) {
                spec_tensor_row_write(written, SPEC_TENSOR_Q8_0, value, tensor.cols);
                spec_tensor_decode_row(
                    value, &(spec_tensor){SPEC_TENSOR_Q8_0, 1, tensor.cols, written}, 0);
            }
            for (int i = 0; i < tensor.cols; i++)
                if (read[i] != value[i])
                    fail_msg("%s: weight %d of block %zu is %a, not %a",
                             spec_tensor_type_names[type], i, n, (double)read[i], (double)value[i]);
        }
    }
}

/* Below 2^-24 F16 cannot hold a scale, so weights are rounded to multiples of that, ties to
 * even. */
TEST(tiny_scales_of_mxfp4_round_to_the_least_half)
{
    for (int exponent = 0; exponent < 104; exponent++) {
        unsigned char block[17] = {(unsigned char)exponent};
        float value[32], read[32];
        for (int j = 0; j < 16; j++) block[1 + j] = (unsigned char)(j | (15 - j) << 4);
        const spec_tensor tensor = {SPEC_TENSOR_MXFP4, 1, 32, block};
        spec_tensor_decode_row(value, &tensor, 0);
        to_q8_0(read, &tensor);
        for (int i = 0; i < 32; i++)
            assert_true((double)read[i] == ldexp(nearbyint(ldexp((double)value[i], 24)), -24));
    }
}

TEST(a_row_of_the_same_type_keeps_its_bytes)
{
    for (int k = 0; k < KNOWN; k++) {
        unsigned char blocks[BLOCKS * BYTES_MAX], copy[BYTES_MAX];
        float value[WEIGHTS_MAX];
        make_blocks(blocks, known[k].bytes, known[k].scale, known[k].scale_2);
        const spec_tensor tensor = {known[k].type, BLOCKS, known[k].weights, blocks};
        for (int row = 0; row < BLOCKS; row++) {
            spec_tensor_convert_row(copy, known[k].type, &tensor, row, value);
            assert_memory_equal(copy, blocks + (size_t)row * known[k].bytes, known[k].bytes);
        }
    }
}

/* ---- sizes and bad scales -------------------------------------------------------------------- */

TEST(rows_are_whole_blocks)
{
    for (int k = 0; k < KNOWN; k++) {
        const spec_tensor_type type = known[k].type;
        assert_int_equal(spec_tensor_block_weights(type), known[k].weights);
        assert_int_equal(spec_tensor_row_bytes(type, known[k].weights), known[k].bytes);
        assert_int_equal(spec_tensor_row_bytes(type, known[k].weights - 16), 0);
        assert_int_equal(spec_tensor_row_bytes(type, known[k].weights + 1), 0);
        assert_true(spec_tensor_is_quantised(type));
    }
    assert_int_equal(spec_tensor_block_weights(SPEC_TENSOR_BF16), 1);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_Q4_K, 128), 0);
    for (int type = 0; type < SPEC_TENSOR_ALL_TYPES; type++)
        assert_int_equal(spec_tensor_type_names[type] == NULL, type == SPEC_TENSOR_TYPES);
}

/* Checks each scale of each block. Just below the limit Q8_0 can hold every weight. */
TEST(scales_too_large_to_convert_are_found)
{
    enum { ROWS = 3 };
    for (int k = 2; k < KNOWN; k++) {
        if (known[k].scale == EXPONENT) continue;
        unsigned char data[ROWS * 2 * BYTES_MAX], written[2 * WEIGHTS_MAX / 32 * 34];
        const int cols = 2 * known[k].weights;
        const size_t bytes = 2 * known[k].bytes;
        const spec_tensor tensor = {known[k].type, ROWS, cols, data};
        memset(data, 0x9f, sizeof data);
        for (size_t block = 0; block < 2 * ROWS; block++)
            for (int i = 0; i < 2; i++) {
                const size_t at = i == 0 ? known[k].scale : known[k].scale_2;
                memcpy(data + block * known[k].bytes + at, &(uint16_t){i == 0 ? 0x5fff : 0xdfff},
                       2); /* 511.75, -511.75 */
            }
        assert_int_equal(spec_tensor_first_bad_row(&tensor, NULL), -1);
        for (int row = 0; row < ROWS; row++) {
            float value[2 * WEIGHTS_MAX];
            spec_tensor_decode_row(value, &tensor, row);
            spec_tensor_row_write(written, SPEC_TENSOR_Q8_0, value, cols);
            spec_tensor_decode_row(value, &(spec_tensor){SPEC_TENSOR_Q8_0, 1, cols, written}, 0);
            for (int j = 0; j < cols; j++) assert_true(isfinite(value[j]));
        }
        for (int i = 0; i < 4; i++) {
            static const uint16_t bad[] = {0x6000, 0xe123, 0x7c00, 0x7e00}; /* 512, .., inf, NaN */
            const size_t at = bytes + (size_t)(i % 2) * known[k].bytes +
                              (i < 2 ? known[k].scale : known[k].scale_2);
            for (int b = 0; b < 4; b++) {
                uint16_t kept;
                memcpy(&kept, data + at, sizeof kept);
                memcpy(data + at, &bad[b], sizeof bad[b]);
                assert_int_equal(spec_tensor_first_bad_row(&tensor, NULL), 1);
                memcpy(data + at, &kept, sizeof kept);
            }
        }
    }
}

/* 2^19 is the first value that F16 times a byte cannot hold, and 255 is NaN */
TEST(exponents_too_large_to_convert_are_found)
{
    enum { ROWS = 3, BYTES = 17 };
    unsigned char data[ROWS][2][BYTES];
    const spec_tensor tensor = {SPEC_TENSOR_MXFP4, ROWS, 64, data};
    memset(data, 0x77, sizeof data);
    for (int block = 0; block < 2 * ROWS; block++) data[block / 2][block % 2][0] = 145;
    assert_int_equal(spec_tensor_first_bad_row(&tensor, NULL), -1);
    for (int block = 0; block < 2; block++) {
        for (int exponent = 146; exponent < 256; exponent++) {
            data[1][block][0] = (unsigned char)exponent;
            assert_int_equal(spec_tensor_first_bad_row(&tensor, NULL), 1);
        }
        data[1][block][0] = 145;
    }
}
