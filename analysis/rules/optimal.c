/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/optimal.h"

#include "analysis/statistics/compensated.h"

#include <gsl/gsl_sf_pow_int.h>
#include <math.h>

double spec_optimal_iid(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    double least = 0; /* value of the empty set */
    for (int i = 1; i <= order->n_drafted; i++) {
        least = fmin(least, order->target_below[i] - gsl_sf_pow_int(order->draft_below[i], n));
    }
    return 1 + least;
}

double spec_optimal_quoted(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    spec_compensated sum = {0};
    for (int i = 0; i < order->n_drafted; i++) {
        const double target = order->target[i], ratio = order->draft[i] / target;
        if (target > 0)
            spec_compensated_add(&sum, ratio < 1 ? -target * expm1(n * log1p(-ratio)) : target);
    }
    return fmin(1, spec_compensated_value(&sum));
}

/* ---- without replacement --------------------------------------------------------------------- */

/* Fills the chances of every prefix (V+1) except the empty one, for two drafts. The chance to draw
 * token x first and then another token of H is draft(x) (draft(H) - draft(x)) / (1 - draft(x)) =
 * draft(x) (1 - draft(outside H) / (1 - draft(x))). */
static void prefix_chances_of_two(double *ret_inside, const spec_ratio_order *order)
{
    spec_compensated odds = {0};
    for (int i = 0; i < order->V; i++) {
        spec_compensated_add(&odds, order->draft[i] / spec_ratio_order_others(order, i));
        ret_inside[i + 1] =
            order->draft_below[i + 1] - order->draft_above[i + 1] * spec_compensated_value(&odds);
    }
}

/* The nodes of the integral form octaves of LANES nodes. OCTAVES octaves pass over the tokens
 * together, one block at a time. */
enum { LANES = 4, OCTAVES = 24, BLOCK = 64, TERMS = 8 };
static const double negligible = 1e-17;

/* Vector types of gcc and clang add and multiply element by element, with the same bytes on every
 * machine. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* The nodes of an octave while they pass over the tokens. exactly[k] is the chance that k clocks
 * have rung, divided by the chance that no light clock has. All light tokens share one exponential
 * factor, which is part of the weight; only a heavy token changes it. */
typedef struct {
    lanes s, weight; /* step s exp(-(1 - heavy tokens passed) s) */
    lanes exactly[SPEC_DRAFTS_MAX];
    double light; /* mass of light tokens passed */
} octave;

/* Computes e^(draft s) - 1. */
static inline void odds_at(lanes *ret_odds, double draft, const lanes *s)
{
    const lanes x = draft * *s;
    lanes sum = {1, 1, 1, 1};
    if (x[LANES - 1] > 0x1p-4) {
        for (int l = 0; l < LANES; l++) sum[l] = expm1(x[l]);
    } else { /* x (1 + x/2 (1 + x/3 (...))) */
        for (int k = TERMS + 1; k > 1; k--) sum = 1 + sum * x * (1.0 / k);
        sum *= x;
    }
    *ret_odds = sum;
}

/* Passes over the light tokens from `begin` to `end`, and adds the nodes to the totals of the
 * prefixes that end there. Turns the tokens' odds at these nodes into the odds for the next
 * octave. */
static inline __attribute__((always_inline)) void pass_light(double *restrict total,
                                                             octave *restrict nodes,
                                                             lanes *restrict odds,
                                                             const double *restrict draft,
                                                             int begin, int end, int n)
{
    lanes exactly[SPEC_DRAFTS_MAX];
    const lanes weight = nodes->weight;
    double light = nodes->light;
    for (int k = 0; k < n; k++) exactly[k] = nodes->exactly[k];
    for (int i = begin; i < end; i++) {
        const lanes o = *odds;
        lanes fewer = exactly[0];
        for (int k = n - 1; k > 0; k--) exactly[k] += exactly[k - 1] * o;
        for (int k = 1; k < n; k++) fewer += exactly[k];
        fewer *= weight;
        total[i + 1] += (fewer[0] + fewer[1]) + (fewer[2] + fewer[3]);
        light += draft[i];
        *odds++ = o * (2 + o);
    }
    for (int k = 0; k < n; k++) nodes->exactly[k] = exactly[k];
    nodes->light = light;
}

/* Passes over a token whose clock has probably rung. It uses chances, because odds would
 * overflow. */
static void pass_heavy(double *total, octave *nodes, double step, const spec_ratio_order *order,
                       int i, int n)
{
    double sum = 0;
    for (int l = 0; l < LANES; l++) {
        const double s = nodes->s[l], silent = exp(-order->draft[i] * s),
                     rung = -expm1(-order->draft[i] * s);
        double fewer = 0;
        for (int k = n - 1; k > 0; k--) {
            nodes->exactly[k][l] = nodes->exactly[k][l] * silent + nodes->exactly[k - 1][l] * rung;
            fewer += nodes->exactly[k][l];
        }
        nodes->exactly[0][l] *= silent;
        nodes->weight[l] = step * s * exp(-s * (order->draft_above[i + 1] + nodes->light));
        sum += nodes->weight[l] * (fewer + nodes->exactly[0][l]);
    }
    total[i + 1] += sum;
}

/* Tokens begin..end-1 of the order. */
typedef struct {
    int begin, end;
    double heaviest;   /* the largest draft probability */
    lanes odds[BLOCK]; /* at the nodes of the next octave */
} block;

/* Passes over the tokens of a block. Returns false once it is practically certain that n clocks
 * have rung. */
