/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/self_test.h"

#include "base/parallel.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* SMALLER: samplers that need not be found get 1/SMALLER of the draws. COSTLY: a mistake that takes
 * more than 1/COSTLY of them is tried only once. */
enum { RUNS_MOST = 99, SMALLER = 16, COSTLY = 8 };

static bool is_named(const spec_self_test_plan *plan, const char *name)
{
    for (int i = 0; plan->opt_only != NULL && plan->opt_only[i] != NULL; i++)
        if (strcmp(plan->opt_only[i], name) == 0) return true;
    return plan->opt_only == NULL;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_stopped(const spec_self_test_plan *plan)
{
    return spec_stop_is_set(plan->opt_stop);
}

/* Returns whether it must be found. If not, one small run suffices. */
static bool is_sought(const spec_mutant *mutant)
{
    return mutant->kind != SPEC_MUTANT_EXACT && mutant->kind != SPEC_MUTANT_SMALL;
}

static bool is_right(const spec_self_test_line *line)
{
    switch (line->mutant->kind) {
    case SPEC_MUTANT_SMALL: return true;
    case SPEC_MUTANT_EXACT: return line->n_found == 0;
    default: return line->n_found == line->runs;
    }
}

static int run_once(spec_self_test_line *line, double *ret_draws, const spec_self_test_plan *plan,
                    int run, spec_error *error)
{
    const spec_mutant_kind kind = line->mutant->kind;
    spec_validate_plan how = SPEC_VALIDATE_PLAN_DEFAULT;
    spec_validation v;
    char spec[96];
    snprintf(spec, sizeof spec, "mutant:%s", line->mutant->name);
    how.draws = is_sought(line->mutant) ? plan->draws : plan->draws / SMALLER;
    how.hints = run == 0;
    how.limits.opt_stop = plan->opt_stop;
    how.seed = spec_rng_named_seed(plan->seed + (uint64_t)run, spec);
    const int status = spec_validate(&v, spec, &how, error);
    if (status != GSL_SUCCESS) return status;
    *ret_draws = INFINITY;
    if (run == 0) {
        line->failed = v.verdict == SPEC_VERDICT_FAIL;
        line->hint = v.n_hints > 0 ? v.hint[0].name : NULL;
        for (int k = v.n_hints; k-- > 0;)
            if (strcmp(v.hint[k].name, line->mutant->name) != 0) line->other_hint = v.hint[k].name;
        for (int k = 0; k < v.n_needed; k++) {
            const size_t used = strlen(line->needed);
            snprintf(line->needed + used, sizeof line->needed - used, "%s%s", used > 0 ? "; " : "",
                     v.needed[k]);
        }
    }
    if (v.verdict == (kind == SPEC_MUTANT_LOSSY ? SPEC_VERDICT_LOSSY : SPEC_VERDICT_FAIL)) {
        line->n_found++;
        *ret_draws = (double)v.draws;
        if (line->fixture == NULL) {
            const bool one = v.reproducer.kind != NULL;
            line->kind = v.reproducer.kind;
            line->fixture = one ? v.reproducer.kind->name : "all together";
            line->test = one ? v.reproducer.test : v.together;
        }
    }
    spec_validation_free(&v);
    return status;
}

static int run_line(spec_self_test_line *line, const spec_self_test_plan *plan, spec_error *error)
{
    double draws[RUNS_MOST];
    int status = GSL_SUCCESS;
    const bool once = !is_sought(line->mutant) || line->mutant->hooks.applies != NULL;
    const int most = once ? 1 : plan->runs < RUNS_MOST ? plan->runs : RUNS_MOST;
    bool costs = false;
    while (line->runs < most && !costs) {
        double *run = &draws[line->runs];
        SPEC_TRY(run_once(line, run, plan, line->runs, error));
        costs = *run > (double)plan->draws / COSTLY;
        line->runs++;
    }
    qsort(draws, (size_t)line->runs, sizeof *draws, by_size);
    line->draws = isinf(draws[line->runs / 2]) ? NAN : draws[line->runs / 2];
    line->ok = is_right(line);
done:
    return status;
}

typedef struct {
    spec_self_test_result *result;
    const spec_self_test_plan *plan;
    pthread_mutex_t lock; /* protects the fields below */
    int done, status;
    spec_error *error;
} job;

/* Validates a mutant, and measures how far off it is. */
static int try_line(spec_self_test_line *line, const spec_self_test_plan *plan, spec_error *error)
{
    const int status = run_line(line, plan, error);
    if (status != GSL_SUCCESS || plan->distance_draws == 0 ||
        line->mutant->kind == SPEC_MUTANT_EXACT)
        return status;
    return spec_mutants_worst(&line->worst, line->mutant, line->kind, plan->distance_draws,
                              plan->seed, plan->opt_stop, error);
}

static void try_one(void *self, uint64_t i, int worker)
{
    job *j = self;
    const spec_self_test_plan *plan = j->plan;
    spec_self_test_line *line = &j->result->line[i];
    spec_error error = {{0}};
    (void)worker;
    if (is_stopped(plan)) return;
    const int status = try_line(line, plan, &error);
    if (is_stopped(plan)) return;
    pthread_mutex_lock(&j->lock);
    line->whole = status == GSL_SUCCESS;
    if (status != GSL_SUCCESS) {
        j->status = status;
        *j->error = error;
    }
    j->done++;
    if (plan->progress != NULL)
        plan->progress(plan->self, line->mutant->name, j->done, j->result->all);
    pthread_mutex_unlock(&j->lock);
}

/* Keeps the lines that ran to the end, and counts them. */
static void keep_whole(spec_self_test_result *ret)
{
    for (int i = 0; i < ret->all; i++) {
        const spec_self_test_line *line = &ret->line[i];
        if (!line->whole) continue;
        const bool right = line->hint != NULL && strcmp(line->hint, line->mutant->name) == 0;
        ret->n_wrong += !line->ok;
        ret->n_failed += line->failed;
        ret->n_hinted += right;
        ret->n_misled += line->hint != NULL && !right;
        ret->n_other += line->other_hint != NULL;
        ret->line[ret->n++] = *line;
    }
}

int spec_self_test(spec_self_test_result *ret, const spec_self_test_plan *plan, spec_error *error)
{
    int all = 0, status = GSL_SUCCESS;
    *ret = (spec_self_test_result){.line = NULL};
    for (int i = 0; plan->opt_only != NULL && plan->opt_only[i] != NULL; i++) {
        const spec_mutant *mutant;
        SPEC_TRY(spec_mutants_find(&mutant, plan->opt_only[i], error));
    }
    while (spec_mutants_at(all) != NULL) all++;
    ret->line = calloc((size_t)all, sizeof *ret->line);
    if (ret->line == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (int i = 0; i < all; i++)
        if (is_named(plan, spec_mutants_at(i)->name))
            ret->line[ret->all++].mutant = spec_mutants_at(i);
    job j = {.result = ret, .plan = plan, .lock = PTHREAD_MUTEX_INITIALIZER, .error = error};
    spec_parallel_run(plan->opt_pool, try_one, &j, (uint64_t)ret->all,
                      spec_thread_pool_size(plan->opt_pool));
    SPEC_TRY(j.status);
    keep_whole(ret);
done:
    if (status != GSL_SUCCESS) spec_self_test_free(ret);
    return status;
}

void spec_self_test_free(spec_self_test_result *result)
{
    free(result->line);
    *result = (spec_self_test_result){.line = NULL};
}

const char *spec_self_test_outcome(const spec_self_test_line *line)
{
    switch (line->mutant->kind) {
    case SPEC_MUTANT_EXACT: return line->ok ? "passes" : "FALSE ALARM";
    case SPEC_MUTANT_LOSSY: return line->ok ? "lossy" : "NOT CALLED LOSSY";
    case SPEC_MUTANT_SMALL: return line->n_found > 0 ? "found" : "too small";
    default: return line->ok ? "found" : "MISSED";
    }
}
