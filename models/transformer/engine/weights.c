/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/weights.h"

#include "models/transformer/files/checkpoint_parts.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_weights *weights;
    spec_tensor_type opt_type;
    const spec_mapping *opt_mapping; /* the file, whose pages are released once they are copied */
    spec_error *error;
} layout;

spec_tensor_type spec_weights_type(const spec_backend *backend, spec_tensor_type opt_type,
                                   const spec_tensor *tensor)
{
    const bool fits =
        opt_type != SPEC_TENSOR_TYPES && spec_tensor_row_bytes(opt_type, tensor->cols) > 0;
    return backend->computed_type(fits ? opt_type : tensor->type);
}

/* Finds the common type of the first *ret_n parts. A backend that does not mix types computes all
 * parts as floats if they differ. */
static spec_tensor_type common_type(int *ret_n, const spec_backend *backend,
                                    spec_tensor_type opt_type, const spec_tensor *part, int n_parts)
{
    const spec_tensor_type type = spec_weights_type(backend, opt_type, &part[0]);
    int n = 1;
    while (n < n_parts && spec_weights_type(backend, opt_type, &part[n]) == type) n++;
    *ret_n = backend->mixes_types ? n : n_parts;
    return backend->mixes_types || n == n_parts ? type : SPEC_TENSOR_F32;
}

static int lay_rows(const layout *to, spec_matrix *ret_matrix, const spec_tensor *part, int n_parts,
                    bool gated)
{
    const spec_backend *const backend = to->weights->backend;
    int status = GSL_SUCCESS;
    for (spec_matrix *matrix = ret_matrix;; matrix = matrix->opt_rest) {
        int n;
        const spec_tensor_type type = common_type(&n, backend, to->opt_type, part, n_parts);
        SPEC_TRY(backend->matrix_init(backend, matrix, type, part, n, gated, to->error));
        to->weights->bytes += matrix->bytes;
        part += n, n_parts -= n;
        if (n_parts == 0) break;
        matrix->opt_rest = calloc(1, sizeof *matrix);
        if (matrix->opt_rest == NULL) SPEC_TRY(spec_no_memory(to->error));
    }
done:
    spec_mapping_release(to->opt_mapping);
    if (status != GSL_SUCCESS) backend->matrix_free(backend, ret_matrix);
    return status;
}

static int lay_matrix(const layout *to, spec_matrix *ret_matrix, const spec_tensor *part,
                      int n_parts)
{
    return lay_rows(to, ret_matrix, part, n_parts, false);
}

/* Lays out the rows of all parts, one after the other, as floats. */
static int lay_vector(const layout *to, float **ret_vector, const spec_tensor *part, int n_parts)
{
    const spec_backend *backend = to->weights->backend;
    int status = GSL_SUCCESS;
    size_t length = 0;
    for (int i = 0; i < n_parts; i++) length += (size_t)part[i].rows * (size_t)part[i].cols;
    float *host = malloc(length * sizeof *host);
    void *memory = NULL;
    if (host == NULL)
        return spec_fail(to->error, GSL_ENOMEM, "out of memory for a vector of %zu weights",
                         length);
    SPEC_TRY(backend->alloc(backend, &memory, length * sizeof *host, to->error));
    float *end = host;
    for (int i = 0; i < n_parts; i++)
        for (int row = 0; row < part[i].rows; row++, end += part[i].cols)
            spec_tensor_decode_row(end, &part[i], row);
    backend->put(backend, memory, host, length * sizeof *host);
    *ret_vector = memory;
done:
    free(host);
    return status;
}

/* Lays out each expert as a matrix in the requested type; a router keeps its own type. */
static int lay_stack(const layout *to, spec_matrix_stack *ret_stack, const spec_tensor *tensor)
{
    const spec_backend *backend = to->weights->backend;
    const spec_tensor_type type = spec_weights_type(backend, to->opt_type, tensor);
    const int status = backend->stack_init(backend, ret_stack, type, tensor,
                                           to->weights->shape.n_experts, to->error);
    spec_mapping_release(to->opt_mapping);
    return status;
}

