/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the intervals of `serve` contain the truth. We run its rows many times with different
 * seeds, each time as one user would. */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"
#include "tools/serve/serving_rows.h"

#include "analysis/statistics/moments.h"
#include "experiments/measures/coverage.h"
#include "sim/chance/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { REPETITIONS = 300, LONGER_MAX = 10000 };

/* ---- numbers of a row ------------------------------------------------------------------------ */

#define STATISTIC(name, value)                                                                     \
    static double name(const void *self, const spec_serving_sums *sums)                            \
    {                                                                                              \
        (void)self;                                                                                \
        return value;                                                                              \
    }
STATISTIC(latency, sums->latency / (double)sums->requests)
STATISTIC(batch, sums->batch / (double)sums->steps)
STATISTIC(step, sums->step / (double)sums->steps)

enum { LATENCY, BATCH, STEP, NUMBERS };
static spec_replications_statistic *const statistics[NUMBERS] = {latency, batch, step};
static const char *const names[NUMBERS] = {"latency", "batch", "step"};

/* The speed-up with its interval, and the numbers whose z is tested. */
typedef struct {
    bool counts;
    spec_block_interval speedup;
    spec_estimate number[NUMBERS];
    double speedup_theory, theory[NUMBERS]; /* NaN if no theorem gives it */
} answer;

typedef struct {
    spec_serving_question *question;
    spec_serving_rows *rows;
    const spec_point *point;
    int way; /* the method that is compared with plain decoding */
} asker;

/* Computes the answer of `serve` in run `number`, with `longer` times as many requests. */
static int ask(answer *ret, asker *a, uint64_t longer, uint64_t number, spec_error *error)
{
    spec_point own = *a->point;
    const uint64_t measured = a->question->measured;
    char name[32];
    snprintf(name, sizeof name, "run %" PRIu64, number);
    own.seed = spec_rng_named_seed(own.seed, name);
    own.opt_listener = NULL;
    a->question->measured = measured * longer;
    const int status = spec_serving_rows_run(a->rows, a->question, &own, error);
    a->question->measured = measured;
    if (status == GSL_SUCCESS) {
        const spec_serving_row *row = &a->rows->row[a->way],
                               *plain = &a->rows->row[a->question->choices.plain];
        const spec_serving_theory *theory = &row->theory;
        *ret = (answer){.counts = spec_serving_row_counts(row) && spec_serving_row_counts(plain),
                        .speedup = row->paired.speedup,
                        .speedup_theory = plain->theory.latency / theory->latency,
                        .theory = {theory->latency, theory->batch, theory->step}};
        for (int k = 0; k < NUMBERS && ret->counts; k++)
            ret->number[k] = spec_replications_estimate(&row->runs, statistics[k], NULL);
    }
    spec_serving_rows_free(a->rows);
    return status;
}

/* ---- coverage -------------------------------------------------------------------------------- */

typedef struct {
    uint64_t n, held, below, above, refused;
    spec_moments speedup, half_width, z[NUMBERS];
} tally;

static void add(tally *t, const answer *of, const answer *truth)
{
    if (!of->counts) {
        t->refused++;
        return;
    }
    t->n++;
    t->below += of->speedup.high < truth->speedup.value;
    t->above += of->speedup.low > truth->speedup.value;
    t->held += of->speedup.low <= truth->speedup.value && truth->speedup.value <= of->speedup.high;
    spec_moments_add(&t->speedup, of->speedup.value);
    spec_moments_add(&t->half_width, 0.5 * (of->speedup.high - of->speedup.low));
    for (int k = 0; k < NUMBERS; k++)
        spec_moments_add(&t->z[k], spec_moments_z(of->number[k].mean, truth->number[k].mean,
                                                  hypot(of->number[k].se, truth->number[k].se),
                                                  of->number[k].df));
}

/* Fills in the row. If `needs` is not 0, it is the number of requests that the intervals would
 * need, and the row is not checked. */
