/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/panels.h"
#include "tests/support/random_blocks.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <stdlib.h>
#include <string.h>

static const int cols_of[] = {1, 5, 31, 32, 33, 64, 96, 172, 256, 768};

/* Draws random bytes, so that every weight and scale can occur, including those that no quantiser
 * writes. */
static spec_tensor random_tensor(spec_tensor_type type, int rows, int cols, uint64_t *noise)
{
    const size_t bytes = (size_t)rows * spec_tensor_row_bytes(type, cols);
    unsigned char *data = malloc(bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(256.0 * table_uniform(noise));
    return (spec_tensor){.type = type, .rows = rows, .cols = cols, .data = data};
}

static spec_matrix packed(spec_tensor_type type, const spec_tensor *part, int n_parts)
{
    spec_matrix matrix = {.type = type, .cols = part->cols};
    for (int i = 0; i < n_parts; i++) matrix.rows += part[i].rows;
    const int n = spec_panels_count(matrix.rows);
    matrix.bytes = (size_t)n * spec_panels_bytes(type, matrix.cols);
    matrix.data = malloc(matrix.bytes);
    assert_non_null(matrix.data);
    memset(matrix.data, 0xa5, matrix.bytes);
    /* Packs two ranges, the later one first. */
    assert_int_equal(spec_panels_pack(&matrix, part, n_parts, n / 2, n, NULL), GSL_SUCCESS);
    assert_int_equal(spec_panels_pack(&matrix, part, n_parts, 0, n / 2, NULL), GSL_SUCCESS);
    return matrix;
}

TEST(a_row_is_read_back_as_its_tensor_has_it)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; type < SPEC_TENSOR_TYPES; type++) {
        for (size_t c = 0; c < sizeof cols_of / sizeof *cols_of; c++) {
            const int cols = cols_of[c];
            if (spec_tensor_row_bytes(type, cols) == 0) continue;
            const spec_tensor part[3] = {random_tensor(type, 7, cols, &noise),
                                         random_tensor(type, 1, cols, &noise),
                                         random_tensor(type, 41, cols, &noise)};
            spec_matrix matrix = packed(type, part, 3);
            float *expected = malloc((size_t)cols * sizeof *expected),
                  *got = malloc((size_t)cols * sizeof *got);
            for (int p = 0, row = 0; p < 3; p++) {
                for (int r = 0; r < part[p].rows; r++, row++) {
                    spec_tensor_decode_row(expected, &part[p], r);
                    spec_panels_row(got, &matrix, row);
                    assert_memory_equal(got, expected, (size_t)cols * sizeof *got);
                }
            }
            free(expected);
            free(got);
            for (int p = 0; p < 3; p++) free((void *)(uintptr_t)part[p].data);
            free(matrix.data);
        }
    }
}

TEST(parts_of_other_types_are_converted_as_rows_are)
{
    enum { COLS = 256 };
    uint64_t noise = spec_test_seed();
    float value[2][COLS], expected[COLS], got[COLS];
    for (int i = 0; i < 2 * COLS; i++)
        value[i / COLS][i % COLS] = (float)(table_uniform(&noise) - 0.27);
    for (spec_tensor_type from = 0; from < SPEC_TENSOR_TYPES; from++) {
        unsigned char data[2 * COLS * sizeof(float)], row[COLS * sizeof(float)];
        for (int r = 0; r < 2; r++)
            if (spec_tensor_can_write(from))
                spec_tensor_row_write(data + (size_t)r * spec_tensor_row_bytes(from, COLS), from,
                                      value[r], COLS);
            else
                random_blocks_fill(data + (size_t)r * spec_tensor_row_bytes(from, COLS), from, COLS,
                                   &noise);
        const spec_tensor part = {.type = from, .rows = 2, .cols = COLS, .data = data};
        for (spec_tensor_type to = 0; to < SPEC_TENSOR_TYPES; to++) {
            const spec_tensor written = {.type = to, .rows = 1, .cols = COLS, .data = row};
            spec_matrix matrix = packed(to, &part, 1);
            for (int r = 0; r < 2; r++) {
                spec_tensor_convert_row(row, to, &part, r, expected);
                spec_tensor_decode_row(expected, &written, 0);
                spec_panels_row(got, &matrix, r);
                assert_memory_equal(got, expected, sizeof got);
            }
            free(matrix.data);
        }
    }
}

TEST(padding_of_the_last_panel_is_zero)
{
    enum { COLS = 256 };
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; type < SPEC_TENSOR_TYPES; type++) {
        const spec_tensor part = random_tensor(type, 21, COLS, &noise);
        spec_matrix matrix = packed(type, &part, 1);
        matrix.rows = 32;
        for (int row = 21; row < 32; row++) {
            float got[COLS];
            spec_panels_row(got, &matrix, row);
            for (int k = 0; k < COLS; k++) assert_true(got[k] == 0.0f);
        }
        free((void *)(uintptr_t)part.data);
        free(matrix.data);
    }
}
