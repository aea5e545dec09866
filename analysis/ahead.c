/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ahead.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"

#include <math.h>
#include <stdbool.h>

static bool is_share(double x)
{
    return x >= 0.0 && x <= 1.0;
}

static bool is_amount(double x)
{
    return x >= 0.0 && isfinite(x);
}

double spec_ahead_hit(double alpha, double K, double guessed)
{
    if (!is_share(alpha) || !is_share(guessed) || !(K >= 0.0)) return NAN;
    return K > 0.0 ? pow(alpha, K) * guessed : 0.0;
}

double spec_ahead_round(double hit, double before, double during, double verify, double handed)
{
    if (!is_share(hit) || !is_amount(before) || !is_amount(during) || !is_amount(verify) ||
        !(handed >= 0.0) || !(handed <= verify))
        return NAN;
    return handed + fmax(verify - handed, during) + (1.0 - hit) * before;
}

double spec_ahead_speedup(double alpha, double K, double c, double guessed, double handed)
{
    const double emitted = spec_capped_geometric_mean(alpha, K),
                 during = K > 0.0 ? (K + 1.0) * c : 0.0;
    return emitted /
           spec_ahead_round(spec_ahead_hit(alpha, K, guessed), K * c, during, 1.0, handed);
}

double spec_ahead_rounds(int n, double hit, double before, double during, double verify,
                         double handed)
{
    if (n < 1) return NAN;
    return n * spec_ahead_round(hit, before, during, verify, handed) + hit * before;
}

double spec_ahead_break_even(int K, double c)
{
    if (K < 1 || !is_amount(c)) return NAN;
    return fmax(0.0, (K + 1) * c - 1.0) / (K * c); /* 0 / 0 at c = 0 */
}

double spec_ahead_break_even_cost(double alpha, int K, double guessed)
{
    if (K < 1) return NAN;
    return 1.0 / (1.0 + (1.0 - spec_ahead_hit(alpha, K, guessed)) * K);
}

/* Returns the speed-up, or its limit as K grows without bound. */
static double speedup_at(double alpha, double K, double c, double guessed, double handed)
{
    if (!isinf(K)) return spec_ahead_speedup(alpha, K, c, guessed, handed);
    /* reached only at c = 0 or alpha = 1, because otherwise K is finite */
    return 1.0 / ((1.0 - alpha) + c * (2.0 - guessed));
}

double spec_ahead_best_K(double alpha, double c, double guessed, double handed)
{
    if (isnan(spec_ahead_speedup(alpha, 1.0, c, guessed, handed))) return NAN;
    const spec_round_time within = {.fixed = 1.0, .calls = 1.0, .guessed = guessed},
                          beyond = {.fixed = handed + c, .calls = 2.0, .guessed = guessed};
    /* At c = 0 every chain fits. */
    const double fits = fmax(0.0, floor((1.0 - handed) / c - 1.0)),
                 shorter = spec_speedup_best_K_between(alpha, c, within, 0.0, fits);
    if (isinf(fits)) return shorter;
    const double longer = spec_speedup_best_K_between(alpha, c, beyond, fits + 1.0, INFINITY);
    const double at_longer = speedup_at(alpha, longer, c, guessed, handed),
                 at_shorter = speedup_at(alpha, shorter, c, guessed, handed);
    return at_longer > at_shorter ? longer : shorter;
}

double spec_ahead_best_speedup(double alpha, double c, double guessed, double handed)
{
    return speedup_at(alpha, spec_ahead_best_K(alpha, c, guessed, handed), c, guessed, handed);
}

double spec_ahead_pearl_speedup(double alpha, int K, double c)
{
    /* the other arguments are checked by the mean, which is NaN outside its domain */
    if (!is_amount(c)) return NAN;
    return spec_capped_geometric_mean(alpha, K - 1) / (1.0 - pow(alpha, K) + alpha) /
           fmax(1.0, K * c);
}
