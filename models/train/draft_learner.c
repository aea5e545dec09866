/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/draft_learner.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double clip = 1.0, least = 1e-300; /* largest norm of gradients; least probability */

static size_t rows_of(const spec_draft_learner *learner)
{
    return (size_t)learner->plan.texts * (size_t)learner->plan.places;
}

static int allocate(spec_draft_learner *learner, spec_error *error)
{
    const size_t rows = rows_of(learner), vocab = (size_t)learner->model.checkpoint.shape.vocab,
                 numbers = learner->model.parameters.numbers;
    learner->token = calloc(rows, sizeof *learner->token);
    learner->next = calloc(rows, sizeof *learner->next);
    learner->learns = calloc(rows, sizeof *learner->learns);
    learner->share = calloc(rows, sizeof *learner->share);
    learner->start = malloc(numbers * sizeof *learner->start);
    learner->target.rows = (int)rows;
    learner->target.cols = (int)vocab;
    if (learner->plan.loss != SPEC_LOSSES_CE)
        learner->target.value = calloc(rows * vocab, sizeof *learner->target.value);
    if (learner->token == NULL || learner->next == NULL || learner->learns == NULL ||
        learner->share == NULL || learner->start == NULL ||
        (learner->plan.loss != SPEC_LOSSES_CE && learner->target.value == NULL))
        return spec_no_memory(error);
    memcpy(learner->start, learner->model.parameters.value, numbers * sizeof *learner->start);
    return GSL_SUCCESS;
}

int spec_draft_learner_init(spec_draft_learner *learner, const spec_draft_learner_plan *plan,
                            const spec_checkpoint *draft, spec_thread_pool *opt_pool,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training_nodes *nodes = malloc(sizeof *nodes);
    *learner = (spec_draft_learner){.plan = *plan, .opt_pool = opt_pool};
    if (nodes == NULL) SPEC_TRY(spec_no_memory(error));
    if (plan->texts > SPEC_DRAFT_LEARNER_ROWS / plan->places)
        SPEC_TRY(spec_fail(error, GSL_EDOM, "a batch of %d texts of %d tokens exceeds %d tokens",
                           plan->texts, plan->places, SPEC_DRAFT_LEARNER_ROWS));
    SPEC_TRY(spec_training_model_load(&learner->model, draft, plan->places, false, error));
    SPEC_TRY(allocate(learner, error));
    SPEC_TRY(spec_graph_init(&learner->graph, spec_cpu_isa(), opt_pool, error));
    spec_training_model_build(nodes, &learner->model, &learner->graph, learner->token, NULL,
                              plan->texts, plan->places);
    learner->logits = nodes->logits;
    learner->loss = spec_graph_loss(&learner->graph, nodes->logits,
                                    &(spec_graph_target){.kind = plan->loss,
                                                         .opt_token = learner->next,
                                                         .opt_rows = &learner->target,
                                                         .opt_share = learner->share,
                                                         .weight = 1.0});
    SPEC_TRY(spec_graph_allocate(&learner->graph, true, error));
done:
    free(nodes);
    if (status != GSL_SUCCESS) spec_draft_learner_free(learner);
    return status;
}

void spec_draft_learner_free(spec_draft_learner *learner)
{
    spec_graph_free(&learner->graph);
    spec_training_model_free(&learner->model);
    free(learner->target.value);
    free(learner->token);
    free(learner->next);
    free(learner->learns);
    free(learner->share);
    free(learner->start);
    *learner = (spec_draft_learner){0};
}

void spec_draft_learner_clear(spec_draft_learner *learner)
{
    memset(learner->token, 0, rows_of(learner) * sizeof *learner->token);
    memset(learner->learns, 0, rows_of(learner) * sizeof *learner->learns);
}

void spec_draft_learner_set_row(spec_draft_learner *learner, int place, const double *row,
                                double temperature)
{
    const int vocab = learner->target.cols;
    const double factor = temperature > 0.0 ? temperature : 1.0;
    if (learner->plan.loss == SPEC_LOSSES_CE) return;
    spec_real *logit = spec_graph_row(learner->target.value, place, vocab);
    for (int i = 0; i < vocab; i++) logit[i] = (spec_real)(factor * log(fmax(row[i], least)));
}

/* Fills the shares; returns the number of learnt positions. */
static int share_loss(spec_draft_learner *learner)
{
    int n = 0;
    for (size_t i = 0; i < rows_of(learner); i++) n += learner->learns[i];
    for (size_t i = 0; i < rows_of(learner); i++)
        learner->share[i] = learner->learns[i] ? (spec_real)(1.0 / n) : (spec_real)0.0;
    return n;
}

void spec_draft_learner_forward(spec_draft_learner *learner)
{
    spec_graph_evaluate(&learner->graph);
}

int spec_draft_learner_step(spec_draft_learner *learner, double *ret_loss, spec_error *error)
{
    spec_parameters *parameters = &learner->model.parameters;
    *ret_loss = 0.0;
    if (share_loss(learner) == 0) return GSL_SUCCESS;
    spec_parameters_clear_gradient(parameters);
    spec_graph_forward_trained(&learner->graph);
    *ret_loss = spec_graph_loss_value(learner->loss);
    spec_graph_backward(&learner->graph);
    spec_parameters_step step = SPEC_PARAMETERS_ADAMW;
    step.rate = learner->plan.rate;
    step.clip = clip;
    step.step = learner->step + 1;
    if (!isfinite(*ret_loss) || !isfinite(spec_parameters_update(
                                    parameters, &step, learner->graph.elements, learner->opt_pool)))
        return spec_fail(error, GSL_EFAILED,
                         "update %ld of the draft: the loss or its gradient is not finite; try a "
                         "lower learning rate",
                         learner->step + 1);
    learner->step++;
    return GSL_SUCCESS;
}

void spec_draft_learner_restart(spec_draft_learner *learner)
{
    spec_parameters *p = &learner->model.parameters;
    memcpy(p->value, learner->start, p->numbers * sizeof *p->value);
    memset(p->m, 0, p->numbers * sizeof *p->m);
    memset(p->v, 0, p->numbers * sizeof *p->v);
    learner->step = 0;
    spec_draft_learner_clear(learner);
}
