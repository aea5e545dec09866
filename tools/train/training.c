/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training.h"

#include "base/noise.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- set-up ---------------------------------------------------------------------------------- */

static int load_head(spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    spec_training_head *head = &training->head;
    if (plan->opt_start_head != NULL)
        SPEC_TRY(spec_training_head_load(head, plan->opt_start_head, error));
    else
        SPEC_TRY(
            spec_training_head_draw(head, plan->opt_head, &training->target, plan->seed, error));
    training->parameters = &head->parameters;
done:
    return status;
}

static int load_model(spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    spec_training_model *model = &training->model;
    if (plan->opt_start != NULL)
        SPEC_TRY(spec_training_model_load(model, plan->opt_start, plan->places, false, error));
    else
        SPEC_TRY(spec_training_model_draw(model, &plan->shape, plan->places, plan->seed, error));
    const int vocab = model->checkpoint.shape.vocab;
    if (plan->opt_target != NULL && plan->opt_target->shape.vocab != vocab)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "the draft has %d tokens and the target %d: they must be the same",
                           vocab, plan->opt_target->shape.vocab));
    training->parameters = &model->parameters;
done:
    return status;
}

static int init_exits(spec_training *training, spec_error *error)
{
    const spec_parameters *p = training->parameters;
    const int n_layers = training->model.checkpoint.shape.n_layers;
    training->kept = malloc(p->numbers * sizeof *training->kept);
    if (training->kept == NULL) return spec_no_memory(error);
    memcpy(training->kept, p->value, p->numbers * sizeof *training->kept);
    return spec_training_exits_init(&training->exits, &training->plan.exits, n_layers,
                                    training->plan.texts, error);
}

/* Builds the graphs for training and scoring. The target has its own graph, because its states are
 * constants, and the cross-entropy of a draft does not need it. */
static int build_graphs(spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    const size_t rows = (size_t)plan->texts * (size_t)plan->places;
    spec_graph *graph = &training->target_graph;
    spec_training_nodes *nodes = calloc(2, sizeof *nodes), *const of_model = nodes + 1;
    training->token = calloc(rows, sizeof *training->token);
    training->next = calloc(rows, sizeof *training->next);
    if (nodes == NULL || training->token == NULL || training->next == NULL)
        SPEC_TRY(spec_no_memory(error));
    if (plan->opt_target != NULL) {
        SPEC_TRY(spec_graph_init(graph, spec_cpu_isa(), training->opt_pool, error));
        spec_training_model_build(nodes, &training->target, graph, training->token, NULL,
                                  plan->texts, plan->places);
        SPEC_TRY(spec_graph_allocate(graph, false, error));
        training->target_logits = nodes->logits;
    }
    graph = &training->graph;
    SPEC_TRY(spec_graph_init(graph, spec_cpu_isa(), training->opt_pool, error));
    if (plan->opt_head != NULL) {
        spec_training_head_graph_build(&training->nodes, graph,
                                       &(spec_training_head_task){.head = &training->head,
                                                                  .target = &training->target,
                                                                  .target_nodes = nodes,
                                                                  .token = training->token,
                                                                  .next = training->next,
                                                                  .texts = plan->texts,
                                                                  .places = plan->places,
                                                                  .depths = plan->K,
                                                                  .trained = plan->trained,
                                                                  .loss = plan->loss});
    } else {
        const spec_graph_target loss = {.kind = plan->loss,
                                        .opt_token = training->next,
                                        .opt_rows = training->target_logits,
                                        .weight = 1.0};
        spec_training_model_build(of_model, &training->model, graph, training->token,
                                  training->exits.keep, plan->texts, plan->places);
        training->nodes.logits[0] = of_model->logits;
        if (plan->exits.rotation > 0)
            spec_training_exits_build(&training->exits, graph, &training->model, of_model, &loss);
        else
            training->nodes.loss[training->nodes.n_losses++] =
                spec_graph_loss(graph, of_model->logits, &loss);
    }
    SPEC_TRY(spec_graph_allocate(graph, true, error));
done:
    free(nodes);
    return status;
}

int spec_training_init(spec_training *training, const spec_training_plan *plan,
                       const spec_training_data *data, spec_thread_pool *opt_pool,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    *training = (spec_training){.plan = *plan, .data = *data, .opt_pool = opt_pool};
    if (plan->opt_target != NULL)
        SPEC_TRY(spec_training_model_load(&training->target, plan->opt_target, plan->places, true,
                                          error));
    SPEC_TRY(plan->opt_head != NULL ? load_head(training, error) : load_model(training, error));
    if (plan->exits.rotation > 0) SPEC_TRY(init_exits(training, error));
    SPEC_TRY(build_graphs(training, error));
done:
    if (status != GSL_SUCCESS) spec_training_free(training);
    return status;
}

