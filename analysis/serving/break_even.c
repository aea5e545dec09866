/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/break_even.h"

#include <math.h>
#include <stdbool.h>

static bool is_valid(int K, double emitted)
{
    return K >= 1 && emitted >= 1.0 && emitted <= K + 1.0;
}

static double fixed_draft(const spec_affine_step *cost, int K)
{
    return cost->draft_round + cost->draft_pass * K;
}

double spec_break_even_speedup(const spec_affine_step *cost, int K, double emitted, double B,
                               double s)
{
    if (!(is_valid(K, emitted) && B >= 1.0 && s >= 0.0)) return NAN;
    const double plain = cost->step + B * (cost->token + cost->kv * s);
    return emitted * plain /
           (plain + fixed_draft(cost, K) + B * (cost->token + cost->draft_token) * K);
}

void spec_break_even_batch(double *ret_from, double *ret_to, const spec_affine_step *cost, int K,
                           double emitted, double s)
{
    *ret_from = *ret_to = NAN;
    if (!(is_valid(K, emitted) && s >= 0.0)) return;
    const double gain = cost->step * (emitted - 1.0) - fixed_draft(cost, K);
    const double loss =
        cost->token * (K + 1.0 - emitted) + cost->draft_token * K - cost->kv * s * (emitted - 1.0);
    /* Speculation gains if gain > B loss. */
    *ret_from = gain <= 0.0 && loss < 0.0 ? gain / loss : 0.0;
    if (loss > 0.0)
        *ret_to = gain > 0.0 ? gain / loss : 0.0;
    else
        *ret_to = gain > 0.0 || loss < 0.0 ? INFINITY : 0.0;
}

double spec_break_even_context(const spec_affine_step *cost, int K, double emitted, double draft_kv)
{
    if (!(is_valid(K, emitted) && draft_kv >= 0.0)) return NAN;
    const double tokens = cost->token * (K + 1.0 - emitted) + cost->draft_token * K;
    const double saved = cost->kv * (emitted - 1.0) - draft_kv * K;
    return saved > 0.0 ? tokens / saved : INFINITY;
}
