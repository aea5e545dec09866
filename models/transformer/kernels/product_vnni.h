/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_vnni: the code shared by the products of VNNI.
 * Only for files compiled for this instruction set. */
#ifndef SPECLAB_PRODUCT_VNNI_H
#define SPECLAB_PRODUCT_VNNI_H

#include "models/transformer/kernels/product_avx512.h"

enum {
    GROUPS = SPEC_TENSOR_BLOCK / 4, /* groups of four columns in a block */
    VECTOR = SPEC_PRODUCT_WORD,     /* bytes: four columns of a panel's rows */
    FOUR = 4                        /* columns computed together */
};

#define INLINE static inline __attribute__((always_inline))

INLINE __m512i load(const unsigned char *at)
{
    return _mm512_loadu_si512(at);
}

INLINE __m512i four(const unsigned char *at)
{
    return _mm512_set1_epi32(spec_product_int_at(at));
}

INLINE __m512 one(const unsigned char *at)
{
    return _mm512_set1_ps(spec_product_float_at(at));
}

/* Adds to each row's dot product its four weights times the four bytes at `x`. gcc 12 never folds
 * this broadcast into the instruction; a separate instruction costs a tenth of the speed. */
INLINE __m512i add_four(__m512i dot, __m512i w, const unsigned char *x)
{
    const int32_t(*const bytes)[1] = (const int32_t(*)[1])(const void *)x;
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(dot) : "v"(w), "m"(*bytes));
    return dot;
}

/* Adds to dot[u] the products of groups first..end-1 with n columns at x (n, 32). */
INLINE void add_dots(__m512i dot[FOUR], const __m512i w[GROUPS], const unsigned char *x,
                     const int first, const int end, const int n)
{
    SPEC_UNROLL
    for (int j = first; j < end; j++) {
        SPEC_UNROLL
        for (int u = 0; u < n; u++)
            dot[u] = add_four(dot[u], w[j], x + SPEC_TENSOR_BLOCK * u + 4 * j);
    }
}

/* Calls body(c, n) for columns c..c+n-1 of a constant N: four at a time, so that the dot products
 * of one column do not wait for each other. */
#define SPEC_PRODUCT_BY_FOURS(body, N)                                                             \
    do {                                                                                           \
        body(0, ((N) < 4 ? (N) : 4));                                                              \
        if ((N) > 4) body(4, ((N) < 8 ? (N)-4 : 4));                                               \
        if ((N) > 8) body(8, ((N) < 12 ? (N)-8 : 4));                                              \
        if ((N) > 12) body(12, (N)-12);                                                            \
    } while (0)

#endif
