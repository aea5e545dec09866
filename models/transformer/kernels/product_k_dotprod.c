/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__ARM_FEATURE_DOTPROD)
#define COLUMNS 4
#include "models/transformer/kernels/product_k_neon.h"

INLINE void add_dots(int32x4_t dot[COLUMNS], const int8x16_t w[GROUPS], const unsigned char *x,
                     const int first, const int end, const int n)
{
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        SPEC_UNROLL
        for (int j = first; j < end; j += 4) {
            const int8x16_t v = vreinterpretq_s8_u8(vld1q_u8(x + BLOCK * u + 4 * j));
            dot[u] = vdotq_laneq_s32(dot[u], w[j], v, 0);
            dot[u] = vdotq_laneq_s32(dot[u], w[j + 1], v, 1);
            dot[u] = vdotq_laneq_s32(dot[u], w[j + 2], v, 2);
            dot[u] = vdotq_laneq_s32(dot[u], w[j + 3], v, 3);
        }
    }
}

void spec_product_q4_k_dotprod(const spec_product_task *task)
{
    all_columns(task, SPEC_TENSOR_Q4_K);
}
void spec_product_q5_k_dotprod(const spec_product_task *task)
{
    all_columns(task, SPEC_TENSOR_Q5_K);
}
void spec_product_q6_k_dotprod(const spec_product_task *task)
{
    all_columns(task, SPEC_TENSOR_Q6_K);
}
#else
typedef int spec_product_k_dotprod_is_empty; /* ISO C requires a declaration */
#endif
