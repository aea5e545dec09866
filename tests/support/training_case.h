/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_case: two small networks with every operation of models/train/graph.h.
 * One is a model, the other a draft head that reads the states of a frozen target. They are
 * compiled twice, in float (by tests) and in double (tests/support/double_training.c). */
#ifndef SPECLAB_TESTS_TRAINING_CASE_H
#define SPECLAB_TESTS_TRAINING_CASE_H

#include "models/train/graph.h"

#include <math.h>
#include <stdbool.h>

enum { CASE_VOCAB = 7, CASE_DIM = 8, CASE_TEXTS = 2, CASE_PLACES = 60, CASE_HEAD = 4 };
enum { CASE_STEPS = 3, CASE_ROWS = CASE_TEXTS * (CASE_PLACES + CASE_STEPS) };

/* Which network, and its sizes. */
typedef struct {
    bool is_head;
    spec_losses_kind kind;
    int places; /* of a text */
    bool pairs_adjacent;
} training_case_shape;

typedef struct {
    spec_parameters parameters;
    spec_parameters target;   /* frozen: rows of logits and states by token */
    spec_graph graph, source; /* source: the target's */
    spec_graph_operation *loss[2 * CASE_STEPS];
    int n_losses;
    int token[CASE_ROWS], next[CASE_ROWS];
    spec_real share[CASE_ROWS];
    bool keep[CASE_TEXTS];
    spec_real cosine[(CASE_PLACES + CASE_STEPS) * CASE_HEAD / 2],
        sine[(CASE_PLACES + CASE_STEPS) * CASE_HEAD / 2];
} training_case;

static inline spec_graph_weight case_add(spec_parameters *set, const char *name, int rows, int cols)
{
    return (spec_graph_weight){set, spec_parameters_add(set, name, rows, cols)};
}

enum { CASE_STATES, CASE_LOGITS, CASE_OUTPUT }; /* parameters of the target */

/* Computes a loss with a tied output after a norm. */
static inline void case_add_exit(training_case *c, const training_case_shape *shape,
                                 spec_graph_node *x, spec_graph_weight norm,
                                 spec_graph_weight output, double weight)
{
    spec_graph *g = &c->graph;
    x = spec_graph_product(g, NULL, spec_graph_norm(g, x, norm, 1e-3), output, NULL);
    c->loss[c->n_losses++] =
        spec_graph_loss(g, x,
                        &(spec_graph_target){.kind = shape->kind,
                                             .opt_token = c->next,
                                             .opt_rows = spec_graph_embed(
                                                 g, (spec_graph_weight){&c->target, CASE_LOGITS},
                                                 c->token, x->rows, NULL),
                                             .opt_share = c->share,
                                             .weight = weight});
}

/* Computes a layer of a model, and a second feed-forward network that the last text skips. Exits
 * before and after it share norm and output; a third exit is off. */