static int lay_experts(const layout *to, spec_experts *experts, const spec_checkpoint_layer *from)
{
    int status = GSL_SUCCESS;
    const layout unchanged = {to->weights, SPEC_TENSOR_TYPES, to->opt_mapping, to->error};
    const struct {
        float **table;
        const spec_tensor *tensor;
    } biases[] = {{&experts->opt_router_bias, &from->router_bias},
                  {&experts->opt_gate_bias, &from->expert_gate_bias},
                  {&experts->opt_up_bias, &from->expert_up_bias},
                  {&experts->opt_down_bias, &from->expert_down_bias}};
    SPEC_TRY(lay_matrix(&unchanged, &experts->router, &from->router, 1));
    SPEC_TRY(lay_stack(to, &experts->gate, &from->expert_gate));
    SPEC_TRY(lay_stack(to, &experts->up, &from->expert_up));
    SPEC_TRY(lay_stack(to, &experts->down, &from->expert_down));
    for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
        if (biases[i].tensor->data != NULL)
            SPEC_TRY(lay_vector(to, biases[i].table, biases[i].tensor, 1));
    to->weights->bytes +=
        (size_t)to->weights->shape.n_active *
        (experts->gate.one.bytes + experts->up.one.bytes + experts->down.one.bytes);
done:
    return status;
}

static void free_experts(const spec_backend *backend, spec_experts *experts)
{
    if (experts->router.data == NULL) return;
    backend->matrix_free(backend, &experts->router);
    backend->stack_free(backend, &experts->gate);
    backend->stack_free(backend, &experts->up);
    backend->stack_free(backend, &experts->down);
    backend->free(backend, experts->opt_router_bias);
    backend->free(backend, experts->opt_gate_bias);
    backend->free(backend, experts->opt_up_bias);
    backend->free(backend, experts->opt_down_bias);
}

/* The vectors of a layer that are laid out separately. */
enum { VECTORS = 13 };
typedef struct {
    float **vector;
    const spec_tensor *tensor;
} vector_place;

static void list_vectors(vector_place *ret_place, spec_layer *layer,
                         const spec_checkpoint_layer *from)
{
    const vector_place all[VECTORS] = {
        {&layer->attention_norm, &from->attention_norm},
        {&layer->ffn_norm, &from->ffn_norm},
        {&layer->opt_output_bias, &from->attention_output_bias},
        {&layer->opt_attention_post_norm, &from->attention_post_norm},
        {&layer->opt_ffn_post_norm, &from->ffn_post_norm},
        {&layer->opt_query_norm, &from->query_norm},
        {&layer->opt_key_norm, &from->key_norm},
        {&layer->opt_sinks, &from->sinks},
        {&layer->opt_shared_gate, &from->shared_gate},
        {&layer->delta.conv, &from->delta_conv},
        {&layer->delta.bias, &from->delta_bias},
        {&layer->delta.rate, &from->delta_rate},
        {&layer->delta.norm, &from->delta_norm},
    };
    memcpy(ret_place, all, sizeof all);
}

/* Lists the parts of a recurrent layer's input; returns how many there are. */
enum { DELTA_PARTS = 4 };
static int list_delta(spec_tensor *ret_part, const spec_checkpoint_layer *from)
{
    ret_part[0] = from->delta_input;
    ret_part[1] = from->delta_gate;
    ret_part[2] = from->delta_both.data != NULL ? from->delta_both : from->delta_beta;
    ret_part[3] = from->delta_alpha;
    return from->delta_both.data != NULL ? 3 : 4;
}

/* In gated attention each head's query is followed by its gate. Lists the queries, keys and values
 * in `ret_part` (n_heads + 2), followed by the gates; returns how many come before the gates.
 */
