/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of tests: e-values and p-values of the counts. */
#include "tools/validate/evidence/evidence_counts.h"

#include "analysis/statistics/evalue.h"
#include "analysis/statistics/goodness.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

enum { LEAST_VARIANCE = 5 };

const double spec_priors[SPEC_WEIGHTS] = {0.5, 20.0, 500.0, 10000.0};

/* ---- tables of counts ------------------------------------------------------------------------ */

/* Sums of the likelihood ratio statistics of independent tables, each with Williams' correction
 * [Williams76], which gives it the mean of chi-square. */
typedef struct {
    double statistic, df;
    bool impossible;
} g_sum;

static g_sum g_of(const uint64_t *count, const double *law, int n)
{
    spec_goodness g;
    g_sum sum = {0.0, 0.0, false};
    if (spec_goodness_g(&g, count, law, (size_t)n, SPEC_MIN_EXPECTED, 0) != GSL_SUCCESS ||
        g.df == 0) {
        sum.impossible = isinf(g.statistic);
        return sum;
    }
    sum.impossible = isinf(g.statistic);
    sum.df = g.df;
    sum.statistic = spec_goodness_williams(&g);
    return sum;
}

static double p_of(const g_sum *sum)
{
    return sum->impossible ? 0.0 : sum->df > 0.0 ? gsl_cdf_chisq_Q(sum->statistic, sum->df) : 1.0;
}

static void add_g(g_sum *sum, const g_sum *one)
{
    sum->impossible = sum->impossible || one->impossible;
    sum->statistic += one->statistic;
    sum->df += one->df;
}

static void set_g(spec_finding *ret, const g_sum *sum)
{
    ret->statistic = sum->statistic;
    ret->df = sum->df;
    ret->p = p_of(sum);
}

/* Adds the log capital of Dirichlet bets on a table, whatever the order of the tokens. */
static void add_dirichlet(double gain[SPEC_WEIGHTS], const uint64_t *count, const uint64_t *none,
                          const double *law, int n)
{
    for (int w = 0; w < SPEC_WEIGHTS; w++)
        gain[w] += spec_evalue_dirichlet(count, none, law, n, spec_priors[w] * n);
}

/* ---- tests ----------------------------------------------------------------------------------- */

typedef struct {
    const uint64_t *count;
    const double *law;
} table;

static table state_table(const spec_evidence *e, int state)
{
    const size_t at = (size_t)state * (size_t)e->fixture->vocab;
    return (table){e->tables.count + at, e->fixture->target_law + at};
}

/* One bet on all states together finds what is wrong everywhere. */
static void find_counts(spec_finding *ret, const spec_evidence *e, int setting)
{
    g_sum sum = {0.0, 0.0, false};
    (void)setting;
    ret->n_bets = SPEC_WEIGHTS;
    for (int s = 0; s < e->fixture->n_states; s++) {
        const table t = state_table(e, s);
        const g_sum one = g_of(t.count, t.law, e->fixture->vocab);
        add_g(&sum, &one);
        add_dirichlet(ret->gain, t.count, e->tables.none, t.law, e->fixture->vocab);
    }
    set_g(ret, &sum);
    ret->n = (double)e->tokens;
}

/* Bets on single states find what is wrong in one of them. The p-value is that of the smallest
 * p-value among independent tables that have counts. */
static void find_state(spec_finding *ret, const spec_evidence *e, int setting)
{
    const int states = e->fixture->n_states;
    int tables = 0;
    double least = 1.0, best[SPEC_WEIGHTS], sum[SPEC_WEIGHTS] = {0.0};
    (void)setting;
    ret->n_bets = SPEC_WEIGHTS;
    for (int w = 0; w < SPEC_WEIGHTS; w++) best[w] = -INFINITY;
    for (int s = 0; s < states; s++) {
        const table t = state_table(e, s);
        const g_sum one = g_of(t.count, t.law, e->fixture->vocab);
        double gain[SPEC_WEIGHTS] = {0.0};
        const double p = p_of(&one);
        tables += one.df > 0.0 || one.impossible;
        if (p < least || s == 0) {
            least = p;
            ret->statistic = one.statistic;
            ret->df = one.df;
        }
        add_dirichlet(gain, t.count, e->tables.none, t.law, e->fixture->vocab);
        for (int w = 0; w < SPEC_WEIGHTS; w++) { /* running log of a sum of exponentials */
            const double top = fmax(best[w], gain[w]);
            sum[w] = isinf(top) ? 1.0 : sum[w] * exp(best[w] - top) + exp(gain[w] - top);
            best[w] = top;
        }
    }
    for (int w = 0; w < SPEC_WEIGHTS; w++) ret->gain[w] = best[w] + log(sum[w] / states);
    ret->p = -expm1(tables * log1p(-least));
    ret->n = (double)e->tokens;
}