static bool pass_block(double *total, octave *nodes, block *tokens, double step,
                       const spec_ratio_order *order, int n)
{
    const int begin = tokens->begin, end = tokens->end;
    lanes *const odds = tokens->odds;
    if (tokens->heaviest * nodes->s[LANES - 1] > 1) {
        for (int i = begin; i < end; i++) {
            if (order->draft[i] * nodes->s[LANES - 1] > 1)
                pass_heavy(total, nodes, step, order, i, n);
            else
                pass_light(total, nodes, &odds[i - begin], order->draft, i, i + 1, n);
        }
    } else {
        switch (n) { /* a constant n keeps everything in registers */
        case 3: pass_light(total, nodes, odds, order->draft, begin, end, 3); break;
        case 4: pass_light(total, nodes, odds, order->draft, begin, end, 4); break;
        case 5: pass_light(total, nodes, odds, order->draft, begin, end, 5); break;
        case 6: pass_light(total, nodes, odds, order->draft, begin, end, 6); break;
        default: pass_light(total, nodes, odds, order->draft, begin, end, n);
        }
    }
    double fewer = 0;
    for (int k = 0; k < n; k++) fewer += nodes->exactly[k][0];
    return fewer * exp(-nodes->s[0] * nodes->light) >= negligible;
}

/* Adds the part of the integral from s on: OCTAVES octaves, each with nodes `phases` steps apart.
 * Returns the number of prefixes for which later nodes still matter. */
static int add_octaves(double *total, const spec_ratio_order *order, int n, double s, double step,
                       int phases, int n_prefixes)
{
    octave nodes[OCTAVES];
    int counting = OCTAVES, later = n_prefixes;
    for (int o = 0; o < OCTAVES; o++, s *= 2) {
        nodes[o].light = 0;
        for (int k = 0; k < n; k++) nodes[o].exactly[k] = (lanes){0};
        for (int l = 0; l < LANES; l++) {
            nodes[o].s[l] = s * exp(step * phases * l);
            nodes[o].weight[l] = step * nodes[o].s[l] * exp(-nodes[o].s[l]);
            nodes[o].exactly[0][l] = 1;
        }
    }
    for (int begin = 0; begin < n_prefixes && counting > 0; begin += BLOCK) {
        block tokens;
        tokens.begin = begin;
        tokens.end = begin + BLOCK < n_prefixes ? begin + BLOCK : n_prefixes;
        tokens.heaviest = 0;
        for (int i = begin; i < tokens.end; i++) {
            odds_at(&tokens.odds[i - begin], order->draft[i], &nodes[0].s);
            tokens.heaviest = fmax(tokens.heaviest, order->draft[i]);
        }
        for (int o = 0; o < counting; o++) {
            if (pass_block(total, &nodes[o], &tokens, step, order, n)) continue;
            if (counting == OCTAVES) later = tokens.end;
            counting = o; /* later octaves do not matter either */
        }
    }
    return later;
}

void spec_optimal_prefix_chances(double *ret_inside, const spec_ratio_order *order, int n)
{
    const bool possible = spec_ratio_order_defined(order, n) && n < order->n_drafted;
    for (int i = 0; i <= order->V; i++)
        ret_inside[i] = !possible ? NAN : i < order->n_drafted ? 0 : 1;
    if (!possible) return;
    /* Below the first node fewer than n clocks have rung, except with chance s^n/n!, so there we
     * can sum a series instead of nodes. */
    const int phases = n <= 10 ? 1 : 2;
    const double step = M_LN2 / (LANES * phases);
    const double first = fmin(0x1p-5, exp((lgamma(n + 2) + log(negligible)) / (n + 1)));
    double term[TERMS], power = step;
    for (int k = 0; k < TERMS; k++) {
        power *= k > 0 ? -first / k : first;
        term[k] = power / expm1((k + 1) * step);
    }
    for (int phase = 0; phase < phases; phase++) {
        double s = first * exp(step * phase);
        int n_prefixes = order->n_drafted - 1;
        for (; n_prefixes >= n && order->draft_above[n_prefixes] * s < 50 && s < 1e300;
             s *= 1 << OCTAVES)
            n_prefixes = add_octaves(ret_inside, order, n, s, step, phases, n_prefixes);
    }
    for (int i = 0; i < order->n_drafted; i++) {
        const double outside = order->draft_above[i];
        double series = 0;
        for (int k = TERMS - 1; k >= 0; k--) series = series * outside + term[k];
        ret_inside[i] = i < n ? 0 : 1 - outside * (series + ret_inside[i]);
    }
}

/* Returns the optimum if all tokens with draft > 0 are drawn, and the others are then drawn
 * uniformly. */
static double optimal_after_all(const spec_ratio_order *order, int n)
{
    int first = order->n_drafted, n_even = order->V - first, n_left = n - first;
    double least = 0;
    for (int j = 0; j <= n_even;
         j++) { /* the prefix holds all tokens of the draft and j of the others */
        double inside = 1;
        for (int k = 0; k < n_left; k++) inside *= fmax(0, j - k) / (n_even - k);
        least = fmin(least, order->target_below[first + j] - inside);
    }
    return 1 + least;
}

double spec_optimal_without_replacement(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    if (n == 1) return spec_ratio_order_common(order, 1);
    if (n >= order->n_drafted) return optimal_after_all(order, n);
    if (n == 2) {
        prefix_chances_of_two(order->work, order);
    } else {
        spec_optimal_prefix_chances(order->work, order, n);
    }
    double least = 0;
    for (int i = n; i <= order->n_drafted; i++)
        least = fmin(least, order->target_below[i] - order->work[i]);
    return 1 + least;
}
