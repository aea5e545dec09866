/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/layout.h"

#include "base/half_float.h"
#include "base/int_math.h"
#include "models/gpu/tile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)SPEC_LAYOUT_ROWS == (int)TILE_ROWS && (int)TILE_BLOCK == (int)SPEC_TENSOR_BLOCK,
               "one tile");

enum { HALF = 2, WORD = 4, BLOCK = SPEC_TENSOR_BLOCK };

size_t spec_layout_tile_bytes(spec_tensor_type type, int cols)
{
    switch (type) {
    case SPEC_TENSOR_F32: return (size_t)spec_int_ceil_div(cols, TILE_F32_COLUMNS) * TILE_F32_BYTES;
    case SPEC_TENSOR_F16:
    case SPEC_TENSOR_BF16:
        return (size_t)spec_int_ceil_div(cols, TILE_HALF_COLUMNS) * TILE_HALF_BYTES;
    case SPEC_TENSOR_Q8_0:
        return (size_t)spec_int_ceil_div(cols, TILE_QUANTISED_COLUMNS) * TILE_Q8_0_BYTES;
    case SPEC_TENSOR_Q4_0:
        return (size_t)spec_int_ceil_div(cols, TILE_QUANTISED_COLUMNS) * TILE_Q4_0_BYTES;
    default: break;
    }
    return 0;
}

size_t spec_layout_bytes(spec_tensor_type type, int rows, int cols)
{
    return (size_t)spec_int_ceil_div(rows, TILE_ROWS) * spec_layout_tile_bytes(type, cols);
}

/* -- packing a row -- */

static void place_f32(unsigned char *tile, const unsigned char *row, int cols, int r)
{
    for (int k = 0; k < cols; k++) memcpy(tile + TILE_F32_AT(r, k), row + WORD * (size_t)k, WORD);
}

static void place_half(unsigned char *tile, const unsigned char *row, int cols, int r)
{
    int k = 0;
    for (; k + 1 < cols; k += 2) memcpy(tile + TILE_HALF_AT(r, k), row + HALF * (size_t)k, WORD);
    if (k < cols) memcpy(tile + TILE_HALF_AT(r, k), row + HALF * (size_t)k, HALF);
}

static void place_q8_0(unsigned char *tile, const unsigned char *row, int cols, int r)
{
    for (int k = 0; k < cols; k += BLOCK, row += HALF + BLOCK) {
        memcpy(tile + TILE_Q8_0_SCALE_AT(r, k), row, HALF);
        for (int j = 0; j < BLOCK; j += WORD)
            memcpy(tile + TILE_Q8_0_AT(r, k + j), row + HALF + j, WORD);
    }
}

static void place_q4_0(unsigned char *tile, const unsigned char *row, int cols, int r)
{
    for (int k = 0; k < cols; k += BLOCK, row += HALF + BLOCK / 2) {
        memcpy(tile + TILE_Q4_0_SCALE_AT(r, k), row, HALF);
        for (int j = 0; j < BLOCK; j += 2 * WORD) {
            /* Columns j..j+7 are the low or the high halves of eight consecutive bytes of the
             * file. */
            uint64_t eight;
            memcpy(&eight, row + HALF + j % (BLOCK / 2), sizeof eight);
            eight = (j < BLOCK / 2 ? eight : eight >> 4) & 0x0f0f0f0f0f0f0f0f;
            const uint32_t word = (uint32_t)(eight | eight >> 28);
            memcpy(tile + TILE_Q4_0_AT(r, k + j), &word, WORD);
        }
    }
}

static void place(unsigned char *tile, spec_tensor_type type, const unsigned char *row, int cols,
                  int r)
{
    switch (type) {
    case SPEC_TENSOR_F32: place_f32(tile, row, cols, r); break;
    case SPEC_TENSOR_F16:
    case SPEC_TENSOR_BF16: place_half(tile, row, cols, r); break;
    case SPEC_TENSOR_Q8_0: place_q8_0(tile, row, cols, r); break;
    case SPEC_TENSOR_Q4_0: place_q4_0(tile, row, cols, r); break;
    default: break;
    }
}