static bool has_pairs(const spec_evidence *e)
{
    return e->laws->pairs;
}

/* After a state and a token, the next state and its row are known. */
static void find_pairs(spec_finding *ret, const spec_evidence *e, int setting)
{
    const spec_fixture *f = e->fixture;
    const size_t V = (size_t)f->vocab;
    g_sum sum = {0.0, 0.0, false};
    (void)setting;
    ret->n_bets = SPEC_WEIGHTS;
    for (size_t cell = 0; cell < e->laws->cells; cell++) {
        const int next = spec_fixture_next(f, (int)(cell / V), (int)(cell % V));
        const uint64_t *count = e->tables.pair + cell * V;
        const double *law = f->target_law + (size_t)next * V;
        const g_sum one = g_of(count, law, f->vocab);
        add_g(&sum, &one);
        add_dirichlet(ret->gain, count, e->tables.none, law, f->vocab);
        for (size_t y = 0; y < V; y++) ret->n += (double)count[y];
    }
    set_g(ret, &sum);
}

static bool has_blocks(const spec_evidence *e)
{
    return e->laws->block > 0;
}

static void find_blocks(spec_finding *ret, const spec_evidence *e, int setting)
{
    g_sum sum = {0.0, 0.0, false};
    (void)setting;
    ret->n_bets = SPEC_WEIGHTS;
    for (int v = 0; v < e->fixture->variants; v++) {
        const size_t at = (size_t)v * e->laws->block_cells;
        const int cells = (int)e->laws->block_cells;
        const g_sum one = g_of(e->tables.block + at, e->laws->block_law + at, cells);
        add_g(&sum, &one);
        add_dirichlet(ret->gain, e->tables.block + at, e->tables.none, e->laws->block_law + at,
                      cells);
        for (int i = 0; i < cells; i++) ret->n += (double)e->tables.block[at + (size_t)i];
    }
    set_g(ret, &sum);
}

/* Returns a uniform number in [-1/2,1/2) for each test, independent of the data: smoothed counts
 * have uniform p-values. */
static double smoothing(const spec_evidence *e, const spec_finding *of)
{
    uint64_t x = e->salt;
    for (const char *c = of->name; *c != '\0'; c++) x = (x ^ (unsigned char)*c) * 0x100000001b3u;
    x ^= x >> 32;
    return (double)(x * 0x9e3779b97f4a7c15u >> 11) * 0x1p-53 - 0.5;
}

/* Rare events are not smoothed; p is then stochastically larger than uniform. */
static void set_events(spec_finding *ret, const spec_evidence *e, double n, double hits,
                       double expected, double variance, double third)
{
    const bool rare = variance < LEAST_VARIANCE;
    const double deviation = hits - expected;
    ret->n = n;
    if (n == 0.0) return;
    ret->statistic = variance > 0.0 ? (hits - expected) / sqrt(variance) : 0.0;
    ret->p = rare ? spec_goodness_sum_p(copysign(fmax(fabs(deviation) - 0.5, 0.0), deviation),
                                        variance, third)
                  : spec_goodness_sum_p(deviation + smoothing(e, ret), variance, third);
    if (rare) ret->df = 0.0;
    ret->seen = hits / n;
    ret->expected = expected / n;
}

/* Returns the stake for a score with this spread, limited so that the bet risks at most nine tenths
 * of its capital. */
