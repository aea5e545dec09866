/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/train/training.h"

#include "base/clock.h"
#include "models/row.h"
#include "models/transformer/engine/logits.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, clip = 1.0;

/* ---- set-up ---------------------------------------------------------------------------------- */

static int load_models(spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    if (plan->opt_start != NULL)
        SPEC_TRY(spec_training_model_load(&training->model, plan->opt_start, plan->places, false,
                                          error));
    else
        SPEC_TRY(spec_training_model_draw(&training->model, &plan->shape, plan->places, plan->seed,
                                          error));
    if (plan->opt_target == NULL) return status;
    const int vocab = training->model.checkpoint.shape.vocab;
    if (plan->opt_target->shape.vocab != vocab)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "the draft has %d tokens and the target %d: they must be the same",
                           vocab, plan->opt_target->shape.vocab));
    SPEC_TRY(
        spec_training_model_load(&training->target, plan->opt_target, plan->places, true, error));
done:
    return status;
}

/* The graphs serve training and judging. The loss reads the target's logits, but the cross-entropy
 * does not, so the target is a graph of its own. */
static int build_graphs(spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    const size_t rows = (size_t)plan->texts * (size_t)plan->places;
    spec_training_nodes *nodes = malloc(sizeof *nodes);
    training->token = calloc(rows, sizeof *training->token);
    training->next = calloc(rows, sizeof *training->next);
    if (nodes == NULL || training->token == NULL || training->next == NULL)
        SPEC_TRY(spec_no_memory(error));
    if (plan->opt_target != NULL) {
        spec_graph *graph = &training->target_graph;
        SPEC_TRY(spec_graph_init(graph, spec_cpu_isa(), training->opt_pool, error));
        spec_training_model_build(nodes, &training->target, graph, training->token, plan->texts,
                                  plan->places);
        training->target_logits = nodes->logits;
        SPEC_TRY(spec_graph_allocate(graph, false, error));
    }
    SPEC_TRY(spec_graph_init(&training->graph, spec_cpu_isa(), training->opt_pool, error));
    spec_training_model_build(nodes, &training->model, &training->graph, training->token,
                              plan->texts, plan->places);
    training->logits = nodes->logits;
    training->loss = spec_graph_loss(&training->graph, training->logits,
                                     &(spec_graph_target){.kind = plan->loss,
                                                          .opt_token = training->next,
                                                          .opt_rows = training->target_logits,
                                                          .weight = 1.0});
    SPEC_TRY(spec_graph_allocate(&training->graph, true, error));
done:
    free(nodes);
    return status;
}

static void forward(spec_training *training, bool needs_target)
{
    if (needs_target) spec_graph_forward(&training->target_graph);
    spec_graph_forward(&training->graph);
}

int spec_training_init(spec_training *training, const spec_training_plan *plan,
                       const spec_training_data *data, spec_thread_pool *opt_pool,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    *training = (spec_training){.plan = *plan, .data = *data, .opt_pool = opt_pool};
    SPEC_TRY(load_models(training, error));
    SPEC_TRY(build_graphs(training, error));
    const size_t vocab = (size_t)training->model.checkpoint.shape.vocab,
                 accept = (size_t)plan->places * (size_t)(plan->K + 2);
    training->accept = calloc(accept, sizeof *training->accept);
    for (int i = 0; i < 2; i++) training->row[i] = malloc(vocab * sizeof *training->row[i]);
    if (training->accept == NULL || training->row[0] == NULL || training->row[1] == NULL)
        SPEC_TRY(spec_no_memory(error));
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
    free(training->token);
    free(training->next);
    free(training->accept);
    for (int i = 0; i < 2; i++) free(training->row[i]);
    *training = (spec_training){0};
}

/* ---- a step ---------------------------------------------------------------------------------- */

static double rate_of(const spec_training_plan *plan, long step)
{
    const double done = (double)step / (double)plan->steps,
                 fall = SPEC_TRAINING_RATE_END +
                        (1.0 - SPEC_TRAINING_RATE_END) * 0.5 * (1.0 + cos(M_PI * done));
    return plan->rate * fmin(1.0, (double)(step + 1) / SPEC_TRAINING_WARM_UP) * fall;
}

/* The first parameter whose gradient is not finite, or the last one. */
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

