/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_case: a small network with every operation of models/train/graph.h.
 * It is compiled twice, in float (by tests) and in double (tests/support/double_training.c). */
#ifndef SPECLAB_TESTS_TRAINING_CASE_H
#define SPECLAB_TESTS_TRAINING_CASE_H

#include "models/train/graph.h"

#include <math.h>
#include <stdbool.h>

enum { CASE_VOCAB = 7, CASE_DIM = 8, CASE_TEXTS = 2, CASE_PLACES = 60, CASE_HEAD = 4 };

typedef struct {
    spec_parameters parameters, target; /* the target is frozen: a row of logits for each token */
    spec_graph graph;
    spec_graph_operation *loss;
    int token[CASE_TEXTS * CASE_PLACES], next[CASE_TEXTS * CASE_PLACES];
    spec_real share[CASE_TEXTS * CASE_PLACES];
    spec_real cosine[CASE_PLACES * CASE_HEAD / 2], sine[CASE_PLACES * CASE_HEAD / 2];
} training_case;

static inline spec_graph_weight case_add(spec_parameters *set, const char *name, int rows, int cols)
{
    return (spec_graph_weight){set, spec_parameters_add(set, name, rows, cols)};
}

/* Texts of `places` tokens; pairs adjacent or in halves. False without memory. */
static inline bool training_case_init(training_case *c, spec_isa isa, spec_thread_pool *opt_pool,
                                      spec_losses_kind kind, int places, bool pairs_adjacent)
{
    const int rows = CASE_TEXTS * places, dim = CASE_DIM, head = CASE_HEAD;
    spec_parameters *set = &c->parameters;
    spec_error error;
    *c = (training_case){0};
    for (int i = 0; i < rows; i++) {
        c->token[i] = i * i % CASE_VOCAB;
        c->next[i] = (i + 1) * (i + 1) % CASE_VOCAB;
        c->share[i] = (spec_real)(i % 4) / (spec_real)rows; /* some rows are ignored */
    }
    for (int t = 0; t < places; t++)
        for (int i = 0; i < head / 2; i++) {
            c->cosine[t * head / 2 + i] = (spec_real)cos(0.7 * t / (i + 1));
            c->sine[t * head / 2 + i] = (spec_real)sin(0.7 * t / (i + 1));
        }
    if (spec_parameters_init(set, 16, &error) != GSL_SUCCESS ||
        spec_parameters_init(&c->target, 1, &error) != GSL_SUCCESS ||
        spec_graph_init(&c->graph, isa, opt_pool, &error) != GSL_SUCCESS)
        return false;
    const spec_graph_weight embedding = case_add(set, "embedding", CASE_VOCAB, dim),
                            norm = case_add(set, "norm", 1, dim),
                            qkv = case_add(set, "qkv", (4 + 2 * 2) * head, dim),
                            bias = case_add(set, "bias", 1, (4 + 2 * 2) * head),
                            out = case_add(set, "out", dim, 4 * head),
                            gate_up = case_add(set, "gate_up", 2 * 6, dim),
                            down = case_add(set, "down", dim, 6),
                            rows_of = case_add(&c->target, "rows", CASE_VOCAB, CASE_VOCAB);
    if (spec_parameters_allocate(set, false, &error) != GSL_SUCCESS ||
        spec_parameters_allocate(&c->target, true, &error) != GSL_SUCCESS)
        return false;
    spec_real *value = spec_parameters_value(&c->target, 0);
    for (int i = 0; i < CASE_VOCAB * CASE_VOCAB; i++) value[i] = (spec_real)sin(3.0 * i);

    spec_graph *g = &c->graph;
    spec_graph_node *x = spec_graph_embed(g, embedding, c->token, rows);
    spec_graph_node *y = spec_graph_product(g, NULL, spec_graph_norm(g, x, norm, 1e-3), qkv, &bias);
    y = spec_graph_attention(g, y,
                             &(spec_graph_attention_shape){CASE_TEXTS, places, 4, 2, head,
                                                           pairs_adjacent, c->cosine, c->sine});
    x = spec_graph_product(g, x, y, out, NULL);
    y = spec_graph_gate(g, spec_graph_product(g, NULL, x, gate_up, NULL));
    x = spec_graph_product(g, x, y, down, NULL);
    x = spec_graph_norm(g, x, norm, 1e-3);
    x = spec_graph_product(g, NULL, x, embedding, NULL);
    c->loss =
        spec_graph_loss(g, x,
                        &(spec_graph_target){
                            kind, c->next, spec_graph_embed(g, rows_of, c->token, rows), c->share});
    return spec_graph_allocate(g, true, &error) == GSL_SUCCESS;
}

static inline void training_case_free(training_case *c)
{
    spec_graph_free(&c->graph);
    spec_parameters_free(&c->parameters);
    spec_parameters_free(&c->target);
}

#endif
