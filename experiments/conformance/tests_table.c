/* The tests: what is counted, as e-values and as p-values. */
#include "experiments/conformance/evidence_counts.h"

#include "analysis/evalue.h"
#include "analysis/goodness.h"
#include "analysis/power.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { MIN_EXPECTED = 5 };

/* Chi-squares of independent tables, added up. */
typedef struct {
    double statistic, df;
    bool impossible;
} g_sum;

static void add_g(g_sum *sum, const uint64_t *count, const double *law, int n)
{
    spec_goodness g;
    if (spec_goodness_g(&g, count, law, (size_t)n, MIN_EXPECTED, 0) != GSL_SUCCESS) return;
    sum->impossible = sum->impossible || isinf(g.statistic);
    sum->statistic += g.statistic;
    sum->df += g.df;
}

static void set_g(spec_finding *ret, const g_sum *sum)
{
    ret->statistic = sum->statistic;
    ret->df = sum->df;
    ret->p = sum->impossible ? 0.0 : sum->df > 0.0 ? gsl_cdf_chisq_Q(sum->statistic, sum->df) : 1.0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Bets on all states together find what is wrong everywhere; those on one find what is wrong there. */
static void find_counts(spec_finding *ret, const spec_evidence *e, int setting)
{
    const spec_fixture *f = e->fixture;
    double all[SPEC_WEIGHTS] = {0.0}, log_e[2 * SPEC_WEIGHTS], one = -INFINITY;
    g_sum sum = {0.0, 0.0, false};
    (void)setting;
    for (int w = 0; w < SPEC_WEIGHTS; w++) {
        double best = -INFINITY, mean = 0.0;
        for (int s = 0; s < f->n_states; s++) {
            all[w] += e->count_gain[s][w];
            best = fmax(best, e->count_gain[s][w]);
        }
        for (int s = 0; s < f->n_states; s++) mean += exp(e->count_gain[s][w] - best);
        one = best + log(mean / f->n_states);
        log_e[2 * w] = all[w];
        log_e[2 * w + 1] = one;
    }
    ret->log_e = spec_evalue_mean(log_e, 2 * SPEC_WEIGHTS);
    for (int s = 0; s < f->n_states; s++)
        add_g(&sum, e->count + (size_t)s * (size_t)f->vocab, f->target_law + (size_t)s * (size_t)f->vocab, f->vocab);
    set_g(ret, &sum);
    ret->n = (double)e->tokens;
}

static bool has_pairs(const spec_fixture *fixture, uint32_t scope)
{
    (void)scope;
    return spec_evidence_counts_pairs(fixture);
}

static void find_pairs(spec_finding *ret, const spec_evidence *e, int setting)
{
    const spec_fixture *f = e->fixture;
    const size_t V = (size_t)f->vocab;
    g_sum sum = {0.0, 0.0, false};
    (void)setting;
    ret->log_e = spec_evalue_mean(e->pair_gain, SPEC_WEIGHTS);
    for (int s = 0; s < f->n_states; s++)
        for (int x = 0; x < f->vocab; x++)
            add_g(&sum, e->pair + ((size_t)s * V + (size_t)x) * V,
                  f->target_law + (size_t)spec_fixture_next(f, s, x) * V, f->vocab);
    set_g(ret, &sum);
    for (int s = 0; s < f->n_states; s++)
        for (size_t i = 0; i < V * V; i++) ret->n += (double)e->pair[(size_t)s * V * V + i];
}

/* Seen and expected mass, with a normal test. */
static void set_z(spec_finding *ret, double n, double hits, double expected, double variance)
{
    ret->n = n;
    ret->statistic = variance > 0.0 ? (hits - expected) / sqrt(variance) : 0.0;
    ret->p = spec_normal_p(ret->statistic);
    ret->seen = hits / n;
    ret->expected = expected / n;
}

static void find_set(spec_finding *ret, const spec_evidence *e, int set)
{
    const spec_fixture *f = e->fixture;
    double n = 0.0, hits = 0.0, expected = 0.0, variance = 0.0;
    ret->log_e = spec_evalue_mean(e->set_gain[set], SPEC_LAMBDAS);
    for (int s = 0; s < f->n_states; s++) {
        const double mass = fmin(e->set_mass[s][set], 1.0), visits = (double)e->visits[s];
        const size_t at = (size_t)s * (size_t)f->vocab;
        if (!(mass > 0.0 && mass < 1.0)) continue;
        n += visits;
        expected += visits * mass;
        variance += visits * mass * (1.0 - mass);
        for (int i = 0; i < f->vocab; i++)
            hits += (e->set[at + (size_t)i] >> set & 1) ? (double)e->count[at + (size_t)i] : 0.0;
    }
    set_z(ret, n, hits, expected, variance);
}

static void find_pit(spec_finding *ret, const spec_evidence *e, int pit)
{
    double even[SPEC_PIT_CELLS];
    g_sum sum = {0.0, 0.0, false};
    for (int c = 0; c < SPEC_PIT_CELLS; c++) {
        even[c] = 1.0 / SPEC_PIT_CELLS;
        ret->n += (double)e->pit[pit][c];
    }
    ret->log_e = spec_evalue_mean(e->pit_gain[pit], SPEC_WEIGHTS);
    add_g(&sum, e->pit[pit], even, SPEC_PIT_CELLS);
    set_g(ret, &sum);
}

static bool is_rounds(const spec_fixture *fixture, uint32_t scope)
{
    return scope != SPEC_SCOPE_STREAM && !fixture->repeats;
}

static bool has_places(const spec_fixture *fixture, uint32_t scope)
{
    (void)scope;
    return fixture->levels > 1;
}

static void find_event(spec_finding *ret, const spec_evidence *e, int kind)
{
    const spec_event_count *event = &e->event[kind];
    ret->log_e = spec_evalue_mean(event->gain, SPEC_LAMBDAS);
    set_z(ret, (double)event->n, (double)event->hits, event->expected, event->variance);
}

const spec_test spec_tests[] = {
    {"counts", "the tokens after each state: whatever is wrong with the law of one token", NULL, find_counts, 0},
    {"pairs", "a token and the next: what goes wrong from place to place", has_pairs, find_pairs, 0},
    {"draft-more", "tokens the draft likes better: drafts accepted too often, or the residual forgotten", NULL, find_set,
     SPEC_SET_DRAFT_MORE},
    {"target-more", "tokens the target likes better: the residual's tokens", NULL, find_set, SPEC_SET_TARGET_MORE},
    {"target-mode", "the target's most probable token: argmax where a sample was due", NULL, find_set,
     SPEC_SET_TARGET_MODE},
    {"draft-mode", "the draft's most probable token: drafts chosen and judged as if sampled", NULL, find_set,
     SPEC_SET_DRAFT_MODE},
    {"first-token", "token 0: where scans that never hit, and casts, end up", NULL, find_set, SPEC_SET_FIRST},
    {"last-token", "the last token: where sums that fall short end up", NULL, find_set, SPEC_SET_LAST},
    {"tail", "the least probable tokens: filters, low precision, truncated sums", NULL, find_set, SPEC_SET_TAIL},
    {"pit-id", "where tokens fall in the cumulative law, by id: large vocabularies", NULL, find_pit, SPEC_PIT_ID},
    {"pit-rank", "the same, the most probable first: temperature and filters", NULL, find_pit, SPEC_PIT_RANK},
    {"opener", "the first round of each call", is_rounds, find_pit, SPEC_PIT_OPENER},
    {"closer", "the last round of each call", is_rounds, find_pit, SPEC_PIT_CLOSER},
    {"echo", "the round before emitted the same token: rows or numbers shared by requests", is_rounds, find_event,
     SPEC_EVENT_ECHO},
    {"neighbour", "the round before drafted this token: drafts mixed up between requests", is_rounds, find_event,
     SPEC_EVENT_NEIGHBOUR},
    {"coins", "two requests fall at the same place of their laws: one random number for both", is_rounds, find_event,
     SPEC_EVENT_COINS},
    {"mirror", "two requests fall at opposite places: one random number, used from both ends", is_rounds, find_event,
     SPEC_EVENT_MIRROR},
    {"places", "two places of a text fall at the same place of their laws: one random number for both", has_places,
     find_event, SPEC_EVENT_PLACES},
    {NULL, NULL, NULL, NULL, 0},
};

int spec_evidence_findings(spec_finding *ret, const spec_evidence *e)
{
    int n = 0;
    for (const spec_test *test = spec_tests; test->name != NULL; test++) {
        if (test->applies != NULL && !test->applies(e->fixture, e->scope)) continue;
        ret[n] = (spec_finding){.name = test->name, .log_e = NAN, .statistic = NAN, .df = NAN, .p = NAN, .seen = NAN,
                                .expected = NAN};
        test->finding(&ret[n], e, test->setting);
        if (ret[n].n > 0.0) n++; /* nothing seen says nothing */
    }
    return n;
}

double spec_evidence_detectable(const spec_evidence *e, double alpha, double power)
{
    const spec_fixture *f = e->fixture;
    double worst = 0.0;
    for (int s = 0; s < f->n_states; s++) {
        const double *law = f->target_law + (size_t)s * (size_t)f->vocab, visits = (double)e->visits[s];
        double df = -1.0, least = 1.0;
        for (int i = 0; i < f->vocab; i++) {
            if (law[i] <= 0.0) continue;
            df++;
            least = fmin(least, law[i]);
        }
        if (df < 1.0) continue; /* one token alone can come: all others are hard */
        if (visits * least < MIN_EXPECTED) return NAN;
        worst = fmax(worst, spec_power_detectable(visits, df, alpha, power));
    }
    return worst;
}
