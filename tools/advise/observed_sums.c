/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/observed_sums.h"

#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Counts of an observation ---------------------------------------------------------------- */

static const double COUNT_MAX = 0x1p53; /* larger counts are not exact */

__attribute__((format(printf, 3, 4))) static void broken(spec_counts_verdict *v, bool impossible,
                                                         const char *format, ...)
{
    va_list args;
    v->impossible |= impossible;
    if (v->broken) return;
    v->broken = true;
    va_start(args, format);
    vsnprintf(v->text, sizeof v->text, format, args);
    va_end(args);
}

static bool is_whole(double x)
{
    return x == floor(x);
}

/* Checks that counts are NaN or in 0..2^53, and that K and depths are within the arrays. */
static void check_ranges(spec_counts_verdict *v, const spec_observation *o)
{
    const struct {
        const char *name;
        double value;
    } counts[] = {{"rounds", o->rounds},     {"passes", o->passes},   {"drafted", o->drafted},
                  {"accepted", o->accepted}, {"emitted", o->emitted}, {"rounds", o->rounds_low},
                  {"rounds", o->rounds_high}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].value < 0.0 || counts[i].value > COUNT_MAX)
            broken(v, true, "%s is not a count: %g", counts[i].name, counts[i].value);
    if (o->K < -1 || o->K > SPEC_OBSERVED_DEPTHS)
        broken(v, true, "K is outside 0..%d: %d", SPEC_OBSERVED_DEPTHS, o->K);
    if (o->depths < 0 || o->depths > SPEC_OBSERVED_DEPTHS) {
        broken(v, true, "more than %d depths: %d", SPEC_OBSERVED_DEPTHS, o->depths);
        return;
    }
    for (int i = 0; i < o->depths; i++)
        if (!(o->passed[i] >= 0.0 && o->passed[i] <= COUNT_MAX))
            broken(v, true, "passed at depth %d is not a count: %g", i + 1, o->passed[i]);
}

static int draft_length(const spec_observation *o)
{
    if (o->K >= 0) return o->K;
    if (o->depths > 0 && !(o->drafted > o->rounds * o->depths)) return o->depths;
    const double K = o->drafted / o->rounds;
    return o->rounds > 0.0 && K >= 1.0 && K <= SPEC_OBSERVED_DEPTHS && is_whole(K) ? (int)K : -1;
}

/* Fills in what follows from other numbers. Numbers that do not follow stay NaN. */
static void complete(spec_observation *o, bool *ret_inexact)
{
    const bool depths_cover = o->depths > 0 && o->depths >= o->K;
    *ret_inexact = spec_observation_is_rounded(o);
    if (o->K == 0) {
        o->rounds = o->drafted = o->accepted = 0.0;
        if (isnan(o->passes)) o->passes = o->emitted;
        if (isnan(o->emitted)) o->emitted = o->passes;
        return;
    }
    if (isnan(o->accepted) && depths_cover) o->accepted = spec_observation_counts_passed(o);
    if (isnan(o->rounds)) {
        if (isnan(o->passes) && !(o->K > 0 && o->drafted >= 0.0) && o->emitted >= o->accepted)
            o->passes = o->emitted - o->accepted;
        if (o->drafted == 0.0) {
            o->rounds = 0.0;
        } else {
            *ret_inexact = true;
            /* Only the last draft of a request may be shorter. */
            const double rounds = o->drafted / o->K;
            o->rounds =
                o->K > 0 && o->drafted > 0.0
                    ? fmin(o->kind == SPEC_OBSERVED_REQUEST ? ceil(rounds) : rounds, o->passes)
                    : o->passes;
        }
    }
    if (isnan(o->passes)) o->passes = o->rounds;
    if (isnan(o->accepted)) o->accepted = o->drafted == 0.0 ? 0.0 : o->emitted - o->passes;
    if (isnan(o->drafted) && o->K > 0) o->drafted = o->rounds * o->K;
    if (isnan(o->emitted)) o->emitted = o->passes + o->accepted;
}

