/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/graph.h"

#include "speclab/no_memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

int spec_graph_init(spec_graph *graph, spec_isa isa, spec_thread_pool *opt_pool, spec_error *error)
{
    int status = GSL_SUCCESS;
    *graph = (spec_graph){.elements = spec_elements_of(isa),
                          .kernels = spec_vector_kernels_of(isa),
                          .opt_pool = opt_pool,
                          .workers = spec_thread_pool_size(opt_pool)};
    graph->worker = calloc((size_t)graph->workers, sizeof *graph->worker);
    graph->node = calloc(SPEC_GRAPH_MAX, sizeof *graph->node);
    graph->operation = calloc(SPEC_GRAPH_MAX, sizeof *graph->operation);
    if (graph->worker == NULL || graph->node == NULL || graph->operation == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < graph->workers; i++)
        SPEC_TRY(spec_sgemm_init(&graph->worker[i].sgemm, isa, error));
done:
    if (status != GSL_SUCCESS) spec_graph_free(graph);
    return status;
}

void spec_graph_free(spec_graph *graph)
{
    for (int i = 0; graph->worker != NULL && i < graph->workers; i++) {
        spec_sgemm_free(&graph->worker[i].sgemm);
        free(graph->worker[i].room);
        free(graph->worker[i].row);
    }
    for (int i = 0; i < graph->n; i++) {
        free(graph->node[i].value);
        free(graph->node[i].gradient);
        free(graph->operation[i].kept);
        free(graph->operation[i].row_loss);
    }
    free(graph->worker);
    free(graph->node);
    free(graph->operation);
    *graph = (spec_graph){0};
}

/* The number of rows of an item: a multiple of the rows of every tile, which are 4, 6 and 14. */
enum { ITEM_ROWS = 84, ITEMS_PER_WORKER = 4 };

/* Divides `rows` into equal items of whole tiles; a single thread takes them all at once. */
static int rows_per_item(const spec_graph *graph, int rows)
{
    const int items = graph->workers > 1 ? ITEMS_PER_WORKER * graph->workers : 1;
    const int tiles = (rows + ITEM_ROWS - 1) / ITEM_ROWS;
    return (tiles + items - 1) / items * ITEM_ROWS;
}

int spec_graph_items(const spec_graph *graph, int rows)
{
    const int each = rows_per_item(graph, rows);
    return (rows + each - 1) / each;
}

int spec_graph_item_rows(int *ret_first, const spec_graph *graph, int rows, int item)
{
    const int each = rows_per_item(graph, rows);
    *ret_first = item * each;
    return rows - *ret_first < each ? rows - *ret_first : each;
}

int spec_graph_window_row(const spec_graph_window *window, int row)
{
    if (window->places == 0) return row;
    return row / window->places * window->of_places + row % window->places + window->shift;
}

spec_graph_operation *spec_graph_append(spec_graph *graph, const spec_graph_kind *kind, int rows,
                                        int cols)
{
    assert(graph->n < SPEC_GRAPH_MAX && rows >= 1 && cols >= 1);
    spec_graph_operation *operation = &graph->operation[graph->n];
    operation->kind = kind;
    operation->out = &graph->node[graph->n++];
    operation->out->rows = rows;
    operation->out->cols = cols;
    return operation;
}

static spec_real *numbers(size_t n)
{
    const size_t bytes = (n * sizeof(spec_real) + ALIGN - 1) / ALIGN * ALIGN;
    return aligned_alloc(ALIGN, bytes > 0 ? bytes : ALIGN);
}

/* Returns whether a node learns: one of its inputs is a parameter with a gradient, or a node that
 * learns. */
static bool learns(const spec_graph_operation *operation)
{
    bool result = (operation->weight.set != NULL && operation->weight.set->gradient != NULL) ||
                  (operation->bias.set != NULL && operation->bias.set->gradient != NULL);
    for (int i = 0; i < SPEC_GRAPH_INPUTS; i++)
        result = result || (operation->in[i] != NULL && operation->in[i]->needs_gradient);
    return result;
}

void spec_graph_begin_evaluation(spec_graph *graph)
{
    graph->n_trained = graph->n;
}

