/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Implements the operations of models/train/graph.h on the rows of a batch: embedding, product,
 * norm and gate. */
#include "models/train/graph.h"

#include <assert.h>

/* ---- embedding ------------------------------------------------------------------------------- */

static int line_of(const spec_graph_operation *o, int row)
{
    return o->token == NULL ? o->line : o->token[spec_graph_window_row(&o->window, row)];
}

static void embed_rows(spec_graph *graph, spec_graph_operation *o, int item,
                       spec_graph_worker *worker)
{
    const spec_real *table = spec_parameters_value(o->weight.set, o->weight.index);
    const int cols = o->out->cols;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++)
        graph->elements->copy(spec_graph_row(o->out->value, r, cols),
                              table + (size_t)line_of(o, r) * (size_t)cols, cols, false);
}

static void embed_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, embed_rows, spec_graph_items(graph, o->out->rows));
}

/* Each item handles a set of tokens, so that the gradient of a table line is summed in the order of
 * rows. */
static void embed_lines(spec_graph *graph, spec_graph_operation *o, int item,
                        spec_graph_worker *worker)
{
    spec_real *table = spec_parameters_gradient(o->weight.set, o->weight.index);
    const int cols = o->out->cols;
    (void)worker;
    for (int r = 0; r < o->out->rows; r++)
        if (line_of(o, r) % graph->workers == item)
            graph->elements->copy(table + (size_t)line_of(o, r) * (size_t)cols,
                                  spec_graph_row(o->out->gradient, r, cols), cols, true);
}

static void embed_backward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, embed_lines, graph->workers);
}

static spec_graph_operation *append_lines(spec_graph *graph, spec_graph_weight table, int rows)
{
    static const spec_graph_kind kind = {embed_forward, embed_backward};
    spec_graph_operation *o =
        spec_graph_append(graph, &kind, rows, table.set->item[table.index].cols);
    o->weight = table;
    return o;
}

spec_graph_node *spec_graph_embed(spec_graph *graph, spec_graph_weight table, const int *token,
                                  int rows, const spec_graph_window *opt_window)
{
    spec_graph_operation *o = append_lines(graph, table, rows);
    o->token = token;
    if (opt_window != NULL) o->window = *opt_window;
    return o->out;
}

spec_graph_node *spec_graph_repeat(spec_graph *graph, spec_graph_weight table, int line, int rows)
{
    spec_graph_operation *o = append_lines(graph, table, rows);
    o->line = line;
    return o->out;
}

/* ---- product --------------------------------------------------------------------------------- */

static void product_rows(spec_graph *graph, spec_graph_operation *o, int item,
                         spec_graph_worker *worker)
{
    const spec_graph_node *base = o->in[0], *x = o->in[1];
    const int n = o->out->cols, k = x->cols;
    const spec_real *w = spec_parameters_value(o->weight.set, o->weight.index);
    int first;
    const int rows = spec_graph_item_rows(&first, graph, x->rows, item);
    spec_real *y = spec_graph_row(o->out->value, first, n);
    if (base != NULL)
        for (int r = 0; r < rows; r++)
            graph->elements->copy(spec_graph_row(y, r, n),
                                  spec_graph_row(base->value, first + r, n), n, false);
    spec_sgemm_run(&worker->sgemm,
                   &(spec_sgemm_product){rows,
                                         n,
                                         k,
                                         {spec_graph_row(x->value, first, k), (size_t)k, 1},
                                         {w, 1, (size_t)k},
                                         y,
                                         (size_t)n,
                                         base != NULL});
    if (o->bias.set == NULL) return;
    const spec_real *bias = spec_parameters_value(o->bias.set, o->bias.index);
    for (int r = 0; r < rows; r++) graph->elements->copy(spec_graph_row(y, r, n), bias, n, true);
}

static void product_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, product_rows, spec_graph_items(graph, o->out->rows));
}

/* dx (+)= dy w. */
static void input_back_rows(spec_graph *graph, spec_graph_operation *o, int item,
                            spec_graph_worker *worker)
{
    spec_graph_node *x = o->in[1];
    const int n = o->out->cols, k = x->cols;
    const spec_real *w = spec_parameters_value(o->weight.set, o->weight.index);
    int first;
    const int rows = spec_graph_item_rows(&first, graph, x->rows, item);
    spec_sgemm_run(&worker->sgemm,
                   &(spec_sgemm_product){rows,
                                         k,
                                         n,
                                         {spec_graph_row(o->out->gradient, first, n), (size_t)n, 1},
                                         {w, (size_t)k, 1},
                                         spec_graph_row(x->gradient, first, k),
                                         (size_t)k,
                                         o->adds});
}

/* dw += dy^T x, and dbias += the sum of dy's rows. */
static void weight_back_lines(spec_graph *graph, spec_graph_operation *o, int item,
                              spec_graph_worker *worker)
{
    const spec_graph_node *x = o->in[1], *y = o->out;
    const int k = x->cols;
    int first;
    const int lines = spec_graph_item_rows(&first, graph, y->cols, item);
    if (o->weight.set->gradient != NULL)
        spec_sgemm_run(
            &worker->sgemm,
            &(spec_sgemm_product){
                lines,
                k,
                y->rows,
                {y->gradient + first, 1, (size_t)y->cols},
                {x->value, (size_t)k, 1},
                spec_graph_row(spec_parameters_gradient(o->weight.set, o->weight.index), first, k),
                (size_t)k,
                true});
    if (o->bias.set == NULL || o->bias.set->gradient == NULL) return;
    spec_real *bias = spec_parameters_gradient(o->bias.set, o->bias.index) + first;
    for (int r = 0; r < y->rows; r++)
        graph->elements->copy(bias, spec_graph_row(y->gradient, r, y->cols) + first, lines, true);
}

