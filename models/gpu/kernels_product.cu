#include "models/gpu/kernels_product.h"

#include "models/gpu/operand.h"
#include "models/gpu/simt.h"
#include "models/gpu/tile.h"

/* T: tiles of rows that a warp multiplies at a time. N: tiles of eight columns. AHEAD: groups that are loaded before
 * they are needed, in a ring of registers: a group's place is filled anew as soon as it has been multiplied. All three
 * are constants where these functions are called, and arrays are of the largest. */
enum { T_MAX = 2, N_MAX = 8, EIGHT = 8, AHEAD_MAX = 4 };

/* What a warp sums: [tile of rows][tile of columns]; a fragment D of mma has 4, the product of floats all 8 columns of
 * one row. */
typedef float product_sums[T_MAX][N_MAX][EIGHT];

typedef struct {
    const unsigned char *w; /* the first tile of the warp */
    int n;                  /* columns that there are */
    int tile, tiles;        /* the warp's first; of the warp, 0 to T */
    int part;
    size_t tile_bytes;
} product_place;

DEVICE int pieces(int n, int size) { return (n + size - 1) / size; }

DEVICE product_place place_of(const struct product_args *a, size_t tile_bytes, int T)
{
    product_place p;
    const int all = pieces(a->rows, TILE_ROWS), rows_warps = PRODUCT_WARPS / a->parts;
    p.n = a->wanted ? a->batch->n - a->batch->first : a->batch->n;
    p.part = WARP % a->parts;
    p.tile = (BLOCK_X * rows_warps + WARP / a->parts) * T;
    p.tiles = all - p.tile < 0 ? 0 : all - p.tile < T ? all - p.tile : T;
    p.tile_bytes = tile_bytes;
    p.w = a->w + (size_t)p.tile * tile_bytes;
    return p;
}

DEVICE quad no_quad(void)
{
    const quad q = {0, 0, 0, 0};
    return q;
}

DEVICE quad load_quad_if(bool there, const void *from) { return there ? load_quad(from) : no_quad(); }
DEVICE quad load_once_if(bool there, const void *from) { return there ? load_once(from) : no_quad(); }

DEVICE pair load_pair_if(bool there, const void *from)
{
    const pair none = {0, 0};
    return there ? load_pair(from) : none;
}

/* ---- the parts of a sum ------------------------------------------------------------------------------------------ */

/* A tile of 16 rows and 8 columns in shared memory, column after column; 20: no two lanes of a warp that writes a
 * fragment meet in a bank. */
enum { COLUMN = TILE_ROWS + 4, UNIT = EIGHT * COLUMN, UNITS = 4 /* of each warp, at a time */ };

/* Of `parts` values, `stride` apart, in the order of a binary tree. */
DEVICE float tree_sum(const float *value, int stride, int parts)
{
    float sum = value[0];
    if (parts > 1) sum = sum + value[stride];
    if (parts > 2) sum = sum + (value[2 * stride] + value[3 * stride]);
    if (parts > 4)
        sum = sum + ((value[4 * stride] + value[5 * stride]) + (value[6 * stride] + value[7 * stride]));
    return sum;
}

