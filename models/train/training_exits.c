/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/training_exits.h"

#include "base/noise.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

double spec_training_exits_dropout(const spec_training_exits_plan *plan, int layer, int n_layers)
{
    return plan->dropout * expm1(layer * M_LN2 / (n_layers - 1));
}

double spec_training_exits_weight(const spec_training_exits_plan *plan, int exit, int n_layers)
{
    const int before = exit < n_layers ? exit : n_layers - 1;
    const double sum = before * (before - 1.0) / 2.0;
    if (exit == n_layers) return n_layers - 1 + plan->scale * sum;
    return plan->scale * fmax(sum, 0.5);
}

int spec_training_exits_init(spec_training_exits *exits, const spec_training_exits_plan *plan,
                             int n_layers, int texts, spec_error *error)
{
    assert(n_layers >= 2 && n_layers <= SPEC_LAYERS_MAX);
    *exits = (spec_training_exits){.plan = *plan, .n_layers = n_layers, .texts = texts};
    exits->keep = calloc((size_t)n_layers * (size_t)texts, sizeof *exits->keep);
    return exits->keep != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

void spec_training_exits_free(spec_training_exits *exits)
{
    free(exits->keep);
    *exits = (spec_training_exits){0};
}

void spec_training_exits_build(spec_training_exits *exits, spec_graph *graph,
                               const spec_training_model *model, const spec_training_nodes *nodes,
                               const spec_graph_target *target)
{
    for (int l = 1; l <= exits->n_layers; l++) {
        exits->first[l] = graph->n;
        exits->logits[l] = l < exits->n_layers
                               ? spec_training_model_exit(model, graph, nodes->hidden[l])
                               : nodes->logits;
        exits->loss[l] = spec_graph_loss(graph, exits->logits[l], target);
    }
}

static void set_exits(spec_training_exits *exits, spec_graph *graph, bool all, long step)
{
    const int n = exits->n_layers;
    bool is_on[SPEC_LAYERS_MAX + 1];
    double sum = 0.0;
    for (int l = 1; l <= n; l++) {
        is_on[l] = all || l == n || (step + l) % exits->plan.rotation == 0;
        if (is_on[l]) sum += spec_training_exits_weight(&exits->plan, l, n);
    }
    for (int l = 1; l <= n; l++) {
        exits->loss[l]->target.weight = spec_training_exits_weight(&exits->plan, l, n) / sum;
        if (l < n) spec_graph_switch(graph, exits->first[l], exits->first[l + 1], is_on[l]);
    }
}

void spec_training_exits_begin_step(spec_training_exits *exits, spec_graph *graph, uint64_t seed,
                                    long step)
{
    const uint64_t key = spec_noise_key(seed, (const int[]){(int)step, 2}, 2, -1);
    for (int i = 0; i < exits->n_layers * exits->texts; i++) {
        const double u = (double)(spec_noise_word(key, (uint64_t)i) >> 11) * 0x1p-53;
        exits->keep[i] =
            u >= spec_training_exits_dropout(&exits->plan, i / exits->texts, exits->n_layers);
    }
    set_exits(exits, graph, false, step);
}

void spec_training_exits_begin_evaluation(spec_training_exits *exits, spec_graph *graph)
{
    for (int i = 0; i < exits->n_layers * exits->texts; i++) exits->keep[i] = true;
    set_exits(exits, graph, true, 0);
}

double spec_training_exits_loss(const spec_training_exits *exits)
{
    double sum = 0.0;
    for (int l = 1; l <= exits->n_layers; l++) sum += spec_graph_loss_value(exits->loss[l]);
    return sum;
}
