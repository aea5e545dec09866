/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/speedup.h"

#include "analysis/brent.h"
#include "analysis/capped_geometric.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns whether x can be a cost or a count: not negative, NaN or infinite (inf * 0 calls would be
 * NaN). */
static bool is_amount(double x)
{
    return x >= 0.0 && isfinite(x);
}

double spec_speedup_from_emitted(double emitted, double K, double c)
{
    if (!is_amount(emitted) || !is_amount(K) || !is_amount(c)) return NAN;
    return emitted / (K * c + 1.0);
}

double spec_speedup(double alpha, double K, double c)
{
    return spec_speedup_from_emitted(spec_capped_geometric_mean(alpha, K), K, c);
}

double spec_speedup_ops_factor(double alpha, int K, double ops_ratio)
{
    if (!is_amount(ops_ratio)) return NAN;
    return (K * ops_ratio + K + 1.0) / spec_capped_geometric_mean(alpha, K);
}

double spec_speedup_memory_factor(double alpha, int K)
{
    return 1.0 / spec_capped_geometric_mean(alpha, K);
}

double spec_speedup_oracle(double alpha, double c)
{
    if (!is_amount(c) || !(alpha >= 0.0 && alpha <= 1.0)) return NAN;
    return 1.0 / ((1.0 - alpha) + c * alpha);
}

/* Returns whether K + 1 draft tokens are better than K. */
static bool one_more_gains(double alpha, double c, spec_round_time time, double K)
{
    /* In these two edge cases rounding would decide: alpha^K underflows, or c K absorbs `fixed`. */
    if (c == 0.0) return alpha > 0.0;
    if (alpha == 1.0) return time.fixed > c * (time.calls - time.guessed);
    const double all = pow(alpha, K), emitted = spec_capped_geometric_mean(alpha, K),
                 round = time.fixed + c * K * (time.calls - time.guessed * all),
                 longer = c * (time.calls - time.guessed * all * (alpha - K * (1.0 - alpha)));
    return pow(alpha, K + 1.0) * round > longer * emitted;
}

double spec_speedup_best_K_between(double alpha, double c, spec_round_time time, double low,
                                   double high)
{
    /* Once a token beyond `top` does not gain, the maximum is in low..top. */
    double top = low;
    for (double step = 1.0; top < high && one_more_gains(alpha, c, time, top); step *= 2.0)
        top = fmin(top + step, high);
    while (low < top) {
        const double middle = floor(low + 0.5 * (top - low));
        if (middle == top) break; /* beyond 2^53 there may be no double between the two */
        if (one_more_gains(alpha, c, time, middle))
            low = fmax(middle + 1.0, nextafter(middle, INFINITY));
        else
            top = middle;
    }
    return top;
}

double spec_speedup_best_K(double alpha, double c)
{
    if (isnan(spec_speedup(alpha, 0.0, c))) return NAN;
    return spec_speedup_best_K_between(alpha, c, (spec_round_time){.fixed = 1.0, .calls = 1.0}, 0.0,
                                       INFINITY);
}

double spec_speedup_best(double alpha, double c)
{
    const double K = spec_speedup_best_K(alpha, c);
    return isinf(K) ? spec_speedup_oracle(alpha, c) : spec_speedup(alpha, K, c);
}

double spec_speedup_one_pass(double alpha, double K, double pass, double token)
{
    if (!is_amount(pass) || !is_amount(K) || !is_amount(token)) return NAN;
    const double drafting = K > 0.0 ? pass + token * K : 0.0;
    return spec_capped_geometric_mean(alpha, K) / (1.0 + drafting);
}

/* Returns the limit for K to infinity. */
static double one_pass_limit(double alpha, double pass, double token)
{
    if (alpha == 1.0) return 1.0 / token;
    return token > 0.0 ? 0.0 : 1.0 / ((1.0 - alpha) * (1.0 + pass));
}

