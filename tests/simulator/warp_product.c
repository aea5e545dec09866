/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/warp_product.h"

#include "models/gpu/simt.h"

#include <string.h>

enum { ROWS = 16, COLUMNS = 8, BF16_DEPTH = 16, INT8_DEPTH = 32 };

/* A row of D or B, and what is computed for each of its elements: the same bits with any
 * instruction set. */
typedef float row_floats __attribute__((vector_size(COLUMNS * sizeof(float))));
typedef double row_doubles __attribute__((vector_size(COLUMNS * sizeof(double))));
typedef int32_t row_ints __attribute__((vector_size(COLUMNS * sizeof(int32_t))));
typedef uint32_t row_words __attribute__((vector_size(COLUMNS * sizeof(uint32_t))));
typedef int64_t row_longs __attribute__((vector_size(COLUMNS * sizeof(int64_t))));
#define INLINE static inline __attribute__((always_inline))

/* ---- sums of bf16 ---------------------------------------------------------------------------- */

enum { ZERO = -1000 }; /* the exponent of 0 */

/* Hopper adds 16 products at a time, with two bits below a float's last one; Ampere 8, with one. */
static struct {
    int terms, bits;
} rounding = {16, 2};

void warp_product_is_of(int capability)
{
    rounding.terms = capability >= 90 ? 16 : 8;
    rounding.bits = capability >= 90 ? 2 : 1;
}

/* Floats as sign * mantissa * 2^(exponent - 23). */
typedef struct {
    row_ints mantissa, exponent, sign; /* sign: 0 or -1 */
} row_parts;

INLINE row_ints either(row_ints which, row_ints x, row_ints y)
{
    return (which & x) | (~which & y);
}

INLINE row_parts parts_of(row_floats x)
{
    const row_ints bits = (row_ints)x, biased = bits >> 23 & 255, below = bits & 0x7fffff;
    const row_ints normal = biased != 0, zero = (biased | below) == 0;
    return (row_parts){below | (normal & 0x800000),
                       either(zero, (row_ints){0} + ZERO, biased - 126 - (normal & 1)), bits >> 31};
}

/* Returns the float next to x, or between x and 0. */
INLINE row_floats cut(row_doubles x)
{
    return __builtin_convertvector((row_doubles)((row_longs)x & -((int64_t)1 << 29)), row_floats);
}

/* d += the sum of `terms` products a b, all finite. */
INLINE row_floats sum_of_terms(row_floats d, const row_parts *a, const row_parts *b, int terms,
                               int bits)
{
    const row_parts of_d = parts_of(d);
    row_ints most = of_d.exponent;
    for (int k = 0; k < terms; k++) {
        const row_ints exponent = a[k].exponent + b[k].exponent;
        most = either(exponent > most, exponent, most);
    }
    /* Sums of the positive and of the negative terms, in units of the last bit that counts. */
    const row_ints far = most - of_d.exponent;
    row_words term =
        (row_words)(of_d.mantissa << bits >> either(far > 31, (row_ints){0} + 31, far));
    row_words plus = term & ~(row_words)of_d.sign, minus = term & (row_words)of_d.sign;
    for (int k = 0; k < terms; k++) {
        const row_ints below = most - (a[k].exponent + b[k].exponent), sign = a[k].sign ^ b[k].sign;
        const row_ints product = (a[k].mantissa >> 16) * (b[k].mantissa >> 16) << (9 + bits);
        term = (row_words)(product >> either(below > 31, (row_ints){0} + 31, below));
        plus += term & ~(row_words)sign;
        minus += term & (row_words)sign;
    }
    const row_doubles sum =
        __builtin_convertvector(plus, row_doubles) - __builtin_convertvector(minus, row_doubles);
    const row_ints last = either(most < ZERO / 2, (row_ints){0}, most - 23 - bits) + 1023;
    return cut(sum * (row_doubles)(__builtin_convertvector(last, row_longs) << 52));
}

