/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/training_head_graph.h"

#include <assert.h>
#include <stddef.h>

/* The weight of each depth relative to the one before; the weight of rows in EAGLE's loss; and the
 * noise on EAGLE's inputs. */
static const double fading = 0.8, share_of_rows = 0.1, noise = 0.1;

/* A graph being built. */
typedef struct {
    const spec_training_head_task *task;
    const spec_head_shape *shape;
    spec_graph *graph;
    spec_training_head_nodes *nodes;
    double eps, weight; /* weight: of this depth's losses */
} building;

/* ---- pieces ---------------------------------------------------------------------------------- */

static spec_graph_weight weight_of(const building *b, spec_head_part part, int copy)
{
    return (spec_graph_weight){&b->task->head->parameters, b->task->head->index[part][copy]};
}

static spec_graph_weight target_weight(const building *b, int index)
{
    return (spec_graph_weight){&b->task->target->parameters, index};
}

static spec_graph_window window_of(const building *b, int shift)
{
    const int places = b->task->places;
    return (spec_graph_window){places - b->task->depths, places, shift};
}

/* Returns the target's hidden states `shift` positions after the anchors. */
static spec_graph_node *state_of(const building *b, int layers, int shift, double with_noise)
{
    const spec_graph_window window = window_of(b, shift);
    return spec_graph_input(b->graph, b->task->target_nodes->hidden[layers], b->task->texts,
                            &window, with_noise);
}

/* Returns the embedding of the token before y_d, which is x_{t+d}. */
static spec_graph_node *embedding_of(const building *b, int d)
{
    return state_of(b, 0, d, 0.0);
}

/* Returns x w^T + b for a part; b is the next part, for kinds that have one. */
static spec_graph_node *product(const building *b, spec_graph_node *opt_base, spec_graph_node *x,
                                spec_head_part part, int copy)
{
    const spec_head_part bias_part = (spec_head_part)(part + 1);
    const bool has_bias = part <= SPEC_HEAD_MIX2 && spec_head_part_is_vector(bias_part) &&
                          spec_head_copies(bias_part, b->shape) > copy;
    const spec_graph_weight bias = weight_of(b, has_bias ? bias_part : part, copy);
    return spec_graph_product(b->graph, opt_base, x, weight_of(b, part, copy),
                              has_bias ? &bias : NULL);
}

static spec_graph_node *norm(const building *b, spec_graph_node *x, spec_head_part part, int copy)
{
    return spec_graph_norm(b->graph, x, weight_of(b, part, copy), b->eps);
}

static spec_graph_node *target_norm(const building *b, spec_graph_node *x)
{
    return spec_graph_norm(b->graph, x, target_weight(b, b->task->target->final_norm), b->eps);
}

static spec_graph_node *target_output(const building *b, spec_graph_node *x)
{
    return spec_graph_product(b->graph, NULL, x, target_weight(b, b->task->target->output), NULL);
}

static spec_graph_node *join(const building *b, spec_graph_node *first, spec_graph_node *second)
{
    return spec_graph_join(b->graph, (spec_graph_node *[]){first, second}, 2);
}

/* Returns the target's last state as EAGLE reads it, with noise. */
static spec_graph_node *eagle_state(const building *b, int shift, double with_noise)
{
    const spec_graph_window window = {b->task->places - b->task->depths,
                                      b->task->places - b->task->depths, 0};
    const int layers = b->shape->tap[0];
    if (!b->shape->normed_features) return state_of(b, layers, shift, with_noise);
    spec_graph_node *normed = target_norm(b, state_of(b, layers, shift, 0.0));
    return spec_graph_input(b->graph, normed, b->task->texts, &window, with_noise);
}

/* ---- depths ---------------------------------------------------------------------------------- */

/* Sets the logits of depth d, and adds the losses if it is trained. opt_state is the output that
 * EAGLE compares with the target's state. The target's row of y_d and the state that EAGLE predicts
 * are d positions after the anchor. */
