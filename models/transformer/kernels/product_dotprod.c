/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__ARM_FEATURE_DOTPROD)
#define BLOCKS 4 /* the bytes and sums of this many columns fit into 32 registers */
#define AT_ONCE 1
#include "models/transformer/kernels/product_neon.h"

/* Loads 32 bytes of each column. */
INLINE void load_columns(int8x16_t v[BLOCKS][2], const unsigned char *x, const int n)
{
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        v[u][0] = vreinterpretq_s8_u8(vld1q_u8(x + SPEC_TENSOR_BLOCK * u));
        v[u][1] = vreinterpretq_s8_u8(vld1q_u8(x + SPEC_TENSOR_BLOCK * u + VECTOR));
    }
}

/* One instruction adds four products to each row: weights w times group j of half h. */
#define ADD_PRODUCTS(w, h, j)                                                                      \
    do {                                                                                           \
        const int8x16_t weight = w;                                                                \
        SPEC_UNROLL                                                                                \
        for (int u = 0; u < n; u++)                                                                \
            dot[u][0] = vdotq_laneq_s32(dot[u][0], weight, v[u][h], j);                            \
    } while (0)

/* The sign bit flips back to signed weights. */
INLINE int8x16_t signed_weights(const unsigned char *w)
{
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(w), vdupq_n_u8(0x80)));
}

INLINE void dots_q8_0(int32x4_t dot[][AT_ONCE], const unsigned char *w, const unsigned char *x,
                      const int n)
{
    int8x16_t v[BLOCKS][2];
    load_columns(v, x, n);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u][0] = vdupq_n_s32(0);
    ADD_PRODUCTS(signed_weights(w), 0, 0);
    ADD_PRODUCTS(signed_weights(w + GROUP), 0, 1);
    ADD_PRODUCTS(signed_weights(w + GROUP * 2), 0, 2);
    ADD_PRODUCTS(signed_weights(w + GROUP * 3), 0, 3);
    ADD_PRODUCTS(signed_weights(w + GROUP * 4), 1, 0);
    ADD_PRODUCTS(signed_weights(w + GROUP * 5), 1, 1);
    ADD_PRODUCTS(signed_weights(w + GROUP * 6), 1, 2);
    ADD_PRODUCTS(signed_weights(w + GROUP * 7), 1, 3);
}

/* Each byte holds a weight of the first 16 columns and one of the last 16. */
#define ADD_BOTH(j)                                                                                \
    do {                                                                                           \
        const uint8x16_t pair = vld1q_u8(w + GROUP * (j));                                         \
        ADD_PRODUCTS(vreinterpretq_s8_u8(vandq_u8(pair, vdupq_n_u8(15))), 0, j);                   \
        ADD_PRODUCTS(vreinterpretq_s8_u8(vshrq_n_u8(pair, 4)), 1, j);                              \
    } while (0)
INLINE void dots_q4_0(int32x4_t dot[][AT_ONCE], const unsigned char *w, const unsigned char *x,
                      const unsigned char *start, const int n)
{
    int8x16_t v[BLOCKS][2];
    load_columns(v, x, n);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u][0] = vdupq_n_s32(spec_product_int_at(start + 4 * u));
    ADD_BOTH(0);
    ADD_BOTH(1);
    ADD_BOTH(2);
    ADD_BOTH(3);
}

void spec_product_q8_0_dotprod(const spec_product_task *task)
{
    all_blocks(task, SPEC_TENSOR_Q8_0);
}
void spec_product_q4_0_dotprod(const spec_product_task *task)
{
    all_blocks(task, SPEC_TENSOR_Q4_0);
}
#else
typedef int spec_product_dotprod_is_empty; /* ISO C requires a declaration */
#endif
