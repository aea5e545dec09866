/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/power_check.h"

#include "analysis/alpha.h"
#include "base/parallel.h"
#include "base/stop_flag.h"
#include "speclab/no_memory.h"
#include "tools/validate/validate_report.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Small fixtures, since there are many runs. In the first group a state has several possible
 * corrections, so that a bias can move mass in both directions at every place. Then come chains,
 * trees and texts of other kinds. */
static const char *const usual_fixtures[] = {
    "heavy-draft-4",  "anti-aligned-8", "batch-64",        "draft-zeros-8",  "fixed-4",
    "fixed-zeros-8",  "light-tail-32",  "llm-64",          "near-uniform-8", "one-hot-draft-4",
    "target-zeros-8", "cold-8",         "top-p-16",        "joint-16",       "everything-32",
    "blind-zeros-8",

    "plain-4",        "two-2",          "zipf-16",         "pair-iid-4",     "binary-without-4",
    "text-5-3",       NULL};

#define CONFIDENCE 0.95

/* ---- one run --------------------------------------------------------------------------------- */

/* Stops an endless run after a number of draws. */
typedef struct {
    volatile sig_atomic_t stop;
    uint64_t draws;
} limit;

static void stop_at_limit(void *self, const spec_validation *so_far, int stage)
{
    limit *l = self;
    uint64_t asked = 0;
    (void)stage;
    for (int i = 0; i < so_far->n_results; i++) asked += so_far->result[i].asked;
    if (asked >= l->draws) l->stop = 1;
}

static int validate(spec_validation *ret, const char *subject, const char *fixture, uint32_t scope,
                    const spec_validate_plan *plan, const char *what, spec_error *error)
{
    spec_validate_plan one = *plan;
    const char *const only[] = {fixture, NULL};
    limit l = {.stop = 0, .draws = plan->draws};
    one.opt_only = only;
    one.scopes = scope;
    one.seed = spec_rng_named_seed(plan->seed, what);
    one.opt_pool = NULL;
    one.hints = false;
    one.progress = NULL;
    one.stage = NULL;
    if (plan->endless) {
        one.stage = stop_at_limit;
        one.self = &l;
        one.limits.opt_stop = &l.stop;
    }
    return spec_validate(ret, subject, &one, error);
}

static void name_line(char text[128], const spec_power_check_line *line)
{
    snprintf(text, 128, "%s?state=%d&tv=%.17g&direction=%s", spec_place_names[line->bias.place],
             line->bias.state, line->bias.tv, spec_bias_directions[line->bias.direction]);
}

static int run_once(bool *ret_found, const spec_power_check_line *line, int run,
                    const spec_validate_plan *plan, spec_error *error)
{
    spec_validation v;
    char subject[160], name[128], seed[320];
    name_line(name, line);
    snprintf(subject, sizeof subject, "biased:%s", name);
    snprintf(seed, sizeof seed, "power %s/%s/%s %d", line->kind->name,
             spec_validate_report_scope(line->scope), name, run);
    const int status = validate(&v, subject, line->kind->name, line->scope, plan, seed, error);
    if (status != GSL_SUCCESS) return status;
    *ret_found = v.verdict == SPEC_VERDICT_FAIL;
    spec_validation_free(&v);
    return status;
}

/* ---- differences to find --------------------------------------------------------------------- */

static bool can_be_moved(const spec_power_check_line *line)
{
    spec_fixture fixture;
    spec_bias bias;
    if (spec_fixture_open(&fixture, line->kind, NULL) != GSL_SUCCESS) return false;
    const bool can = spec_bias_init(&bias, &fixture, &line->bias, NULL) == GSL_SUCCESS;
    if (can) spec_bias_free(&bias);
    spec_fixture_close(&fixture);
    return can;
}

static int add_lines(spec_power_check_result *ret, const spec_validate_result *result, int runs)
{
    spec_power_check_line *line =
        realloc(ret->line, (size_t)(ret->n + SPEC_PLACES * SPEC_BIAS_DIRECTIONS) * sizeof *line);
    if (line == NULL) return GSL_ENOMEM;
    ret->line = line;
    for (spec_place place = 0; place < SPEC_PLACES; place++)
        for (int direction = 0; direction < SPEC_BIAS_DIRECTIONS; direction++) {
            const spec_detectable *d = &result->detectable[place];
            if (!(d->tv < 1.0)) continue;
            line = &ret->line[ret->n++];
            *line = (spec_power_check_line){
                .kind = result->kind,
                .scope = result->scope,
                .high = 1.0,
                .bias = {place, d->state, d->tv, (spec_bias_direction)direction}};
            line->runs = can_be_moved(line) ? runs : 0;
        }
    return GSL_SUCCESS;
}

/* Adds the lines of a fixture from the report of an exact sampler in a scope; adds none if the
 * fixture does not suit the scope. */