double spec_speedup_one_pass_best_K(double alpha, double pass, double token)
{
    if (isnan(spec_speedup_one_pass(alpha, 1.0, pass, token))) return NAN;
    const double K = spec_speedup_best_K_between(
        alpha, token, (spec_round_time){.fixed = 1.0 + pass, .calls = 1.0}, 1.0, INFINITY);
    const double most = isinf(K) ? one_pass_limit(alpha, pass, token)
                                 : spec_speedup_one_pass(alpha, K, pass, token);
    return most > 1.0 ? K : 0.0;
}

double spec_speedup_one_pass_best(double alpha, double pass, double token)
{
    const double K = spec_speedup_one_pass_best_K(alpha, pass, token);
    return isinf(K) ? one_pass_limit(alpha, pass, token)
                    : spec_speedup_one_pass(alpha, K, pass, token);
}

typedef struct {
    int K;
    double c;
} break_even;

/* Returns alpha + ... + alpha^K - c K, which is E[n_emitted] minus the cost of a round. */
static double gain(double alpha, void *params)
{
    const break_even *at = params;
    return alpha * spec_capped_geometric_mean(alpha, at->K - 1) - at->c * at->K;
}

double spec_speedup_break_even_alpha(int K, double c)
{
    if (K < 1 || !(c >= 0.0 && c <= 1.0)) return NAN;
    if (c == 0.0) return 0.0; /* the bracket below would shrink to an interval of length 0 */
    spec_brent room;
    gsl_root_fsolver *solver = spec_brent_init(&room);
    break_even at = {.K = K, .c = c};
    gsl_function function = {.function = gain, .params = &at};
    gsl_root_fsolver_set(solver, &function, 0.0, 1.0); /* gain(0) = -cK <= 0 <= K - cK = gain(1) */
    double lower, upper;
    do {
        gsl_root_fsolver_iterate(solver);
        lower = gsl_root_fsolver_x_lower(solver);
        upper = gsl_root_fsolver_x_upper(solver);
    } while (gsl_root_test_interval(lower, upper, DBL_MIN, 1e-15) ==
             GSL_CONTINUE); /* an absolute tolerance of 0 would not terminate at c < 1e-308 */
    return gsl_root_fsolver_root(solver);
}

static double saved_passes(double alpha, int K, double c)
{
    return isnan(spec_speedup(alpha, K, c)) ? NAN : 1.0 + alpha * (K - 1.0);
}

static double all_positions(double alpha, int K, double c)
{
    return isnan(spec_speedup(alpha, K, c)) ? NAN : 1.0 + alpha * K;
}

static double no_bonus(double alpha, int K, double c)
{
    return spec_speedup_from_emitted(spec_capped_geometric_mean(alpha, K) - 1.0, K, c);
}

static double run_length(double alpha, int K, double c)
{
    double emitted = spec_capped_geometric_mean(alpha, K);
    return spec_speedup_from_emitted(emitted, emitted, c);
}

static double free_draft(double alpha, int K, double c)
{
    return isnan(spec_speedup(alpha, K, c)) ? NAN : spec_capped_geometric_mean(alpha, K);
}

const spec_folklore spec_folklore_rules[] = {
    {"saved-passes", "1 + alpha (K-1)",
     "forgets that a rejection ends the round, the correction token and the cost of drafting",
     saved_passes},
    {"all-positions", "1 + alpha K",
     "forgets that a rejection ends the round and the cost of drafting; E[n_emitted] if alpha is "
     "accepted over drafted",
     all_positions},
    {"no-bonus", "E[n_accepted] / (1 + K c)",
     "forgets the correction or bonus token that every round adds", no_bonus},
    {"run-length", "L / (1 + L c), L = E[n_emitted]",
     "forgets the cost of the draft tokens that are thrown away: a round drafts K tokens, not L",
     run_length},
    {"free-draft", "E[n_emitted]", "forgets the cost of drafting", free_draft},
    {NULL, NULL, NULL, NULL},
};
