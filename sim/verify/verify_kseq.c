/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kseq: SpecTr's sequential selection [SunZ23] Algorithm 2. Each of n iid siblings is tested with
 * min(1, target/(rho row)). With
 *     beta(rho) = sum min(target/rho, row)     one sibling is accepted
 *     tries     = sum_{k<n} (1 - beta)^k       expected tests; some sibling is accepted: tries beta
 * an accepted token has the law min(target/rho, row)/beta, and the correction is drawn from the
 * residual target - tries min(target/rho, row). The rule is lossless if this is not negative: for
 * every rho >= tries, which holds for rho = n. The smallest such rho in [1,n] accepts most; there
 * rho = tries.
 *
 * Cost, in passes over the two rows: at most PASSES to find rho and one for the correction, so at
 * most 11. Dozens of siblings, from rows that nearly agree except in a long tail, take up to
 * BISECTIONS more passes. */
#include "sim/verify/verify.h"

#include <assert.h>

enum { PASSES = 10, BISECTIONS = 4, HALVINGS = 54 };
#define ROUNDING 1e-14

/* beta at rho, near the guess: below/rho + above. */
typedef struct {
    double below; /* target's mass on tokens with target < rho row */
    double above; /* row's mass on the others */
} split;

static double tries_of(const split *s, double rho, int n)
{
    const double beta = s->below / rho + s->above, miss = beta < 1.0 ? 1.0 - beta : 0.0;
    double tries = 0.0;
    for (int k = 0; k < n; k++) tries = 1.0 + miss * tries;
    return tries;
}

/* Returns the root of rho = tries between low and high, for this split. */
static double crossing(const split *s, double low, double high, int n)
{
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        if (tries_of(s, middle, n) > middle)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Returns the least lossless rho up to rounding, and its expected tests. A pass splits the tokens
 * at the last guess; the next guess is the root for this split. Any split but the right one has
 * more beta and fewer tries, so only the first guess can be above the least rho; later ones climb,
 * by at least 1e-14. If PASSES passes do not find it, a few bisections lower the upper bound, which
 * is lossless too. */
static double find_rho(double *ret_tries, const double *target, const double *row, int n, int vocab)
{
    double low = 1.0, high = n, guess = n;
    for (int pass = 1; pass <= PASSES + BISECTIONS; pass++) {
        split s;
        spec_residual_split(&s.below, &s.above, target, row, guess, vocab);
        const double tries = tries_of(&s, guess, n);
        if (tries - guess > ROUNDING) {
            low = guess;
        } else { /* always in the first pass */
            high = guess;
            *ret_tries = tries;
            if (guess - tries <= ROUNDING) break;
        }
        guess = pass < PASSES ? crossing(&s, low, high, n) : 0.5 * (low + high);
    }
    return high;
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    const int n = spec_verify_children(draft, node), vocab = draft->vocab;
    if (n < 2) return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_IID);
    const double *row = draft->row[spec_verify_child(draft, node, node + 1)];
    double tries = n;
    const double rho = find_rho(&tries, target, row, n, vocab);
    for (int child = node + 1; (child = spec_verify_child(draft, node, child)) >= 0; child++) {
        const int token = draft->token[child];
        if (spec_chance_accept(chance, target[token], rho * row[token])) return token;
    }
    const spec_residual residual = {.target = target,
                                    .row = row,
                                    .taken = tries,
                                    .kept = tries < rho ? 1.0 - tries / rho : 0.0,
                                    .but = -1,
                                    .vocab = vocab};
    return spec_verify_sample_residual(&residual, weight, spec_residual_sum(weight, &residual),
                                       chance);
}

const spec_rule spec_verify_kseq = {
    .name = "kseq",
    .summary = "iid siblings: accept each with min(1, target/(rho draft)), for the least rho that "
               "is lossless",
    .reference = "SunZ23",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .verify = spec_verify_walk,
    .decide = decide,
};