static inline bool case_build_model(training_case *c, const training_case_shape *shape)
{
    const int rows = CASE_TEXTS * shape->places, dim = CASE_DIM, head = CASE_HEAD;
    spec_parameters *set = &c->parameters;
    spec_error error;
    const spec_graph_weight embedding = case_add(set, "embedding", CASE_VOCAB, dim),
                            norm = case_add(set, "norm", 1, dim),
                            qkv = case_add(set, "qkv", (4 + 2 * 2) * head, dim),
                            bias = case_add(set, "bias", 1, (4 + 2 * 2) * head),
                            out = case_add(set, "out", dim, 4 * head),
                            gate_up = case_add(set, "gate_up", 2 * 6, dim),
                            down = case_add(set, "down", dim, 6);
    if (spec_parameters_allocate(set, false, &error) != GSL_SUCCESS) return false;
    spec_graph *g = &c->graph;
    spec_graph_node *x = spec_graph_embed(g, embedding, c->token, rows, NULL);
    spec_graph_node *y = spec_graph_product(g, NULL, spec_graph_norm(g, x, norm, 1e-3), qkv, &bias);
    y = spec_graph_attention(g, &y, 1,
                             &(spec_graph_attention_shape){CASE_TEXTS, shape->places, 4, 2, head,
                                                           shape->pairs_adjacent, c->cosine,
                                                           c->sine});
    x = spec_graph_product(g, x, y, out, NULL);
    y = spec_graph_gate(g, spec_graph_product(g, NULL, x, gate_up, NULL));
    spec_graph_node *early = x = spec_graph_product(g, x, y, down, NULL);
    y = spec_graph_product(g, NULL, spec_graph_norm(g, x, norm, 1e-3), gate_up, NULL);
    y = spec_graph_product(g, x, spec_graph_gate(g, y), down, NULL);
    for (int i = 0; i < CASE_TEXTS - 1; i++) c->keep[i] = true;
    x = spec_graph_choose(g, x, y, c->keep, CASE_TEXTS);
    const int first = g->n;
    case_add_exit(c, shape, early, norm, embedding, 0.3);
    spec_graph_switch(g, first, g->n, false);
    case_add_exit(c, shape, early, norm, embedding, 0.7);
    case_add_exit(c, shape, x, norm, embedding, 1.0);
    return true;
}

/* Computes steps of a layer over the same positions, the last one with a learnt row instead of a
 * token's. */
static inline bool case_build_head(training_case *c, const training_case_shape *shape)
{
    const int places = shape->places, of_places = places + CASE_STEPS, dim = CASE_DIM,
              rows = CASE_TEXTS * places;
    spec_parameters *set = &c->parameters;
    spec_error error;
    const spec_graph_weight fc = case_add(set, "fc", dim, 2 * dim),
                            fc_bias = case_add(set, "fc_bias", 1, dim),
                            norm = case_add(set, "norm", 1, dim),
                            qkv = case_add(set, "qkv", (4 + 2 * 2) * CASE_HEAD, 2 * dim),
                            out = case_add(set, "out", dim, 4 * CASE_HEAD),
                            mix = case_add(set, "mix", dim, dim),
                            mix_bias = case_add(set, "mix_bias", 1, dim),
                            mask = case_add(set, "mask", CASE_STEPS, dim),
                            table = case_add(set, "table", CASE_VOCAB, dim),
                            output = {&c->target, CASE_OUTPUT};
    if (spec_parameters_allocate(set, false, &error) != GSL_SUCCESS ||
        spec_graph_init(&c->source, SPEC_ISA_PORTABLE, NULL, &error) != GSL_SUCCESS)
        return false;
    const spec_graph_node *state = spec_graph_embed(&c->source,
                                                    (spec_graph_weight){&c->target, CASE_STATES},
                                                    c->token, CASE_TEXTS * of_places, NULL),
                          *logits = spec_graph_embed(&c->source,
                                                     (spec_graph_weight){&c->target, CASE_LOGITS},
                                                     c->token, CASE_TEXTS * of_places, NULL);
    if (spec_graph_allocate(&c->source, false, &error) != GSL_SUCCESS) return false;
    spec_graph_forward(&c->source);

    spec_graph *g = &c->graph;
    spec_graph_node *steps[CASE_STEPS];
    spec_graph_window window = {places, of_places, 0};
    g->noise_key = 11;
    spec_graph_node *x = spec_graph_input(g, state, CASE_TEXTS, &window, 0.3);
    for (int s = 0; s < CASE_STEPS; s++) {
        window.shift = s + 1;
        spec_graph_node *e = s < CASE_STEPS - 1
                                 ? spec_graph_input(g, state, CASE_TEXTS, &window, 0.0)
                                 : spec_graph_repeat(g, mask, 1, rows);
        if (s == 0)
            x = spec_graph_product(g, NULL, spec_graph_join(g, (spec_graph_node *[]){e, x}, 2), fc,
                                   &fc_bias);
        e = spec_graph_norm(g, e, norm, 1e-3);
        steps[s] = spec_graph_product(g, NULL, spec_graph_join(g, (spec_graph_node *[]){e, x}, 2),
                                      qkv, NULL);
        spec_graph_node *y = spec_graph_attention(
            g, steps, s + 1,
            &(spec_graph_attention_shape){CASE_TEXTS, places, 4, 2, CASE_HEAD,
                                          shape->pairs_adjacent, c->cosine, c->sine});
        x = spec_graph_product(g, x, y, out, NULL);
        y = spec_graph_embed(g, table, c->token, rows, &window);
        y = spec_graph_product(g, y, x, mix, &mix_bias);
        y = spec_graph_silu(g, NULL, y);
        x = spec_graph_silu(g, x, spec_graph_product(g, NULL, y, mix, NULL));
        x = spec_graph_norm(g, x, norm, 1e-3); /* small, so that no bound of a loss is reached */
        c->loss[c->n_losses++] = spec_graph_smooth_l1(
            g, x,
            &(spec_graph_target){.opt_rows = state, .window = window, .weight = 0.9 - s / 4.0});
        c->loss[c->n_losses++] =
            spec_graph_loss(g, spec_graph_product(g, NULL, x, output, NULL),
                            &(spec_graph_target){.kind = shape->kind,
                                                 .opt_token = c->next,
                                                 .opt_rows = logits,
                                                 .opt_share = s == 1 ? c->share : NULL,
                                                 .window = window,
                                                 .weight = 0.7});
    }
    spec_graph_begin_evaluation(g);
    spec_graph_product(g, NULL, x, mix, NULL); /* has no gradient */
    return true;
}