/* All warps' sums into y. Ends with nobody reading shared memory. */
DEVICE void join(const struct product_args *a, const product_place *p, product_sums sum, int T, int N, bool of_rows)
{
    SHARED float unit[PRODUCT_WARPS][UNITS][UNIT];
    const int g = LANE / 4, q = LANE % 4, rows_warps = PRODUCT_WARPS / a->parts;
    UNROLL
    for (int first = 0; first < T * N; first += UNITS) {
        if (first > 0) sync_block();
        UNROLL
        for (int i = 0; i < UNITS && first + i < T * N; i++) {
            const float *const d = sum[(first + i) / N][(first + i) % N];
            float *const to = unit[WARP][i];
            if (of_rows) {
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
        /* Rows fastest, so that what a warp writes lies together. */
        const int units = T * N - first < UNITS ? T * N - first : UNITS;
        for (int i = THREAD; i < rows_warps * units * EIGHT * TILE_ROWS; i += THREADS) {
            const int r = i % TILE_ROWS, c = i / TILE_ROWS % EIGHT, rest = i / (TILE_ROWS * EIGHT);
            const int u = rest % units, warp = rest / units, t = (first + u) / N;
            const int row = ((BLOCK_X * rows_warps + warp) * T + t) * TILE_ROWS + r;
            const int column = (first + u) % N * EIGHT + c;
            if (row >= a->rows || column >= p->n) continue;
            float value = tree_sum(&unit[warp * a->parts][u][c * COLUMN + r], UNITS * UNIT, a->parts);
            float *const y = a->y + (size_t)column * (size_t)a->rows + (size_t)row;
            if (a->bias != 0) value = value + a->bias[row];
            if (a->add) value = value + *y;
            *y = value;
        }
    }
}

/* ---- F16, BF16 --------------------------------------------------------------------------------------------------- */

/* Two F16 of a word as the sums of two bf16 each, exactly: the upper 8 of 11 bits, and the rest. */
DEVICE void split_f16(uint32_t *high, uint32_t *low, uint32_t word)
{
    const float a = float_of_f16((uint16_t)word), b = float_of_f16((uint16_t)(word >> 16));
    const uint32_t a_high = bits_of_float(a) & 0xffff0000u, b_high = bits_of_float(b) & 0xffff0000u;
    *high = a_high >> 16 | b_high;
    *low = bits_of_float(a - float_of_bits(a_high)) >> 16 | (bits_of_float(b - float_of_bits(b_high)) & 0xffff0000u);
}

DEVICE void multiply_half(float *d, quad w, uint32_t x0, uint32_t x1, bool f16)
{
    const uint32_t b[2] = {x0, x1};
    if (f16) {
        uint32_t high[4], low[4];
        split_f16(&high[0], &low[0], w.x);
        split_f16(&high[1], &low[1], w.y);
        split_f16(&high[2], &low[2], w.z);
        split_f16(&high[3], &low[3], w.w);
        mma_bf16(d, low, b);
        mma_bf16(d, high, b);
    } else {
        const uint32_t words[4] = {w.x, w.y, w.z, w.w};
        mma_bf16(d, words, b);
    }
}

DEVICE void product_half(const struct product_args *a, int T, int N, int AHEAD, bool f16)
{
    const int groups = pieces(a->cols, TILE_HALF_COLUMNS), g = LANE / 4, q = LANE % 4, parts = a->parts;
    const product_place p = place_of(a, (size_t)groups * TILE_HALF_BYTES, T);
    const unsigned char *const w = p.w + LANE * 16;
    const uint16_t *const x = (const uint16_t *)a->x + (size_t)g * (size_t)(groups * TILE_HALF_COLUMNS) + 8 * q;
    const size_t eight = (size_t)EIGHT * (size_t)(groups * TILE_HALF_COLUMNS);
    const bool early = N <= 2; /* activations too are loaded ahead */
    product_sums sum = {0};
    quad weight[AHEAD_MAX][T_MAX][2], activation[AHEAD_MAX][N_MAX];

    UNROLL
    for (int ring = 0; ring < AHEAD; ring++) {
        const int i = p.part + ring * parts;
        UNROLL
        for (int t = 0; t < T; t++) {
            const unsigned char *const from = w + (size_t)t * p.tile_bytes + (size_t)i * TILE_HALF_BYTES;
            weight[ring][t][0] = load_once_if(i < groups && t < p.tiles, from);
            weight[ring][t][1] = load_once_if(i < groups && t < p.tiles, from + TILE_LANES);
        }
        UNROLL
        for (int j = 0; early && j < N; j++)
            activation[ring][j] = load_quad_if(i < groups && j * EIGHT + g < p.n, x + (size_t)j * eight + (size_t)i * TILE_HALF_COLUMNS);
    }
    if (p.tiles > 0) {
        for (int begin = p.part; begin < groups; begin += AHEAD * parts) {
            UNROLL
            for (int ring = 0; ring < AHEAD; ring++) {
                const int i = begin + ring * parts, next = i + AHEAD * parts;
                if (!early) {
                    UNROLL
                    for (int j = 0; j < N; j++)
                        activation[0][j] = load_quad_if(i < groups && j * EIGHT + g < p.n, x + (size_t)j * eight + (size_t)i * TILE_HALF_COLUMNS);
                }
                UNROLL
                for (int j = 0; j < N; j++) {
                    const quad b = activation[early ? ring : 0][j];
                    UNROLL
                    for (int t = 0; t < T; t++) {
                        multiply_half(sum[t][j], weight[ring][t][0], b.x, b.y, f16);
                        multiply_half(sum[t][j], weight[ring][t][1], b.z, b.w, f16);
                    }
                }
                UNROLL
                for (int t = 0; t < T; t++) {
                    const unsigned char *const from = w + (size_t)t * p.tile_bytes + (size_t)next * TILE_HALF_BYTES;
                    weight[ring][t][0] = load_once_if(next < groups && t < p.tiles, from);
                    weight[ring][t][1] = load_once_if(next < groups && t < p.tiles, from + TILE_LANES);
                }
                UNROLL
                for (int j = 0; early && j < N; j++)
                    activation[ring][j] = load_quad_if(next < groups && j * EIGHT + g < p.n, x + (size_t)j * eight + (size_t)next * TILE_HALF_COLUMNS);
            }
        }
    }
    join(a, &p, sum, T, N, false);
}

/* ---- Q8_0, Q4_0 -------------------------------------------------------------------------------------------------- */

/* Four weights of 8 bits of each of the lane's two rows, two times, as mma_int8 takes them: those of block b of a group.
 * Halves of a byte are shifted up, which makes them 16 times what they are. */
DEVICE void weights_of_block(uint32_t *w, const quad *loaded, int b, bool q4)
{
    if (q4) {
        const uint32_t even = b % 2 == 0 ? loaded[b / 2].x : loaded[b / 2].z;
        const uint32_t odd = b % 2 == 0 ? loaded[b / 2].y : loaded[b / 2].w;
        w[0] = (even << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
        w[1] = (odd << 4 & 0xf0f0f0f0u) ^ 0x80808080u;
        w[2] = (even & 0xf0f0f0f0u) ^ 0x80808080u;
        w[3] = (odd & 0xf0f0f0f0u) ^ 0x80808080u;
    } else {
        w[0] = loaded[b].x;
        w[1] = loaded[b].y;
        w[2] = loaded[b].z;
        w[3] = loaded[b].w;
    }
}

DEVICE float scale_of_block(pair scales, int b)
{
    const uint32_t two = b < 2 ? scales.x : scales.y;
    return float_of_f16((uint16_t)(two >> b % 2 * 16));
}

DEVICE float word_of(quad scales, int b)
{
    return float_of_bits(b == 0 ? scales.x : b == 1 ? scales.y : b == 2 ? scales.z : scales.w);
}

typedef struct {
    quad w[4];
    pair scale[2]; /* of rows g and g + 8 */
} quantised_weights;

typedef struct {
    pair x[4];     /* blocks of the column of the lane's fragment B */
    quad scale[2]; /* of the columns of its fragment D */
} quantised_activations;

DEVICE quantised_weights load_weights(const unsigned char *group, bool there, bool q4)
{
    quantised_weights w;
    const unsigned char *const scales = group + (q4 ? TILE_Q4_0_SCALES : TILE_Q8_0_SCALES);
    UNROLL
    for (int i = 0; i < (q4 ? 2 : 4); i++) w.w[i] = load_once_if(there, group + i * TILE_LANES + LANE * 16);
    UNROLL
    for (int i = 0; i < 2; i++) w.scale[i] = load_pair_if(there, scales + (LANE / 4 + 8 * i) * 8);
    return w;
}

/* Of tile j of eight columns. */
DEVICE quantised_activations load_activations(const struct product_args *a, int n, int j, int group, bool there)
{
    quantised_activations v;
    const int g = j * EIGHT + LANE / 4, q = LANE % 4;
    const size_t width = (size_t)pieces(a->cols, TILE_QUANTISED_COLUMNS) * TILE_QUANTISED_COLUMNS;
    const char *const x = (const char *)a->x + (size_t)g * width + (size_t)group * TILE_QUANTISED_COLUMNS + 8 * q;
    const float *const scales = (const float *)((const char *)a->x + PASS_COLUMNS * width);
    UNROLL
    for (int b = 0; b < 4; b++) v.x[b] = load_pair_if(there && g < n, x + b * TILE_BLOCK);
    UNROLL
    for (int i = 0; i < 2; i++) {
        const int column = j * EIGHT + 2 * q + i;
        v.scale[i] = load_quad_if(there && column < n, scales + (size_t)column * (width / TILE_BLOCK) + (size_t)group * 4);
    }
    return v;
}

/* The bits of 1.5 * 2^23: a float of these and a whole number below 2^22 in magnitude, added as integers, is their sum. */
#define WHOLE_BITS 0x4b400000
#define WHOLE 12582912.0f

DEVICE void multiply_quantised(float *d, const quantised_weights *w, const quantised_activations *v, bool q4)
{
    UNROLL
    for (int b = 0; b < 4; b++) {
        uint32_t rows[4];
        const uint32_t columns[2] = {v->x[b].x, v->x[b].y};
        int32_t dot[4] = {WHOLE_BITS, WHOLE_BITS, WHOLE_BITS, WHOLE_BITS};
        weights_of_block(rows, w->w, b, q4);
        mma_int8(dot, rows, columns);
        UNROLL
        for (int i = 0; i < 4; i++) {
            const float of_row = scale_of_block(w->scale[i / 2], b) * (q4 ? 0.0625f : 1.0f);
            const float scale = of_row * word_of(v->scale[i % 2], b);
            d[i] = fmaf(float_of_bits((uint32_t)dot[i]) - WHOLE, scale, d[i]);
        }
    }
}

DEVICE void product_quantised(const struct product_args *a, int T, int N, int AHEAD, bool q4)
{
    const int groups = pieces(a->cols, TILE_QUANTISED_COLUMNS), parts = a->parts;
    const size_t group_bytes = q4 ? TILE_Q4_0_BYTES : TILE_Q8_0_BYTES;
    const product_place p = place_of(a, (size_t)groups * group_bytes, T);
    const bool early = N == 1;
    product_sums sum = {0};
    quantised_weights weight[AHEAD_MAX][T_MAX];
    quantised_activations activation[AHEAD_MAX];

    UNROLL
    for (int ring = 0; ring < AHEAD; ring++) {
        const int i = p.part + ring * parts;
        UNROLL
        for (int t = 0; t < T; t++)
            weight[ring][t] = load_weights(p.w + (size_t)t * p.tile_bytes + (size_t)i * group_bytes, i < groups && t < p.tiles, q4);
        if (early) activation[ring] = load_activations(a, p.n, 0, i, i < groups);
    }
    if (p.tiles > 0) {
        for (int begin = p.part; begin < groups; begin += AHEAD * parts) {
            UNROLL
            for (int ring = 0; ring < AHEAD; ring++) {
                const int i = begin + ring * parts, next = i + AHEAD * parts;
                UNROLL
                for (int j = 0; j < N; j++) {
                    if (!early) activation[0] = load_activations(a, p.n, j, i, i < groups);
                    UNROLL
                    for (int t = 0; t < T; t++)
                        multiply_quantised(sum[t][j], &weight[ring][t], &activation[early ? ring : 0], q4);
                }
                UNROLL
                for (int t = 0; t < T; t++)
                    weight[ring][t] = load_weights(p.w + (size_t)t * p.tile_bytes + (size_t)next * group_bytes, next < groups && t < p.tiles, q4);
                if (early) activation[ring] = load_activations(a, p.n, 0, next, next < groups);
            }
        }
    }
    join(a, &p, sum, T, N, false);
}

/* ---- F32 --------------------------------------------------------------------------------------------------------- */

/* Four activations of a column from k on; past the end of its row there are zeros. */
DEVICE quad load_floats(const float *x, int k, int cols)
{
    if (cols % 4 == 0) return load_quad_if(k < cols, x + k); /* rows are aligned then */
    quad v;
    v.x = k < cols ? bits_of_float(x[k]) : 0;
    v.y = k + 1 < cols ? bits_of_float(x[k + 1]) : 0;
    v.z = k + 2 < cols ? bits_of_float(x[k + 2]) : 0;
    v.w = k + 3 < cols ? bits_of_float(x[k + 3]) : 0;
    return v;
}

/* Lane l has row l % 16 of a tile and four of each eight columns; its other half comes from lane l ^ 16 in the end. */
DEVICE void product_floats(const struct product_args *a, int T, int N, int AHEAD)
{
    const int groups = pieces(a->cols, TILE_F32_COLUMNS), parts = a->parts, half = LANE / TILE_ROWS * 4;
    const product_place p = place_of(a, (size_t)groups * TILE_F32_BYTES, T);
    const unsigned char *const w = p.w + LANE * 16;
    const float *const x = (const float *)a->x;
    product_sums sum = {0};
    quad weight[AHEAD_MAX][T_MAX];

    UNROLL
    for (int ring = 0; ring < AHEAD; ring++) {
        const int i = p.part + ring * parts;
        UNROLL
        for (int t = 0; t < T; t++)
            weight[ring][t] = load_once_if(i < groups && t < p.tiles, w + (size_t)t * p.tile_bytes + (size_t)i * TILE_F32_BYTES);
    }
    if (p.tiles > 0) {
        for (int begin = p.part; begin < groups; begin += AHEAD * parts) {
            UNROLL
            for (int ring = 0; ring < AHEAD; ring++) {
                const int i = begin + ring * parts, next = i + AHEAD * parts;
                UNROLL
                for (int u = 0; u < N * EIGHT; u++) {
                    if (u >= p.n || i >= groups) continue; /* all of the warp */
                    const quad v = load_floats(x + (size_t)u * (size_t)a->cols, i * TILE_F32_COLUMNS + half, a->cols);
                    UNROLL
                    for (int t = 0; t < T; t++) {
                        float d = sum[t][u / EIGHT][u % EIGHT];
                        d = fmaf(float_of_bits(weight[ring][t].x), float_of_bits(v.x), d);
                        d = fmaf(float_of_bits(weight[ring][t].y), float_of_bits(v.y), d);
                        d = fmaf(float_of_bits(weight[ring][t].z), float_of_bits(v.z), d);
                        sum[t][u / EIGHT][u % EIGHT] = fmaf(float_of_bits(weight[ring][t].w), float_of_bits(v.w), d);
                    }
                }
                UNROLL
                for (int t = 0; t < T; t++)
                    weight[ring][t] = load_once_if(next < groups && t < p.tiles, w + (size_t)t * p.tile_bytes + (size_t)next * TILE_F32_BYTES);
            }
        }
    }
    UNROLL
    for (int t = 0; t < T; t++) {
        UNROLL
        for (int u = 0; u < N * EIGHT; u++) {
            float *const d = &sum[t][u / EIGHT][u % EIGHT];
            *d = *d + shuffle_xor(*d, TILE_ROWS);
        }
    }
    join(a, &p, sum, T, N, true);
}

/* ---- kernels: how many tiles of rows, and groups ahead, for each number of columns ------------------------------- */

KERNEL(product_f32_1, 256) { product_floats(&a.product, 2, 1, 4); }
KERNEL(product_f32_2, 256) { product_floats(&a.product, 2, 2, 4); }
KERNEL(product_f32_4, 256) { product_floats(&a.product, 2, 4, 4); }
KERNEL(product_f32_8, 256) { product_floats(&a.product, 1, 8, 4); }
KERNEL(product_f16_1, 256) { product_half(&a.product, 1, 1, 4, true); }
KERNEL(product_f16_2, 256) { product_half(&a.product, 1, 2, 4, true); }
KERNEL(product_f16_4, 256) { product_half(&a.product, 2, 4, 2, true); }
KERNEL(product_f16_8, 256) { product_half(&a.product, 2, 8, 2, true); }
KERNEL(product_bf16_1, 256) { product_half(&a.product, 1, 1, 4, false); }
KERNEL(product_bf16_2, 256) { product_half(&a.product, 1, 2, 4, false); }
KERNEL(product_bf16_4, 256) { product_half(&a.product, 2, 4, 2, false); }
KERNEL(product_bf16_8, 256) { product_half(&a.product, 2, 8, 2, false); }
KERNEL(product_q8_0_1, 256) { product_quantised(&a.product, 1, 1, 2, false); }
KERNEL(product_q8_0_2, 256) { product_quantised(&a.product, 1, 2, 2, false); }
KERNEL(product_q8_0_4, 256) { product_quantised(&a.product, 1, 4, 2, false); }
KERNEL(product_q8_0_8, 256) { product_quantised(&a.product, 1, 8, 1, false); }
KERNEL(product_q4_0_1, 256) { product_quantised(&a.product, 1, 1, 2, true); }
KERNEL(product_q4_0_2, 256) { product_quantised(&a.product, 1, 2, 2, true); }
KERNEL(product_q4_0_4, 256) { product_quantised(&a.product, 1, 4, 2, true); }
KERNEL(product_q4_0_8, 256) { product_quantised(&a.product, 1, 8, 2, true); }

/* ---- the rows of a table ----------------------------------------------------------------------------------------- */

DEVICE float half_at(const unsigned char *at, bool f16)
{
    const uint16_t half = (uint16_t)(at[0] | at[1] << 8);
    return f16 ? float_of_f16(half) : float_of_bf16(half);
}

/* A block for 256 of the columns of the table, and a token. */
KERNEL(embed, 256)
{
    const int u = BLOCK_Y, k = BLOCK_X * THREADS + THREAD;
    if (u >= a.batch->n || k >= a.cols) return;
    const int token = a.batch->token[u], r = token % TILE_ROWS;
    float value;
    size_t tile = (size_t)(token / TILE_ROWS);
    if (a.type == PRODUCT_F32) {
        tile *= (size_t)pieces(a.cols, TILE_F32_COLUMNS) * TILE_F32_BYTES;
        value = *(const float *)(a.table + tile + TILE_F32_AT(r, k));
    } else if (a.type == PRODUCT_F16 || a.type == PRODUCT_BF16) {
        tile *= (size_t)pieces(a.cols, TILE_HALF_COLUMNS) * TILE_HALF_BYTES;
        value = half_at(a.table + tile + TILE_HALF_AT(r, k), a.type == PRODUCT_F16);
    } else if (a.type == PRODUCT_Q8_0) {
        tile *= (size_t)pieces(a.cols, TILE_QUANTISED_COLUMNS) * TILE_Q8_0_BYTES;
        value = half_at(a.table + tile + TILE_Q8_0_SCALE_AT(r, k), true) *
                (float)(int8_t)a.table[tile + TILE_Q8_0_AT(r, k)];
    } else {
        tile *= (size_t)pieces(a.cols, TILE_QUANTISED_COLUMNS) * TILE_Q4_0_BYTES;
        const int both = a.table[tile + TILE_Q4_0_AT(r, k)];
        value = half_at(a.table + tile + TILE_Q4_0_SCALE_AT(r, k), true) *
                (float)((TILE_Q4_0_IS_HIGH(k) ? both >> 4 : both & 15) - 8);
    }
    a.x[(size_t)u * (size_t)a.cols + (size_t)k] = value;
}
