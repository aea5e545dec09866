/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/likely_drafts.h"

#include "tools/advise/likely_draws.h"

#include <math.h>
#include <stdbool.h>

/* Requests are represented by the nodes of Gauss-Hermite quadrature for a standard normal. */
enum { NODES = 7 };
static const double node[NODES] = {
    -3.7504397177257422, -2.3667594107345413, -1.1544053947399682, 0.0,
    1.1544053947399682,  2.3667594107345413,  3.7504397177257422};
static const double share[NODES] = {
    5.4826885597221791e-4, 3.0757123967586498e-2, 2.4012317860501271e-1, 4.5714285714285714e-1,
    2.4012317860501271e-1, 3.0757123967586498e-2, 5.4826885597221791e-4};

static bool one_of_two(gsl_rng *rng)
{
    return gsl_rng_uniform(rng) < 0.5;
}

static spec_likely_draft drawn(gsl_rng *rng)
{
    const double alpha = spec_likely_between(rng, 0.02, 0.99);
    spec_likely_draft ret = {log(alpha / (1.0 - alpha)), 0.0, INFINITY, 1.0, 0.0};
    if (!one_of_two(rng)) ret.spread = spec_likely_log_between(rng, 0.1, 3.0);
    if (!one_of_two(rng)) ret.over_rounds = spec_likely_log_between(rng, 1.0, 30.0);
    if (!one_of_two(rng)) ret.decay = spec_likely_between(rng, 0.75, 1.0);
    return ret;
}

/* Mean tokens of the rounds of each kind of request, at all lengths: tokens[i][K], K = 0..highest,
 * and their mean over requests of equal outputs. */
typedef struct {
    double tokens[NODES][SPEC_ADVICE_K], mean[SPEC_ADVICE_K];
} lengths;

static void fill(lengths *ret, const spec_likely_draft *draft, int highest)
{
    const double c = draft->over_rounds;
    const bool alike = !(draft->spread > 0.0);
    for (int i = alike ? NODES / 2 : 0; i < (alike ? NODES / 2 + 1 : NODES); i++) {
        const double alpha = 1.0 / (1.0 + exp(-draft->center - draft->spread * node[i]));
        double survives = 1.0, decay = 1.0;
        ret->tokens[i][0] = 1.0;
        for (int j = 0; j < highest; j++) {
            survives *= decay * (c < INFINITY ? (alpha * c + j) / (c + j) : alpha);
            decay *= draft->decay;
            ret->tokens[i][j + 1] = ret->tokens[i][j] + survives;
        }
    }
    for (int K = 0; K <= highest; K++) {
        double rounds = 0.0;
        for (int i = 0; i < NODES && !alike; i++) rounds += share[i] / ret->tokens[i][K];
        ret->mean[K] = alike ? ret->tokens[NODES / 2][K] : 1.0 / rounds;
    }
}

/* Returns the mean tokens of rounds of length K if only the first `cut` tokens are used. A request
 * has rounds in inverse proportion to its tokens per round. */
static double cut_tokens(const lengths *at, const spec_likely_draft *draft, int K, int cut)
{
    double tokens = 0.0;
    if (cut == K || !(draft->spread > 0.0)) return at->mean[cut];
    for (int i = 0; i < NODES; i++) tokens += share[i] / at->tokens[i][K] * at->tokens[i][cut];
    return tokens * at->mean[K];
}

/* Returns the logarithm of a draft's weight for a difference from what was counted. It has the
 * tails of a Student distribution, so that one odd rate does not exclude a draft. */
static double log_factor(double error, double variance)
{
    static const double NEAR = 0.01;
    return -2.0 * log1p(error * error / (NEAR * NEAR + variance));
}

static double log_weight(const lengths *at, const spec_likely_draft *draft,
                         const spec_likely_counters *run)
{
    static const double FAR = 50.0;
    double weight = 0.0, before = 1.0, tokens = 1.0;
    if (run->opt_passed == NULL)
        return log_factor(log(run->tokens / at->mean[run->K]), 1.0 / run->rounds);
    for (int j = 1; j <= run->K && run->opt_passed[j - 1] > 0.0; j++) {
        const double more = cut_tokens(at, draft, run->K, j),
                     rate = (more - tokens) / (j > 1 ? before : 1.0);
        const double counted = run->opt_passed[j - 1] / (j > 1 ? run->opt_passed[j - 2] : 1.0);
        /* the relative variance of a share of the rounds that reach depth j */
        const double reach = run->rounds * (j > 1 ? run->opt_passed[j - 2] : 1.0);
        /* a rate too small for the sums is far from any that was counted */
        const double error = rate > 0.0 ? log(counted / rate) : FAR;
        weight += log_factor(error, fmax(1.0 - counted, 0.0) / (counted * reach));
        before = more - tokens;
        tokens = more;
    }
    return weight;
}

void spec_likely_drafts_weigh(spec_likely_draft *ret_drafts, const spec_likely_counters *runs,
                              int n, gsl_rng *rng)
{
    double most = -INFINITY, sum = 0.0;
    int longest = 0;
    for (int i = 0; i < n; i++)
        if (runs[i].K > longest) longest = runs[i].K;
    for (int d = 0; d < SPEC_LIKELY_DRAFTS; d++) {
        lengths at;
        spec_likely_draft *draft = &ret_drafts[d];
        *draft = drawn(rng);
        fill(&at, draft, longest);
        draft->weights = 0.0;
        for (int i = 0; i < n; i++) draft->weights += log_weight(&at, draft, &runs[i]);
        if (draft->weights > most) most = draft->weights;
    }
    for (int d = 0; d < SPEC_LIKELY_DRAFTS; d++)
        ret_drafts[d].weights = sum += exp(ret_drafts[d].weights - most);
}

void spec_likely_drafts_draw(double ret[SPEC_ADVICE_K], const spec_likely_draft *drafts,
                             const int *run, const int *cut, int highest, gsl_rng *rng)
{
    const spec_likely_draft *draft =
        drafts + spec_likely_place(rng, &drafts->weights, sizeof *drafts / sizeof(double),
                                   SPEC_LIKELY_DRAFTS);
    int most = highest;
    lengths at;
    for (int K = 1; K <= highest; K++)
        if (run[K] > most) most = run[K];
    fill(&at, draft, most);
    for (int K = 1; K <= highest; K++) ret[K] = at.mean[K] / cut_tokens(&at, draft, run[K], cut[K]);
}
