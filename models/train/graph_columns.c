/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Implements the operations of models/train/graph.h that draft heads need (input, join and silu),
 * and choose, which dropped layers need. */
#include "models/train/graph.h"

#include "base/noise.h"

#include <assert.h>

/* ---- input ----------------------------------------------------------------------------------- */

static void input_rows(spec_graph *graph, spec_graph_operation *o, int item,
                       spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    const uint64_t key = o->noise > 0.0 ? graph->noise_key : 0;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++) {
        spec_real *y = spec_graph_row(o->out->value, r, cols);
        graph->elements->copy(
            y, spec_graph_row(o->source->value, spec_graph_window_row(&o->window, r), cols), cols,
            false);
        for (int i = 0; key != 0 && i < cols; i++) {
            const uint64_t word = spec_noise_word(key, (uint64_t)r * (uint64_t)cols + (uint64_t)i);
            y[i] += (spec_real)(o->noise * ((double)(word >> 11) * 0x1p-52 - 1.0));
        }
    }
}

static void input_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, input_rows, spec_graph_items(graph, o->out->rows));
}

spec_graph_node *spec_graph_input(spec_graph *graph, const spec_graph_node *source, int texts,
                                  const spec_graph_window *window, double noise)
{
    static const spec_graph_kind kind = {input_forward, NULL};
    assert(texts * window->of_places == source->rows);
    assert(window->shift >= 0 && window->places + window->shift <= window->of_places);
    spec_graph_operation *o = spec_graph_append(graph, &kind, texts * window->places, source->cols);
    o->source = source;
    o->window = *window;
    o->noise = noise;
    return o->out;
}

/* ---- join ------------------------------------------------------------------------------------ */

static void join_rows(spec_graph *graph, spec_graph_operation *o, int item,
                      spec_graph_worker *worker)
{
    int first, at = 0;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int k = 0; k < SPEC_GRAPH_INPUTS && o->in[k] != NULL; at += o->in[k++]->cols)
        for (int r = first; r < first + n; r++)
            graph->elements->copy(spec_graph_row(o->out->value, r, o->out->cols) + at,
                                  spec_graph_row(o->in[k]->value, r, o->in[k]->cols),
                                  o->in[k]->cols, false);
}

static void join_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, join_rows, spec_graph_items(graph, o->out->rows));
}

/* Inputs are processed one after the other, because the same one may occur twice. */
static void join_backward(spec_graph *graph, spec_graph_operation *o)
{
    int at = 0;
    for (int k = 0; k < SPEC_GRAPH_INPUTS && o->in[k] != NULL; at += o->in[k++]->cols) {
        spec_graph_node *x = o->in[k];
        if (!x->needs_gradient) continue;
        const bool adds = spec_graph_adds(x);
        for (int r = 0; r < x->rows; r++)
            graph->elements->copy(spec_graph_row(x->gradient, r, x->cols),
                                  spec_graph_row(o->out->gradient, r, o->out->cols) + at, x->cols,
                                  adds);
    }
}

spec_graph_node *spec_graph_join(spec_graph *graph, spec_graph_node *const *x, int n)
{
    static const spec_graph_kind kind = {join_forward, join_backward};
    int cols = 0;
    assert(n >= 1 && n <= SPEC_GRAPH_INPUTS);
    for (int k = 0; k < n; k++) {
        assert(x[k]->rows == x[0]->rows);
        cols += x[k]->cols;
    }
    spec_graph_operation *o = spec_graph_append(graph, &kind, x[0]->rows, cols);
    for (int k = 0; k < n; k++) o->in[k] = x[k];
    return o->out;
}

/* ---- silu ------------------------------------------------------------------------------------ */

static void silu_rows(spec_graph *graph, spec_graph_operation *o, int item,
                      spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++) {
        spec_real *y = spec_graph_row(o->out->value, r, cols);
        if (o->in[0] != NULL)
            graph->elements->copy(y, spec_graph_row(o->in[0]->value, r, cols), cols, false);
        for (int i = 0; o->in[0] == NULL && i < cols; i++) y[i] = 0;
        graph->elements->silu(y, spec_graph_row(o->in[1]->value, r, cols), cols);
    }
}

