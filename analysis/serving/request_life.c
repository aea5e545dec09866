/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/request_life.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

spec_request_costs spec_request_costs_shared(const spec_affine_step *cost, int K)
{
    return (spec_request_costs){.prompt_token = cost->token,
                                .round = cost->token * (K + 1.0) + cost->draft_token * K,
                                .context = cost->kv};
}

spec_request_costs spec_request_costs_alone(const spec_affine_step *cost, int K)
{
    spec_request_costs costs = spec_request_costs_shared(cost, K);
    costs.prefill = cost->step;
    costs.round += cost->step;
    if (K > 0) costs.round += cost->draft_round + cost->draft_pass * K;
    return costs;
}

int spec_request_life_init(spec_request_life *life, int n, bool prefill)
{
    memset(life, 0, sizeof *life);
    if (n < 1) return GSL_EDOM;
    double **arrays[] = {&life->alive, &life->added, &life->square, &life->first, &life->pair,
                         &life->slope, &life->early, &life->level,  &life->rise};
    const size_t count = sizeof arrays / sizeof *arrays, size = (size_t)n;
    double *memory = calloc(count * size, sizeof *memory);
    if (memory == NULL) return GSL_ENOMEM;
    for (size_t i = 0; i < count; i++) *arrays[i] = memory + i * size;
    life->n = n;
    life->prefill = prefill;
    return GSL_SUCCESS;
}

void spec_request_life_free(spec_request_life *life)
{
    free(life->alive);
    memset(life, 0, sizeof *life);
}

static bool costs_are_valid(const spec_request_costs *costs)
{
    const double all[] = {costs->prefill, costs->prompt_token, costs->round, costs->context};
    for (int i = 0; i < 4; i++)
        if (!(all[i] >= 0.0 && isfinite(all[i]))) return false;
    return true;
}

int spec_request_life_add(spec_request_life *life, double share, const spec_request_costs *costs,
                          const spec_rounds_law *rounds, double prompt, double prompt_square)
{
    const int offset = life->prefill ? 1 : 0;
    if (!(share >= 0.0 && share <= 1.0) || !costs_are_valid(costs) ||
        rounds->n + offset > life->n ||
        !(prompt >= 0.0 && prompt_square >= prompt * prompt * (1.0 - 1e-12) &&
          isfinite(prompt_square)))
        return GSL_EDOM;

    /* A round after s output tokens adds g + c s seconds, where g depends on the prompt. */
    const double c = costs->context, fixed = costs->round;
    const double g = fixed + c * prompt,
                 g2 = fixed * fixed + 2.0 * fixed * c * prompt + c * c * prompt_square;
    const double p = costs->prefill, t = costs->prompt_token;
    const double e = p + t * prompt, eg = p * g + t * (fixed * prompt + c * prompt_square);
    if (life->prefill) {
        life->alive[0] += share;
        life->added[0] += share * e;
        life->square[0] += share * (p * p + 2.0 * p * t * prompt + t * t * prompt_square);
    }
    for (int r = 0; r < rounds->n; r++) {
        const int j = r + offset;
        const double s0 = share * rounds->longer[r], s1 = share * rounds->tokens[r],
                     s2 = share * rounds->tokens2[r];
        life->alive[j] += s0;
        life->added[j] += g * s0 + c * s1;
        life->square[j] += g2 * s0 + 2.0 * c * g * s1 + c * c * s2;
        if (r == 0) {
            life->first[j] += eg * s0;
            life->early[j] += e * s0;
            continue;
        }
        const double pair = g2 * s0 + c * g * s1, slope = (c * g * s1 + c * c * s2) / r;
        const double level = g * s0, rise = c * s1 / r;
        life->first[j] += life->prefill ? eg * s0 + c * e * s1 : pair;
        life->early[j] += life->prefill ? e * s0 : level;
        life->pair[j] += pair - offset * slope;
        life->slope[j] += slope;
        life->level[j] += level - offset * rise;
        life->rise[j] += rise;
    }
    return GSL_SUCCESS;
}

static double sum(const double *x, int n)
{
    double total = 0.0;
    for (int j = n; j-- > 0;) total += x[j];
    return total;
}

double spec_request_life_steps(const spec_request_life *life)
{
    return sum(life->alive, life->n);
}

double spec_request_life_total(const spec_request_life *life)
{
    return sum(life->added, life->n);
}

double spec_request_life_total_square(const spec_request_life *life)
{
    double total = 0.0;
    for (int j = life->n; j-- > 0;) {
        double twice = 0.0; /* sum of E[e_i e_j] over i < j */
        if (j > 0)
            twice =
                life->first[j] + (j - 1.0) * life->pair[j] + 0.5 * j * (j - 1.0) * life->slope[j];
        total += life->square[j] + 2.0 * twice;
    }
    return total;
}
