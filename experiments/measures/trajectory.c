/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/trajectory.h"

#include "analysis/statistics/moments.h"
#include "base/parallel.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "sim/sources.h"
#include "sim/verify/verify.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { TELL_EVERY = 64 }; /* positions */

typedef struct {
    double *sum; /* (n_values) */
    uint64_t begin, end; /* positions */
    /* number of the next position; batches continue the count of earlier batches */
    uint64_t number;
    _Atomic uint64_t *visited; /* positions of all batches so far */
    int status;
    spec_error error;
    int worker;
} batch_result;

typedef struct {
    const spec_trajectory *plan;
    spec_session target, draft;
    gsl_rng *rng;
    int *text;          /* (SPEC_TEXT_MAX) */
    size_t n, n_at_end; /* tokens so far; number of tokens at which this text ends */
    double *target_store, *draft_store; /* (V) */
    double *value;                      /* (n_values) */
    unsigned long prompt;               /* number of the next prompt */
} walker;

static void walker_free(walker *walk)
{
    spec_session_free(&walk->target);
    spec_session_free(&walk->draft);
    if (walk->rng != NULL) gsl_rng_free(walk->rng);
    free(walk->text);
    free(walk->target_store);
    free(walk->draft_store);
    free(walk->value);
}

static int walker_init(walker *walk, const spec_trajectory *plan, int batch, spec_error *error)
{
    size_t row = (size_t)plan->target->vocab * sizeof(double);
    int status = GSL_SUCCESS;
    *walk = (walker){.plan = plan, .prompt = (unsigned long)batch};
    walk->text = malloc(SPEC_TEXT_MAX * sizeof *walk->text);
    walk->target_store = malloc(row);
    walk->draft_store = malloc(row);
    walk->value = calloc((size_t)plan->n_values, sizeof *walk->value);
    walk->rng = spec_rng_alloc();
    if (walk->text == NULL || walk->target_store == NULL || walk->draft_store == NULL ||
        walk->value == NULL || walk->rng == NULL)
        return spec_no_memory(error);
    spec_rng_stream(walk->rng, plan->seed, (uint64_t)batch);
    SPEC_TRY(spec_session_init(&walk->target, plan->target, error));
    if (plan->opt_draft != NULL) SPEC_TRY(spec_session_init(&walk->draft, plan->opt_draft, error));
done:
    return status;
}

/* Returns how many tokens a text may have so that both models can continue it, at most
 * SPEC_TEXT_MAX. */
static size_t text_limit(const spec_trajectory *plan)
{
    size_t limit = SPEC_TEXT_MAX;
    const spec_model *const model[] = {plan->target, plan->opt_draft};
    for (int i = 0; i < 2; i++)
        if (model[i] != NULL && model[i]->window > 0 && (size_t)model[i]->window < limit)
            limit = (size_t)model[i]->window;
    return limit;
}

static void begin_text(walker *walk)
{
    const spec_model *target = walk->plan->target;
    const size_t limit = text_limit(walk->plan),
                 most = limit > SPEC_PROMPT_MAX ? SPEC_PROMPT_MAX : limit - 1;
    walk->n = 0;
    if (target->kind->prompt != NULL)
        walk->n = target->kind->prompt(target, walk->prompt, walk->text, most);
    walk->prompt += SPEC_TRAJECTORY_BATCHES;
    size_t length = (size_t)walk->plan->length;
    walk->n_at_end = length > 0 && length < limit - walk->n ? walk->n + length : limit;
}

/* Visits the position after a text of n tokens with the row `target`. */
static int look_at(walker *walk, const double *target, const int *text, size_t n,
                   batch_result *result)
{
    const spec_trajectory *plan = walk->plan;
    const double *draft = NULL;
    int status = GSL_SUCCESS;
    if (plan->opt_draft != NULL) {
        draft = spec_session_row(&walk->draft, text, n, walk->draft_store, &result->error);
        if (draft == NULL) return GSL_EFAILED;
    }
    const spec_position position = {.target = target,
                                    .opt_draft = draft,
                                    .context = text,
                                    .n_context = n,
                                    .vocab = plan->target->vocab,
                                    .number = result->number++,
                                    .worker = result->worker};
    SPEC_TRY(plan->visit(walk->value, &position, plan->self, &result->error));
    for (int i = 0; i < plan->n_values; i++) result->sum[i] += walk->value[i];
done:
    return status;
}

static int step_along(walker *walk, uint64_t at, batch_result *result)
{
    const spec_trajectory *plan = walk->plan;
    const size_t size = (size_t)plan->n_values;
    const double *row =
        spec_session_row(&walk->target, plan->opt_text, at, walk->target_store, &result->error);
    const int status = row != NULL ? look_at(walk, row, plan->opt_text, at, result) : GSL_EFAILED;
    if (plan->opt_value != NULL)
        memcpy(plan->opt_value + at * size, walk->value, size * sizeof *walk->value);
    return status;
}