static void end_depth(building *b, int d, spec_graph_node *logits, spec_graph_node *opt_state)
{
    const spec_training_head_task *task = b->task;
    spec_training_head_nodes *nodes = b->nodes;
    nodes->logits[d - 1] = logits;
    if (d > task->trained) return;
    spec_graph_target target = {.kind = task->loss,
                                .opt_token = task->next,
                                .opt_rows = task->target_nodes->logits,
                                .window = window_of(b, d),
                                .weight = b->weight * (opt_state != NULL ? share_of_rows : 1.0)};
    nodes->loss[nodes->n_losses++] = spec_graph_loss(b->graph, logits, &target);
    if (opt_state != NULL) {
        target.opt_rows = eagle_state(b, d, 0.0);
        target.window = (spec_graph_window){0};
        target.weight = b->weight;
        nodes->loss[nodes->n_losses++] = spec_graph_smooth_l1(b->graph, opt_state, &target);
    }
    if (d == task->trained) spec_graph_begin_evaluation(b->graph);
    b->weight *= fading;
}

static spec_graph_node *last_state(const building *b)
{
    return state_of(b, b->shape->tap[0], 0, 0.0);
}

/* Builds Medusa and Hydra: blocks over the last state and, for Hydra, the path's embeddings. */
static void build_blocks(building *b)
{
    const bool reads_path = b->shape->kind == SPEC_HEAD_HYDRA;
    spec_graph_node *const h = target_norm(b, last_state(b)), *read = h;
    for (int d = 1; d <= b->task->depths; d++) {
        if (reads_path) read = join(b, read, embedding_of(b, d));
        spec_graph_node *a = product(b, NULL, read, SPEC_HEAD_LINEAR, d - 1);
        a = spec_graph_silu(b->graph, h, a);
        if (reads_path)
            a = spec_graph_silu(b->graph, a, product(b, NULL, a, SPEC_HEAD_LINEAR2, d - 1));
        end_depth(b, d, product(b, NULL, a, SPEC_HEAD_DEPTH_OUTPUT, d - 1), NULL);
    }
}

static void build_redrafter(building *b)
{
    spec_graph_node *const h = target_norm(b, last_state(b)), *state = NULL;
    for (int d = 1; d <= b->task->depths; d++) {
        const spec_graph_window window = window_of(b, d);
        spec_graph_node *e = spec_graph_embed(b->graph, weight_of(b, SPEC_HEAD_EMBEDDING, 0),
                                              b->task->token, h->rows, &window);
        const spec_graph_weight bias = weight_of(b, SPEC_HEAD_STATE_BIAS, 0);
        spec_graph_node *y = spec_graph_product(b->graph, NULL, e, weight_of(b, SPEC_HEAD_INPUT, 0),
                                                state == NULL ? &bias : NULL);
        if (state != NULL) y = product(b, y, state, SPEC_HEAD_STATE, 0);
        state = spec_graph_silu(b->graph, NULL, y);
        spec_graph_node *z = join(b, state, h);
        z = spec_graph_silu(b->graph, z, product(b, NULL, z, SPEC_HEAD_MIX, 0));
        z = spec_graph_silu(b->graph, z, product(b, NULL, z, SPEC_HEAD_MIX2, 0));
        end_depth(b, d, product(b, NULL, z, SPEC_HEAD_OUTPUT, 0), NULL);
    }
}

/* Adds a layer after its first norm: attention is added to `residual`, then the feed-forward block.
 * qkv holds the earlier steps of the same layer, and gets this one. */
static spec_graph_node *layer(const building *b, spec_graph_node *residual, spec_graph_node *x,
                              int copy, spec_graph_node **qkv, int step)
{
    const spec_shape *s = &b->shape->shape;
    const spec_graph_attention_shape attention = {.texts = b->task->texts,
                                                  .places = b->task->places - b->task->depths,
                                                  .heads = s->n_heads,
                                                  .kv_heads = s->n_kv_heads,
                                                  .head_dim = s->head_dim,
                                                  .pairs_adjacent =
                                                      s->rope_pairs == SPEC_ROPE_ADJACENT,
                                                  .cosine = b->task->target->cosine,
                                                  .sine = b->task->target->sine};
    qkv[step] = product(b, NULL, x, SPEC_HEAD_QUERY, copy);
    x = spec_graph_attention(b->graph, qkv, step + 1, &attention);
    x = product(b, residual, x, SPEC_HEAD_ATTENTION_OUTPUT, copy);
    spec_graph_node *y = norm(b, x, SPEC_HEAD_FFN_NORM, copy);
    y = spec_graph_gate(b->graph, product(b, NULL, y, SPEC_HEAD_GATE, copy));
    return product(b, x, y, SPEC_HEAD_DOWN, copy);
}

