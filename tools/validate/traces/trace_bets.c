/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_bets.h"

#include "analysis/statistics/evalue.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static const double stakes[SPEC_TRACE_STAKES] = {0.004, 0.03, 0.15, 0.5, 1.0};
static const double deviations[SPEC_TRACE_DEVIATIONS] = {-0.1, -0.02, -0.004, 0.004, 0.02, 0.1};

void spec_trace_bet_multiply(spec_trace_bet *b, double factor)
{
    b->factor *= factor;
    if (b->factor > 1e-150 && b->factor < 1e150) return;
    b->gain += log(b->factor);
    b->factor = 1.0;
}

double spec_trace_bet_log_capital(const spec_trace_bet *b)
{
    return b->gain + log(b->factor);
}

void spec_trace_tilt_add(spec_trace_tilt *t, double ratio)
{
    const double r = fmin(ratio, 1e100); /* lowering a ratio keeps the bet fair */
    t->n++;
    t->sum += r;
    for (int j = 0; j < SPEC_TRACE_STAKES; j++) {
        const double x = stakes[j] * (r - 1.0), gain = x > -1.0 ? log1p(x) : -INFINITY;
        t->gain[j] += gain;
        if (x <= -1.0) continue;
        t->square[j] += gain * gain;
        t->slope[j] += (r - 1.0) * gain;
    }
}

/* If a share of the tokens comes from the other law, a bet's expected gain rises by the share times
 * its slope. */
double spec_trace_tilt_share(const spec_trace_tilt *t, double log_needed, double power)
{
    const double z = gsl_cdf_ugaussian_Pinv(power);
    double least = NAN;
    for (int j = 0; j < SPEC_TRACE_STAKES && t->n > 0.0; j++) {
        if (!(t->slope[j] > 0.0) || isinf(t->gain[j])) continue;
        const double spread = sqrt(fmax(t->square[j] - t->gain[j] * t->gain[j] / t->n, 0.0));
        /* Takes the gain as if the mean ratio had been 1, because the luck of this trace says
         * nothing about the next one. */
        const double gain = fmin(t->gain[j], t->gain[j] - stakes[j] * (t->sum - t->n));
        const double share =
            (log_needed + log(SPEC_TRACE_STAKES) + z * spread - gain) / t->slope[j];
        if (share <= 1.0) least = fmin(least, fmax(share, 0.0));
    }
    return least;
}

spec_trace_event spec_trace_event_start(void)
{
    spec_trace_event event = {.n = 0.0};
    for (int j = 0; j < SPEC_TRACE_DEVIATIONS; j++) event.bet[j] = SPEC_TRACE_BET_START;
    return event;
}

void spec_trace_event_add(spec_trace_event *e, bool hit, double mass)
{
    const double chance = fmin(mass, 1.0), variance = chance * (1.0 - chance);
    if (!(variance > 1e-12)) return;
    const double spread = sqrt(variance), off = (hit ? 1.0 : 0.0) - chance;
    e->n++;
    e->hits += hit;
    e->expected += chance;
    e->variance += variance;
    for (int j = 0; j < SPEC_TRACE_DEVIATIONS; j++) {
        const double lambda =
            fmax(-0.9 / (1.0 - chance), fmin(0.9 / chance, deviations[j] / spread));
        spec_trace_bet_multiply(&e->bet[j], 1.0 + lambda * off);
    }
}

double spec_trace_event_log_e(const spec_trace_event *event)
{
    double log_e[SPEC_TRACE_DEVIATIONS];
    for (int j = 0; j < SPEC_TRACE_DEVIATIONS; j++)
        log_e[j] = spec_trace_bet_log_capital(&event->bet[j]);
    return spec_evalue_mean(log_e, SPEC_TRACE_DEVIATIONS);
}