/* Checks identities between the counts that the source gives. */
static void check_given(spec_counts_verdict *v, const spec_observation *o, int K)
{
    const double passed = spec_observation_counts_passed(o), whole = o->rounds + o->accepted;
    if (K == 0 && o->drafted > 0.0)
        broken(v, true, "drafted tokens with a draft length of 0: %.0f", o->drafted);
    if (spec_observation_is_rounded(o)) return;
    if (o->depths > 0 && o->depths >= K && is_whole(passed) && passed < o->accepted)
        broken(v, false, "passed by depth sums to less than accepted: %.0f, not %.0f", passed,
               o->accepted);
    if (o->rounds > o->drafted)
        broken(v, false, "rounds exceed drafted: %.0f of %.0f", o->rounds, o->drafted);
    if (o->rounds > o->passes)
        broken(v, false, "rounds exceed passes: %.0f of %.0f", o->rounds, o->passes);
    /* The last round of a request may be cut at its end. We check requests only, because within a
     * window requests begin and end. */
    if (o->kind == SPEC_OBSERVED_REQUEST && isnan(o->passes) && is_whole(o->emitted) &&
        (o->emitted > whole + 1.0 || o->emitted < whole - (K > 0 ? K : 0)))
        broken(v, false, "emitted is not rounds + accepted: %.0f, not %.0f + %.0f", o->emitted,
               o->rounds, o->accepted);
}

/* Checks bounds that every run of every engine obeys, on completed counts. Rounded means allow a
 * range of rounds. */
static void check_possible(spec_counts_verdict *v, const spec_observation *o)
{
    const bool exact = !spec_observation_is_rounded(o);
    const double rounds = exact ? o->rounds : fmax(o->rounds, o->rounds_high);
    const double passed = spec_observation_counts_passed(o);
    if (o->accepted > o->drafted)
        broken(v, true, "accepted exceeds drafted: %.0f of %.0f", o->accepted, o->drafted);
    if (o->K > 0 && o->accepted > rounds * o->K * (1.0 + 1e-9))
        broken(v, true, "accepted exceeds K times rounds: %.0f of %d times %.0f", o->accepted, o->K,
               rounds);
    if (o->depths > 0 && o->passed[0] > rounds)
        broken(v, true, "passed at depth 1 exceeds rounds: %.0f of %.0f", o->passed[0], rounds);
    for (int i = 1; i < o->depths; i++)
        if (o->passed[i] > o->passed[i - 1])
            broken(v, true, "passed rises from depth %d to %d: %.0f after %.0f", i, i + 1,
                   o->passed[i], o->passed[i - 1]);
    if (exact && is_whole(passed) && passed > o->accepted)
        broken(v, true, "passed by depth sums to more than accepted: %.0f, not %.0f", passed,
               o->accepted);
}

static bool is_idle(const spec_observation *o)
{
    return !(o->rounds > 0.0 || o->passes > 0.0 || o->drafted > 0.0 || o->accepted > 0.0 ||
             o->emitted > 0.0);
}

double spec_observation_counts_passed(const spec_observation *o)
{
    double sum = 0.0;
    for (int i = 0; i < o->depths; i++) sum += o->passed[i];
    return sum;
}

