/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/experts.h"

#include "base/int_math.h"
#include "models/transformer/engine/column_work.h"
#include "models/transformer/engine/panel_matrices.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { FILL_PIECES = 8, SUM_FLOATS = 128, STACKS = 2 };

/* Arrays of pairs are in the order of the groups. */
struct spec_expert_workspace {
    spec_shape shape;
    const spec_vector_kernels *kernels;
    const spec_product_kernels *products;
    spec_expert_groups groups;
    int *expert, *pair, *column;       /* (SPEC_COLUMNS_MAX * n_active) */
    float *weight;                     /* the same size, by choice */
    float *logits;                     /* (SPEC_COLUMNS_MAX, n_experts) */
    float *gathered, *gate, *up, *out; /* (pairs, dim); (pairs, expert_dim) twice; (pairs, dim) */
    unsigned char *operand;            /* operands made from `gathered`, and later from `gate` */
};

void spec_experts_free(spec_expert_workspace *w)
{
    if (w == NULL) return;
    void *const parts[] = {w->expert,   w->pair, w->column, w->weight, w->logits,
                           w->gathered, w->gate, w->up,     w->out,    w->operand};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
    free(w);
}

/* Pages that no pass touches take no memory. */
int spec_experts_init(spec_expert_workspace **ret_workspace, const spec_shape *shape,
                      const spec_vector_kernels *kernels, const spec_product_kernels *products,
                      spec_error *error)
{
    const size_t pairs = (size_t)SPEC_COLUMNS_MAX * (size_t)shape->n_active,
                 dim = (size_t)shape->dim, width = (size_t)shape->expert_dim;
    const int most = shape->dim > shape->expert_dim ? shape->dim : shape->expert_dim;
    spec_expert_workspace *w = *ret_workspace = calloc(1, sizeof *w);
    if (w == NULL) return spec_no_memory(error);
    w->shape = *shape;
    w->kernels = kernels;
    w->products = products;
    w->expert = calloc(pairs, sizeof *w->expert);
    w->pair = calloc(pairs, sizeof *w->pair);
    w->column = calloc(pairs, sizeof *w->column);
    w->weight = calloc(pairs, sizeof *w->weight);
    w->logits = calloc((size_t)SPEC_COLUMNS_MAX * (size_t)shape->n_experts, sizeof *w->logits);
    w->gathered = calloc(pairs * dim, sizeof *w->gathered);
    w->gate = calloc(pairs * width, sizeof *w->gate);
    w->up = calloc(pairs * width, sizeof *w->up);
    w->out = calloc(pairs * dim, sizeof *w->out);
    w->operand = calloc(spec_product_activation_bytes(most, (int)pairs), 1);
    if (w->expert != NULL && w->pair != NULL && w->column != NULL && w->weight != NULL &&
        w->logits != NULL && w->gathered != NULL && w->gate != NULL && w->up != NULL &&
        w->out != NULL && w->operand != NULL)
        return GSL_SUCCESS;
    spec_experts_free(w);
    *ret_workspace = NULL;
    return spec_fail(error, GSL_ENOMEM, "out of memory for passes through %d experts",
                     shape->n_active);
}

