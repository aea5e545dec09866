/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_parts: divides the rows and partial sums of a matrix product among warps and blocks.
 * A block has PRODUCT_WARPS warps: block_parts of them share the rows of T tiles, each with a part
 * of the columns of the matrix. Sums with more parts span several blocks. For kernels. */
#ifndef SPECLAB_PRODUCT_PARTS_H
#define SPECLAB_PRODUCT_PARTS_H

#include "models/gpu/product_gate.h"

/* T: tiles of rows per warp. N: tiles of eight columns. DEPTH: groups of weights in flight or in
 * use. Callers pass constants, so that arrays of the largest size shrink to the registers in
 * use. */
enum { T_MAX = 2, N_MAX = 8, EIGHT = 8, DEPTH_MAX = 2 };

/* A warp's sums, [tile of rows][tile of columns]: the lane's 4 of an mma fragment D, or, in the
 * product of floats, the 8 columns of one row. */
typedef float product_sums[T_MAX][N_MAX][EIGHT];

typedef struct {
    const unsigned char *w; /* first 16 bytes of the warp's first tile that this lane reads */
    size_t tile_bytes;
    int n;     /* columns in the batch */
    int tile;  /* the warp's first tile */
    int tiles; /* how many tiles the warp has: 0 to T */
    int part;  /* part of the sum, below a->parts */
} product_place;

DEVICE int pieces(int n, int size) { return (n + size - 1) / size; }

DEVICE product_place product_place_of(const struct product_args *a, size_t tile_bytes, int T)
{
    product_place p;
    const int all = pieces(a->rows, TILE_ROWS), row_warps = PRODUCT_WARPS / a->block_parts;
    p.n = a->wanted ? a->batch->n - a->batch->first : a->batch->n;
    p.part = BLOCK_Y * a->block_parts + WARP % a->block_parts;
    p.tile = (BLOCK_X * row_warps + WARP / a->block_parts) * T;
    p.tiles = all - p.tile < 0 ? 0 : all - p.tile < T ? all - p.tile : T;
    p.tile_bytes = tile_bytes;
    p.w = a->w + (size_t)p.tile * tile_bytes + LANE * 16;
    return p;
}

DEVICE quad load_quad_if(bool there, const void *from)
{
    const quad none = {0, 0, 0, 0};
    return there ? load_quad(from) : none;
}

DEVICE pair load_pair_if(bool there, const void *from)
{
    const pair none = {0, 0};
    return there ? load_pair(from) : none;
}

/* ---- adding the parts ------------------------------------------------------------------------ */

/* A tile of 16 rows and 8 columns in shared memory, column-major. The stride 20 avoids bank
 * conflicts between the lanes that write a fragment. */
enum {
    COLUMN = TILE_ROWS + 4,
    UNIT = EIGHT * COLUMN,
    UNITS = 4, /* tiles of each warp processed at a time */
    JOIN_QUADS = PRODUCT_WARPS * UNITS * UNIT / 4
};

/* Sums 1, 2, 4 or 8 values as a binary tree, which is the same however warps and blocks share its
 * lower levels. */
DEVICE float tree_sum(const float *value, int n)
{
    float sum = value[0];
    if (n > 1) sum = sum + value[1];
    if (n > 2) sum = sum + (value[2] + value[3]);
    if (n > 4) sum = sum + ((value[4] + value[5]) + (value[6] + value[7]));
    return sum;
}

/* Does the same for four rows at once: quads of one value per row; there are `most` quads, of which
 * the first n count. */
DEVICE quad tree_sum_quads(const quad *part, int most, int n)
{
    float x[PRODUCT_PARTS], y[PRODUCT_PARTS], z[PRODUCT_PARTS], w[PRODUCT_PARTS];
    quad sum;
    UNROLL
    for (int s = 0; s < PRODUCT_PARTS; s++) {
        x[s] = s < most ? float_of_bits(part[s].x) : 0.0f;
        y[s] = s < most ? float_of_bits(part[s].y) : 0.0f;
        z[s] = s < most ? float_of_bits(part[s].z) : 0.0f;
        w[s] = s < most ? float_of_bits(part[s].w) : 0.0f;
    }
    sum.x = bits_of_float(tree_sum(x, n));
    sum.y = bits_of_float(tree_sum(y, n));
    sum.z = bits_of_float(tree_sum(z, n));
    sum.w = bits_of_float(tree_sum(w, n));
    return sum;
}

/* Stores rows row..row+3 of a column, or as many of them as exist. */
DEVICE void put_results(const struct product_args *a, int row, int column, quad sum)
{
    float *const y = (float *)a->y + (size_t)column * (size_t)a->rows + (size_t)row;
    const bool whole = row + 4 <= a->rows && (uintptr_t)y % sizeof(quad) == 0;
    const uint32_t bits[4] = {sum.x, sum.y, sum.z, sum.w};
    float before[4] = {0.0f, 0.0f, 0.0f, 0.0f}, value[4];
    if (a->add && whole) {
        const quad q = load_quad(y);
        before[0] = float_of_bits(q.x);
        before[1] = float_of_bits(q.y);
        before[2] = float_of_bits(q.z);
        before[3] = float_of_bits(q.w);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        value[i] = float_of_bits(bits[i]);
        if (row + i >= a->rows) continue;
        if (a->bias != 0) value[i] = value[i] + a->bias[row + i];
        if (a->add) value[i] = value[i] + (whole ? before[i] : y[i]);
        if (!whole) y[i] = value[i];
    }
    if (whole) {
        const quad q = {bits_of_float(value[0]), bits_of_float(value[1]), bits_of_float(value[2]),
                        bits_of_float(value[3])};
        store_quad(y, q);
    }
}