/* False without memory. */
static inline bool training_case_init(training_case *c, spec_isa isa, spec_thread_pool *opt_pool,
                                      const training_case_shape *shape)
{
    const int half = CASE_HEAD / 2;
    spec_parameters *target = &c->target;
    spec_error error;
    *c = (training_case){0};
    for (int i = 0; i < CASE_ROWS; i++) {
        c->token[i] = i * i % CASE_VOCAB;
        c->next[i] = (i + 1) * (i + 1) % CASE_VOCAB;
        c->share[i] = (spec_real)(i % 4) / CASE_ROWS; /* some rows are ignored */
    }
    for (int t = 0; t < CASE_PLACES + CASE_STEPS; t++)
        for (int i = 0; i < half; i++) {
            c->cosine[t * half + i] = (spec_real)cos(0.7 * t / (i + 1));
            c->sine[t * half + i] = (spec_real)sin(0.7 * t / (i + 1));
        }
    if (spec_parameters_init(&c->parameters, 16, &error) != GSL_SUCCESS ||
        spec_parameters_init(target, 3, &error) != GSL_SUCCESS ||
        spec_graph_init(&c->graph, isa, opt_pool, &error) != GSL_SUCCESS)
        return false;
    case_add(target, "states", CASE_VOCAB, CASE_DIM);
    case_add(target, "logits", CASE_VOCAB, CASE_VOCAB);
    case_add(target, "output", CASE_VOCAB, CASE_DIM);
    if (spec_parameters_allocate(target, true, &error) != GSL_SUCCESS) return false;
    for (size_t i = 0; i < target->numbers; i++)
        target->value[i] = (spec_real)(float)sin(3.0 * (double)i);
    return (shape->is_head ? case_build_head(c, shape) : case_build_model(c, shape)) &&
           spec_graph_allocate(&c->graph, true, &error) == GSL_SUCCESS;
}

static inline double training_case_loss(const training_case *c)
{
    double sum = 0.0;
    for (int i = 0; i < c->n_losses; i++) sum += spec_graph_loss_value(c->loss[i]);
    return sum;
}

static inline void training_case_free(training_case *c)
{
    spec_graph_free(&c->graph);
    spec_graph_free(&c->source);
    spec_parameters_free(&c->parameters);
    spec_parameters_free(&c->target);
}

#endif