float *spec_experts_logits(spec_expert_workspace *workspace)
{
    return workspace->logits;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Returns the operand of a group's product with `cols` columns of weights. */
static unsigned char *operand_of(const spec_expert_workspace *w, int group, int cols)
{
    return w->operand + spec_product_activation_bytes(cols, w->groups.begin[group]);
}

static int columns_of(const spec_expert_groups *groups, int group)
{
    return groups->begin[group + 1] - groups->begin[group];
}

/* Fills the operands of all groups from y, or from the gate's outputs. With one column all groups
 * share the first operand. */
typedef struct {
    const spec_expert_workspace *w;
    spec_tensor_type type;
    const float *y;
    int chunks; /* of a group */
    bool one;
} fill_job;

static int fill_chunks(int cols)
{
    return spec_int_ceil_div(spec_product_activation_pieces(cols), FILL_PIECES);
}

static void fill_chunk(void *job, int chunk)
{
    const fill_job *j = job;
    const spec_expert_workspace *w = j->w;
    const int group = chunk / j->chunks, n = j->one ? 1 : columns_of(&w->groups, group),
              pair = w->groups.begin[group], cols = w->shape.dim,
              first = chunk % j->chunks * FILL_PIECES,
              end = spec_int_min(first + FILL_PIECES, spec_product_activation_pieces(cols)),
              from = first * SPEC_TENSOR_BLOCK, to = spec_int_min(end * SPEC_TENSOR_BLOCK, cols);
    const float *x = j->y;
    if (!j->one) {
        float *const gathered = w->gathered + (size_t)pair * (size_t)cols;
        for (int i = 0; i < n; i++)
            memcpy(gathered + (size_t)i * (size_t)cols + from,
                   j->y + (size_t)w->column[pair + i] * (size_t)cols + from,
                   (size_t)(to - from) * sizeof *x);
        x = gathered;
    }
    spec_product_activation_fill(operand_of(w, j->one ? 0 : group, cols), w->products, j->type, x,
                                 cols, n, first, end);
}

/* Applies the gate to a range of a group's pairs, in place, and writes the result into the operand
 * of `down`. */
static void gate_chunk(void *job, int chunk)
{
    const fill_job *j = job;
    const spec_expert_workspace *w = j->w;
    const int group = chunk / j->chunks, n = columns_of(&w->groups, group),
              cols = w->shape.expert_dim, first = chunk % j->chunks * FILL_PIECES,
              end = spec_int_min(first + FILL_PIECES, spec_product_activation_pieces(cols)),
              from = first * SPEC_TENSOR_BLOCK, to = spec_int_min(end * SPEC_TENSOR_BLOCK, cols);
    const size_t begin = (size_t)w->groups.begin[group] * (size_t)cols;
    for (int i = 0; i < n; i++) {
        const size_t at = begin + (size_t)i * (size_t)cols + (size_t)from;
        spec_column_work_gate_of(w->gate + at, w->gate + at, w->up + at, to - from, w->shape.gate,
                                 w->kernels);
    }
    spec_product_activation_fill(operand_of(w, group, cols), w->products, j->type, w->gate + begin,
                                 cols, n, first, end);
}

static void run(spec_thread_pool *opt_locked, spec_thread_pool_work *work, void *job, int n,
                size_t floats)
{
    spec_thread_pool_run(floats >= SPEC_SHARED_FLOATS ? opt_locked : NULL, work, job, n);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Multiplies all groups with one stack, or with two of the same type and shape. */
typedef struct {
    const spec_expert_workspace *w;
    int n_stacks, chunks; /* of a group and a stack */
    const spec_matrix_stack *stack[STACKS];
    const float *opt_bias[STACKS];
    float *y[STACKS];
    bool one; /* there is one column, whose operand all groups share */
} product_job;

static void multiply_chunk(void *job, int chunk)
{
    const product_job *j = job;
    const spec_expert_workspace *w = j->w;
    const int s = chunk / j->chunks % j->n_stacks, group = chunk / j->chunks / j->n_stacks,
              expert = w->groups.expert[group];
    const spec_matrix matrix = spec_panel_matrices_of(j->stack[s], expert);
    const int panels = spec_panel_matrices_chunk(&matrix), first = chunk % j->chunks * panels,
              end = spec_int_min(first + panels, spec_panels_count(matrix.rows));
    const size_t rows = (size_t)matrix.rows;
    const spec_product_request request = {
        .y = j->y[s] + (size_t)w->groups.begin[group] * rows,
        .w = &matrix,
        .activation = operand_of(w, j->one ? 0 : group, matrix.cols),
        .opt_bias = j->opt_bias[s] != NULL ? j->opt_bias[s] + (size_t)expert * rows : NULL,
        .n = columns_of(&w->groups, group),
    };
    spec_product(&request, w->products, first, end);
}

static void multiply(product_job *job, spec_thread_pool *opt_locked)
{
    job->chunks = spec_panel_matrices_chunks(&job->stack[0]->one);
    spec_thread_pool_run(opt_locked, multiply_chunk, job,
                         job->w->groups.n * job->n_stacks * job->chunks);
}

/* Multiplies with `gate` and `up`: in one run, unless they have different types and read the
 * columns in different formats. */
static void multiply_gate_up(const spec_expert_workspace *w, const spec_experts *experts,
                             const float *y, int n, spec_thread_pool *opt_locked)
{
    const spec_matrix_stack *const stack[STACKS] = {&experts->gate, &experts->up};
    const float *const bias[STACKS] = {experts->opt_gate_bias, experts->opt_up_bias};
    float *const to[STACKS] = {w->gate, w->up};
    const bool one = n == 1;
    const int step = stack[0]->one.type == stack[1]->one.type ? STACKS : 1;
    for (int s = 0; s < STACKS; s += step) {
        const int cols = w->shape.dim, groups = one ? 1 : w->groups.n;
        fill_job fill = {w, stack[s]->one.type, y, fill_chunks(cols), one};
        run(opt_locked, fill_chunk, &fill, groups * fill.chunks,
            (size_t)(one ? 1 : n * w->shape.n_active) * (size_t)cols);
        product_job job = {.w = w, .n_stacks = step, .one = one};
        for (int i = 0; i < step; i++) {
            job.stack[i] = stack[s + i];
            job.opt_bias[i] = bias[s + i];
            job.y[i] = to[s + i];
        }
        multiply(&job, opt_locked);
    }
}

/* ---- the sum --------------------------------------------------------------------------------- */

typedef struct {
    const spec_expert_workspace *w;
    float *x;
} sum_job;

/* Computes x += w_0 out_0 + w_1 out_1 + ... for a part of a column. The terms are added from left
 * to right, and then to x. */
static void sum_chunk(void *job, int chunk)
{
    enum { WIDTH = SUM_FLOATS };
    const sum_job *j = job;
    const spec_expert_workspace *w = j->w;
    const int dim = w->shape.dim, k = w->shape.n_active, chunks = spec_int_ceil_div(dim, WIDTH),
              column = chunk / chunks, first = chunk % chunks * WIDTH,
              n = spec_int_min(dim - first, WIDTH);
    float sum[WIDTH] = {0.0f}, *const x = j->x + (size_t)column * (size_t)dim + first;
    for (int i = column * k; i < (column + 1) * k; i++) {
        const float weight = w->weight[i], *const out =
                                               w->out + (size_t)w->pair[i] * (size_t)dim + first;
        for (int d = 0; d < n; d++) sum[d] += weight * out[d];
    }
    for (int d = 0; d < n; d++) x[d] += sum[d];
}

int spec_experts_add(spec_expert_workspace *w, float *x, const spec_experts *experts,
                     const float *y, int n, spec_thread_pool *opt_locked)
{
    const int k = w->shape.n_active;
    const size_t pairs = (size_t)(n * k);
    for (int u = 0; u < n; u++)
        spec_expert_choice_make(w->expert + u * k, w->weight + u * k,
                                w->logits + (ptrdiff_t)u * w->shape.n_experts, &w->shape,
                                w->kernels);
    spec_expert_choice_group(&w->groups, w->column, w->pair, w->expert, n, &w->shape);

    multiply_gate_up(w, experts, y, n, opt_locked);

    fill_job gate = {
        .w = w, .type = experts->down.one.type, .chunks = fill_chunks(w->shape.expert_dim)};
    run(opt_locked, gate_chunk, &gate, w->groups.n * gate.chunks,
        pairs * (size_t)w->shape.expert_dim);

    product_job down = {.w = w,
                        .n_stacks = 1,
                        .stack = {&experts->down},
                        .opt_bias = {experts->opt_down_bias},
                        .y = {w->out}};
    multiply(&down, opt_locked);

    run(opt_locked, sum_chunk, &(sum_job){w, x}, n * spec_int_ceil_div(w->shape.dim, SUM_FLOATS),
        pairs * (size_t)w->shape.dim);
    return w->groups.n;
}