spec_counts_verdict spec_observation_counts_complete(spec_observation *o)
{
    spec_counts_verdict v = {.broken = false};
    check_ranges(&v, o);
    if (v.broken) return v;
    o->K = draft_length(o);
    const bool idle = is_idle(o);
    check_given(&v, o, o->K);
    complete(o, &v.inexact);
    v.idle = idle || isnan(o->accepted) || o->accepted < 0.0;
    if (!v.idle) check_possible(&v, o);
    return v;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

int spec_observed_sums_batch(double running)
{
    int b = 1;
    if (!(running > 0.0) || isinf(running)) return 0;
    for (double top = 1.0; running > top && b < SPEC_SUM_BATCHES - 1; top *= 2.0) b++;
    return b;
}

/* ---- Series ---- */

/* Returns how many requests decode at a time. Steps give it exactly; a gauge is momentary, and the
 * mean over a window's time also counts idle time. */
static double running_of(const spec_observation *o)
{
    if (o->steps > 0.0 && o->passes > 0.0) return o->passes / o->steps;
    if (o->running > 0.0) return o->running;
    return o->kind == SPEC_OBSERVED_WINDOW ? o->busy / o->seconds : o->running;
}

static int find(spec_observed_series **ret, spec_observed_sums *sums, const spec_observation *o,
                spec_error *error)
{
    const int batch = spec_observed_sums_batch(o->running);
    for (size_t i = 0; i < sums->n; i++) {
        spec_observed_series *s = &sums->series[i];
        *ret = s;
        if (s->K == o->K && s->batch == batch && s->label == o->label && s->kind == o->kind)
            return GSL_SUCCESS;
    }
    if (sums->n == SPEC_SUM_SERIES)
        return spec_fail(error, GSL_EINVAL,
                         "more than %d sources, draft lengths and batches; give fewer files at a "
                         "time",
                         SPEC_SUM_SERIES);
    if (sums->n == sums->capacity) {
        const size_t capacity = sums->capacity > 0 ? 2 * sums->capacity : 8;
        spec_observed_series *series = realloc(sums->series, capacity * sizeof *series);
        if (series == NULL) return spec_no_memory(error);
        sums->series = series;
        sums->capacity = capacity;
    }
    *ret = &sums->series[sums->n++];
    **ret = (spec_observed_series){
        .K = o->K, .batch = batch, .label = o->label, .kind = o->kind, .each = 1};
    return GSL_SUCCESS;
}

static double *row(const spec_observed_series *s, size_t i)
{
    return s->column + i * SPEC_SUM_COLUMNS;
}

static void join_neighbours(spec_observed_series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (i % 2 == 0) memmove(row(s, i / 2), row(s, i), SPEC_SUM_COLUMNS * sizeof(double));
        for (int c = 0; c < SPEC_SUM_COLUMNS && i % 2 == 1; c++) row(s, i / 2)[c] += row(s, i)[c];
    }
    s->n = (s->n + 1) / 2;
    s->each *= 2;
}

static bool is_full(const spec_observed_sums *sums, const spec_observed_series *s)
{
    enum { FEW = 64 /* clusters that a series always keeps */ };
    size_t all = 0;
    if (s->n < FEW) return false;
    if (s->kind == SPEC_OBSERVED_WINDOW && s->n >= SPEC_SUM_CLUSTERS) return true;
    for (size_t i = 0; i < sums->n; i++) all += sums->series[i].n;
    return all >= SPEC_SUM_MOST;
}

/* Finds the cluster that the next observation belongs to. Arrays have n rows, rounded up to a power
 * of 2. */
static int cluster(double **ret, const spec_observed_sums *sums, spec_observed_series *s,
                   spec_error *error)
{
    if (s->observations == s->n * s->each) {
        if (is_full(sums, s)) join_neighbours(s);
    }
    if (s->observations == s->n * s->each) {
        if ((s->n & (s->n - 1)) == 0) {
            const size_t rows = s->n > 0 ? 2 * s->n : 1;
            double *column = realloc(s->column, rows * SPEC_SUM_COLUMNS * sizeof *column);
            if (column == NULL) return spec_no_memory(error);
            s->column = column;
        }
        memset(row(s, s->n), 0, SPEC_SUM_COLUMNS * sizeof(double));
        s->n++;
    }
    s->observations++;
    *ret = row(s, s->n - 1);
    return GSL_SUCCESS;
}

static void add(double *sum, double x)
{
    if (!isnan(x)) *sum += x;
}