int spec_graph_allocate(spec_graph *graph, bool for_training, spec_error *error)
{
    if (graph->n_trained == 0) graph->n_trained = graph->n;
    for (int i = 0; i < graph->n; i++) {
        spec_graph_operation *operation = &graph->operation[i];
        spec_graph_node *node = operation->out;
        const size_t n = (size_t)node->rows * (size_t)node->cols;
        node->needs_gradient = for_training && i < graph->n_trained && learns(operation);
        const bool has_loss =
            operation->target.opt_token != NULL || operation->target.opt_rows != NULL;
        node->value = numbers(n);
        if (node->needs_gradient) node->gradient = numbers(n);
        if (operation->room > 0) operation->kept = numbers(operation->room);
        if (has_loss) operation->row_loss = calloc((size_t)node->rows, sizeof(double));
        if (node->value == NULL || (node->needs_gradient && node->gradient == NULL) ||
            (operation->room > 0 && operation->kept == NULL) ||
            (has_loss && operation->row_loss == NULL))
            return spec_no_memory(error);
    }
    for (int i = 0; i < graph->workers; i++) {
        spec_graph_worker *worker = &graph->worker[i];
        worker->room = numbers(graph->room);
        worker->row = malloc(3 * (size_t)(graph->row > 0 ? graph->row : 1) * sizeof *worker->row);
        if (worker->room == NULL || worker->row == NULL) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

void spec_graph_switch(spec_graph *graph, int first, int end, bool is_on)
{
    for (int i = first; i < end; i++) graph->operation[i].is_off = !is_on;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct {
    spec_graph *graph;
    spec_graph_operation *operation;
    spec_graph_work *work;
    int items;
    _Atomic int next;
} shared_work;

/* A thread takes another item as soon as it has finished one; results do not depend on which thread
 * computes an item. */
static void be_worker(void *self, int worker)
{
    shared_work *s = self;
    for (int item; (item = atomic_fetch_add(&s->next, 1)) < s->items;)
        s->work(s->graph, s->operation, item, &s->graph->worker[worker]);
}

void spec_graph_share(spec_graph *graph, spec_graph_operation *operation, spec_graph_work *work,
                      int items)
{
    shared_work s = {.graph = graph, .operation = operation, .work = work, .items = items};
    spec_thread_pool_run(graph->locked, be_worker, &s,
                         items < graph->workers ? items : graph->workers);
}

static void run_forward(spec_graph *graph, int n, bool with_losses)
{
    graph->locked = spec_thread_pool_try_lock(graph->opt_pool);
    for (int i = 0; i < n; i++)
        if (!graph->operation[i].is_off && (with_losses || graph->operation[i].row_loss == NULL))
            graph->operation[i].kind->forward(graph, &graph->operation[i]);
    spec_thread_pool_unlock(graph->locked);
    graph->locked = NULL;
}

void spec_graph_forward(spec_graph *graph)
{
    run_forward(graph, graph->n, true);
}

void spec_graph_evaluate(spec_graph *graph)
{
    run_forward(graph, graph->n, false);
}

void spec_graph_forward_trained(spec_graph *graph)
{
    run_forward(graph, graph->n_trained, true);
}

void spec_graph_backward(spec_graph *graph)
{
    graph->locked = spec_thread_pool_try_lock(graph->opt_pool);
    for (int i = 0; i < graph->n_trained; i++) graph->node[i].has_gradient = false;
    for (int i = graph->n_trained - 1; i >= 0; i--) {
        spec_graph_operation *operation = &graph->operation[i];
        const bool is_loss = operation->row_loss != NULL;
        if (operation->out->needs_gradient && !operation->is_off &&
            (is_loss || operation->out->has_gradient))
            operation->kind->backward(graph, operation);
    }
    spec_thread_pool_unlock(graph->locked);
    graph->locked = NULL;
}

bool spec_graph_adds(spec_graph_node *node)
{
    const bool adds = node->has_gradient;
    node->has_gradient = true;
    return adds;
}

void spec_graph_base_back(spec_graph *graph, spec_graph_operation *o, int item,
                          spec_graph_worker *worker)
{
    const int n = o->out->cols;
    int first;
    const int rows = spec_graph_item_rows(&first, graph, o->out->rows, item);
    (void)worker;
    for (int r = first; r < first + rows; r++)
        graph->elements->copy(spec_graph_row(o->in[0]->gradient, r, n),
                              spec_graph_row(o->out->gradient, r, n), n, o->adds);
}
