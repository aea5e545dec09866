/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tests of a trace: they turn its counts and bets into e-values, p-values and power. */
#include "tools/validate/traces/trace_counts.h"

#include "analysis/statistics/evalue.h"
#include "analysis/statistics/goodness.h"
#include "analysis/statistics/power.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { PRIORS = 3, MIN_EXPECTED = 5, MIN_VARIANCE = 25 };
static const double priors[PRIORS] = {0.5, 20.0, 500.0}; /* draws per cell of Dirichlet bets */

static void find_tilt(spec_finding *ret, const spec_trace_evidence *e, int kind)
{
    const spec_trace_tilt *t = &e->tilt[kind];
    ret->n = t->n;
    ret->log_e = spec_evalue_mean(t->gain, SPEC_TRACE_STAKES);
    ret->seen = t->sum / t->n;
    ret->expected = 1.0;
}

static void find_sure(spec_finding *ret, const spec_trace_evidence *e, int setting)
{
    double log_e[SPEC_TRACE_SURE * SPEC_TRACE_STAKES];
    (void)setting;
    for (int j = 0; j < SPEC_TRACE_SURE * SPEC_TRACE_STAKES; j++)
        log_e[j] =
            e->tilt[SPEC_TRACE_TILT_SURE + j / SPEC_TRACE_STAKES].gain[j % SPEC_TRACE_STAKES];
    ret->n = e->tilt[SPEC_TRACE_TILT_SURE].n;
    ret->log_e = spec_evalue_mean(log_e, SPEC_TRACE_SURE * SPEC_TRACE_STAKES);
}

static void find_power(spec_finding *ret, const spec_trace_evidence *e, int setting)
{
    double log_e[2 * SPEC_TRACE_POWERS];
    (void)setting;
    for (int k = 0; k < 2 * SPEC_TRACE_POWERS; k++)
        log_e[k] = spec_trace_bet_log_capital(&e->power[k]);
    ret->n = (double)e->rows;
    ret->log_e = spec_evalue_mean(log_e, 2 * SPEC_TRACE_POWERS);
}

static void find_set(spec_finding *ret, const spec_trace_evidence *e, int set)
{
    const spec_trace_event *s = &e->event[set];
    ret->n = s->n;
    ret->log_e = spec_trace_event_log_e(s);
    ret->statistic = s->variance > 0.0 ? (s->hits - s->expected) / sqrt(s->variance) : 0.0;
    if (s->variance >= MIN_VARIANCE) ret->p = spec_goodness_normal_p(ret->statistic);
    ret->seen = s->hits / s->n;
    ret->expected = s->expected / s->n;
}

/* Tests tables of equally probable cells, row by row. Under the null hypothesis, the row of a token
 * is fixed before the token. */
static void find_table(spec_finding *ret, const uint64_t *count, int rows, int cells)
{
    static const uint64_t none[SPEC_TRACE_CELLS] = {0};
    double even[SPEC_TRACE_CELLS], log_e[PRIORS] = {0.0};
    ret->statistic = ret->df = 0.0;
    for (int c = 0; c < cells; c++) even[c] = 1.0 / cells;
    for (int r = 0; r < rows; r++) {
        const uint64_t *row = count + (size_t)r * (size_t)cells;
        spec_goodness g;
        for (int c = 0; c < cells; c++) ret->n += (double)row[c];
        for (int w = 0; w < PRIORS; w++)
            log_e[w] += spec_evalue_dirichlet(row, none, even, cells, priors[w] * cells);
        if (spec_goodness_g(&g, row, even, (size_t)cells, MIN_EXPECTED, 0) != GSL_SUCCESS) continue;
        ret->statistic += g.statistic;
        ret->df += g.df;
    }
    ret->log_e = spec_evalue_mean(log_e, PRIORS);
    ret->p = ret->df > 0.0 ? gsl_cdf_chisq_Q(ret->statistic, ret->df) : NAN;
}

static void find_pit(spec_finding *ret, const spec_trace_evidence *e, int kind)
{
    find_table(ret, e->pit[kind], 1, SPEC_TRACE_CELLS);
    if (kind == SPEC_TRACE_PIT_DRAFTED || kind == SPEC_TRACE_PIT_COIN) ret->log_e = NAN;
}

static void find_lag(spec_finding *ret, const spec_trace_evidence *e, int kind)
{
    find_table(ret, e->lag[kind][0], SPEC_TRACE_LAG_CELLS, SPEC_TRACE_LAG_CELLS);
}

static void find_rounds(spec_finding *ret, const spec_trace_evidence *e, int setting)
{
    (void)setting;
    find_table(ret, e->stratum[0], SPEC_TRACE_STRATA, SPEC_TRACE_STRATUM_CELLS);
}

