/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vector_parts: the code shared by the vector kernels of all instruction sets.
 * Internal to models/transformer/kernels/vector*. It has the constants of the exponentials,
 * explained in vector_ref.c, and elementwise loops that compilers vectorise by themselves. */
#ifndef SPECLAB_VECTOR_PARTS_H
#define SPECLAB_VECTOR_PARTS_H

#include "base/half_float.h"
#include "models/transformer/kernels/exp_double.h"
#include "models/transformer/kernels/exp_float.h"
#include "models/transformer/kernels/vector.h"

#include <math.h>

static const float spec_exp_term[] = {SPEC_EXP_TERM_LIST};

/* gelu(a) = a / (1 + exp(a (LINEAR + CUBIC a^2))) */
#define SPEC_GELU_LINEAR -0x1.988454p+0f /* -2 sqrt(2/pi) */
#define SPEC_GELU_CUBIC -0x1.2444f2p-4f  /* the above times 0.044715 */

static const double spec_exp_double_term[] = {SPEC_EXP_DOUBLE_TERM_LIST};
static const double spec_exp_eighth[] = {SPEC_EXP_DOUBLE_EIGHTHS};

/* Rotates the pairs from `first` on. */
static inline void spec_vector_rotate_from(int first, float *head, const float *cosine,
                                           const float *sine, spec_rope_pairs pairs, int head_dim)
{
    const int half = head_dim / 2, step = pairs == SPEC_ROPE_ADJACENT ? 2 : 1;
    float *const a = head, *const b = pairs == SPEC_ROPE_ADJACENT ? head + 1 : head + half;
    for (int i = first; i < half; i++) {
        const float x = a[i * step], y = b[i * step];
        a[i * step] = fmaf(x, cosine[i], -(y * sine[i]));
        b[i * step] = fmaf(y, cosine[i], x * sine[i]);
    }
}

static inline void spec_vector_widen_bf16(float *to, const uint16_t *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = spec_half_float_from_bf16(from[i]);
}

static inline void spec_vector_narrow_bf16(uint16_t *to, const float *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = spec_half_float_to_bf16(from[i]);
}

static inline void spec_vector_scale(double *x, double factor, int n)
{
    for (int i = 0; i < n; i++) x[i] *= factor;
}

#endif
