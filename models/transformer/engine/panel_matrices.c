/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/panel_matrices.h"

#include "base/int_math.h"
#include "models/context.h"
#include "models/transformer/kernels/panels.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 16 };

int spec_panel_matrices_chunk(const spec_matrix *matrix)
{
    const size_t bytes = spec_panels_bytes(matrix->type, matrix->cols);
    return bytes < CHUNK_BYTES ? (int)(CHUNK_BYTES / bytes) : 1;
}

int spec_panel_matrices_chunks(const spec_matrix *matrix)
{
    return spec_int_ceil_div(spec_panels_count(matrix->rows), spec_panel_matrices_chunk(matrix));
}

size_t spec_panel_matrices_bytes(spec_tensor_type type, int rows, int cols)
{
    return (size_t)spec_panels_count(rows) * spec_panels_bytes(type, cols);
}

spec_matrix spec_panel_matrices_of(const spec_matrix_stack *stack, int expert)
{
    spec_matrix one = stack->one;
    one.data = (unsigned char *)one.data + (size_t)expert * one.bytes;
    return one;
}

/* Large pages make reads of weights faster; small weights are left to malloc. */
static bool is_large(size_t bytes)
{
    return bytes >= SPEC_LARGE_PAGE / 4;
}

/* Allocates weights, uninitialised or zero. */
static void *alloc_weights(spec_context *opt_context, size_t bytes)
{
    if (!is_large(bytes))
        return aligned_alloc(SPEC_PANEL_ALIGNMENT, (bytes + SPEC_PANEL_ALIGNMENT - 1) /
                                                       SPEC_PANEL_ALIGNMENT * SPEC_PANEL_ALIGNMENT);
    spec_large_pages own = {0};
    void *memory;
    if (opt_context == NULL) {
        memory = spec_large_pages_take(&own, bytes);
        spec_large_pages_free(&own);
    } else {
        pthread_mutex_lock(&opt_context->lock);
        memory = spec_large_pages_take(&opt_context->weights, bytes);
        pthread_mutex_unlock(&opt_context->lock);
    }
    return memory;
}

static void free_weights(void *memory, size_t bytes)
{
    if (is_large(bytes))
        spec_large_pages_give(memory, bytes);
    else
        free(memory);
}

void spec_panel_matrices_free(const spec_backend *backend, spec_matrix *matrix)
{
    (void)backend;
    spec_matrix *rest = matrix->opt_rest;
    free_weights(matrix->data, matrix->bytes);
    while (rest != NULL) {
        spec_matrix *const next = rest->opt_rest;
        free_weights(rest->data, rest->bytes);
        free(rest);
        rest = next;
    }
    *matrix = (spec_matrix){0};
}

void spec_panel_matrices_stack_free(const spec_backend *backend, spec_matrix_stack *stack)
{
    (void)backend;
    free_weights(stack->one.data, (size_t)stack->n * stack->one.bytes);
    *stack = (spec_matrix_stack){0};
}

/* Packs a stack, each of its matrices from a part of the rows of one tensor; or one matrix from
 * several tensors. */
typedef struct {
    const spec_matrix_stack *stack;
    const spec_tensor *part;
    int n_parts, chunks; /* chunks of a matrix */
    atomic_bool failed;
} pack_job;

static void pack_chunk(void *job, int chunk)
{
    pack_job *j = job;
    const int at = chunk / j->chunks, panels = spec_panel_matrices_chunk(&j->stack->one),
              first = chunk % j->chunks * panels;
    spec_matrix matrix = spec_panel_matrices_of(j->stack, at);
    const int end = spec_int_min(first + panels, spec_panels_count(matrix.rows));
    const spec_tensor *part = j->part;
    spec_tensor share = *part;
    if (j->stack->n > 1) {
        const size_t bytes = (size_t)matrix.rows * spec_tensor_row_bytes(share.type, share.cols);
        share.rows = matrix.rows;
        share.data = (const unsigned char *)share.data + (size_t)at * bytes;
        part = &share;
    }
    if (spec_panels_pack(&matrix, part, j->n_parts, first, end, NULL) != GSL_SUCCESS)
        atomic_store(&j->failed, true);
}

/* Allocates and fills the matrices, whose type and size are set. */
static int pack(const spec_backend *backend, spec_matrix_stack *stack, const spec_tensor *part,
                int n_parts, spec_error *error)
{
    spec_matrix *one = &stack->one;
    one->bytes = spec_panel_matrices_bytes(one->type, one->rows, one->cols);
    one->data = alloc_weights(backend->opt_context, (size_t)stack->n * one->bytes);
    if (one->data == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for weights of %d times %zu bytes",
                         stack->n, one->bytes);
    pack_job job = {stack, part, n_parts, spec_panel_matrices_chunks(one), false};
    spec_thread_pool *locked = spec_thread_pool_try_lock(spec_context_pool(backend->opt_context));
    spec_thread_pool_run(locked, pack_chunk, &job, stack->n * job.chunks);
    spec_thread_pool_unlock(locked);
    if (!atomic_load(&job.failed)) return GSL_SUCCESS;
    spec_panel_matrices_stack_free(backend, stack);
    return spec_fail(error, GSL_ENOMEM, "out of memory for packing weights");
}

int spec_panel_matrices_init(const spec_backend *backend, spec_matrix *ret_matrix,
                             spec_tensor_type type, const spec_tensor *part, int n_parts,
                             bool gated, spec_error *error)
{
    (void)gated; /* gates follow the product */
    spec_matrix_stack stack = {{.type = type, .cols = part[0].cols}, 1};
    for (int i = 0; i < n_parts; i++) stack.one.rows += part[i].rows;
    const int status = pack(backend, &stack, part, n_parts, error);
    *ret_matrix = stack.one;
    return status;
}

int spec_panel_matrices_stack_init(const spec_backend *backend, spec_matrix_stack *ret_stack,
                                   spec_tensor_type type, const spec_tensor *tensor, int n,
                                   spec_error *error)
{
    *ret_stack =
        (spec_matrix_stack){{.type = type, .rows = tensor->rows / n, .cols = tensor->cols}, n};
    const int status = pack(backend, ret_stack, tensor, 1, error);
    if (status != GSL_SUCCESS) *ret_stack = (spec_matrix_stack){0};
    return status;
}
