/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_weights.h"

#include "speclab/no_memory.h"

#include <stdlib.h>

/* Returns the shape of a pass. A queue needs a number of heads even if there is no attention. */
static spec_shape pass_shape(const spec_head_shape *head)
{
    spec_shape shape = head->shape;
    shape.vocab = head->draft_vocab;
    /* these are the target's experts; only a draft block has as many */
    if (!head->nextn) shape.n_experts = 0;
    if (shape.n_layers > 0) return shape;
    shape.n_heads = shape.n_kv_heads = shape.ffn_dim = 1;
    shape.head_dim = 2;
    shape.rope.opt_factor = NULL;
    return shape;
}

static bool is_of_layer(spec_head_part part)
{
    return part >= SPEC_HEAD_ATTENTION_NORM && part <= SPEC_HEAD_DOWN;
}

static bool is_table(spec_head_part part)
{
    return spec_head_part_is_vector(part) || part == SPEC_HEAD_MASK_EMBEDDING ||
           part == SPEC_HEAD_MASK_STATE;
}

static int lay_layers(spec_head_weights *weights, const spec_head *head, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int n = head->shape.shape.n_layers;
    if (n == 0) return status;
    weights->base.layer = calloc((size_t)n, sizeof *weights->base.layer);
    if (weights->base.layer == NULL) return spec_no_memory(error);
#define TENSOR(part) head->tensor[SPEC_HEAD_##part][i]
    for (int i = 0; head->opt_nextn != NULL && i < n; i++)
        SPEC_TRY(spec_weights_lay_layer(&weights->base, &weights->base.layer[i],
                                        &head->opt_nextn[i].layer, error));
    for (int i = 0; head->opt_nextn == NULL && i < n; i++) {
        const spec_checkpoint_layer layer = {
            .attention_norm = TENSOR(ATTENTION_NORM),
            .query = TENSOR(QUERY),
            .key = TENSOR(KEY),
            .value = TENSOR(VALUE),
            .attention_output = TENSOR(ATTENTION_OUTPUT),
            .ffn_norm = TENSOR(FFN_NORM),
            .gate = TENSOR(GATE),
            .up = TENSOR(UP),
            .down = TENSOR(DOWN),
        };
        SPEC_TRY(spec_weights_lay_layer(&weights->base, &weights->base.layer[i], &layer, error));
    }
#undef TENSOR
done:
    return status;
}

/* Draft blocks of a model's file have a norm, an embedding and an output each. */
static int lay(spec_head_weights *weights, spec_head_part part, int copy, const spec_head *head,
               spec_error *error)
{
    spec_weights *base = &weights->base;
    const spec_tensor *tensor = &head->tensor[part][copy];
    const bool once = !head->shape.nextn;
    if (tensor->cols > weights->widest) weights->widest = tensor->cols;
    if (is_of_layer(part)) return GSL_SUCCESS;
    if (is_table(part))
        return spec_weights_lay_vector(
            base,
            part == SPEC_HEAD_FINAL_NORM && once ? &base->final_norm : &weights->vector[part][copy],
            tensor, error);
    return spec_weights_lay_matrix(base,
                                   part == SPEC_HEAD_OUTPUT && once ? &base->output
                                   : part == SPEC_HEAD_EMBEDDING && once
                                       ? &base->embedding
                                       : &weights->matrix[part][copy],
                                   tensor, error);
}

int spec_head_weights_init(spec_head_weights *weights, const spec_head *head,
                           const spec_backend *backend, spec_error *error)
{
    int status = GSL_SUCCESS;
    *weights = (spec_head_weights){.base = {.backend = backend, .shape = pass_shape(&head->shape)}};
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, &head->shape); copy++)
            SPEC_TRY(lay(weights, (spec_head_part)part, copy, head, error));
    SPEC_TRY(lay_layers(weights, head, error));
done:
    if (status != GSL_SUCCESS) spec_head_weights_free(weights);
    return status;
}

void spec_head_weights_free(spec_head_weights *weights)
{
    const spec_backend *backend = weights->base.backend;
    if (backend == NULL) return;
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < SPEC_HEAD_REACH_MAX; copy++) {
            backend->free(backend, weights->vector[part][copy]);
            backend->matrix_free(backend, &weights->matrix[part][copy]);
        }
    spec_weights_free(&weights->base);
    *weights = (spec_head_weights){0};
}