/* Returns the number of rows, rounded up to whole tiles. */
DEVICE int tiled_rows(const struct product_args *a)
{
    return pieces(a->rows, TILE_ROWS) * TILE_ROWS;
}

DEVICE float *partial_at(const struct product_args *a, int slice, int row, int column)
{
    return a->partial + (size_t)(slice * PASS_COLUMNS + column) * (size_t)tiled_rows(a) +
           (size_t)row;
}

/* Among the blocks that share rows, the one that finishes last adds the partial sums. A thread
 * loads two quads at a time: if gated, four rows of gate and the same four of up. */
DEVICE void join_blocks(const struct product_args *a, int n, int tiles, int *last)
{
    enum { AT_ONCE = 2 };
    const int slices = a->parts / a->block_parts, apart = a->gated ? 0 : THREADS;
    const int quads = (a->gated ? 2 : 4) * tiles; /* per column */
    fence();
    sync_block();
    if (THREAD == 0) *last = take_uint32(&a->count[BLOCK_X], 1) == (uint32_t)(slices - 1);
    sync_block();
    if (!*last) return;
    fence();
    if (THREAD == 0)
        add_uint32(&a->count[BLOCK_X], 0u - (uint32_t)slices); /* back to 0 for the next launch */
    /* Warps stay whole, because all lanes must call put_gated. */
    for (int i = THREAD; i - LANE < quads * n; i += THREADS + apart) {
        quad part[AT_ONCE][PRODUCT_SLICES], sum[AT_ONCE];
        int row[AT_ONCE], column[AT_ONCE];
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            const int item = i + k * apart, at = item % quads;
            row[k] = BLOCK_X * tiles * TILE_ROWS +
                     (a->gated ? at / 2 * TILE_ROWS + at % 2 * 4 + k * TILE_GATES : at * 4);
            column[k] = item / quads;
            const bool there = column[k] < n && row[k] < tiled_rows(a);
            const quad none = {0, 0, 0, 0};
            UNROLL
            for (int s = 0; s < PRODUCT_SLICES; s++)
                part[k][s] =
                    s < slices && there ? load_fresh(partial_at(a, s, row[k], column[k])) : none;
        }
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            sum[k] = tree_sum_quads(part[k], PRODUCT_SLICES, slices);
            if (!a->gated && column[k] < n) put_results(a, row[k], column[k], sum[k]);
        }
        if (a->gated) put_gated(a, row[0], column[0], column[0] < n, sum[0], sum[1]);
    }
}

/* Adds up the block's parts of the sums of four rows; `unit` has those of the first part. */
DEVICE quad join_quads(const float *unit, int parts)
{
    quad part[PRODUCT_PARTS];
    UNROLL
    for (int s = 0; s < PRODUCT_PARTS; s++)
        part[s] = load_quad_if(s < parts, unit + s * UNITS * UNIT);
    return tree_sum_quads(part, PRODUCT_PARTS, parts);
}

/* Adds all warps' sums into y. Uses at least JOIN_QUADS of the block's shared memory. */
DEVICE void join_parts(const struct product_args *a, const product_place *p, product_sums sum,
                       int T, int N, bool rows_by_lane, quad *memory)
{
    float *const unit = (float *)(void *)memory; /* [warp][UNITS][UNIT] */
    const int g = LANE / 4, q = LANE % 4, parts = a->block_parts, tiles = PRODUCT_WARPS / parts * T;
    const bool whole = parts == a->parts, gated = whole && a->gated;
    const int quads = gated ? 2 : 4; /* per tile and column; if gated, those of gate */
    UNROLL
    for (int first = 0; first < T * N; first += UNITS) { /* T tiles of each column */
        const int units = T * N - first < UNITS ? T * N - first : UNITS;
        sync_block();
        UNROLL
        for (int i = 0; i < units; i++) {
            const float *const d = sum[(first + i) % T][(first + i) / T];
            float *const to = unit + (WARP * UNITS + i) * UNIT;
            if (rows_by_lane) {
                UNROLL
                for (int c = 0; c < EIGHT; c++)
                    if (LANE < TILE_ROWS) to[c * COLUMN + LANE] = d[c];
            } else {
                to[2 * q * COLUMN + g] = d[0];
                to[(2 * q + 1) * COLUMN + g] = d[1];
                to[2 * q * COLUMN + g + 8] = d[2];
                to[(2 * q + 1) * COLUMN + g + 8] = d[3];
            }
        }
        sync_block();
        /* Four rows per thread, rows fastest: a warp writes contiguous memory. */
        const int most = units / T * EIGHT, left = p->n - first / T * EIGHT,
                  columns = left < most ? left : most;
        for (int i = THREAD; i - LANE < quads * tiles * columns; i += THREADS) {
            const int r = i % quads * 4, tile = i / quads % tiles, c = i / quads / tiles;
            const int row = (BLOCK_X * tiles + tile) * TILE_ROWS + r,
                      column = first / T * EIGHT + c;
            const float *const at = unit +
                                    (tile / T * parts * UNITS + c / EIGHT * T + tile % T) * UNIT +
                                    c % EIGHT * COLUMN + r;
            const quad four = join_quads(at, c < columns ? parts : 0);
            if (gated)
                put_gated(a, row, column, c < columns, four,
                          join_quads(at + TILE_GATES, c < columns ? parts : 0));
            else if (row >= tiled_rows(a) || c >= columns)
                continue;
            else if (whole)
                put_results(a, row, column, four);
            else
                store_quad(partial_at(a, BLOCK_Y, row, column), four);
        }
    }
    if (!whole) join_blocks(a, p->n, tiles, (int *)(void *)memory);
}

#endif