static double bounded(double deviation, double spread, double least, double most)
{
    return fmax(-0.9 / most, fmin(-0.9 / least, deviation / spread));
}

static void find_set(spec_finding *ret, const spec_evidence *e, int set)
{
    const spec_fixture *f = e->fixture;
    double n = 0.0, all_hits = 0.0, expected = 0.0, variance = 0.0, third = 0.0;
    ret->n_bets = SPEC_LAMBDAS;
    for (int s = 0; s < f->n_states; s++) {
        const double mass = e->laws->set_mass[s][set], visits = (double)e->tables.visits[s],
                     spread = mass * (1.0 - mass);
        const size_t at = (size_t)s * (size_t)f->vocab;
        uint64_t hits = 0;
        if (!(spread > 0.0)) continue;
        for (int i = 0; i < f->vocab; i++)
            hits += e->laws->set[at + (size_t)i] >> set & 1 ? e->tables.count[at + (size_t)i] : 0;
        for (int j = 0; j < SPEC_LAMBDAS; j++)
            ret->gain[j] +=
                spec_evalue_event(hits, e->tables.visits[s], mass,
                                  bounded(spec_deviations[j], sqrt(spread), -mass, 1.0 - mass));
        n += visits;
        all_hits += (double)hits;
        expected += visits * mass;
        variance += visits * spread;
        third += visits * spread * (1.0 - 2.0 * mass);
    }
    set_events(ret, e, n, all_hits, expected, variance, third);
}

/* Tests the mean of the tilt, whose standard deviation is at most 1. */
static void find_tilt(spec_finding *ret, const spec_evidence *e, int setting)
{
    const spec_fixture *f = e->fixture;
    const size_t V = (size_t)f->vocab;
    double sum = 0.0, variance = 0.0, third = 0.0;
    (void)setting;
    ret->n_bets = SPEC_LAMBDAS;
    for (size_t cell = 0; cell < e->laws->cells; cell++) {
        const double tilt = e->laws->tilt[cell], n = (double)e->tables.count[cell];
        if (tilt == 0.0) continue;
        const double expected = (double)e->tables.visits[cell / V] * f->target_law[cell];
        variance += expected * tilt * tilt;
        third += expected * tilt * tilt * tilt;
        if (n == 0.0) continue;
        sum += n * tilt;
        ret->n += n;
        for (int j = 0; j < SPEC_LAMBDAS; j++)
            ret->gain[j] +=
                n * log1p(bounded(spec_deviations[j], 1.0, -SPEC_TILT_MOST, SPEC_TILT_MOST) * tilt);
    }
    if (!(variance > 0.0)) return;
    ret->statistic = sum / sqrt(variance);
    ret->p = spec_goodness_sum_p(sum, variance, third);
    ret->seen = sum / ret->n;
    ret->expected = 0.0;
}

static bool has_kept(const spec_evidence *e)
{
    return e->scope == SPEC_SCOPE_VERIFY && e->fixture->n_nodes > 0 &&
           e->fixture->drawn != SPEC_DRAWN_FIXED;
}

/* The score is 1 if the emitted token is in the set draft > target, else 0; if the draft token is
 * in that set, the probability that a lossless rule accepts it is subtracted. Its mean is 0, and
 * its variance is small if most drafts are accepted. The variance depends on the sampler, so the
 * p-value is that of the bet. */
static void find_kept(spec_finding *ret, const spec_evidence *e, int setting)
{
    double sum = 0.0;
    (void)setting;
    ret->n_bets = SPEC_LAMBDAS;
    for (int s = 0; s < e->fixture->n_states; s++) {
        const double mass = e->laws->set_mass[s][SPEC_SET_DRAFT_MORE], share = e->laws->surplus[s];
        const double spread = sqrt(mass * (1.0 - share));
        if (!(spread > 0.0)) continue;
        for (int k = 0; k < 4; k++) {
            const double score = k % 2 - share * (k / 2), n = (double)e->kept[s][k / 2][k % 2];
            sum += n * score;
            ret->n += n;
            for (int j = 0; j < SPEC_LAMBDAS && n > 0.0; j++)
                ret->gain[j] += n * log1p(bounded(spec_deviations[j], spread, -share, 1.0) * score);
        }
    }
    if (ret->n > 0.0) ret->seen = sum / ret->n;
    ret->expected = 0.0;
    ret->p = NAN; /* spec_evidence_findings sets it from the e-value */
}