const spec_trace_test spec_trace_tests[] = {
    {"draft-tilt",
     "ratios of draft to target: tokens that come from the draft untested, or resampled wrongly",
     find_tilt, SPEC_TRACE_TILT_DRAFT},
    {"flat-tilt",
     "log-probabilities against a uniform distribution: too many improbable "
     "tokens",
     find_tilt, SPEC_TRACE_TILT_FLAT},
    {"sure-tilt", "log-probabilities above 1/2, 1/3 and 1/5: too few improbable tokens", find_sure,
     0},
    {"temperature",
     "powers of the target's distribution: a temperature other than the "
     "row's",
     find_power, 0},
    {"draft-more", "tokens that the draft favours: drafts accepted too often, or no residual",
     find_set, SPEC_TRACE_SET_DRAFT_MORE},
    {"target-more", "tokens that the target favours: errors in the residual", find_set,
     SPEC_TRACE_SET_TARGET_MORE},
    {"target-mode", "the target's most probable token: argmax instead of a sample", find_set,
     SPEC_TRACE_SET_TARGET_MODE},
    {"draft-mode", "the draft's most probable token: drafts by argmax, verified as if sampled",
     find_set, SPEC_TRACE_SET_DRAFT_MODE},
    {"first-token", "token 0: where a search that finds nothing, or a bad cast, ends up", find_set,
     SPEC_TRACE_SET_FIRST},
    {"last-token", "the last token: where a cumulative sum that falls short ends up", find_set,
     SPEC_TRACE_SET_LAST},
    {"tail", "tokens a thousand times less probable than the first, or not among those logged",
     find_set, SPEC_TRACE_SET_TAIL},
    {"pit-id",
     "where tokens fall in the cumulative distribution, by id: rows of another position "
     "or request",
     find_pit, SPEC_TRACE_PIT_ID},
    {"pit-rank", "the same, the most probable first: errors of temperature and filters", find_pit,
     SPEC_TRACE_PIT_RANK},
    {"positions", "a token's quantile in its distribution, given that of the previous token",
     find_lag, SPEC_TRACE_LAG_ONE},
    {"positions-2", "the same, given that of the token two positions back", find_lag,
     SPEC_TRACE_LAG_TWO},
    {"coins", "the same, given that of another request's last token: shared random numbers",
     find_lag, SPEC_TRACE_LAG_REQUESTS},
    {"rounds", "the same, by its position in its round", find_rounds, 0},
    {"drafted",
     "first draft tokens of a round against the draft's row: drafts drawn from another "
     "distribution than the recorded one",
     find_pit, SPEC_TRACE_PIT_DRAFTED},
    {"coin", "the coins of the tests of drafts", find_pit, SPEC_TRACE_PIT_COIN},
    {NULL, NULL, NULL, 0},
};

int spec_trace_evidence_findings(spec_finding *ret, const spec_trace_evidence *e)
{
    int n = 0;
    for (const spec_trace_test *test = spec_trace_tests; test->name != NULL; test++) {
        ret[n] = (spec_finding){.name = test->name,
                                .log_e = NAN,
                                .statistic = NAN,
                                .df = NAN,
                                .p = NAN,
                                .seen = NAN,
                                .expected = NAN};
        test->finding(&ret[n], e, test->setting);
        if (ret[n].n > 0.0) n++; /* leaves out tests without data */
    }
    return n;
}

/* ---- power ----------------------------------------------------------------------------------- */

/* With a prior of W draws the log capital is about G/2 n/(n+W) - df/2 log(1 + n/W). G is the
 * likelihood ratio statistic, so each bet is a chi-square test at its own level. */
double spec_trace_evidence_detectable(const spec_trace_evidence *e, double log_needed, double power)
{
    const double n = (double)e->rows, df = SPEC_TRACE_CELLS - 1;
    double least = 1.0;
    if (!(n > 0.0)) return NAN;
    for (int w = 0; w < PRIORS; w++) {
        const double weight = priors[w] * SPEC_TRACE_CELLS;
        const double gain = log_needed + log(PRIORS) + 0.5 * df * log1p(n / weight);
        const double level = gsl_cdf_chisq_Q(2.0 * gain * (n + weight) / n, df);
        if (level > 0.0) least = fmin(least, spec_power_detectable(n, df, level, power));
    }
    return least;
}

double spec_trace_evidence_share(const spec_trace_evidence *e, double log_needed, double power)
{
    return spec_trace_tilt_share(&e->tilt[SPEC_TRACE_TILT_DRAFT], log_needed, power);
}
