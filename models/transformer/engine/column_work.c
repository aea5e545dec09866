/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/column_work.h"

#include "base/int_math.h"

enum { STRETCH = 128 }; /* floats on the stack */

/* An operation on each column: y from x. */
typedef struct {
    const spec_column_work *on;
    float *y, *other; /* `other` is overwritten */
    const float *x, *opt_gain;
    int width;
    const spec_rotation *rotation;
    const spec_attending *opt_how;
} column_job;

/* Uses the thread pool if `width` floats per column are worth it. */
static void run(spec_thread_pool_work *work, column_job job, size_t width)
{
    const bool shares = (size_t)job.on->n * width >= SPEC_SHARED_FLOATS;
    spec_thread_pool_run(shares ? job.on->opt_locked : NULL, work, &job, job.on->n);
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void norm_column(void *job, int u)
{
    const column_job *j = job;
    const size_t at = (size_t)u * (size_t)j->width;
    j->on->kernels->norm(j->y + at, j->x + at, j->opt_gain, j->on->shape->norm_eps, j->width);
}

void spec_column_work_norm(const spec_column_work *work, float *y, const float *x,
                           const float *opt_gain, int width)
{
    run(norm_column, (column_job){.on = work, .y = y, .x = x, .opt_gain = opt_gain, .width = width},
        (size_t)width);
}

static void norm_add_column(void *job, int u)
{
    const column_job *j = job;
    const size_t dim = (size_t)j->on->shape->dim;
    float *to = j->y + (size_t)u * dim, *from = j->other + (size_t)u * dim;
    j->on->kernels->norm(from, from, j->opt_gain, j->on->shape->norm_eps, (int)dim);
    for (size_t i = 0; i < dim; i++) to[i] += from[i];
}

void spec_column_work_norm_add(const spec_column_work *work, float *x, float *y, const float *gain)
{
    run(norm_add_column, (column_job){.on = work, .y = x, .other = y, .opt_gain = gain},
        (size_t)work->shape->dim);
}

/* ---- queries and keys ------------------------------------------------------------------------ */

static size_t qkv_width(const spec_shape *shape)
{
    return (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * (size_t)shape->head_dim;
}

static void norm_heads(const spec_column_work *on, float *head, int heads, const float *opt_gain)
{
    const int head_dim = on->shape->head_dim;
    for (int h = 0; opt_gain != NULL && h < heads; h++, head += head_dim)
        on->kernels->norm(head, head, opt_gain, on->shape->norm_eps, head_dim);
}

static void rope_column(void *job, int u)
{
    const column_job *j = job;
    const spec_shape *shape = j->on->shape;
    const int half = j->rotation->half;
    float *head = j->y + (size_t)u * qkv_width(shape);
    if (j->opt_how != NULL) {
        norm_heads(j->on, head, shape->n_heads, j->opt_how->opt_query_norm);
        norm_heads(j->on, head + shape->n_heads * shape->head_dim, shape->n_kv_heads,
                   j->opt_how->opt_key_norm);
    }
    for (int h = 0; h < shape->n_heads + shape->n_kv_heads; h++, head += shape->head_dim)
        j->on->kernels->rotate(head, j->rotation->cosine + u * half, j->rotation->sine + u * half,
                               shape->rope_pairs, 2 * half);
}

void spec_column_work_rope(const spec_column_work *work, float *qkv, const spec_rotation *rotation,
                           const spec_attending *opt_how)
{
    run(rope_column, (column_job){.on = work, .y = qkv, .rotation = rotation, .opt_how = opt_how},
        qkv_width(work->shape));
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* Computes a / (1 + exp(-1.702 a)) * (b + 1) by calling the kernel's gate with 1.702 a and (b + 1)
 * / 1.702. */
static void clamped_gate(float *y, const float *a, const float *b, int n,
                         const spec_vector_kernels *kernels)
{
    const float slope = 1.702f, limit = 7.0f;
    float inner[STRETCH], outer[STRETCH];
    for (int at = 0; at < n; at += STRETCH) {
        const int m = spec_int_min(n - at, STRETCH);
        for (int i = 0; i < m; i++) { /* written so that a NaN is kept */
            const float c = a[at + i] > limit ? limit : a[at + i];
            const float d = b[at + i] > limit ? limit : b[at + i];
            inner[i] = slope * c;
            outer[i] = ((d < -limit ? -limit : d) + 1.0f) / slope;
        }
        kernels->gate(y + at, inner, outer, m);
    }
}

void spec_column_work_gate_of(float *y, const float *a, const float *b, int n, spec_gate gate,
                              const spec_vector_kernels *kernels)
{
    switch (gate) {
    case SPEC_GATE_SILU: kernels->gate(y, a, b, n); break;
    case SPEC_GATE_GELU: kernels->gelu_gate(y, a, b, n); break;
    case SPEC_GATE_CLAMPED: clamped_gate(y, a, b, n, kernels); break;
    }
}

static void gate_column(void *job, int u)
{
    const column_job *j = job;
    const size_t ffn = (size_t)j->on->shape->ffn_dim;
    const float *h = j->x + 2 * (size_t)u * ffn;
    spec_column_work_gate_of(j->y + (size_t)u * ffn, h, h + ffn, (int)ffn, j->on->shape->gate,
                             j->on->kernels);
}

void spec_column_work_gate(const spec_column_work *work, float *y, const float *h)
{
    run(gate_column, (column_job){.on = work, .y = y, .x = h}, (size_t)work->shape->ffn_dim);
}

/* Computes silu(h) as a gate with second operand 1, because that kernel has the same bits on every
 * machine. */
void spec_column_work_silu_add(const spec_column_work *work, float *y, const float *opt_x,
                               const float *h, int width)
{
    float ones[STRETCH], silu[STRETCH];
    for (int i = 0; i < STRETCH; i++) ones[i] = 1.0f;
    for (int at = 0, all = work->n * width; at < all; at += STRETCH) {
        const int n = spec_int_min(all - at, STRETCH);
        work->kernels->gate(silu, h + at, ones, n);
        for (int i = 0; i < n; i++) y[at + i] = (opt_x != NULL ? opt_x[at + i] : 0.0f) + silu[i];
    }
}

static void sigmoid_gate_column(void *job, int u)
{
    const column_job *j = job;
    float *y = j->y + (size_t)u * (size_t)j->width;
    const float *g = j->x + (size_t)u * (size_t)j->width;
    for (int i = 0; i < j->width; i++) y[i] /= 1.0f + spec_vector_exp(-g[i]);
}

void spec_column_work_sigmoid_gate(const spec_column_work *work, float *y, const float *g,
                                   int width)
{
    run(sigmoid_gate_column, (column_job){.on = work, .y = y, .x = g, .width = width},
        (size_t)width);
}

static void sigmoid_scale_column(void *job, int u)
{
    const column_job *j = job;
    const int dim = j->on->shape->dim;
    float *y = j->y + (size_t)u * (size_t)j->width;
    const float *x = j->x + (size_t)u * (size_t)dim;
    double sum = 0.0;
    for (int i = 0; i < dim; i++) sum += (double)j->opt_gain[i] * (double)x[i];
    const float scale = 1.0f / (1.0f + spec_vector_exp(-(float)sum));
    for (int i = 0; i < j->width; i++) y[i] *= scale;
}

void spec_column_work_sigmoid_scale(const spec_column_work *work, float *y, int width,
                                    const float *x, const float *w)
{
    run(sigmoid_scale_column,
        (column_job){.on = work, .y = y, .x = x, .opt_gain = w, .width = width}, (size_t)width);
}

/* ---- logits ---------------------------------------------------------------------------------- */

static void cap_column(void *job, int u)
{
    const column_job *j = job;
    const int vocab = j->on->shape->vocab;
    j->on->kernels->cap(j->y + (size_t)u * (size_t)vocab, j->on->shape->logit_cap, vocab);
}

void spec_column_work_cap(const spec_column_work *work, float *logits)
{
    run(cap_column, (column_job){.on = work, .y = logits}, (size_t)work->shape->vocab);
}