static void product_backward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, weight_back_lines, spec_graph_items(graph, o->out->cols));
    if (o->in[1]->needs_gradient) {
        o->adds = spec_graph_adds(o->in[1]);
        spec_graph_share(graph, o, input_back_rows, spec_graph_items(graph, o->out->rows));
    }
    if (o->in[0] != NULL && o->in[0]->needs_gradient) {
        o->adds = spec_graph_adds(o->in[0]);
        spec_graph_share(graph, o, spec_graph_base_back, spec_graph_items(graph, o->out->rows));
    }
}

spec_graph_node *spec_graph_product(spec_graph *graph, spec_graph_node *opt_base,
                                    spec_graph_node *x, spec_graph_weight w,
                                    const spec_graph_weight *opt_bias)
{
    static const spec_graph_kind kind = {product_forward, product_backward};
    assert(w.set->item[w.index].cols == x->cols);
    spec_graph_operation *o = spec_graph_append(graph, &kind, x->rows, w.set->item[w.index].rows);
    assert(opt_base == NULL || (opt_base->rows == x->rows && opt_base->cols == o->out->cols));
    o->in[0] = opt_base;
    o->in[1] = x;
    o->weight = w;
    if (opt_bias != NULL) o->bias = *opt_bias;
    return o->out;
}

/* ---- norm ------------------------------------------------------------------------------------ */

static void norm_rows(spec_graph *graph, spec_graph_operation *o, int item,
                      spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    const spec_real *gain = spec_parameters_value(o->weight.set, o->weight.index);
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++)
        o->kept[r] = graph->elements->norm(spec_graph_row(o->out->value, r, cols),
                                           spec_graph_row(o->in[0]->value, r, cols), gain,
                                           (spec_real)o->eps, cols);
}

static void norm_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, norm_rows, spec_graph_items(graph, o->out->rows));
}

static void norm_back_rows(spec_graph *graph, spec_graph_operation *o, int item,
                           spec_graph_worker *worker)
{
    spec_graph_node *x = o->in[0];
    const int cols = x->cols;
    const bool adds = x->has_gradient;
    const spec_real *gain = spec_parameters_value(o->weight.set, o->weight.index);
    int first;
    const int n = spec_graph_item_rows(&first, graph, x->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++)
        graph->elements->norm_back(spec_graph_row(x->gradient, r, cols),
                                   spec_graph_row(o->out->gradient, r, cols),
                                   spec_graph_row(x->value, r, cols), gain, o->kept[r], cols, adds);
}

/* Computes some columns of the gradient of the gain, summed in the order of rows. */
static void gain_back_cols(spec_graph *graph, spec_graph_operation *o, int item,
                           spec_graph_worker *worker)
{
    const spec_graph_node *x = o->in[0];
    spec_real *gradient = spec_parameters_gradient(o->weight.set, o->weight.index);
    int first;
    const int n = spec_graph_item_rows(&first, graph, x->cols, item);
    (void)worker;
    for (int r = 0; r < x->rows; r++)
        graph->elements->gain_back(gradient + first,
                                   spec_graph_row(o->out->gradient, r, x->cols) + first,
                                   spec_graph_row(x->value, r, x->cols) + first, o->kept[r], n);
}

static void norm_backward(spec_graph *graph, spec_graph_operation *o)
{
    if (o->weight.set->gradient != NULL)
        spec_graph_share(graph, o, gain_back_cols, spec_graph_items(graph, o->out->cols));
    if (!o->in[0]->needs_gradient) return;
    spec_graph_share(graph, o, norm_back_rows, spec_graph_items(graph, o->out->rows));
    spec_graph_adds(o->in[0]);
}

spec_graph_node *spec_graph_norm(spec_graph *graph, spec_graph_node *x, spec_graph_weight gain,
                                 double eps)
{
    static const spec_graph_kind kind = {norm_forward, norm_backward};
    assert(gain.set->item[gain.index].cols == x->cols);
    spec_graph_operation *o = spec_graph_append(graph, &kind, x->rows, x->cols);
    o->in[0] = x;
    o->weight = gain;
    o->eps = eps;
    o->room = (size_t)x->rows;
    return o->out;
}

/* ---- gate ------------------------------------------------------------------------------------ */

static void gate_rows(spec_graph *graph, spec_graph_operation *o, int item,
                      spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++) {
        const spec_real *ab = spec_graph_row(o->in[0]->value, r, 2 * cols);
        graph->elements->gate(spec_graph_row(o->out->value, r, cols), ab, ab + cols, cols);
    }
}

static void gate_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, gate_rows, spec_graph_items(graph, o->out->rows));
}

static void gate_back_rows(spec_graph *graph, spec_graph_operation *o, int item,
                           spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++) {
        const spec_real *ab = spec_graph_row(o->in[0]->value, r, 2 * cols);
        spec_real *d = spec_graph_row(o->in[0]->gradient, r, 2 * cols);
        graph->elements->gate_back(d, d + cols, spec_graph_row(o->out->gradient, r, cols), ab,
                                   ab + cols, cols);
    }
}

static void gate_backward(spec_graph *graph, spec_graph_operation *o)
{
    const bool adds = spec_graph_adds(o->in[0]);
    assert(!adds); /* no other operation reads the two halves */
    (void)adds;
    spec_graph_share(graph, o, gate_back_rows, spec_graph_items(graph, o->out->rows));
}

spec_graph_node *spec_graph_gate(spec_graph *graph, spec_graph_node *ab)
{
    static const spec_graph_kind kind = {gate_forward, gate_backward};
    assert(ab->cols % 2 == 0);
    spec_graph_operation *o = spec_graph_append(graph, &kind, ab->rows, ab->cols / 2);
    o->in[0] = ab;
    return o->out;
}