void spec_training_free(spec_training *training)
{
    spec_graph_free(&training->graph);
    spec_graph_free(&training->target_graph);
    spec_training_model_free(&training->model);
    spec_training_model_free(&training->target);
    spec_training_head_free(&training->head);
    spec_training_exits_free(&training->exits);
    free(training->kept);
    free(training->token);
    free(training->next);
    *training = (spec_training){0};
}

/* ---- a step ---------------------------------------------------------------------------------- */

static double rate_of(const spec_training_plan *plan, long step)
{
    const double done = spec_training_schedule_done(&plan->schedule, step),
                 fall = SPEC_TRAINING_RATE_END +
                        (1.0 - SPEC_TRAINING_RATE_END) * 0.5 * (1.0 + cos(M_PI * done));
    return plan->rate * fmin(1.0, (double)(step + 1) / SPEC_TRAINING_WARM_UP) * fall;
}

void spec_training_forward(spec_training *training, bool with_target)
{
    training->graph.noise_key = 0;
    if (training->plan.exits.rotation > 0)
        spec_training_exits_begin_evaluation(&training->exits, &training->graph);
    if (with_target) spec_graph_forward(&training->target_graph);
    spec_graph_evaluate(&training->graph);
}

/* Runs both passes over the batch of a step; returns the loss. */
static double run_passes(spec_training *training, long step)
{
    const spec_training_plan *plan = &training->plan;
    double loss = 0.0;
    if (plan->exits.rotation > 0)
        spec_training_exits_begin_step(&training->exits, &training->graph, plan->seed, step);
    spec_training_texts_batch(training->token, training->next, training->data.learn, plan->texts,
                              plan->seed, step);
    spec_parameters_clear_gradient(training->parameters);
    training->graph.noise_key = spec_noise_key(plan->seed, (const int[]){(int)step, 1}, 2, -1) | 1;
    if (plan->opt_head != NULL || plan->loss != SPEC_LOSSES_CE)
        spec_graph_forward(&training->target_graph);
    spec_graph_forward_trained(&training->graph);
    for (int i = 0; i < training->nodes.n_losses; i++)
        loss += spec_graph_loss_value(training->nodes.loss[i]);
    if (plan->exits.rotation > 0) loss += spec_training_exits_loss(&training->exits);
    spec_graph_backward(&training->graph);
    return loss;
}

/* Returns the first parameter whose gradient is not finite, or the last one. */
static const char *bad_parameter(const spec_parameters *parameters)
{
    for (int i = 0; i < parameters->n; i++) {
        const spec_parameter *p = &parameters->item[i];
        const float *gradient = spec_parameters_gradient(parameters, i);
        for (size_t k = 0; k < (size_t)p->rows * (size_t)p->cols; k++)
            if (!isfinite(gradient[k])) return p->name;
    }
    return parameters->item[parameters->n - 1].name;
}

long spec_training_steps(const spec_training *training)
{
    return spec_training_schedule_steps(&training->plan.schedule, training->step);
}

int spec_training_step(spec_training *training, double *ret_loss, spec_error *error)
{
    const spec_training_plan *plan = &training->plan;
    spec_parameters *parameters = training->parameters;
    *ret_loss = run_passes(training, training->step);
    if (!isfinite(*ret_loss))
        return spec_fail(error, GSL_EFAILED, "step %ld: the loss is not finite; try a lower --rate",
                         training->step + 1);
    spec_parameters_step step = SPEC_PARAMETERS_ADAMW;
    step.rate = rate_of(plan, training->step);
    step.clip = plan->clip;
    step.step = training->step + 1;
    const double norm = spec_parameters_update(parameters, &step, training->graph.elements,
                                               training->opt_pool);
    if (!isfinite(norm))
        return spec_fail(error, GSL_EFAILED,
                         "step %ld: the gradient of %s is not finite; try a lower --rate",
                         training->step + 1, bad_parameter(parameters));
    training->step++;
    return GSL_SUCCESS;
}

void spec_training_keep(spec_training *training, double rise)
{
    if (!(rise <= training->plan.bar)) return;
    const spec_parameters *p = training->parameters;
    memcpy(training->kept, p->value, p->numbers * sizeof *training->kept);
    training->kept_step = training->step;
}

void spec_training_restore(spec_training *training)
{
    const spec_parameters *p = training->parameters;
    memcpy(p->value, training->kept, p->numbers * sizeof *training->kept);
}
