/* kseq: SpecTr's sequential selection [SunZ23] Algorithm 2. Every one of n iid siblings is tested alike, with min(1,
 * target/(rho row)). With
 *     beta(rho) = sum min(target/rho, row)            one sibling is accepted
 *     tries     = sum_{k<n} (1 - beta)^k              expected tests; some sibling is accepted: tries beta
 * an accepted token is distributed as min(target/rho, row)/beta, and the correction is drawn from what that leaves
 * of the target, target - tries min(target/rho, row). It is lossless where this is not negative: for every rho >=
 * tries, which n always is. The least such rho in [1,n] accepts most; there rho = tries.
 *
 * Passes over the two rows: at most PASSES to find rho, and one for the correction, so at most 11; and BISECTIONS more
 * for dozens of siblings from rows that nearly agree but for a long tail. */
#include "sim/verify/verify.h"

#include <assert.h>

enum { PASSES = 10, BISECTIONS = 4, HALVINGS = 54 };
#define ROUNDING 1e-14

/* beta around some rho: below/rho + above. */
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

/* Where rho = tries between low and high, if the split stayed as it is. */
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

/* The least lossless rho up to rounding, and its expected tests. A pass splits the tokens at the last guess, and the
 * next guess is the root for this split. Another split than the right one has more beta and fewer tries, so no guess
 * but the first is above the least rho: they climb, by 1e-14 at least. Where PASSES passes do not find it, a few
 * bisections bring down the one above, which is lossless as well. */
static double find_rho(double *ret_tries, const double *target, const double *row, int n, int vocab)
{
    double low = 1.0, high = n, guess = n;
    for (int pass = 1; pass <= PASSES + BISECTIONS; pass++) {
        split s;
        spec_excess_split(&s.below, &s.above, target, row, guess, vocab);
        const double tries = tries_of(&s, guess, n);
        if (tries - guess > ROUNDING) {
            low = guess;
        } else { /* always so in the first pass */
            high = guess;
            *ret_tries = tries;
            if (guess - tries <= ROUNDING) break;
        }
        guess = pass < PASSES ? crossing(&s, low, high, n) : 0.5 * (low + high);
    }
    return high;
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
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
    const spec_excess left = {.target = target, .row = row, .taken = tries,
                              .kept = tries < rho ? 1.0 - tries / rho : 0.0, .but = -1, .vocab = vocab};
    return spec_verify_sample_left(&left, weight, spec_excess_sum(weight, &left), chance);
}

const spec_rule spec_verify_kseq = {
    .name = "kseq",
    .summary = "iid siblings: accept each with min(1, target/(rho draft)), for the least rho that is lossless",
    .reference = "SunZ23",
    .claim = SPEC_LOSSLESS,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .verify = spec_verify_walk,
    .decide = decide,
};
