/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_experts: a mixture of experts in double precision, token after token.
 * Written from its definition: softmax over all experts, the largest, renormalised [Shazeer17]. */
#ifndef SPECLAB_TESTS_REFERENCE_EXPERTS_H
#define SPECLAB_TESTS_REFERENCE_EXPERTS_H

#include "tests/models/transformer/engine/reference_delta.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* Steps that a wrong engine could leave out; all false: the definition. */
typedef struct {
    reference_delta_omissions delta;
    bool no_attention_gate, no_shared_gate;
    bool no_router_bias, no_gate_bias, no_up_bias, no_down_bias, no_clamp, no_renormalisation;
    int window, sink, from; /* window > 0: attention at positions from `from` on leaves out all but
                               the last `window` positions and the first `sink` */
} reference_omissions;

/* Computes y = w x + bias for the rows of expert e in a stack of n; x is rounded as for quantised
 * weights. */
static inline void reference_expert_product(double *y, const spec_tensor *stack,
                                            const spec_tensor *bias, bool omit_bias, int e, int n,
                                            const double *x, bool rounds)
{
    const int rows = stack->rows / n, cols = stack->cols;
    FREED double *input = calloc((size_t)cols, sizeof *input);
    float *row = malloc((size_t)cols * sizeof *row), *by = calloc((size_t)rows, sizeof *by);
    assert_non_null(input);
    assert_non_null(row);
    assert_non_null(by);
    memcpy(input, x, (size_t)cols * sizeof *input);
    if (rounds && spec_tensor_is_quantised(stack->type)) {
        for (int begin = 0; begin < cols; begin += SPEC_TENSOR_BLOCK) {
            double largest = 0.0;
            for (int i = begin; i < begin + SPEC_TENSOR_BLOCK; i++)
                largest = fmax(largest, fabs(x[i]));
            const double step = largest / 127.0;
            for (int i = begin; i < begin + SPEC_TENSOR_BLOCK && step > 0.0; i++)
                input[i] = nearbyint(x[i] / step) * step;
        }
    }
    if (bias->data != NULL && !omit_bias) spec_tensor_decode_row(by, bias, bias->rows == n ? e : 0);
    for (int r = 0; r < rows; r++) {
        spec_tensor_decode_row(row, stack, e * rows + r);
        y[r] = (double)by[r];
        for (int k = 0; k < cols; k++) y[r] += (double)row[k] * input[k];
    }
    free(row);
    free(by);
}

static inline double reference_gate(const spec_shape *s, double a, double b, bool no_clamp)
{
    if (s->gate == SPEC_GATE_SILU) return a / (1.0 + exp(-a)) * b;
    assert_int_equal(s->gate, SPEC_GATE_CLAMPED);
    if (!no_clamp) {
        a = fmin(a, 7.0);
        b = fmax(-7.0, fmin(b, 7.0));
    }
    return a / (1.0 + exp(-1.702 * a)) * (b + 1.0);
}

/* Adds the mixture of `normed` to x. */
static inline void reference_experts(double *x, const spec_checkpoint_layer *l, const spec_shape *s,
                                     const double *normed, bool rounds,
                                     const reference_omissions *omit)
{
    const int n = s->n_experts, width = s->expert_dim;
    double *chance = calloc((size_t)n, sizeof *chance), sum = 0.0, kept = 0.0, largest = -INFINITY;
    double *gate = calloc((size_t)width, sizeof *gate), *up = calloc((size_t)width, sizeof *up),
           *out = calloc((size_t)s->dim, sizeof *out);
    bool taken[SPEC_EXPERTS_MAX] = {false};
    assert_non_null(chance);
    assert_non_null(gate);
    assert_non_null(up);
    assert_non_null(out);
    reference_expert_product(chance, &l->router, &l->router_bias, omit->no_router_bias, 0, 1,
                             normed, rounds);
    for (int e = 0; e < n; e++) largest = fmax(largest, chance[e]);
    for (int e = 0; e < n; e++) sum += chance[e] = exp(chance[e] - largest);
    for (int i = 0; i < s->n_active; i++) {
        int best = -1;
        for (int e = 0; e < n; e++)
            if (!taken[e] && (best < 0 || chance[e] > chance[best])) best = e;
        taken[best] = true;
        kept += chance[best];
    }
    for (int e = 0; e < n; e++) {
        if (!taken[e]) continue;
        reference_expert_product(gate, &l->expert_gate, &l->expert_gate_bias, omit->no_gate_bias, e,
                                 n, normed, rounds);
        reference_expert_product(up, &l->expert_up, &l->expert_up_bias, omit->no_up_bias, e, n,
                                 normed, rounds);
        for (int i = 0; i < width; i++) gate[i] = reference_gate(s, gate[i], up[i], omit->no_clamp);
        reference_expert_product(out, &l->expert_down, &l->expert_down_bias, omit->no_down_bias, e,
                                 n, gate, rounds);
        for (int i = 0; i < s->dim; i++)
            x[i] += chance[e] / (omit->no_renormalisation ? sum : kept) * out[i];
    }
    free(chance);
    free(gate);
    free(up);
    free(out);
}

#endif