static void find_pit(spec_finding *ret, const spec_evidence *e, int pit)
{
    double even[SPEC_PIT_CELLS];
    for (int c = 0; c < SPEC_PIT_CELLS; c++) {
        even[c] = 1.0 / SPEC_PIT_CELLS;
        ret->n += (double)e->pit[pit][c];
    }
    const g_sum one = g_of(e->pit[pit], even, SPEC_PIT_CELLS);
    ret->n_bets = SPEC_WEIGHTS;
    add_dirichlet(ret->gain, e->pit[pit], e->tables.none, even, SPEC_PIT_CELLS);
    set_g(ret, &one);
}

static bool is_rounds(const spec_evidence *e)
{
    return e->scope != SPEC_SCOPE_STREAM && !e->fixture->repeats;
}

/* This holds only for drafts that speclab draws: a sampler may share random numbers between its
 * drafts and the texts of other rounds. */
static bool has_drafts(const spec_evidence *e)
{
    return is_rounds(e) && e->scope == SPEC_SCOPE_VERIFY && e->fixture->n_nodes > 0;
}

static bool has_seeds(const spec_evidence *e)
{
    return is_rounds(e) || e->scope == SPEC_SCOPE_STREAM;
}

static bool has_places(const spec_evidence *e)
{
    return e->fixture->levels > 1 || e->scope == SPEC_SCOPE_STREAM;
}

static void set_event(spec_finding *ret, const spec_evidence *e, const spec_event_count *event)
{
    ret->n_bets = SPEC_LAMBDAS;
    for (int j = 0; j < SPEC_LAMBDAS; j++) ret->gain[j] = event->gain[j] + log(event->factor[j]);
    set_events(ret, e, (double)event->n, (double)event->hits, event->expected, event->variance,
               event->third);
}

static void find_event(spec_finding *ret, const spec_evidence *e, int kind)
{
    set_event(ret, e, &e->event[kind]);
}

static void find_near(spec_finding *ret, const spec_evidence *e, int kind)
{
    spec_event_count event = {.n = 0};
    for (int j = 0; j < SPEC_LAMBDAS; j++) event.factor[j] = 1.0;
    spec_evidence_counts_events(&event, e->near[kind][1], e->near[kind][0] + e->near[kind][1],
                                0.25);
    set_event(ret, e, &event);
}

static void find_again(spec_finding *ret, const spec_evidence *e, int setting)
{
    (void)setting;
    set_event(ret, e, &e->tables.again);
}

