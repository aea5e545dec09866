/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__aarch64__)
#define COLUMNS 2
#include "models/transformer/kernels/product_k_neon.h"

INLINE void add_dots(int32x4_t dot[COLUMNS], const int8x16_t w[GROUPS], const unsigned char *x,
                     const int first, const int end, const int n)
{
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        int16x8_t low = vdupq_n_s16(0), high = vdupq_n_s16(0);
        SPEC_UNROLL
        for (int j = first; j < end; j++) {
            const int8x16_t v =
                vreinterpretq_s8_s32(vdupq_n_s32(spec_product_int_at(x + BLOCK * u + 4 * j)));
            low = vmlal_s8(low, vget_low_s8(w[j]), vget_low_s8(v));
            high = vmlal_high_s8(high, w[j], v);
        }
        dot[u] = vaddq_s32(dot[u], vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
    }
}

void spec_product_q4_k_neon(const spec_product_task *task)
{
    all_columns(task, SPEC_TENSOR_Q4_K);
}
void spec_product_q5_k_neon(const spec_product_task *task)
{
    all_columns(task, SPEC_TENSOR_Q5_K);
}
void spec_product_q6_k_neon(const spec_product_task *task)
{
    all_columns(task, SPEC_TENSOR_Q6_K);
}
#else
typedef int spec_product_k_neon_is_empty; /* ISO C requires a declaration */
#endif