static int list_attention(spec_tensor *ret_part, const spec_checkpoint_layer *from,
                          const spec_shape *shape)
{
    const size_t bytes =
        (size_t)shape->head_dim * spec_tensor_row_bytes(from->query.type, from->query.cols);
    int n = 0;
    if (!shape->gates_attention) {
        ret_part[n++] = from->query;
    } else {
        for (int h = 0; h < shape->n_heads; h++) {
            const char *head = (const char *)from->query.data + 2 * (size_t)h * bytes;
            ret_part[h] = ret_part[shape->n_heads + 2 + h] = from->query;
            ret_part[h].rows = ret_part[shape->n_heads + 2 + h].rows = shape->head_dim;
            ret_part[h].data = head;
            ret_part[shape->n_heads + 2 + h].data = head + bytes;
        }
        n = shape->n_heads;
    }
    ret_part[n++] = from->key;
    ret_part[n++] = from->value;
    return n;
}

static int lay_attention(const layout *to, spec_layer *layer, const spec_checkpoint_layer *from)
{
    int status = GSL_SUCCESS;
    const spec_shape *shape = &to->weights->shape;
    spec_tensor *part = malloc(2 * ((size_t)shape->n_heads + 1) * sizeof *part);
    if (part == NULL) return spec_no_memory(to->error);
    const int n = list_attention(part, from, shape);
    SPEC_TRY(lay_matrix(to, &layer->qkv, part, n));
    if (shape->gates_attention) SPEC_TRY(lay_matrix(to, &layer->query_gate, part + n, n - 2));
    SPEC_TRY(lay_matrix(to, &layer->attention_output, &from->attention_output, 1));
done:
    free(part);
    return status;
}

static int lay_delta(const layout *to, spec_layer *layer, const spec_checkpoint_layer *from)
{
    int status = GSL_SUCCESS;
    spec_tensor part[DELTA_PARTS];
    layer->delta.alternates = from->delta_both.data != NULL;
    SPEC_TRY(lay_matrix(to, &layer->delta.input, part, list_delta(part, from)));
    SPEC_TRY(lay_matrix(to, &layer->delta.output, &from->delta_output, 1));
done:
    return status;
}

static int lay_layer(const layout *to, spec_layer *layer, const spec_checkpoint_layer *from)
{
    int status = GSL_SUCCESS;
    const spec_tensor gate_up[] = {from->gate, from->up};
    const spec_tensor bias[] = {from->query_bias, from->key_bias, from->value_bias};
    vector_place place[VECTORS];
    list_vectors(place, layer, from);
    for (int i = 0; i < VECTORS; i++)
        if (place[i].tensor->data != NULL)
            SPEC_TRY(lay_vector(to, place[i].vector, place[i].tensor, 1));
    if (from->query_bias.data != NULL) SPEC_TRY(lay_vector(to, &layer->opt_bias, bias, 3));
    layer->how = (spec_attending){layer->opt_query_norm, layer->opt_key_norm, layer->opt_sinks,
                                  from->has_window};
    SPEC_TRY(from->is_recurrent ? lay_delta(to, layer, from) : lay_attention(to, layer, from));
    if (from->router.data != NULL) SPEC_TRY(lay_experts(to, &layer->experts, from));
    if (from->gate.data == NULL) return GSL_SUCCESS;
    SPEC_TRY(lay_rows(to, &layer->gate_up, gate_up, 2, true));
    SPEC_TRY(lay_matrix(to, &layer->down, &from->down, 1));
done:
    return status;
}

int spec_weights_lay_layer(spec_weights *weights, spec_layer *ret_layer,
                           const spec_checkpoint_layer *from, spec_error *error)
{
    return lay_layer(&(layout){weights, SPEC_TENSOR_TYPES, NULL, error}, ret_layer, from);
}

int spec_weights_lay_matrix(spec_weights *weights, spec_matrix *ret_matrix,
                            const spec_tensor *tensor, spec_error *error)
{
    return lay_matrix(&(layout){weights, SPEC_TENSOR_TYPES, NULL, error}, ret_matrix, tensor, 1);
}

