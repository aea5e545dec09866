/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/panels.h"

#include "base/int_math.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = SPEC_PANEL_ROWS,
    BLOCK = SPEC_TENSOR_BLOCK,
    HALF = 2,
    WORD = 4,
    TILE_BYTES = 256 /* a row of a tile fits in every type */
};

/* Returns how many columns are moved at once: whole blocks. */
static int tile_of(spec_tensor_type type)
{
    const int block = spec_tensor_block_weights(type);
    return block > BLOCK ? block : BLOCK;
}

int spec_panels_count(int rows)
{
    return spec_int_ceil_div(rows, ROWS);
}

size_t spec_panels_bytes(spec_tensor_type type, int cols)
{
    return ROWS * spec_tensor_row_bytes(type, cols);
}

/* Moves `size` bytes, a constant, from row r of a panel to the row, or back. */
static inline void move(unsigned char *panel, unsigned char *row, size_t size, bool out)
{
    if (out)
        memcpy(row, panel, size);
    else
        memcpy(panel, row, size);
}

/* Moves a block of row r, `bytes` long, between `panel` and `row`, which both point to its
 * start. */
static void move_words(unsigned char *panel, unsigned char *row, int bytes, int r, bool out)
{
    if (bytes % WORD != 0) {
        move(panel + HALF * r, row + bytes - HALF, HALF, out);
        panel += HALF * ROWS;
    }
    for (int i = 0; i < bytes / WORD; i++)
        move(panel + WORD * (ROWS * i + r), row + WORD * i, WORD, out);
}

/* Copies columns k..end-1, at most a tile, of row r of a panel to the row in file format (out), or
 * back. In Q8_0 the sign bit of each byte flips, which adds 128. */
static void move_tile(unsigned char *panel, unsigned char *row, spec_tensor_type type, int r, int k,
                      int end, bool out)
{
    const size_t at = (size_t)(k / tile_of(type));
    switch (type) {
    case SPEC_TENSOR_F32:
        for (size_t i = (size_t)k; i < (size_t)end; i++)
            move(panel + WORD * (ROWS * i + (size_t)r), row + WORD * i, WORD, out);
        break;
    case SPEC_TENSOR_F16:
    case SPEC_TENSOR_BF16:
        for (size_t i = (size_t)k; i < (size_t)end; i++)
            move(panel + HALF * (ROWS * i + (size_t)r), row + HALF * i, HALF, out);
        break;
    case SPEC_TENSOR_Q8_0:
    case SPEC_TENSOR_Q4_0: {
        const int bytes = type == SPEC_TENSOR_Q8_0 ? BLOCK : BLOCK / 2;
        const uint32_t flip = type == SPEC_TENSOR_Q8_0 ? 0x80808080 : 0;
        row += at * (size_t)(HALF + bytes);
        panel += at * (size_t)(ROWS * (HALF + bytes));
        move(panel + HALF * r, row, HALF, out);
        for (int j = 0; j < bytes; j += WORD) {
            unsigned char *const in_panel = panel + HALF * ROWS + ROWS * j + WORD * r,
                                 *const in_row = row + HALF + j;
            uint32_t word;
            memcpy(&word, out ? in_panel : in_row, WORD);
            word ^= flip;
            memcpy(out ? in_row : in_panel, &word, WORD);
        }
        break;
    }
    case SPEC_TENSOR_Q4_K:
    case SPEC_TENSOR_Q5_K:
    case SPEC_TENSOR_Q6_K: {
        const size_t bytes = spec_tensor_row_bytes(type, tile_of(type));
        move_words(panel + at * ROWS * bytes, row + at * bytes, (int)bytes, r, out);
        break;
    }
    default: break;
    }
}

/* Finds the tensor that has row `row` of all parts, and the index of the row in it; NULL after the
 * last row. */
static const spec_tensor *find_part(int *ret_row, const spec_tensor *part, int n_parts, int row)
{
    for (; n_parts > 0 && row >= part->rows; part++, n_parts--) row -= part->rows;
    *ret_row = row;
    return n_parts > 0 ? part : NULL;
}

int spec_panels_pack(spec_matrix *matrix, const spec_tensor *part, int n_parts, int first, int end,
                     spec_error *error)
{
    const int cols = matrix->cols, tile = tile_of(matrix->type);
    const size_t bytes = spec_panels_bytes(matrix->type, cols),
                 row_bytes = spec_tensor_row_bytes(matrix->type, cols);
    unsigned char *const converted = malloc(bytes),
                         *panel = (unsigned char *)matrix->data + (size_t)first * bytes;
    float *const value = malloc((size_t)cols * sizeof *value);
    int status = GSL_SUCCESS;
    if (converted == NULL || value == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "no memory to pack rows of %d weights", cols);
        goto done;
    }
    for (int p = first; p < end; p++, panel += bytes) {
        unsigned char *row[ROWS];
        int rows = 0;
        for (; rows < ROWS; rows++) {
            int at;
            const spec_tensor *const tensor = find_part(&at, part, n_parts, p * ROWS + rows);
            if (tensor == NULL) break;
            assert(tensor->cols == cols);
            if (tensor->type == matrix->type) {
                /* move_tile only reads it when packing. */
                row[rows] = (unsigned char *)(uintptr_t)tensor->data + (size_t)at * row_bytes;
            } else {
                row[rows] = converted + (size_t)rows * row_bytes;
                spec_tensor_convert_row(row[rows], matrix->type, tensor, at, value);
            }
        }
        if (rows < ROWS) memset(panel, 0, bytes);
        for (int k = 0; k < cols; k += tile) {
            const int tile_end = cols - k < tile ? cols : k + tile;
            for (int r = 0; r < rows; r++)
                move_tile(panel, row[r], matrix->type, r, k, tile_end, false);
        }
    }
done:
    free(value);
    free(converted);
    return status;
}

void spec_panels_row(float *ret_value, const spec_matrix *matrix, int row)
{
    const int cols = matrix->cols, r = row % ROWS, tile = tile_of(matrix->type);
    const bool blocks = spec_tensor_is_quantised(matrix->type);
    unsigned char *panel = (unsigned char *)matrix->data +
                           (size_t)(row / ROWS) * spec_panels_bytes(matrix->type, cols);
    assert(row >= 0 && row < matrix->rows);
    /* Decodes tile by tile, with `data` as the row of one tile. */
    unsigned char data[TILE_BYTES];
    for (int k = 0; k < cols; k += tile) {
        const int n = cols - k < tile ? cols - k : tile;
        const spec_tensor part = {.type = matrix->type, .rows = 1, .cols = n, .data = data};
        move_tile(panel, data, matrix->type, r, 0, n, true);
        spec_tensor_decode_row(ret_value + k, &part, 0);
        panel += ROWS * spec_tensor_row_bytes(matrix->type, blocks ? tile : n);
    }
}
