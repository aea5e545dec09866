#include "analysis/ahead.h"

#include "analysis/capped_geometric.h"

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

double spec_ahead_hit(double alpha, int K, double guessed)
{
    if (!is_share(alpha) || !is_share(guessed) || K < 0) return NAN;
    return K > 0 ? pow(alpha, K) * guessed : 0.0;
}

double spec_ahead_round(double hit, double before, double during, double verify, double handed)
{
    if (!is_share(hit) || !is_amount(before) || !is_amount(during) || !is_amount(verify) || !(handed >= 0.0) ||
        !(handed <= verify))
        return NAN;
    return handed + fmax(verify - handed, during) + (1.0 - hit) * before;
}

double spec_ahead_speedup(double alpha, int K, double c, double guessed, double handed)
{
    const double emitted = spec_capped_geometric_mean(alpha, K), during = K > 0 ? (K + 1) * c : 0.0;
    return emitted / spec_ahead_round(spec_ahead_hit(alpha, K, guessed), K * c, during, 1.0, handed);
}

double spec_ahead_rounds(int n, double hit, double before, double during, double verify, double handed)
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

int spec_ahead_best_K(double alpha, double c, double guessed, double handed, int K_max)
{
    if (K_max < 0 || isnan(spec_ahead_speedup(alpha, 0, c, guessed, handed))) return -1;
    if (c == 0.0) return alpha > 0.0 ? K_max : 0; /* the last gains are lost in rounding */
    int best = 0;
    double most = 1.0;
    for (int K = 1; K <= K_max; K++) {
        const double speedup = spec_ahead_speedup(alpha, K, c, guessed, handed);
        if (speedup > most) {
            most = speedup;
            best = K;
        }
    }
    return best;
}

double spec_ahead_pearl_speedup(double alpha, int K, double c)
{
    if (!is_amount(c)) return NAN; /* as is the mean, of the others outside their domains */
    return spec_capped_geometric_mean(alpha, K - 1) / (1.0 - pow(alpha, K) + alpha) / fmax(1.0, K * c);
}
