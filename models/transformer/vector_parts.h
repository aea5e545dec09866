/* vector_parts: what the vector kernels of all instruction sets have in common; internal to models/transformer/vector*.
 * The constants of the exponentials, which vector_ref.c explains, and loops that compilers turn into vector
 * instructions by themselves, each element being computed on its own. */
#ifndef SPECLAB_VECTOR_PARTS_H
#define SPECLAB_VECTOR_PARTS_H

#include "models/transformer/vector.h"

#include <math.h>

#define SPEC_EXP_LEAST (-87.0f)
#define SPEC_EXP_MOST 89.0f
#define SPEC_EXP_ROUND 0x1.8p+23f
#define SPEC_EXP_STEPS 0x1.715476p+0f /* in 1 */
#define SPEC_EXP_STEP 0x1.62e43p-1f   /* log(2) as the sum of two */
#define SPEC_EXP_STEP_REST -0x1.05c61p-29f
enum { SPEC_EXP_TERMS = 5 };
static const float spec_exp_term[] = {0x1.6a249p-10f, 0x1.1239f2p-7f, 0x1.5558fp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f};

#define SPEC_EXP_DOUBLE_LEAST (-708.0)
#define SPEC_EXP_DOUBLE_ROUND 0x1.8p+52
#define SPEC_EXP_DOUBLE_STEPS 0x1.71547652b82fep+3
#define SPEC_EXP_DOUBLE_STEP 0x1.62e42fefa39efp-4 /* log(2) / 8 as the sum of two */
#define SPEC_EXP_DOUBLE_STEP_REST 0x1.abc9e3b39803fp-59
enum { SPEC_EXP_DOUBLE_TERMS = 6 };
static const double spec_exp_double_term[] = {0x1.a016306791dd4p-13, 0x1.6c1cbc962c1f2p-10, 0x1.11111125f4e42p-7,
                                              0x1.5555554815963p-5,  0x1.555555555512dp-3,  0x1.0000000000109p-1};
static const double spec_exp_eighth[] = {0x1p+0,               0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, /* 2^(j/8) */
                                         0x1.4bfdad5362a27p+0, 0x1.6a09e667f3bcdp+0, 0x1.8ace5422aa0dbp+0,
                                         0x1.ae89f995ad3adp+0, 0x1.d5818dcfba487p+0};

/* Pairs from `first` on. */
static inline void spec_vector_rotate_from(int first, float *head, const float *cosine, const float *sine,
                                           spec_rope_pairs pairs, int head_dim)
{
    const int half = head_dim / 2, step = pairs == SPEC_ROPE_ADJACENT ? 2 : 1;
    float *const a = head, *const b = pairs == SPEC_ROPE_ADJACENT ? head + 1 : head + half;
    for (int i = first; i < half; i++) {
        const float x = a[i * step], y = b[i * step];
        a[i * step] = fmaf(x, cosine[i], -(y * sine[i]));
        b[i * step] = fmaf(y, cosine[i], x * sine[i]);
    }
}

static inline void spec_vector_scale(double *x, double factor, int n)
{
    for (int i = 0; i < n; i++) x[i] *= factor;
}

#endif
