/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sgemm_tile: computes the tile of a product in vector registers, of a type that the includer sets.
 * Included by models/train/sgemm_*.c after `floats`, FLOATS, ROWS, VECTORS, load, store, all and
 * fused. The compiler must unroll its inner loops, or else the sums are kept in memory. */

static void tile(float *c, size_t stride, const float *a, const float *b, int k, bool add)
{
    floats sum[ROWS][VECTORS];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = add ? load(c + (size_t)r * stride + v * FLOATS) : all(0.0f);
    for (int q = 0; q < k; q++, a += ROWS, b += VECTORS * FLOATS) {
        floats column[VECTORS];
        for (int v = 0; v < VECTORS; v++) column[v] = load(b + v * FLOATS);
        for (int r = 0; r < ROWS; r++) {
            const floats row = all(a[r]);
            for (int v = 0; v < VECTORS; v++) sum[r][v] = fused(row, column[v], sum[r][v]);
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++) store(c + (size_t)r * stride + v * FLOATS, sum[r][v]);
}
