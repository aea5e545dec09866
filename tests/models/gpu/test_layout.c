/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/layout.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int cols_of[] = {1, 5, 8, 31, 32, 33, 64, 96, 128, 172, 288};

static void *memory(size_t bytes)
{
    void *const at = malloc(bytes + 1);
    assert_non_null(at);
    return memset(at, 0xa5, bytes + 1);
}

/* Draws random bytes, so that every weight and scale can occur. */
static spec_tensor random_tensor(spec_tensor_type type, int rows, int cols, uint64_t *noise)
{
    const size_t bytes = (size_t)rows * spec_tensor_row_bytes(type, cols);
    unsigned char *const data = memory(bytes);
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(256.0 * table_uniform(noise));
    return (spec_tensor){.type = type, .rows = rows, .cols = cols, .data = data};
}

static void free_tensor(const spec_tensor *tensor)
{
    free((void *)(uintptr_t)tensor->data);
}

/* Packs two ranges, the later one first, each between guard bytes that must not change. */
static unsigned char *packed(spec_tensor_type type, const spec_tensor *part, int n_parts,
                             bool gated)
{
    int rows = 0;
    for (int i = 0; i < n_parts; i++) rows += part[i].rows;
    const int cols = part->cols, n = (rows + SPEC_LAYOUT_ROWS - 1) / SPEC_LAYOUT_ROWS;
    const size_t tile = spec_layout_tile_bytes(type, cols),
                 all = spec_layout_bytes(type, rows, cols);
    assert_int_equal(all, (size_t)n * tile);
    unsigned char *const data = memory(all), *const half = memory(all);
    assert_int_equal(spec_layout_pack(half, type, part, n_parts, gated, n / 2, n, NULL),
                     GSL_SUCCESS);
    assert_int_equal(half[(size_t)(n - n / 2) * tile], 0xa5);
    memcpy(data + (size_t)(n / 2) * tile, half, (size_t)(n - n / 2) * tile);
    memset(half, 0xa5, all);
    assert_int_equal(spec_layout_pack(half, type, part, n_parts, gated, 0, n / 2, NULL),
                     GSL_SUCCESS);
    assert_int_equal(half[(size_t)(n / 2) * tile], 0xa5);
    memcpy(data, half, (size_t)(n / 2) * tile);
    free(half);
    return data;
}

TEST(unpacked_rows_equal_the_tensors)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        for (size_t c = 0; c < sizeof cols_of / sizeof *cols_of; c++) {
            const int cols = cols_of[c];
            if (spec_tensor_row_bytes(type, cols) == 0) continue;
            const spec_tensor part[3] = {random_tensor(type, 7, cols, &noise),
                                         random_tensor(type, 1, cols, &noise),
                                         random_tensor(type, 41, cols, &noise)};
            unsigned char *const data = packed(type, part, 3, false);
            float *const expected = memory((size_t)cols * sizeof *expected);
            float *const got = memory((size_t)cols * sizeof *got);
            for (int p = 0, row = 0; p < 3; p++) {
                for (int r = 0; r < part[p].rows; r++, row++) {
                    spec_tensor_decode_row(expected, &part[p], r);
                    spec_layout_row(got, data, type, cols, row);
                    assert_memory_equal(got, expected, (size_t)cols * sizeof *got);
                }
            }
            free(expected);
            free(got);
            free(data);
            for (int p = 0; p < 3; p++) free_tensor(&part[p]);
        }
    }
}

/* A tile has eight rows of gate, then eight of up; rows that neither has are zeros. */
TEST(rows_of_gate_and_up_alternate)
{
    enum { ROWS = 21, COLS = 96 };
    uint64_t noise = spec_test_seed();
    float got[COLS], expected[COLS];
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const spec_tensor part[2] = {random_tensor(type, ROWS, COLS, &noise),
                                     random_tensor(type, ROWS, COLS, &noise)};
        unsigned char *const data = packed(type, part, 2, true);
        for (int p = 0; p < 2; p++) {
            for (int r = 0; r < 24; r++) {
                spec_layout_row(got, data, type, COLS, r / 8 * 16 + p * 8 + r % 8);
                for (int k = 0; k < COLS && r >= ROWS; k++) assert_true(got[k] == 0.0f);
                if (r >= ROWS) continue;
                spec_tensor_decode_row(expected, &part[p], r);
                assert_memory_equal(got, expected, sizeof got);
            }
            free_tensor(&part[p]);
        }
        free(data);
    }
}

/* Each row and column has its own bytes: flipping a bit of a tensor changes one place. */
TEST(padding_of_rows_and_columns_is_zero)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const int rows = 19, cols = 160;
        const spec_tensor tensor = random_tensor(type, rows, cols, &noise);
        const size_t bytes = (size_t)rows * spec_tensor_row_bytes(type, cols);
        unsigned char *const data = packed(type, &tensor, 1, false);
        const size_t all = spec_layout_bytes(type, rows, cols);
        int bits[2] = {0, 0};
        for (size_t i = 0; i < bytes; i++)
            bits[0] += __builtin_popcount(((const unsigned char *)tensor.data)[i]);
        for (size_t i = 0; i < all; i++) bits[1] += __builtin_popcount(data[i]);
        assert_int_equal(bits[0], bits[1]);
        assert_int_equal(all, (type == SPEC_TENSOR_F32                               ? 32 * 160 * 4
                               : type == SPEC_TENSOR_F16 || type == SPEC_TENSOR_BF16 ? 32 * 160 * 2
                               : type == SPEC_TENSOR_Q8_0                            ? 2 * 2 * 2176
                                                          : 2 * 2 * 1152));
        free(data);
        free_tensor(&tensor);
    }
}

TEST(parts_of_other_types_are_converted)
{
    enum { ROWS = 11, COLS = 96 };
    uint64_t noise = spec_test_seed();
    float value[ROWS][COLS], expected[COLS], got[COLS];
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < COLS; k++) value[r][k] = (float)(table_uniform(&noise) - 0.4);
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        spec_tensor part[SPEC_LAYOUT_TYPES];
        for (spec_tensor_type of = 0; (int)of < SPEC_LAYOUT_TYPES; of++) {
            part[of] = random_tensor(of, ROWS, COLS, &noise);
            for (int r = 0; r < ROWS; r++)
                spec_tensor_row_write((char *)(uintptr_t)part[of].data +
                                          (size_t)r * spec_tensor_row_bytes(of, COLS),
                                      of, value[r], COLS);
        }
        unsigned char *const data = packed(type, part, SPEC_LAYOUT_TYPES, false);
        for (int row = 0; row < SPEC_LAYOUT_TYPES * ROWS; row++) {
            unsigned char written[COLS * sizeof(float)];
            const spec_tensor again = {.type = type, .rows = 1, .cols = COLS, .data = written};
            spec_tensor_convert_row(written, type, &part[row / ROWS], row % ROWS, expected);
            spec_tensor_decode_row(expected, &again, 0);
            spec_layout_row(got, data, type, COLS, row);
            assert_memory_equal(got, expected, sizeof got);
        }
        free(data);
        for (int p = 0; p < SPEC_LAYOUT_TYPES; p++) free_tensor(&part[p]);
    }
}