/* Finds the part that has row r of a tile. Returns its index there, or -1 if it is padding. */
static int find_row(const spec_tensor **part, int n_parts, bool gated, int tile, int r)
{
    if (gated) {
        const int at = tile * TILE_GATES + r % TILE_GATES;
        *part += r / TILE_GATES;
        return at < (*part)->rows ? at : -1;
    }
    int at = tile * TILE_ROWS + r;
    for (; n_parts > 0 && at >= (*part)->rows; (*part)++, n_parts--) at -= (*part)->rows;
    return n_parts > 0 ? at : -1;
}

int spec_layout_pack(void *ret_data, spec_tensor_type type, const spec_tensor *part, int n_parts,
                     bool gated, int first, int end, spec_error *error)
{
    const int cols = part->cols;
    const size_t bytes = spec_layout_tile_bytes(type, cols),
                 row_bytes = spec_tensor_row_bytes(type, cols);
    unsigned char *const converted = malloc(row_bytes + 1), *tile = ret_data;
    float *const value = malloc((size_t)cols * sizeof *value + 1);
    int status = GSL_SUCCESS;
    if (converted == NULL || value == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "no memory to pack rows of %d weights", cols);
        goto done;
    }
    assert(!gated || (n_parts == 2 && part[0].rows == part[1].rows));
    for (int i = first; i < end; i++, tile += bytes) {
        memset(tile, 0, bytes);
        for (int r = 0; r < TILE_ROWS; r++) {
            const spec_tensor *from = part;
            const int at = find_row(&from, n_parts, gated, i, r);
            if (at < 0) continue;
            assert(from->cols == cols);
            const unsigned char *row = converted;
            if (from->type == type)
                row = (const unsigned char *)from->data + (size_t)at * row_bytes;
            else
                spec_tensor_convert_row(converted, type, from, at, value);
            place(tile, type, row, cols, r);
        }
    }
done:
    free(value);
    free(converted);
    return status;
}

/* -- unpacking a row -- */

static uint16_t half_at(const unsigned char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return half;
}

static float weight(const unsigned char *tile, spec_tensor_type type, int r, int k)
{
    float value = 0.0f;
    switch (type) {
    case SPEC_TENSOR_F32: memcpy(&value, tile + TILE_F32_AT(r, k), sizeof value); break;
    case SPEC_TENSOR_F16:
        value = spec_half_float_from_f16(half_at(tile + TILE_HALF_AT(r, k)));
        break;
    case SPEC_TENSOR_BF16:
        value = spec_half_float_from_bf16(half_at(tile + TILE_HALF_AT(r, k)));
        break;
    case SPEC_TENSOR_Q8_0:
        value = spec_half_float_from_f16(half_at(tile + TILE_Q8_0_SCALE_AT(r, k))) *
                (float)(signed char)tile[TILE_Q8_0_AT(r, k)];
        break;
    case SPEC_TENSOR_Q4_0: {
        const int both = tile[TILE_Q4_0_AT(r, k)];
        value = spec_half_float_from_f16(half_at(tile + TILE_Q4_0_SCALE_AT(r, k))) *
                (float)((TILE_Q4_0_IS_HIGH(k) ? both >> 4 : both & 15) - 8);
        break;
    }
    default: break;
    }
    return value;
}

void spec_layout_row(float *ret_value, const void *data, spec_tensor_type type, int cols, int row)
{
    const unsigned char *const tile =
        (const unsigned char *)data +
        (size_t)(row / TILE_ROWS) * spec_layout_tile_bytes(type, cols);
    assert(row >= 0);
    for (int k = 0; k < cols; k++) ret_value[k] = weight(tile, type, row % TILE_ROWS, k);
}
