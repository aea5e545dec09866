/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/context_acceptance.h"

#include "analysis/capped_geometric.h"

#include <math.h>

static const double requests_needed = 10.0, rounds_needed = 500.0, errors_apart = 3.0;

static int octave_begin(int octave)
{
    return octave == 0 ? 0 : 1 << (9 + octave);
}

static void join(spec_context_sums *into, const spec_context_sums *from)
{
    into->requests += from->requests;
    into->rounds += from->rounds;
    into->drafted += from->drafted;
    into->accepted += from->accepted;
    into->rounds2 += from->rounds2;
    into->both += from->both;
    into->accepted2 += from->accepted2;
}

void spec_context_sums_add(spec_context_sums sums[SPEC_CONTEXT_OCTAVES], const spec_observation *o)
{
    const double context = o->prompt + 0.5 * o->emitted;
    int octave = 0;
    if (o->kind != SPEC_OBSERVED_REQUEST || !(context >= 0.0) || !(o->rounds > 0.0) ||
        !(o->drafted > 0.0) || !(o->accepted >= 0.0))
        return;
    while (octave + 1 < SPEC_CONTEXT_OCTAVES && context >= octave_begin(octave + 1)) octave++;
    const spec_context_sums one = {1.0,
                                   o->rounds,
                                   o->drafted,
                                   o->accepted,
                                   o->rounds * o->rounds,
                                   o->rounds * o->accepted,
                                   o->accepted * o->accepted};
    join(&sums[octave], &one);
}

/* Returns the alpha at which drafts of K tokens accept this many on average; K may be a mean. */
static double alpha_of(double accepted, double K)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (spec_capped_geometric_mean(middle, K) < 1.0 + accepted)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* Returns alpha, and its standard error from the scatter of requests (delta method). */
static double estimate(double *ret_se, const spec_context_sums *of)
{
    const double K = of->drafted / of->rounds, mean = of->accepted / of->rounds,
                 scatter =
                     fmax(0.0, of->accepted2 - 2.0 * mean * of->both + mean * mean * of->rounds2),
                 se = sqrt(scatter * of->requests / (of->requests - 1.0)) / of->rounds,
                 alpha = alpha_of(mean, K);
    *ret_se = alpha_of(fmin(mean + se, K), K) - alpha_of(fmax(mean - se, 0.0), K);
    *ret_se *= 0.5;
    return alpha;
}

static bool is_apart(const spec_context_sums *a, const spec_context_sums *b)
{
    double se_a, se_b;
    const double apart = estimate(&se_a, a) - estimate(&se_b, b);
    return fabs(apart) > errors_apart * hypot(se_a, se_b);
}

void spec_context_acceptance(spec_context_steps *ret,
                             const spec_context_sums sums[SPEC_CONTEXT_OCTAVES])
{
    spec_context_sums range[SPEC_CONTEXT_OCTAVES + 1] = {{0}};
    int n = 0; /* whole ranges; the next one is being filled */
    *ret = (spec_context_steps){0};
    for (int octave = 0; octave < SPEC_CONTEXT_OCTAVES; octave++) {
        if (range[n].requests == 0.0) ret->from[n] = n == 0 ? 0 : octave_begin(octave);
        join(&range[n], &sums[octave]);
        if (range[n].requests < requests_needed || range[n].rounds < rounds_needed) continue;
        if (n > 0 && !is_apart(&range[n - 1], &range[n])) {
            join(&range[n - 1], &range[n]);
            range[n] = (spec_context_sums){0};
        } else {
            n++;
        }
    }
    /* the last range has too little data, so it joins the one before */
    if (n > 0) join(&range[n - 1], &range[n]);
    for (int i = 0; i < n; i++) {
        double se;
        ret->value[i] = estimate(&se, &range[i]);
    }
    if (n < 2)
        *ret = (spec_context_steps){0};
    else
        ret->n = n;
}