static void add_all(double *c, spec_observed_series *s, const spec_observation *o, double order)
{
    const double known = isnan(o->rounds) ? 0.0 : o->rounds,
                 passed = spec_observation_counts_passed(o);
    const bool seconds = o->seconds > 0.0 && isfinite(o->seconds);
    /* A request has its seconds for itself; in a window, the running requests share them. */
    const double requests = o->kind == SPEC_OBSERVED_REQUEST ? 1.0 : o->running;
    const double own = seconds && requests > 0.0 ? requests * o->seconds : NAN;
    const double busy = isnan(o->busy) ? own : o->busy;
    c[SPEC_SUM_OBSERVATIONS] += 1.0;
    c[SPEC_SUM_ORDER] += order;
    add(&c[SPEC_SUM_ROUNDS], o->rounds);
    add(&c[SPEC_SUM_PASSES], o->passes);
    add(&c[SPEC_SUM_DRAFTED], o->drafted);
    add(&c[SPEC_SUM_ACCEPTED], o->accepted);
    add(&c[SPEC_SUM_EMITTED], o->emitted);
    if (seconds) c[SPEC_SUM_SECONDS] += o->seconds;
    if (busy > 0.0 && isfinite(busy)) {
        c[SPEC_SUM_BUSY] += busy;
        add(&c[SPEC_SUM_BUSY_EMITTED], o->emitted);
        add(&c[SPEC_SUM_BUSY_ROUNDS], o->passes);
        if (o->running > 0.0) c[SPEC_SUM_RUNNING] += o->running * busy;
    }
    /* If all accepted tokens are accounted for, depths after the last one given must be 0. */
    if (o->depths > 0 && known > 0.0 && (o->depths >= o->K || passed == o->accepted)) {
        if (o->depths > s->depths) s->depths = o->depths;
        c[SPEC_SUM_DEPTH_ROUNDS] += known;
        for (int i = 0; i < o->depths; i++) c[SPEC_SUM_PASSED + i] += fmin(o->passed[i], known);
    }
}

/* Finds the smallest possible K from the observation's own numbers, if it is larger than the
 * observation's. Some engines also count tokens accepted after the end of an output; these hide at
 * most TRIMMED rounds. */
static void find_least_K(spec_observed_sums *sums, const spec_observation *o)
{
    enum { TRIMMED = 8 };
    const double rounds = !isnan(o->rounds)    ? o->rounds
                          : !isnan(o->emitted) ? o->emitted - o->accepted + TRIMMED
                                               : o->passes;
    const double tokens = fmax(o->drafted, o->accepted), K = ceil(tokens / rounds);
    if (o->K == 0 || !(rounds > 0.0) || o->K >= K || !(K > sums->least_K)) return;
    sums->least_K = K;
    sums->least_K_tokens = tokens;
    sums->least_K_rounds = rounds;
}

static int take(void *self, const spec_observation *observation, spec_error *error)
{
    spec_observed_sums *sums = self;
    spec_observation o = *observation;
    spec_observed_series *series = NULL;
    double *columns = NULL;
    assert(o.kind != SPEC_OBSERVED_TOTAL);
    find_least_K(sums, &o);
    const spec_counts_verdict verdict = spec_observation_counts_complete(&o);
    if (verdict.idle) {
        sums->idle++;
        return GSL_SUCCESS;
    }
    if (verdict.broken) {
        if (sums->contradictions++ == 0) {
            sums->contradiction_line = o.line;
            memcpy(sums->contradiction, verdict.text, sizeof verdict.text);
        }
        sums->impossible += verdict.impossible;
        if (verdict.impossible) return GSL_SUCCESS;
    }
    o.running = running_of(&o);
    SPEC_PASS(find(&series, sums, &o, error));
    SPEC_PASS(cluster(&columns, sums, series, error));
    add_all(columns, series, &o, (double)sums->observations);
    spec_context_sums_add(sums->context, &o);
    if (sums->observations++ == 0) sums->printed_length = sums->printed_rate = NAN;
    sums->inexact += verdict.inexact;
    if (!isnan(o.printed_length)) sums->printed_length = o.printed_length;
    if (!isnan(o.printed_rate)) sums->printed_rate = o.printed_rate;
    return GSL_SUCCESS;
}

spec_observer spec_observed_sums_observer(spec_observed_sums *sums)
{
    return (spec_observer){take, sums};
}

void spec_observed_sums_free(spec_observed_sums *sums)
{
    for (size_t i = 0; i < sums->n; i++) free(sums->series[i].column);
    free(sums->series);
    *sums = (spec_observed_sums){0};
}