static void fill(spec_table *table, const tally *t, const answer *truth, uint64_t needs)
{
    const double n = (double)t->n, held = (double)t->held / n;
    spec_table_number(table, "speedup_true", truth->speedup.value);
    spec_table_number(table, "speedup_true_se", truth->speedup.se);
    spec_table_number(table, "held", held);
    if (needs > 0)
        spec_table_integer(table, "needs", (long long)needs);
    else
        spec_table_number(table, "held_z",
                          spec_coverage_z_between(held, SPEC_COVERAGE_LOW, 1.0, n));
    spec_table_number(table, "below", (double)t->below / n);
    spec_table_number(table, "above", (double)t->above / n);
    spec_table_number(table, "refused", (double)t->refused / (double)(t->n + t->refused));
    spec_table_number(table, "speedup", t->speedup.mean);
    spec_table_number(table, "speedup_se", spec_moments_standard_error(&t->speedup));
    spec_table_number(table, "half_width", t->half_width.mean);
    for (int k = 0; k < NUMBERS; k++) {
        char column[32];
        snprintf(column, sizeof column, "%s_mean_z", names[k]);
        spec_table_number(table, column, t->z[k].mean * sqrt(n));
        snprintf(column, sizeof column, "%s_sd", names[k]);
        spec_table_number(table, column, sqrt(spec_moments_variance(&t->z[k])));
    }
}

/* Finds the truth: from theory if it gives everything, else from a longer run. */
static int find_truth(answer *ret, asker *a, uint64_t longer, spec_error *error)
{
    const int status = ask(ret, a, longer, UINT64_MAX, error);
    if (status != GSL_SUCCESS) return status;
    if (!ret->counts)
        return spec_fail(error, GSL_EINVAL,
                         "longer: a run with %llu times the requests has no result either",
                         (unsigned long long)longer);
    if (!isnan(ret->speedup_theory))
        ret->speedup = (spec_block_interval){.value = ret->speedup_theory};
    for (int k = 0; k < NUMBERS; k++)
        if (!isnan(ret->theory[k])) ret->number[k] = (spec_estimate){.mean = ret->theory[k]};
    return GSL_SUCCESS;
}

static int read_question(asker *a, int *ret_longer, const spec_point *point,
                         const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(ret_longer, point, measure, "longer", 1, LONGER_MAX, error));
    SPEC_TRY(spec_serving_question_init(a->question, point, measure, error));
    const spec_serving_choices *choices = &a->question->choices;
    for (int i = 0; i < choices->n; i++)
        if (i != choices->plain) a->way = i;
    if (choices->n != 2)
        status = spec_fail(error, GSL_EINVAL, "K: give one draft length, at least 1");
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const uint64_t n = point->rounds > 0 ? point->rounds : REPETITIONS;
    int longer, status = GSL_SUCCESS;
    answer truth, one;
    tally t = {0};
    asker a = {.question = calloc(1, sizeof *a.question),
               .rows = calloc(1, sizeof *a.rows),
               .point = point};
    if (a.question == NULL || a.rows == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(read_question(&a, &longer, point, measure, error));
    SPEC_TRY(find_truth(&truth, &a, (uint64_t)longer, error));
    for (uint64_t i = 0; i < n; i++) {
        SPEC_TRY(ask(&one, &a, 1, i, error));
        add(&t, &one, &truth);
        spec_listener_tell(point->opt_listener, (double)(i + 1) / (double)n);
    }
    fill(table, &t, &truth, a.question->measured < a.question->enough ? a.question->enough : 0);
done:
    if (a.question != NULL) spec_serving_question_free(a.question);
    free(a.question);
    free(a.rows);
    return status;
}

static const char *const parameters[] = {SPEC_SERVING_QUESTION_PARAMETERS, "longer=400", NULL};
static const char *const columns[] = {
    "held",       "needs",        "speedup",  "speedup_se",  "speedup_true", "speedup_true_se",
    "half_width", "below",        "above",    "refused",     "held_z",       "latency_mean_z",
    "latency_sd", "batch_mean_z", "batch_sd", "step_mean_z", "step_sd",      NULL};
static const spec_headline headlines[] = {
    {.column = "held"}, {.column = "speedup"}, {.column = "speedup_true"}, {0}};
static const char *const checked[] = {"held_z", NULL};

const spec_measure spec_measure_serve_coverage = {
    .name = "serve_coverage",
    .summary = "how often the 95 % intervals of speed-ups that serve prints contain the true value",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .run = run,
};
