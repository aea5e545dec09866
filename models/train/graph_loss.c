/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses of models/train/graph.h: the forward pass computes the gradients of the logits too. */
#include "models/train/graph.h"

#include <assert.h>
#include <math.h>

/* Computes the normalised row of some logits. */
static void row_of_logits(double *ret_row, const spec_real *logit, int n,
                          const spec_vector_kernels *kernels)
{
    spec_real largest = (spec_real)-INFINITY; /* with fmax here, gcc 12 for arm64 would crash */
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        if (logit[i] > largest) largest = logit[i];
#ifdef SPEC_TRAIN_DOUBLE
    (void)kernels;
    for (int i = 0; i < n; i++) sum += ret_row[i] = exp((double)logit[i] - (double)largest);
#else
    for (int i = 0; i < n; i += SPEC_VECTOR_EXPS) {
        const int part = n - i < SPEC_VECTOR_EXPS ? n - i : SPEC_VECTOR_EXPS;
        sum += kernels->exps(ret_row + i, logit + i, largest, 1.0, part);
    }
#endif
    for (int i = 0; i < n; i++) ret_row[i] /= sum;
}

/* Returns the loss of a row and fills its gradient; `room` (n) is scratch for the target's row. */
static double loss_of_row(double *ret_gradient, const double *q, double *room,
                          const spec_graph_operation *o, int row,
                          const spec_vector_kernels *kernels)
{
    const spec_graph_target *target = &o->target;
    const int n = o->out->cols, of = spec_graph_window_row(&target->window, row);
    if (target->kind != SPEC_LOSSES_CE) {
        row_of_logits(room, spec_graph_row(target->opt_rows->value, of, n), n, kernels);
        return spec_losses_row(ret_gradient, q, room, n, target->kind);
    }
    const int token = target->opt_token[of];
    for (int i = 0; i < n; i++) ret_gradient[i] = q[i];
    ret_gradient[token] -= 1.0;
    return -log(q[token] < 0x1p-60 ? 0x1p-60 : q[token]); /* NaN stays NaN */
}

enum { ITEM_ROWS = 16 };

/* Returns the factor of a row's loss in the sum. */
static double factor_of(const spec_graph_operation *o, int row)
{
    const spec_graph_target *target = &o->target;
    return target->weight *
           (target->opt_share != NULL ? (double)target->opt_share[row] : 1.0 / o->out->rows);
}

static void loss_rows(spec_graph *graph, spec_graph_operation *o, int item,
                      spec_graph_worker *worker)
{
    const int rows = o->out->rows, n = o->out->cols, first = item * ITEM_ROWS;
    double *const q = worker->row, *const gradient = q + graph->row,
                  *const room = gradient + graph->row;
    for (int r = first; r < rows && r < first + ITEM_ROWS; r++) {
        const double factor = factor_of(o, r);
        spec_real *d = spec_graph_row(o->out->value, r, n);
        o->row_loss[r] = 0.0;
        for (int i = 0; i < n; i++) d[i] = 0;
        if (factor == 0.0) continue;
        row_of_logits(q, spec_graph_row(o->in[0]->value, r, n), n, graph->kernels);
        o->row_loss[r] = loss_of_row(gradient, q, room, o, r, graph->kernels);
        for (int i = 0; i < n; i++) d[i] = (spec_real)(factor * gradient[i]);
    }
}

static void smooth_rows(spec_graph *graph, spec_graph_operation *o, int item,
                        spec_graph_worker *worker)
{
    const int rows = o->out->rows, n = o->out->cols, first = item * ITEM_ROWS;
    (void)graph;
    (void)worker;
    for (int r = first; r < rows && r < first + ITEM_ROWS; r++) {
        const double factor = factor_of(o, r) / n;
        const spec_real *x = spec_graph_row(o->in[0]->value, r, n),
                        *is = spec_graph_row(o->target.opt_rows->value,
                                             spec_graph_window_row(&o->target.window, r), n);
        spec_real *d = spec_graph_row(o->out->value, r, n);
        double sum = 0.0;
        for (int i = 0; i < n; i++) {
            const double apart = (double)x[i] - (double)is[i], size = fabs(apart);
            sum += size < 1.0 ? apart * apart / 2.0 : size - 0.5;
            d[i] = (spec_real)(factor * (size < 1.0 ? apart : apart / size));
        }
        o->row_loss[r] = sum / n;
    }
}

static void loss_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, loss_rows, (o->out->rows + ITEM_ROWS - 1) / ITEM_ROWS);
}

static void smooth_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, smooth_rows, (o->out->rows + ITEM_ROWS - 1) / ITEM_ROWS);
}

static void loss_backward(spec_graph *graph, spec_graph_operation *o)
{
    const bool adds = spec_graph_adds(o->in[0]);
    const int n = o->out->cols;
    for (int r = 0; r < o->out->rows; r++)
        graph->elements->copy(spec_graph_row(o->in[0]->gradient, r, n),
                              spec_graph_row(o->out->value, r, n), n, adds);
}

static spec_graph_operation *append(spec_graph *graph, const spec_graph_kind *kind,
                                    spec_graph_node *x, const spec_graph_target *target)
{
    assert(target->opt_rows == NULL || target->opt_rows->cols == x->cols);
    spec_graph_operation *o = spec_graph_append(graph, kind, x->rows, x->cols);
    o->in[0] = x;
    o->target = *target;
    return o;
}

spec_graph_operation *spec_graph_loss(spec_graph *graph, spec_graph_node *logits,
                                      const spec_graph_target *target)
{
    static const spec_graph_kind kind = {loss_forward, loss_backward};
    assert((target->kind == SPEC_LOSSES_CE ? (const void *)target->opt_token
                                           : (const void *)target->opt_rows) != NULL);
    if (graph->row < logits->cols) graph->row = logits->cols;
    return append(graph, &kind, logits, target);
}

spec_graph_operation *spec_graph_smooth_l1(spec_graph *graph, spec_graph_node *x,
                                           const spec_graph_target *target)
{
    static const spec_graph_kind kind = {smooth_forward, loss_backward};
    assert(target->opt_rows != NULL);
    return append(graph, &kind, x, target);
}

double spec_graph_loss_value(const spec_graph_operation *loss)
{
    double sum = 0.0;
    if (loss->is_off) return 0.0;
    for (int r = 0; r < loss->out->rows; r++) sum += loss->row_loss[r] * factor_of(loss, r);
    return sum;
}
