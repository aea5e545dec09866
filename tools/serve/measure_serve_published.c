/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPEC_SIZE = 1024 };

/* Decoding steps of a full batch at one context length, with drafts of K tokens and without. */
typedef struct {
    double emitted;
    int K, batch, context;
} setup;

/* Returns the seconds of a step if drafting takes `factor` times as long as the costs say. */
static double seconds(const spec_step_cost *cost, const setup *of, int K, double factor)
{
    const spec_step_work work = {.decode_tokens = (int64_t)of->batch * (K + 1),
                                 .kv_tokens = (int64_t)of->batch * of->context,
                                 .drafted = (int64_t)of->batch * K,
                                 .decoding = of->batch,
                                 .passes = K};
    return spec_step_cost_target(cost, &work) + factor * spec_step_cost_draft(cost, &work);
}

/* Predicts the speed-up, with uncertain settings taken at a corner of their ranges
 * (spec_step_cost_corner). */
static int predict(double *ret_speedup, double *opt_plain, const setup *of, const char *cost,
                   const char *draft_cost, int corner, spec_error *error)
{
    char target[SPEC_SIZE], draft[SPEC_SIZE];
    spec_step_cost *made = NULL;
    spec_step_cost_corner(target, sizeof target, cost, false, corner);
    spec_step_cost_corner(draft, sizeof draft, draft_cost, true, corner);
    const int status = spec_step_cost_create(&made, target, draft, error);
    if (status == GSL_SUCCESS) {
        const double plain = seconds(made, of, 0, 1.0);
        *ret_speedup = of->emitted * plain / seconds(made, of, of->K, 1.0);
        if (opt_plain != NULL) *opt_plain = plain;
    }
    spec_step_cost_free(made);
    return status;
}

/* Predicts the speed-up from that of another length, which says how long drafting takes. */
static int predict_from(double *ret_speedup, const setup *of, const setup *other, double measured,
                        const char *cost, const char *draft_cost, spec_error *error)
{
    spec_step_cost *made = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_step_cost_create(&made, cost, draft_cost, error));
    const double plain = seconds(made, of, 0, 1.0), verifying = seconds(made, other, other->K, 0.0),
                 drafting = seconds(made, other, other->K, 1.0) - verifying,
                 factor = (other->emitted * plain / measured - verifying) / drafting;
    *ret_speedup = of->emitted * plain / seconds(made, of, of->K, fmax(factor, 0.0));
done:
    spec_step_cost_free(made);
    return status;
}

static int range(double *ret_low, double *ret_high, const setup *of, const char *cost,
                 const char *draft_cost, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_low = INFINITY;
    *ret_high = 0.0;
    for (int corner = 0; corner < SPEC_STEP_COST_CORNERS; corner++) {
        double at;
        SPEC_TRY(predict(&at, NULL, of, cost, draft_cost, corner, error));
        *ret_low = fmin(*ret_low, at);
        *ret_high = fmax(*ret_high, at);
    }
done:
    return status;
}

/* Reads "K/emitted/measured" of another length; without a text its K is 0. */
static int read_other(setup *ret_of, double *ret_measured, const char *text, spec_error *error)
{
    char more;
    ret_of->K = 0;
    if (text[0] == '\0') return GSL_SUCCESS;
    if (sscanf(text, "%d/%lf/%lf%c", &ret_of->K, &ret_of->emitted, ret_measured, &more) != 3 ||
        ret_of->K < 1 || ret_of->K > SPEC_K_MAX || !(ret_of->emitted >= 1.0) ||
        !(*ret_measured > 0.0) || !isfinite(ret_of->emitted / *ret_measured))
        return spec_fail(error, GSL_EINVAL,
                         "other must be K/tokens per round/speed-up, such as "
                         "3/2.29/1.65, got \"%s\"",
                         text);
    return GSL_SUCCESS;
}

static void fill(spec_table *table, const char *name, double speedup, double measured)
{
    char column[64];
    spec_table_number(table, name, speedup);
    snprintf(column, sizeof column, "%s_error", name);
    spec_table_number(table, column, speedup / measured - 1.0);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const char *cost = spec_point_text(point, measure, "cost"),
               *draft_cost = spec_point_text(point, measure, "draft_cost"),
               *plain_text = spec_point_text(point, measure, "plain_ms"),
               *other_text = spec_point_text(point, measure, "other");
    spec_step_cost *checked = NULL;
    char fitted[SPEC_SIZE];
    setup of, other;
    double measured, other_measured, plain_ms, speedup, plain, low, high;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&of.emitted, point, measure, "emitted", 1.0, 1e3, error));
    SPEC_TRY(spec_point_int(&of.K, point, measure, "K", 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&of.batch, point, measure, "batch", 1, 1 << 20, error));
    SPEC_TRY(spec_point_int(&of.context, point, measure, "context", 0, 1 << 30, error));
    SPEC_TRY(read_other(&other, &other_measured, other_text, error));
    SPEC_TRY(spec_point_double(&measured, point, measure, "measured", 1e-6, 1e6, error));
    SPEC_TRY(spec_point_step_cost(&checked, point, measure, error));
    if (plain_text[0] != '\0')
        SPEC_TRY(spec_point_double(&plain_ms, point, measure, "plain_ms", 1e-6, 1e9, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(predict(&speedup, &plain, &of, cost, draft_cost, -1, error));
    SPEC_TRY(range(&low, &high, &of, cost, draft_cost, error));
    spec_table_number(table, "predicted_plain_ms", 1e3 * plain);
    fill(table, "predicted", speedup, measured);
    spec_table_number(table, "predicted_low", low);
    spec_table_number(table, "predicted_high", high);
    if (plain_text[0] == '\0') goto done;
    /* The measured time is for the batch at its context. The time of a pass of one token follows
     * from the difference, in which the overhead cancels. */
    const setup one = {.emitted = 1.0, .K = 1, .batch = 1};
    double single;
    SPEC_TRY(predict(&speedup, &single, &one, cost, draft_cost, -1, error));
    snprintf(fitted, sizeof fitted, "%s,plain=%.17gs", cost, 1e-3 * plain_ms - (plain - single));
    SPEC_TRY(spec_point_blame(predict(&speedup, NULL, &of, fitted, draft_cost, -1, error),
                              "plain_ms", error));
    SPEC_TRY(range(&low, &high, &of, fitted, draft_cost, error));
    fill(table, "fitted", speedup, measured);
    spec_table_number(table, "fitted_low", low);
    spec_table_number(table, "fitted_high", high);
    if (other.K == 0) goto done;
    other.batch = of.batch, other.context = of.context;
    SPEC_TRY(predict_from(&speedup, &of, &other, other_measured, fitted, draft_cost, error));
    fill(table, "from_other", speedup, measured);
done:
    spec_step_cost_free(checked);
    return status;
}

static const char *const parameters[] = {
    "cost",      "draft_cost", "emitted",   "K",      "batch=1",
    "context=0", "measured",   "plain_ms=", "other=", NULL};
static const char *const columns[] = {"predicted_plain_ms", "predicted",        "predicted_error",
                                      "predicted_low",      "predicted_high",   "fitted",
                                      "fitted_error",       "fitted_low",       "fitted_high",
                                      "from_other",         "from_other_error", NULL};
static const spec_headline headlines[] = {
    {.column = "fitted_error", .exact = true}, {.column = "predicted_error", .exact = true}, {0}};

const spec_measure spec_measure_serve_published = {
    .name = "serve_published",
    .summary =
        "a published speed-up compared with predictions from step costs: from a card's data "
        "sheet, from the measured time of plain decoding, and from the speed-up of another K",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
