/* SPDX-License-Identifier: GPL-3.0-or-later */
/* column_work: those operations of the CPU backend that treat each column of a pass separately.
 * They implement the operations of the same names in backend.h. One thread computes a column. */
#ifndef SPECLAB_COLUMN_WORK_H
#define SPECLAB_COLUMN_WORK_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/engine/rotation.h"
#include "models/transformer/kernels/vector.h"

/* with fewer floats than this per column, one thread does the work */
enum { SPEC_SHARED_FLOATS = 1 << 13 };

/* The columns of a pass that an operation works on, and the threads, which the caller has
 * locked. */
typedef struct {
    const spec_shape *shape;
    const spec_vector_kernels *kernels;
    spec_thread_pool *opt_locked;
    int n;
} spec_column_work;

/* x, y (n, width) may be the same array. */
void spec_column_work_norm(const spec_column_work *work, float *y, const float *x,
                           const float *opt_gain, int width);
void spec_column_work_norm_add(const spec_column_work *work, float *x, float *y, const float *gain);
void spec_column_work_rope(const spec_column_work *work, float *qkv, const spec_rotation *rotation,
                           const spec_attending *opt_how);
void spec_column_work_gate(const spec_column_work *work, float *y, const float *h);
void spec_column_work_cap(const spec_column_work *work, float *logits);
void spec_column_work_silu_add(const spec_column_work *work, float *y, const float *opt_x,
                               const float *h, int width);

void spec_column_work_sigmoid_gate(const spec_column_work *work, float *y, const float *g,
                                   int width);
void spec_column_work_sigmoid_scale(const spec_column_work *work, float *y, int width,
                                    const float *x, const float *w);

/* y = gate(a, b), elementwise; y may be a or b. */
void spec_column_work_gate_of(float *y, const float *a, const float *b, int n, spec_gate gate,
                              const spec_vector_kernels *kernels);

#endif
