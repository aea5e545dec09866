/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/evidence/detectable.h"

#include "analysis/statistics/power.h"
#include "tools/validate/evidence/evidence_counts.h"

#include "analysis/statistics/goodness.h"

#include <gsl/gsl_sf_gamma.h>

#define TIMES_MOST 1e12
enum { HALVINGS = 20 }; /* bisection steps, on a logarithmic scale */

/* The noncentrality that a look needs, cached because most states' tables have the same number of
 * cells. */
typedef struct {
    double df, level, noncentrality;
} memo;

typedef struct {
    const spec_fixture *fixture;
    const spec_detectable_needs *needs;
    memo first, fresh;
} search;

/* ---- one state's table ----------------------------------------------------------------------- */

/* Cells that differ by this TV have at least this noncentrality [Csiszar67]. A difference within
 * the pooled cells is invisible, but moves no more mass than they hold. */
static double tv_of(double noncentrality, double n, double pooled)
{
    return sqrt(noncentrality / (4.0 * n)) + pooled;
}

static double tv_of_look(memo *m, const double *law, size_t V, double n, double level, double power)
{
    double pooled;
    const double df = spec_goodness_cells(&pooled, law, V, n, SPEC_MIN_EXPECTED) - 1.0;
    if (df < 1.0) return 1.0;
    if (m->df != df || m->level != level)
        *m = (memo){df, level, spec_power_noncentrality(df, level, power)};
    return tv_of(m->noncentrality, n, pooled);
}

/* Returns the regret of a Dirichlet bet: what it loses against the best law for the counts, at
 * their expected values. */
static double regret(const double *law, size_t V, double n, double weight)
{
    double sum = gsl_sf_lngamma(weight + n) - gsl_sf_lngamma(weight) - n * log(n);
    for (size_t i = 0; i < V; i++) {
        const double count = n * law[i], prior = weight * law[i];
        if (law[i] > 0.0)
            sum += count * log(count) - gsl_sf_lngamma(prior + count) + gsl_sf_lngamma(prior);
    }
    return sum;
}

/* A bet whose prior weighs `weight` draws learns the share n/(n + weight) of a difference. */
static double tv_of_bets(const double *law, size_t V, double n, double log_capital, double power)
{
    double pooled, least = INFINITY;
    const double df = spec_goodness_cells(&pooled, law, V, n, SPEC_MIN_EXPECTED) - 1.0;
    if (df < 1.0) return 1.0;
    for (int w = 0; w < SPEC_WEIGHTS; w++) {
        const double weight = spec_priors[w] * (double)V;
        least = fmin(least, 2.0 * (log_capital + regret(law, V, n, weight)) * (1.0 + weight / n));
    }
    return tv_of(spec_power_noncentrality_beyond(least, df, power), n, pooled);
}

static bool is_certain(const double *law, size_t V)
{
    for (size_t i = 0; i < V; i++)
        if (law[i] > 0.0 && law[i] < 1.0) return false;
    return true;
}

/* Returns the TV that n tokens after a state can detect. If the row is certain, any other token
 * breaks a hard rule. */
static double tv_of_table(search *s, int state, double n)
{
    const size_t V = (size_t)s->fixture->vocab;
    const double *law = s->fixture->target_law + (size_t)state * V;
    const spec_detectable_needs *needs = s->needs;
    /* each of the two looks may take half of the allowed misses */
    const double both = 0.5 * (1.0 + needs->power);
    if (is_certain(law, V)) return -log1p(-needs->power) / n;
    if (needs->log_capital > 0.0) return tv_of_bets(law, V, n, needs->log_capital, needs->power);
    return fmax(tv_of_look(&s->first, law, V, n, needs->suspicious, both),
                tv_of_look(&s->fresh, law, V, needs->fresh_times * n, needs->fresh, both));
}

/* A difference in a share of a state's tokens changes the law of all of them in proportion. */
static double tv_of_place(search *s, const spec_evidence *e, int state, spec_place place,
                          double times)
{
    const double n = (double)spec_evidence_visits(e, state),
                 share = (double)spec_evidence_own(e, state, place) / n;
    return fmin(tv_of_table(s, state, times * n) / share, 1.0);
}

/* ---- all states ------------------------------------------------------------------------------ */

static bool exists(const spec_fixture *f, uint32_t scope, spec_place place)
{
    if (scope == SPEC_SCOPE_STREAM || place == SPEC_PLACE_TEXT)
        return scope == SPEC_SCOPE_STREAM && place == SPEC_PLACE_TEXT;
    return f->n_nodes > 0 || place == SPEC_PLACE_FIRST || place == SPEC_PLACE_BONUS;
}

static bool is_seldom(const spec_evidence *e, int state, spec_place place)
{
    return (double)spec_evidence_own(e, state, place) <
           SPEC_DETECTABLE_SELDOM * (double)spec_evidence_tokens(e);
}

void spec_detectable_find(spec_detectable *ret, const spec_evidence *e, const spec_fixture *fixture,
                          const spec_detectable_needs *needs)
{
    search s = {.fixture = fixture, .needs = needs};
    for (spec_place place = 0; place < SPEC_PLACES; place++) {
        spec_detectable *d = &ret[place];
        *d = SPEC_DETECTABLE_NONE;
        d->exists = exists(fixture, e->scope, place);
        for (int state = 0; state < fixture->n_states; state++) {
            const uint64_t own = spec_evidence_own(e, state, place);
            const bool seldom = is_seldom(e, state, place);
            if (own == 0) continue;
            d->own += own;
            d->states++;
            d->seldom += seldom;
            const double tv = seldom ? NAN : tv_of_place(&s, e, state, place, 1.0);
            if (seldom || tv <= d->tv) continue;
            d->tv = tv;
            d->state = state;
        }
    }
}

double spec_detectable_times(const spec_evidence *e, const spec_fixture *fixture,
                             const spec_detectable_needs *needs, spec_place place, int state,
                             double tv)
{
    search s = {.fixture = fixture, .needs = needs};
    double low = 1.0, high = TIMES_MOST;
    if (tv_of_place(&s, e, state, place, low) <= tv) return 1.0;
    if (tv_of_place(&s, e, state, place, high) > tv) return INFINITY;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = sqrt(low * high);
        *(tv_of_place(&s, e, state, place, middle) > tv ? &low : &high) = middle;
    }
    return high;
}