static void silu_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, silu_rows, spec_graph_items(graph, o->out->rows));
}

static void silu_back_rows(spec_graph *graph, spec_graph_operation *o, int item,
                           spec_graph_worker *worker)
{
    spec_graph_node *x = o->in[1];
    int first;
    const int n = spec_graph_item_rows(&first, graph, x->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++)
        graph->elements->silu_back(spec_graph_row(x->gradient, r, x->cols),
                                   spec_graph_row(o->out->gradient, r, x->cols),
                                   spec_graph_row(x->value, r, x->cols), x->cols, o->adds);
}

static void silu_backward(spec_graph *graph, spec_graph_operation *o)
{
    if (o->in[1]->needs_gradient) {
        o->adds = spec_graph_adds(o->in[1]);
        spec_graph_share(graph, o, silu_back_rows, spec_graph_items(graph, o->out->rows));
    }
    if (o->in[0] != NULL && o->in[0]->needs_gradient) {
        o->adds = spec_graph_adds(o->in[0]);
        spec_graph_share(graph, o, spec_graph_base_back, spec_graph_items(graph, o->out->rows));
    }
}

spec_graph_node *spec_graph_silu(spec_graph *graph, spec_graph_node *opt_base, spec_graph_node *x)
{
    static const spec_graph_kind kind = {silu_forward, silu_backward};
    assert(opt_base == NULL || (opt_base->rows == x->rows && opt_base->cols == x->cols));
    spec_graph_operation *o = spec_graph_append(graph, &kind, x->rows, x->cols);
    o->in[0] = opt_base;
    o->in[1] = x;
    return o->out;
}

/* ---- choose ---------------------------------------------------------------------------------- */

static bool is_chosen(const spec_graph_operation *o, int row)
{
    return o->choice[row / (o->out->rows / o->texts)];
}

static void choose_rows(spec_graph *graph, spec_graph_operation *o, int item,
                        spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + n; r++)
        graph->elements->copy(spec_graph_row(o->out->value, r, cols),
                              spec_graph_row(o->in[is_chosen(o, r) ? 1 : 0]->value, r, cols), cols,
                              false);
}

static void choose_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, choose_rows, spec_graph_items(graph, o->out->rows));
}

/* Rows that were not chosen get no gradient from this operation. */
static void choose_back_rows(spec_graph *graph, spec_graph_operation *o, int item,
                             spec_graph_worker *worker)
{
    const int cols = o->out->cols;
    int first;
    const int n = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int k = 0; k < 2; k++)
        for (int r = first; o->in[k]->needs_gradient && r < first + n; r++) {
            spec_real *d = spec_graph_row(o->in[k]->gradient, r, cols);
            if (is_chosen(o, r) == (k == 1))
                graph->elements->copy(d, spec_graph_row(o->out->gradient, r, cols), cols,
                                      o->step_adds[k]);
            else if (!o->step_adds[k])
                for (int i = 0; i < cols; i++) d[i] = 0;
        }
}

static void choose_backward(spec_graph *graph, spec_graph_operation *o)
{
    for (int k = 0; k < 2; k++) o->step_adds[k] = spec_graph_adds(o->in[k]);
    spec_graph_share(graph, o, choose_back_rows, spec_graph_items(graph, o->out->rows));
}

spec_graph_node *spec_graph_choose(spec_graph *graph, spec_graph_node *base, spec_graph_node *x,
                                   const bool *choice, int texts)
{
    static const spec_graph_kind kind = {choose_forward, choose_backward};
    assert(base != x && base->rows == x->rows && base->cols == x->cols && x->rows % texts == 0);
    spec_graph_operation *o = spec_graph_append(graph, &kind, x->rows, x->cols);
    o->in[0] = base;
    o->in[1] = x;
    o->choice = choice;
    o->texts = texts;
    return o->out;
}