/* Builds EAGLE: after depth 1 the layer reads its own output instead of the target's state. */
static void build_eagle(building *b)
{
    spec_graph_node *qkv[SPEC_HEAD_REACH_MAX], *g = eagle_state(b, 0, noise);
    for (int d = 1; d <= b->task->depths; d++) {
        spec_graph_node *z = product(b, NULL, join(b, embedding_of(b, d), g), SPEC_HEAD_FC, 0);
        g = layer(b, z, z, 0, qkv, d - 1);
        end_depth(b, d, target_output(b, b->shape->normed_features ? g : target_norm(b, g)), g);
    }
}

/* Builds EAGLE-3 or, with learnt rows that replace embedding and state after depth 1, parallel. */
static void build_eagle3(building *b)
{
    const bool has_masks = b->shape->kind == SPEC_HEAD_PARALLEL;
    spec_graph_node *qkv[SPEC_HEAD_REACH_MAX], *tap[SPEC_HEAD_TAPS_MAX];
    for (int i = 0; i < SPEC_HEAD_TAPS_MAX; i++) tap[i] = state_of(b, b->shape->tap[i], 0, 0.0);
    spec_graph_node *g = spec_graph_join(b->graph, tap, SPEC_HEAD_TAPS_MAX);
    if (b->shape->norm_before_fc) g = norm(b, g, SPEC_HEAD_INPUT_NORM, 0);
    g = product(b, NULL, g, SPEC_HEAD_FC, 0);
    for (int d = 1; d <= b->task->depths; d++) {
        spec_graph_node *e;
        if (has_masks && d > 1) {
            e = spec_graph_repeat(b->graph, weight_of(b, SPEC_HEAD_MASK_EMBEDDING, 0), d - 1,
                                  g->rows);
            g = spec_graph_repeat(b->graph, weight_of(b, SPEC_HEAD_MASK_STATE, 0), d - 1, g->rows);
        } else {
            e = embedding_of(b, d);
        }
        spec_graph_node *y = norm(b, g, SPEC_HEAD_FEATURE_NORM, 0);
        g = layer(b, b->shape->norm_before_residual ? y : g,
                  join(b, norm(b, e, SPEC_HEAD_EMBEDDING_NORM, 0), y), 0, qkv, d - 1);
        spec_graph_node *const normed = norm(b, g, SPEC_HEAD_FINAL_NORM, 0);
        end_depth(b, d,
                  b->shape->borrows_output ? target_output(b, normed)
                                           : product(b, NULL, normed, SPEC_HEAD_OUTPUT, 0),
                  NULL);
    }
}

static void build_mtp(building *b)
{
    spec_graph_node *h = last_state(b);
    for (int d = 1; d <= b->task->depths; d++) {
        const int k = d - 1;
        spec_graph_node *qkv;
        h = product(b, NULL,
                    join(b, norm(b, embedding_of(b, d), SPEC_HEAD_EMBEDDING_NORM, k),
                         norm(b, h, SPEC_HEAD_FEATURE_NORM, k)),
                    SPEC_HEAD_PROJECTION, k);
        h = layer(b, h, norm(b, h, SPEC_HEAD_ATTENTION_NORM, k), k, &qkv, 0);
        end_depth(b, d, target_output(b, norm(b, h, SPEC_HEAD_FINAL_NORM, 0)), NULL);
    }
}

void spec_training_head_graph_build(spec_training_head_nodes *ret_nodes, spec_graph *graph,
                                    const spec_training_head_task *task)
{
    building b = {.task = task,
                  .shape = &task->head->head.shape,
                  .graph = graph,
                  .nodes = ret_nodes,
                  .eps = (double)task->target->checkpoint.shape.norm_eps,
                  .weight = 1.0};
    assert(task->trained >= 1 && task->trained <= task->depths && task->depths < task->places);
    assert(b.shape->reach == 0 || task->depths <= b.shape->reach);
    *ret_nodes = (spec_training_head_nodes){0};
    switch (b.shape->kind) {
    case SPEC_HEAD_MEDUSA:
    case SPEC_HEAD_HYDRA: build_blocks(&b); break;
    case SPEC_HEAD_REDRAFTER: build_redrafter(&b); break;
    case SPEC_HEAD_EAGLE: build_eagle(&b); break;
    case SPEC_HEAD_MTP: build_mtp(&b); break;
    default: build_eagle3(&b); break;
    }
}