/* D += A B, d (rows, 8), a (rows, 16), b (16, 8). */
INLINE void sums(row_floats *d, const float *a, const row_floats *b, int rows)
{
    row_parts of_a[BF16_DEPTH], of_b[BF16_DEPTH];
    const int terms = rounding.terms, bits = rounding.bits;
    row_floats odd = {0}; /* 0, or NaN where a column has numbers that are not finite */
    for (int k = 0; k < BF16_DEPTH; k++) {
        of_b[k] = parts_of(b[k]);
        odd += b[k] - b[k];
    }
    for (int row = 0; row < rows; row++) {
        row_floats not = odd + (d[row] - d[row]), plain = d[row];
        for (int k = 0; k < BF16_DEPTH; k++) {
            const float x = a[row * BF16_DEPTH + k];
            of_a[k] = parts_of((row_floats){0} + x);
            not += x - x;
            plain += x * b[k];
        }
        for (int k = 0; k < BF16_DEPTH; k += terms)
            d[row] = sum_of_terms(d[row], of_a + k, of_b + k, terms, bits);
        plain = (row_floats)either(plain == plain, (row_ints)plain, (row_ints){0} + 0x7fffffff);
        d[row] = (row_floats)either(not == not, (row_ints)d[row], (row_ints)plain);
    }
}

void warp_product_row(float *d, const float *a, const float *b)
{
    row_floats row, rows[BF16_DEPTH];
    memcpy(&row, d, sizeof row);
    memcpy(rows, b, sizeof rows);
    sums(&row, a, rows, 1);
    memcpy(d, &row, sizeof row);
}

/* ---- products of a warp ---------------------------------------------------------------------- */

INLINE void product_bf16(warp_fragments *const lanes[32])
{
    float a[ROWS][BF16_DEPTH];
    row_floats b[BF16_DEPTH], d[ROWS];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++) {
            const uint32_t word = lanes[l]->a[i];
            const int row = g + i % 2 * 8, k = 2 * q + i / 2 * 8;
            a[row][k] = float_of_bits(word << 16);
            a[row][k + 1] = float_of_bits(word & 0xffff0000u);
            d[g + i / 2 * 8][2 * q + i % 2] = lanes[l]->d.of_bf16[i];
        }
        for (int i = 0; i < 2; i++) {
            const uint32_t word = lanes[l]->b[i];
            b[2 * q + i * 8][g] = float_of_bits(word << 16);
            b[2 * q + i * 8 + 1][g] = float_of_bits(word & 0xffff0000u);
        }
    }
    sums(d, a[0], b, ROWS);
    for (int l = 0; l < WARP_LANES; l++)
        for (int i = 0; i < 4; i++)
            lanes[l]->d.of_bf16[i] = d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void product_bf16_avx2(warp_fragments *const lanes[32])
{
    product_bf16(lanes);
}

void warp_product_bf16(warp_fragments *const lanes[32])
{
    if (__builtin_cpu_supports("avx2")) product_bf16_avx2(lanes);
    else product_bf16(lanes);
}
#else
void warp_product_bf16(warp_fragments *const lanes[32]) { product_bf16(lanes); }
#endif

void warp_product_int8(warp_fragments *const lanes[32])
{
    int16_t a[ROWS][INT8_DEPTH], b[COLUMNS][INT8_DEPTH];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                a[g + i % 2 * 8][4 * q + i / 2 * 16 + j] = (int8_t)(lanes[l]->a[i] >> 8 * j & 0xff);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                b[g][4 * q + i * 16 + j] = (int8_t)(lanes[l]->b[i] >> 8 * j & 0xff);
    }
    for (int l = 0; l < WARP_LANES; l++) {
        int32_t *d = lanes[l]->d.of_int8;
        for (int i = 0; i < 4; i++) {
            const int16_t *x = a[l / 4 + i / 2 * 8], *y = b[l % 4 * 2 + i % 2];
            int32_t sum = 0;
            for (int k = 0; k < INT8_DEPTH; k++) sum += x[k] * y[k];
            d[i] = (int32_t)((uint32_t)d[i] + (uint32_t)sum); /* wraps, as on a GPU */
        }
    }
}