static int add_fixture(spec_power_check_result *ret, const char *fixture, uint32_t scope, int runs,
                       const spec_validate_plan *plan, spec_error *error)
{
    spec_validation v;
    int status = validate(&v, "biased:none", fixture, scope, plan, "exact", error);
    if (status != GSL_SUCCESS) return status;
    for (int i = 0; i < v.n_results && status == GSL_SUCCESS; i++)
        if (v.result[i].skipped == NULL) status = add_lines(ret, &v.result[i], runs);
    spec_validation_free(&v);
    return status == GSL_SUCCESS ? status : spec_no_memory(error);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_stopped(const spec_validate_plan *plan)
{
    return spec_stop_is_set(plan->limits.opt_stop);
}

typedef struct {
    spec_power_check_result *ret;
    const spec_validate_plan *plan;
    int runs;
    pthread_mutex_t lock; /* protects the fields below, and the counts of lines */
    int status, done, all;
    spec_error *error;
} job;

static void run_one(void *self, uint64_t i, int worker)
{
    job *j = self;
    const uint64_t runs = (uint64_t)j->runs;
    spec_power_check_line *line = &j->ret->line[i / runs];
    spec_error own = {{0}};
    bool found = false;
    (void)worker;
    pthread_mutex_lock(&j->lock);
    const bool needed = j->status == GSL_SUCCESS && line->runs > 0 && !is_stopped(j->plan);
    pthread_mutex_unlock(&j->lock);
    if (!needed) return;
    const int status = run_once(&found, line, (int)(i % runs), j->plan, &own);
    const bool cut = (status != GSL_SUCCESS || j->plan->endless) && is_stopped(j->plan);
    pthread_mutex_lock(&j->lock);
    if (status != GSL_SUCCESS && !cut && j->status == GSL_SUCCESS) {
        if (j->error != NULL) *j->error = own;
        j->status = status;
    }
    line->found += found && !cut;
    line->ended += !cut;
    j->done += !cut;
    if (j->plan->progress != NULL)
        j->plan->progress(j->plan->self, "runs", (uint64_t)j->done, (uint64_t)j->all, 0.0);
    pthread_mutex_unlock(&j->lock);
}

static int run_all(spec_power_check_result *ret, int runs, const spec_validate_plan *plan,
                   spec_error *error)
{
    job j = {
        .ret = ret, .plan = plan, .runs = runs, .lock = PTHREAD_MUTEX_INITIALIZER, .error = error};
    for (int i = 0; i < ret->n; i++) j.all += ret->line[i].runs;
    spec_parallel_run(plan->opt_pool, run_one, &j, (uint64_t)ret->n * (uint64_t)runs,
                      spec_thread_pool_size(plan->opt_pool));
    ret->done = j.done;
    ret->all = j.all;
    return j.done == 0 && is_stopped(plan) ? spec_fail(error, GSL_EFAILED, "interrupted")
                                           : j.status;
}

/* After a stop, drops the lines without a finished run, and counts only finished runs. */
static void keep_ended(spec_power_check_result *result)
{
    int n = 0;
    for (int i = 0; i < result->n; i++) {
        spec_power_check_line *line = &result->line[i];
        if (line->ended == 0) continue;
        line->runs = line->ended;
        result->line[n++] = *line;
    }
    result->n = n;
}

int spec_power_check_short(const spec_power_check_line *line, int n, double power)
{
    int judged = 0, n_short = 0;
    for (int i = 0; i < n; i++) judged += line[i].runs > 0;
    for (int i = 0; i < n; i++) {
        double low, high;
        if (line[i].runs == 0) continue;
        spec_alpha_clopper_pearson_interval(&low, &high, (uint64_t)line[i].found,
                                            (uint64_t)line[i].runs, (1.0 - CONFIDENCE) / judged);
        n_short += high < power;
    }
    return n_short;
}

int spec_power_check(spec_power_check_result *ret, int runs, const spec_validate_plan *plan,
                     spec_error *error)
{
    const char *const *fixture =
        plan->opt_only != NULL ? plan->opt_only : usual_fixtures;
    int status = GSL_SUCCESS;
    *ret = (spec_power_check_result){.n = 0};
    for (; *fixture != NULL; fixture++) {
        const spec_fixture_kind *kind;
        SPEC_TRY(spec_fixture_find(&kind, *fixture, error));
        for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1)
            if (kind->scopes & scope && (plan->scopes == 0 || plan->scopes & scope))
                SPEC_TRY(add_fixture(ret, *fixture, scope, runs, plan, error));
    }
    SPEC_TRY(run_all(ret, runs, plan, error));
    if (ret->done < ret->all) keep_ended(ret);
    for (int i = 0; i < ret->n; i++) {
        spec_power_check_line *line = &ret->line[i];
        if (line->runs == 0) continue;
        spec_alpha_clopper_pearson_interval(&line->low, &line->high, (uint64_t)line->found,
                                            (uint64_t)line->runs, 1.0 - CONFIDENCE);
    }
    ret->n_short = spec_power_check_short(ret->line, ret->n, plan->power);
done:
    if (status != GSL_SUCCESS) spec_power_check_free(ret);
    return status;
}

void spec_power_check_free(spec_power_check_result *result)
{
    free(result->line);
    *result = (spec_power_check_result){.n = 0};
}