double spec_training_step_seconds(spec_training *training)
{
    double begin = 0.0;
    spec_training_texts_batch(training->token, training->next, training->data.learn,
                              training->plan.texts, training->plan.seed, 0);
    for (int pass = 0; pass < 3; pass++) { /* the first one maps the memory */
        if (pass == 1) begin = spec_clock_monotonic();
        forward(training, training->plan.loss != SPEC_LOSSES_CE);
        spec_graph_backward(&training->graph);
    }
    return (spec_clock_monotonic() - begin) / 2.0;
}

int spec_training_step(spec_training *training, double *ret_loss, spec_error *error)
{
    const spec_training_plan *plan = &training->plan;
    spec_parameters *parameters = &training->model.parameters;
    spec_training_texts_batch(training->token, training->next, training->data.learn, plan->texts,
                              plan->seed, training->step);
    spec_parameters_clear_gradient(parameters);
    forward(training, plan->loss != SPEC_LOSSES_CE);
    *ret_loss = spec_graph_loss_value(training->loss);
    spec_graph_backward(&training->graph);
    if (!isfinite(*ret_loss))
        return spec_fail(error, GSL_EFAILED, "step %ld: the loss is not finite; try a lower --rate",
                         training->step + 1);
    const double norm =
        spec_parameters_update(parameters,
                               &(spec_parameters_step){.rate = rate_of(plan, training->step),
                                                       .beta1 = beta1,
                                                       .beta2 = beta2,
                                                       .epsilon = epsilon,
                                                       .clip = clip,
                                                       .step = training->step + 1},
                               training->graph.elements, training->opt_pool);
    if (!isfinite(norm))
        return spec_fail(error, GSL_EFAILED,
                         "step %ld: the gradient of %s is not finite; try a lower --rate",
                         training->step + 1, bad_parameter(parameters));
    training->step++;
    return GSL_SUCCESS;
}

/* ---- judging --------------------------------------------------------------------------------- */

static int row_at(double *ret_row, const spec_training *training, const spec_graph_node *logits,
                  size_t row, spec_error *error)
{
    return spec_logits_rows(&ret_row, logits->value + row * (size_t)logits->cols, 1.0, 1,
                            logits->cols, training->graph.kernels, NULL, error);
}

/* One text of the batch: its cross-entropy in nats and its walk. The draft's row at a place is the
 * one that it drafts from, however many tokens of the round came before. */
static int judge_text(spec_training *training, double *nats, spec_exact_walk *opt_walk, int text,
                      bool greedy, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int places = training->plan.places, K = training->plan.K, vocab = training->logits->cols;
    double *const one = training->accept, *const room = one + places, *const accept = room + places,
                  *const q = training->row[0], *const p = training->row[1];
    for (int t = 0; t < places; t++) {
        const size_t row = (size_t)text * (size_t)places + (size_t)t;
        const int next = training->next[row];
        SPEC_TRY(row_at(q, training, training->logits, row, error));
        *nats -= log(fmax(q[next], 0x1p-60));
        if (opt_walk == NULL) continue;
        SPEC_TRY(row_at(p, training, training->target_logits, row, error));
        one[t] = greedy          ? (spec_row_argmax(q, vocab) == next ? 1.0 : 0.0)
                 : p[next] > 0.0 ? fmin(1.0, q[next] / p[next])
                                 : 1.0;
    }
    if (opt_walk == NULL) goto done;
    const int begins = places - K + 1; /* places where a round of K tokens fits */
    for (int t = 0; t < begins; t++)
        for (int d = 0; d < K; d++) accept[t * K + d] = one[t + d];
    spec_exact_walk_add(opt_walk, accept, begins, training->plan.prompt - 1, room);
done:
    return status;
}

int spec_training_evaluate(spec_training *training, spec_training_score *ret_score,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    const bool walks = plan->opt_target != NULL;
    double nats = 0.0, other = 0.0;
    *ret_score = (spec_training_score){0};
    for (int i = walks ? 0 : 1; i < 2; i++) {
        spec_exact_walk *walk = &ret_score->walk[i];
        walk->K = walks ? plan->K : 0;
        for (int first = 0; first < training->data.judged; first += plan->texts) {
            for (int k = 0; k < plan->texts; k++)
                spec_training_texts_held_out(training->token + (long)k * plan->places,
                                             training->next + (long)k * plan->places,
                                             training->data.judge[i], first + k,
                                             training->data.judged);
            forward(training, walks);
            for (int k = 0; k < plan->texts; k++)
                SPEC_TRY(judge_text(training, i == 1 ? &nats : &other, walks ? walk : NULL, k,
                                    i == 0, error));
        }
    }
    ret_score->bits = nats / M_LN2 / ((double)training->data.judged * plan->places);
done:
    return status;
}