const spec_test spec_tests[] = {
    {"counts", "the tokens after all states: any error in the distribution of one token", NULL,
     find_counts, 0, SPEC_ABOUT_TOKENS},
    {"state", "the tokens after one state: errors that occur only there", NULL, find_state, 0,
     SPEC_ABOUT_TOKENS},
    {"again",
     "whether tokens that came too often do so again: errors in large "
     "vocabularies",
     NULL, find_again, 0, SPEC_ABOUT_TOKENS},
    {"pairs", "a token and the next: errors that depend on the previous token", has_pairs,
     find_pairs, 0, SPEC_ABOUT_TEXTS},
    {"blocks", "three or more tokens in a row: errors of verifiers of whole blocks", has_blocks,
     find_blocks, 0, SPEC_ABOUT_TEXTS},
    {"draft-more", "tokens that the draft favours: drafts accepted too often, or no residual", NULL,
     find_set, SPEC_SET_DRAFT_MORE, SPEC_ABOUT_TOKENS},
    {"kept",
     "the same, given how many of them were drafted: small errors where most drafts are accepted",
     has_kept, find_kept, 0, SPEC_ABOUT_TOKENS},
    {"tilt", "how strongly the draft favours them: drafts and residuals of the wrong temperature",
     NULL, find_tilt, 0, SPEC_ABOUT_TOKENS},
    {"target-more", "tokens that the target favours: errors in the residual", NULL, find_set,
     SPEC_SET_TARGET_MORE, SPEC_ABOUT_TOKENS},
    {"target-mode", "the target's most probable token: argmax instead of a sample", NULL, find_set,
     SPEC_SET_TARGET_MODE, SPEC_ABOUT_TOKENS},
    {"draft-mode",
     "the draft's most probable token: drafts by argmax, verified as if "
     "sampled",
     NULL, find_set, SPEC_SET_DRAFT_MODE, SPEC_ABOUT_TOKENS},
    {"first-token", "token 0: where a search that finds nothing, or a bad cast, ends up", NULL,
     find_set, SPEC_SET_FIRST, SPEC_ABOUT_TOKENS},
    {"last-token", "the last token: where a cumulative sum that falls short ends up", NULL,
     find_set, SPEC_SET_LAST, SPEC_ABOUT_TOKENS},
    {"tail",
     "the least probable tokens: errors of filters, low precision, truncated "
     "sums",
     NULL, find_set, SPEC_SET_TAIL, SPEC_ABOUT_TOKENS},
    {"pit-id",
     "where tokens fall in the cumulative distribution, by id: errors in large "
     "vocabularies",
     NULL, find_pit, SPEC_PIT_ID, SPEC_ABOUT_TOKENS},
    {"pit-rank", "the same, the most probable first: errors of temperature and filters", NULL,
     find_pit, SPEC_PIT_RANK, SPEC_ABOUT_TOKENS},
    {"opener", "the first round of each call", is_rounds, find_pit, SPEC_PIT_OPENER,
     SPEC_ABOUT_CALLS},
    {"closer", "the last round of each call", is_rounds, find_pit, SPEC_PIT_CLOSER,
     SPEC_ABOUT_CALLS},
    {"echo", "the previous round emitted the same token: rows or random numbers shared by requests",
     is_rounds, find_event, SPEC_EVENT_ECHO, SPEC_ABOUT_REQUESTS},
    {"neighbour", "the previous round drafted this token: drafts mixed up between requests",
     has_drafts, find_event, SPEC_EVENT_NEIGHBOUR, SPEC_ABOUT_REQUESTS},
    {"follower",
     "the next round drafts this token: drafts mixed up between requests, in the other direction",
     has_drafts, find_event, SPEC_EVENT_FOLLOWER, SPEC_ABOUT_REQUESTS},
    {"coins",
     "two requests fall at the same quantile of their distributions: one random number "
     "for both",
     is_rounds, find_near, SPEC_NEAR_COINS, SPEC_ABOUT_REQUESTS},
    {"mirror", "two requests fall at opposite quantiles: one random number, used from both ends",
     is_rounds, find_near, SPEC_NEAR_MIRROR, SPEC_ABOUT_REQUESTS},
    {"seeds",
     "two requests with different seeds, but the same offset, fall at the same quantile: seeds "
     "that are not used",
     has_seeds, find_near, SPEC_NEAR_SEEDS, SPEC_ABOUT_REQUESTS},
    {"positions",
     "two positions of a text fall at the same quantile of their distributions: one random number "
     "for both",
     has_places, find_near, SPEC_NEAR_PLACES, SPEC_ABOUT_TEXTS},
    {.name = NULL},
};

int spec_evidence_findings(spec_finding *ret, const spec_evidence *e)
{
    int n = 0;
    for (const spec_test *test = spec_tests; test->name != NULL; test++) {
        if (test->applies != NULL && !test->applies(e)) continue;
        spec_finding *finding = &ret[n++];
        *finding = (spec_finding){.name = test->name,
                                  .statistic = NAN,
                                  .df = NAN,
                                  .p = 1.0,
                                  .seen = NAN,
                                  .expected = NAN};
        test->finding(finding, e, test->setting);
        finding->log_e = spec_evalue_mean(finding->gain, finding->n_bets);
        if (isnan(finding->p)) {
            finding->p = spec_evalue_p(finding->log_e);
            finding->df = 0.0;
        }
        if (finding->n == 0.0) finding->df = 0.0; /* without data there is no test */
    }
    return n;
}
