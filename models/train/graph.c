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

/* A node learns if a parameter with a gradient, or a node that learns, is among its inputs. */
static bool learns(const spec_graph_operation *operation)
{
    bool result = (operation->weight.set != NULL && operation->weight.set->gradient != NULL) ||
                  (operation->bias.set != NULL && operation->bias.set->gradient != NULL);
    for (int i = 0; i < SPEC_GRAPH_INPUTS; i++)
        result = result || (operation->in[i] != NULL && operation->in[i]->needs_gradient);
    return result;
}

int spec_graph_allocate(spec_graph *graph, bool for_training, spec_error *error)
{
    for (int i = 0; i < graph->n; i++) {
        spec_graph_operation *operation = &graph->operation[i];
        spec_graph_node *node = operation->out;
        const size_t n = (size_t)node->rows * (size_t)node->cols;
        node->needs_gradient = for_training && learns(operation);
        const bool has_loss =
            operation->target.opt_token != NULL || operation->target.opt_logits != NULL;
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

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct {
    spec_graph *graph;
    spec_graph_operation *operation;
    spec_graph_work *work;
    int items;
    _Atomic int next;
} shared_work;

/* Threads take items as they become free: results do not depend on which thread computes one. */
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

void spec_graph_forward(spec_graph *graph)
{
    graph->locked = spec_thread_pool_try_lock(graph->opt_pool);
    for (int i = 0; i < graph->n; i++)
        graph->operation[i].kind->forward(graph, &graph->operation[i]);
    spec_thread_pool_unlock(graph->locked);
    graph->locked = NULL;
}

void spec_graph_backward(spec_graph *graph)
{
    graph->locked = spec_thread_pool_try_lock(graph->opt_pool);
    for (int i = 0; i < graph->n; i++) graph->node[i].has_gradient = false;
    for (int i = graph->n - 1; i >= 0; i--) {
        spec_graph_operation *operation = &graph->operation[i];
        const bool is_loss = operation->row_loss != NULL;
        if (operation->out->needs_gradient && (is_loss || operation->out->has_gradient))
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
