/* SPDX-License-Identifier: GPL-3.0-or-later */
/* elements: the operations of training on rows of numbers, forward and backward.
 * Every instruction set computes the same bits: products and sums are not fused, and sums run in 16
 * lanes. Lane l sums elements l, 16 + l, ... in turn; then lanes that are 8, 4, 2 and 1 apart are
 * added. A function with `add` adds to its results instead of replacing them. Arrays have n
 * elements and do not overlap. */
#ifndef SPECLAB_ELEMENTS_H
#define SPECLAB_ELEMENTS_H

#include "base/cpu.h"
#include "models/train/real.h"

#include <stdbool.h>

/* A step of AdamW [Loshchilov19]:
 *   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
 *   w -= rate (m correction1 / (sqrt(v correction2) + epsilon) + decay w) */
typedef struct {
    spec_real rate, beta1, beta2, epsilon, decay;
    spec_real correction1, correction2; /* 1 / (1 - beta^step) */
    spec_real scale;                    /* factor of every gradient: clipping */
} spec_elements_adamw;

typedef struct {
    /* RMSNorm: y_i = x_i s gain_i with s = 1 / sqrt(mean(x^2) + eps); returns s. Backward:
     * dx_i (+)= s g_i dy_i - x_i s^3 mean_j(g_j dy_j x_j), and dgain_i += dy_i x_i s. */
    spec_real (*norm)(spec_real *y, const spec_real *x, const spec_real *gain, spec_real eps,
                      int n);
    void (*norm_back)(spec_real *dx, const spec_real *dy, const spec_real *x, const spec_real *gain,
                      spec_real s, int n, bool add);
    void (*gain_back)(spec_real *dgain, const spec_real *dy, const spec_real *x, spec_real s,
                      int n);

    /* x = softmax(factor x), in place. Backward, with w the result: d_i = factor w_i (d_i - sum_j
     * w_j d_j), in place. n >= 1. */
    void (*softmax)(spec_real *x, spec_real factor, int n);
    void (*softmax_back)(spec_real *d, const spec_real *w, spec_real factor, int n);

    /* y_i = silu(a_i) b_i, silu(a) = a / (1 + exp(-a)); backward replaces da and db. */
    void (*gate)(spec_real *y, const spec_real *a, const spec_real *b, int n);
    void (*gate_back)(spec_real *da, spec_real *db, const spec_real *dy, const spec_real *a,
                      const spec_real *b, int n);

    /* y_i += silu(a_i); backward: da_i (+)= dy_i silu'(a_i). */
    void (*silu)(spec_real *y, const spec_real *a, int n);
    void (*silu_back)(spec_real *da, const spec_real *dy, const spec_real *a, int n, bool add);

    /* Returns sum_i x_i y_i; computes y_i (+)= factor x_i. */
    spec_real (*dot)(const spec_real *x, const spec_real *y, int n);
    void (*scaled)(spec_real *y, spec_real factor, const spec_real *x, int n, bool add);

    /* y_i (+)= x_i. */
    void (*copy)(spec_real *y, const spec_real *x, int n, bool add);

    /* Returns sum_i x_i^2. */
    double (*squares)(const spec_real *x, int n);

    void (*adamw)(spec_real *w, spec_real *m, spec_real *v, const spec_real *g,
                  const spec_elements_adamw *step, int n);
} spec_elements;

extern const spec_elements spec_elements_ref, spec_elements_avx2, spec_elements_avx512;

const spec_elements *spec_elements_of(spec_isa isa);

#endif