int spec_weights_lay_vector(spec_weights *weights, float **ret_vector, const spec_tensor *tensor,
                            spec_error *error)
{
    return lay_vector(&(layout){weights, SPEC_TENSOR_TYPES, NULL, error}, ret_vector, tensor, 1);
}

int spec_weights_init(spec_weights *weights, const spec_checkpoint *checkpoint,
                      spec_tensor_type opt_type, const spec_backend *backend, spec_error *error)
{
    int status = GSL_SUCCESS;
    *weights = (spec_weights){.backend = backend, .shape = checkpoint->shape};
    const layout to = {weights, opt_type, checkpoint->opt_mapping, error};
    const int n_layers = checkpoint->shape.n_layers;
    weights->layer = calloc((size_t)n_layers, sizeof *weights->layer);
    if (weights->layer == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %d layers", n_layers));
    /* The largest matrices come first: while a matrix is being packed, it is in memory twice. */
    SPEC_TRY(lay_matrix(&to, &weights->output, &checkpoint->output, 1));
    if (checkpoint->output.data == checkpoint->embedding.data) {
        weights->embedding = weights->output;
    } else {
        SPEC_TRY(lay_matrix(&to, &weights->embedding, &checkpoint->embedding, 1));
        weights->bytes -= weights->embedding.bytes; /* a pass reads only single rows of it */
    }
    for (int i = 0, n_recurrent = 0; i < n_layers; i++) {
        weights->layer[i].n_recurrent = n_recurrent;
        n_recurrent += checkpoint->layer[i].is_recurrent;
        SPEC_TRY(lay_layer(&to, &weights->layer[i], &checkpoint->layer[i]));
    }
    SPEC_TRY(lay_vector(&to, &weights->final_norm, &checkpoint->final_norm, 1));
done:
    if (status != GSL_SUCCESS) spec_weights_free(weights);
    return status;
}

void spec_weights_free(spec_weights *weights)
{
    const spec_backend *backend = weights->backend;
    if (backend == NULL) return;
    for (int i = 0; weights->layer != NULL && i < weights->shape.n_layers; i++) {
        spec_layer *layer = &weights->layer[i];
        vector_place place[VECTORS];
        list_vectors(place, layer, &(spec_checkpoint_layer){0});
        for (int k = 0; k < VECTORS; k++) backend->free(backend, *place[k].vector);
        backend->free(backend, layer->opt_bias);
        backend->matrix_free(backend, &layer->qkv);
        backend->matrix_free(backend, &layer->query_gate);
        backend->matrix_free(backend, &layer->delta.input);
        backend->matrix_free(backend, &layer->delta.output);
        backend->matrix_free(backend, &layer->attention_output);
        backend->matrix_free(backend, &layer->gate_up);
        backend->matrix_free(backend, &layer->down);
        free_experts(backend, &layer->experts);
    }
    free(weights->layer);
    backend->free(backend, weights->final_norm);
    if (weights->embedding.data != weights->output.data)
        backend->matrix_free(backend, &weights->embedding);
    backend->matrix_free(backend, &weights->output);
    *weights = (spec_weights){0};
}

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct {
    const spec_backend *backend;
    spec_tensor_type opt_type;
    size_t bytes;
    bool all_floats;
} sum;

static void count_matrix(sum *s, const spec_tensor *part, int n_parts)
{
    for (int n; n_parts > 0; part += n, n_parts -= n) {
        const spec_tensor_type type = common_type(&n, s->backend, s->opt_type, part, n_parts);
        int rows = 0;
        for (int i = 0; i < n; i++) rows += part[i].rows;
        s->bytes += s->backend->piece(s->backend->matrix_bytes(type, rows, part->cols));
        s->all_floats = s->all_floats && type == SPEC_TENSOR_F32;
    }
}

static void count_vector(sum *s, int length)
{
    s->bytes += s->backend->piece((size_t)length * sizeof(float));
}

/* Counts the bytes of n matrices that are allocated in one piece. */
static void count_stack(sum *s, const spec_tensor *tensor, int n)
{
    const spec_tensor_type type = spec_weights_type(s->backend, s->opt_type, tensor);
    s->bytes += s->backend->piece((size_t)n *
                                  s->backend->matrix_bytes(type, tensor->rows / n, tensor->cols));
    s->all_floats = s->all_floats && type == SPEC_TENSOR_F32;
}

static void count_experts(sum *s, const spec_checkpoint_layer *layer, int n)
{
    const spec_tensor *const biases[] = {&layer->router_bias, &layer->expert_gate_bias,
                                         &layer->expert_up_bias, &layer->expert_down_bias};
    sum router = {s->backend, SPEC_TENSOR_TYPES, 0, true};
    count_matrix(&router, &layer->router, 1);
    s->bytes += router.bytes;
    count_stack(s, &layer->expert_gate, n);
    count_stack(s, &layer->expert_up, n);
    count_stack(s, &layer->expert_down, n);
    for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
        if (biases[i]->data != NULL) count_vector(s, biases[i]->rows * biases[i]->cols);
}

static void count_layer(sum *s, const spec_checkpoint_layer *layer, const spec_shape *shape)
{
    const spec_tensor qkv[] = {layer->query, layer->key, layer->value},
                      gate_up[] = {layer->gate, layer->up};
    spec_tensor delta[DELTA_PARTS];
    if (layer->is_recurrent) {
        count_matrix(s, delta, list_delta(delta, layer));
        count_matrix(s, &layer->delta_output, 1);
    } else { /* gates are rows of the queries' tensor */
        count_matrix(s, qkv, 3);
        count_matrix(s, &layer->attention_output, 1);
    }
    if (layer->router.data != NULL) count_experts(s, layer, shape->n_experts);
    if (layer->gate.data != NULL) {
        count_matrix(s, gate_up, 2);
        count_matrix(s, &layer->down, 1);
    }
    vector_place place[VECTORS];
    list_vectors(place, &(spec_layer){0}, layer);
    for (int i = 0; i < VECTORS; i++)
        if (place[i].tensor->data != NULL)
            count_vector(s, place[i].tensor->rows * place[i].tensor->cols);
    if (layer->query_bias.data != NULL)
        count_vector(s, layer->query_bias.cols + layer->key_bias.cols + layer->value_bias.cols);
}

size_t spec_weights_bytes(bool *ret_all_floats, const spec_checkpoint *checkpoint,
                          spec_tensor_type opt_type, const spec_backend *backend)
{
    sum s = {backend, opt_type, 0, true};
    count_vector(&s, checkpoint->final_norm.cols);
    for (int i = 0; i < checkpoint->shape.n_layers; i++)
        count_layer(&s, &checkpoint->layer[i], &checkpoint->shape);
    count_matrix(&s, &checkpoint->output, 1);
    if (checkpoint->output.data != checkpoint->embedding.data)
        count_matrix(&s, &checkpoint->embedding, 1);
    *ret_all_floats = s.all_floats;
    return s.bytes;
}

spec_weights_conversion spec_weights_converted(const spec_checkpoint *checkpoint,
                                               const spec_backend *backend)
{
    spec_weights_conversion found = {.computed = SPEC_TENSOR_TYPES};
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && checkpoint->output.data == checkpoint->embedding.data)
            continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &checkpoint->shape);
             layer++) {
            const spec_tensor *t = spec_checkpoint_parts_tensor_const(part, checkpoint, layer);
            const spec_tensor_type computed = backend->computed_type(t->type);
            if (t->data == NULL || computed == t->type) continue;
            found.has[t->type] = true;
            found.computed = computed;
            found.bytes += (double)t->rows * (double)spec_tensor_row_bytes(t->type, t->cols);
            found.computed_bytes +=
                (double)t->rows * (double)spec_tensor_row_bytes(computed, t->cols);
        }
    }
    return found;
}