/* Visits a position after the burn-in, then samples the next token from the target. */
static int step(walker *walk, bool look, batch_result *result)
{
    const spec_trajectory *plan = walk->plan;
    const int vocab = plan->target->vocab;
    int status = GSL_SUCCESS;
    const double *row =
        spec_session_row(&walk->target, walk->text, walk->n, walk->target_store, &result->error);
    if (row == NULL) return GSL_EFAILED;
    if (look) SPEC_TRY(look_at(walk, row, walk->text, walk->n, result));
    spec_chance chance = spec_chance_sampled(walk->rng);
    int token = spec_verify_sample(row, vocab, &chance);
    walk->text[walk->n++] = token;
    if (spec_model_ends_text(plan->target, token) || walk->n == walk->n_at_end) begin_text(walk);
done:
    return status;
}

/* Counts one more position of all batches. */
static void tell(_Atomic uint64_t *visited, const spec_trajectory *plan)
{
    const uint64_t n = ++*visited;
    if (n % TELL_EVERY == 0)
        spec_listener_tell(plan->opt_listener, (double)n / (double)plan->positions);
}

static void run_batch(batch_result *result, const spec_trajectory *plan, int batch, int worker)
{
    const bool own = plan->opt_text == NULL;
    walker walk;
    result->worker = worker;
    result->status = walker_init(&walk, plan, batch, &result->error);
    if (result->status == GSL_SUCCESS && own) begin_text(&walk);
    for (int i = 0;
         own && plan->positions > 1 && i < SPEC_TRAJECTORY_BURN_IN && result->status == GSL_SUCCESS;
         i++)
        result->status = step(&walk, false, result);
    for (uint64_t at = result->begin; at < result->end && result->status == GSL_SUCCESS; at++) {
        tell(result->visited, plan);
        if (spec_stop_is_set(plan->opt_stop))
            result->status = spec_fail(&result->error, GSL_EFAILED, "interrupted");
        const int skipped = own && at > result->begin ? plan->gap - 1 : 0;
        for (int i = 0; i < skipped && result->status == GSL_SUCCESS; i++)
            result->status = step(&walk, false, result);
        if (result->status != GSL_SUCCESS) break;
        result->status = own ? step(&walk, true, result) : step_along(&walk, at, result);
    }
    walker_free(&walk);
}

/* Sets the positions of a batch: equally many for each batch if the target writes the text, else
 * equal parts of the given text. */
static void share_out(batch_result *result, const spec_trajectory *plan, uint64_t batch,
                      uint64_t n_batches)
{
    const uint64_t each = (plan->positions + n_batches - 1) / n_batches;
    const bool given = plan->opt_text != NULL;
    result->begin = given ? plan->positions * batch / n_batches : 0;
    result->end = given ? plan->positions * (batch + 1) / n_batches : each;
    result->number = given ? result->begin : batch * each;
}

typedef struct {
    batch_result *result;
    const spec_trajectory *plan;
} job;

static void run_one(void *self, uint64_t batch, int worker)
{
    const job *j = self;
    run_batch(&j->result[batch], j->plan, (int)batch, worker);
}

int spec_trajectory_means(double *ret_mean, double *ret_se, const spec_trajectory *trajectory,
                          spec_error *error)
{
    const int n_batches = trajectory->positions < SPEC_TRAJECTORY_BATCHES
                              ? (int)trajectory->positions
                              : SPEC_TRAJECTORY_BATCHES;
    const int wanted = spec_thread_pool_size(trajectory->opt_pool);
    const int threads = wanted < n_batches ? wanted : n_batches;
    batch_result *result = calloc((size_t)n_batches, sizeof *result);
    double *sums = calloc((size_t)n_batches * (size_t)trajectory->n_values, sizeof *sums);
    _Atomic uint64_t visited = 0;
    int status = GSL_SUCCESS;
    if (result == NULL || sums == NULL) {
        status = spec_no_memory(error);
        goto done;
    }
    for (int b = 0; b < n_batches; b++) {
        result[b].sum = sums + (size_t)b * (size_t)trajectory->n_values;
        result[b].visited = &visited;
        share_out(&result[b], trajectory, (uint64_t)b, (uint64_t)n_batches);
    }
    spec_parallel_run(trajectory->opt_pool, run_one, &(job){result, trajectory},
                      (uint64_t)n_batches, threads);
    for (int b = 0; b < n_batches && status == GSL_SUCCESS; b++)
        if (result[b].status != GSL_SUCCESS)
            status = spec_fail(error, result[b].status, "%s", result[b].error.text);
    for (int i = 0; i < trajectory->n_values; i++) {
        spec_moments moments = {0};
        double sum = 0.0;
        for (int b = 0; b < n_batches; b++) {
            spec_moments_add(&moments,
                             result[b].sum[i] / (double)(result[b].end - result[b].begin));
            sum += result[b].sum[i];
        }
        const double mean =
            trajectory->opt_text != NULL ? sum / (double)trajectory->positions : moments.mean;
        ret_mean[i] = status == GSL_SUCCESS ? mean : 0.0;
        ret_se[i] = status == GSL_SUCCESS ? spec_moments_standard_error(&moments) : 0.0;
    }
done:
    free(sums);
    free(result);
    return status;
}
