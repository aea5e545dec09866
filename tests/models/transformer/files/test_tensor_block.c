/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of pseudo-random bytes against gguf-py's floats, which tests/oracle/ggml_blocks.py prints.
 */
#include "models/transformer/files/tensor.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 64, BYTES_MAX = 210, WEIGHTS_MAX = 256 };

static const struct {
    spec_tensor_type type;
    size_t bytes;
    int weights;
    size_t scale, scale_2; /* offsets; equal if there is one */
    float first, last;     /* of the first block */
    uint64_t hash;         /* FNV-1a of the floats of all blocks */
} known[] = {
    {SPEC_TENSOR_Q8_0, 34, 32, 0, 0, 0x1.243c8p+6f, -0x1.000ep+6f, 0x3577618ae19c0e93},
    {SPEC_TENSOR_Q4_0, 18, 32, 0, 0, 0x1.644p-1f, -0x1.37b8p+2f, 0x64a082c3d53995a1},
    {SPEC_TENSOR_Q5_0, 22, 32, 0, 0, 0x1.bd5p+1f, -0x1.bd5p+2f, 0x923c72c85794360c},
    {SPEC_TENSOR_IQ4_NL, 18, 32, 0, 0, 0x1.2174p+3f, -0x1.2174p+6f, 0xb37ce45ac51b27c5},
    {SPEC_TENSOR_Q4_K, 144, 256, 0, 2, 0x1.20a9fp+8f, 0x1.513258p+5f, 0x78051767d723528e},
    {SPEC_TENSOR_Q5_K, 176, 256, 0, 2, 0x1.706138p+9f, 0x1.513258p+5f, 0x6ee41ea19b7aca46},
    {SPEC_TENSOR_Q6_K, 210, 256, 208, 208, -0x1.d35ep+10f, 0x1.68d5cp+9f, 0x8718904526abd494},
};
enum { KNOWN = sizeof known / sizeof known[0] };

/* Bytes of Knuth's MMIX generator; the scales have their exponent's high bit cleared. */
static void make_blocks(unsigned char *block, size_t bytes, size_t scale, size_t scale_2)
{
    uint64_t word = 42;
    for (size_t i = 0; i < BLOCKS * bytes; i++) {
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        block[i] = (unsigned char)(word >> 56);
        if (i % bytes == scale + 1 || i % bytes == scale_2 + 1) block[i] &= 0xBF;
    }
}

static void blocks_are_decoded_to_the_floats_of_ggml(void **state)
{
    (void)state;
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

static void rows_are_whole_blocks(void **state)
{
    (void)state;
    for (int k = 0; k < KNOWN; k++) {
        const spec_tensor_type type = known[k].type;
        assert_int_equal(spec_tensor_block_weights(type), known[k].weights);
        assert_int_equal(spec_tensor_row_bytes(type, known[k].weights), known[k].bytes);
        assert_int_equal(spec_tensor_row_bytes(type, known[k].weights - 16), 0);
        assert_int_equal(spec_tensor_row_bytes(type, known[k].weights + 1), 0);
        assert_int_equal(spec_tensor_computed_type(type),
                         type < SPEC_TENSOR_TYPES ? type : SPEC_TENSOR_Q8_0);
        assert_true(spec_tensor_is_quantised(type));
    }
    assert_int_equal(spec_tensor_block_weights(SPEC_TENSOR_BF16), 1);
    assert_int_equal(spec_tensor_row_bytes(SPEC_TENSOR_Q4_K, 128), 0);
    for (int type = 0; type < SPEC_TENSOR_ALL_TYPES; type++)
        assert_int_equal(spec_tensor_type_names[type] == NULL, type == SPEC_TENSOR_TYPES);
}

/* Each scale of each block. Just below the limit Q8_0 can hold every weight. */
static void scales_too_large_to_convert_are_found(void **state)
{
    (void)state;
    enum { ROWS = 3 };
    for (int k = 2; k < KNOWN; k++) {
        unsigned char data[ROWS * 2 * BYTES_MAX], written[2 * WEIGHTS_MAX / 32 * 34];
        const int cols = 2 * known[k].weights;
        const size_t bytes = 2 * known[k].bytes;
        const spec_tensor tensor = {known[k].type, ROWS, cols, data};
        memset(data, 0x9f, sizeof data);
        for (size_t block = 0; block < 2 * ROWS; block++)
            for (int i = 0; i < 2; i++) {
                const size_t at = i == 0 ? known[k].scale : known[k].scale_2;
                memcpy(data + block * known[k].bytes + at,
                       &(uint16_t){i == 0 ? 0x5fff : 0xdfff}, 2); /* 511.75, -511.75 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_decoded_to_the_floats_of_ggml),
        cmocka_unit_test(rows_are_whole_blocks),
        cmocka_unit_test(scales_too_large_to_convert_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
