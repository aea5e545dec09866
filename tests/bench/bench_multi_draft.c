/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/optimal.h"
#include "sim/chance/rng.h"
#include "sim/verify/verify.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PAIRS pairs of rows take 134 MB, more than the caches hold; they are copies of DISTINCT pairs. */
enum { V = 32000, PAIRS = 256, DISTINCT = 8, ROUNDS = 64, N_MAX = 4 };

typedef struct {
    const char *rule;
    int n;
    spec_siblings siblings;
    bool worst;  /* the target has none of the drafted tokens, so all are rejected; otherwise some
                  * are accepted */
    bool memory; /* the next pair each time; otherwise one pair, which stays in the L2 cache */
} decision_setup;

typedef struct {
    const decision_setup *setup;
    spec_rule rule;
    spec_draft draft;
    double *row; /* (pairs, 2, V) target, draft */
    int token[ROUNDS][N_MAX];
    int out[N_MAX + 1], node[N_MAX];
    double *weight;
    gsl_rng *rng;
    spec_ratio_order order;
    size_t pairs, next;
    volatile double sink;
} decisions;

static void close_decisions(void *state)
{
    decisions *d = state;
    spec_rule_free(&d->rule);
    spec_draft_free(&d->draft);
    spec_ratio_order_free(&d->order);
    free(d->row);
    free(d->weight);
    if (d->rng != NULL) gsl_rng_free(d->rng);
    free(d);
}

static void fill_pair(double *target, double *draft, gsl_rng *rng)
{
    double sum[2] = {0};
    for (int i = 0; i < V; i++) {
        const double weight = -log1p(-gsl_rng_uniform(rng)), noise = -log1p(-gsl_rng_uniform(rng));
        target[i] = weight;
        draft[i] = weight * (0.27 + noise);
        sum[0] += target[i];
        sum[1] += draft[i];
    }
    for (int i = 0; i < V; i++) {
        target[i] /= sum[0];
        draft[i] /= sum[1];
    }
}

/* Draws n drafts of this kind of siblings; `hub` is the argmax. */
static void fill_tokens(int *token, const decision_setup *s, const double *draft, int hub,
                        spec_chance *chance)
{
    for (int k = 0; k < s->n; k++) {
        bool again;
        do {
            token[k] = spec_chance_pick(chance, draft, V);
            again = false;
            for (int j = 0; j < k; j++) again = again || token[j] == token[k];
        } while (again && s->siblings != SPEC_SIBLINGS_IID);
    }
    if (s->siblings != SPEC_SIBLINGS_HUB) return;
    token[0] = token[0] == hub ? token[1] : token[0];
    token[1] = hub;
    if (s->worst) { /* with the hub as first draft there is one more pass */
        token[1] = token[0];
        token[0] = hub;
    }
}

static const char *open_decisions(void **ret_state, const void *setup)
{
    const decision_setup *s = setup;
    decisions *d = calloc(1, sizeof *d);
    if (d == NULL) return "no memory";
    const size_t pair = 2 * (size_t)V;
    const char *reason = "no memory";
    d->setup = s;
    d->pairs = s->memory ? PAIRS : 1;
    d->row = malloc(d->pairs * pair * sizeof *d->row);
    d->weight = malloc(V * sizeof *d->weight);
    d->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    if (d->row == NULL || d->weight == NULL || d->rng == NULL) goto failed;
    if (spec_draft_init(&d->draft, N_MAX, V, NULL) != GSL_SUCCESS) goto failed;
    if (spec_ratio_order_init(&d->order, V) != GSL_SUCCESS) goto failed;
    reason = "this rule is not there";
    if (s->rule != NULL && spec_rule_init(&d->rule, s->rule, NULL) != GSL_SUCCESS) goto failed;
    reason = "the rule could not be opened";
    if (s->rule != NULL && spec_rule_open(&d->rule, V, N_MAX, NULL) != GSL_SUCCESS) goto failed;

    spec_chance chance = spec_chance_sampled(d->rng);
    spec_rng_stream(d->rng, 42, 0);
    for (size_t i = 0; i < d->pairs && i < DISTINCT; i++)
        fill_pair(d->row + i * pair, d->row + i * pair + V, d->rng);
    int hub = 0;
    for (int i = 1; i < V; i++) hub = d->row[V + i] > d->row[V + hub] ? i : hub;
    for (int r = 0; r < ROUNDS; r++) fill_tokens(d->token[r], s, d->row + V, hub, &chance);
    for (size_t i = 0; i < d->pairs && i < DISTINCT && s->worst; i++)
        for (int r = 0; r < ROUNDS; r++)
            for (int k = 0; k < s->n; k++) d->row[i * pair + (size_t)d->token[r][k]] = 0.0;
    for (size_t i = DISTINCT; i < d->pairs; i++)
        memcpy(d->row + i * pair, d->row + (i - DISTINCT) * pair, pair * sizeof *d->row);
    *ret_state = d;
    return NULL;
failed:
    close_decisions(d);
    return reason;
}

static const double *next_pair(decisions *d)
{
    const double *pair = d->row + 2 * (size_t)V * d->next;
    d->next = (d->next + 1) % d->pairs;
    return pair;
}

/* One round of one level: the decision and, after an acceptance, the bonus token. */
static uint64_t decide(void *state, uint64_t n)
{
    decisions *d = state;
    spec_chance chance = spec_chance_sampled(d->rng);
    spec_round round = {.token = d->out, .node = d->node};
    for (uint64_t i = 0; i < n; i++) {
        const double *pair = next_pair(d), *target[N_MAX + 1];
        spec_draft_reset(&d->draft);
        d->draft.siblings = d->setup->siblings;
        for (int k = 0; k < d->setup->n; k++)
            spec_draft_append(&d->draft, d->token[i % ROUNDS][k], -1, pair + V, true);
        for (int k = 0; k <= d->setup->n; k++) target[k] = pair;
        d->rule.verify(&round, &d->rule, &d->draft, target, d->weight, &chance);
        d->sink = round.token[0];
    }
    return n;
}

/* ---- the yardstick --------------------------------------------------------------------------- */

#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static double
pass(const double *restrict target, const double *restrict draft, int n)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += target[i] < draft[i] ? target[i] : draft[i];
    return sum;
}

static uint64_t passes(void *state, uint64_t n)
{
    decisions *d = state;
    for (uint64_t i = 0; i < n; i++) {
        const double *pair = next_pair(d);
        d->sink = pass(pair, pair + V, V);
    }
    return n;
}

/* -- bounds, sorts and the table -- */

static uint64_t bound_iid(void *state, uint64_t n)
{
    decisions *d = state;
    for (uint64_t i = 0; i < n; i++) {
        const double *pair = next_pair(d);
        spec_ratio_order_sort(&d->order, pair, pair + V);
        d->sink = spec_optimal_iid(&d->order, N_MAX);
    }
    return n;
}

static uint64_t bound_without(void *state, uint64_t n)
{
    decisions *d = state;
    for (uint64_t i = 0; i < n; i++) {
        const double *pair = next_pair(d);
        spec_ratio_order_sort(&d->order, pair, pair + V);
        d->sink = spec_optimal_without_replacement(&d->order, N_MAX);
    }
    return n;
}

#define ROW(name, counted, function, ...)                                                          \
    .work = name, .unit = counted, .init = open_decisions, .run = function,                        \
    .free = close_decisions, .setup = &(const decision_setup)                                      \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define FROM_MEMORY "row:limit: a pass over two rows, memory"
#define FROM_CACHE "row:limit: a pass over two rows, cache"

/* Rows of a rule with all drafts rejected, and with random results; the ratio compares them with
 * `limit` passes. The goal is set for rows from memory. From the L2 cache, n rejections are n
 * passes at the cache's bandwidth, and the draw is extra. */
#define RULE(rule, n, siblings, limit)                                                             \
    {ROW(rule ", all rejected, memory", "decisions", decide, rule, n, siblings, true, true),       \
     .yardstick = FROM_MEMORY, .per = limit, .asked_ratio = 1.0},                                  \
        {ROW(rule ", all rejected, cache", "decisions", decide, rule, n, siblings, true, false),   \
         .yardstick = FROM_CACHE, .per = limit},                                                   \
    {                                                                                              \
        ROW(rule ", usual, cache", "decisions", decide, rule, n, siblings, false, false),          \
            .yardstick = FROM_CACHE, .per = limit                                                  \
    }
#define OTHER(rule, n, siblings)                                                                   \
    {                                                                                              \
        ROW(rule ", usual, cache", "decisions", decide, rule, n, siblings, false, false),          \
            .yardstick = FROM_CACHE                                                                \
    }

const spec_bench_row spec_bench_multi_draft[] = {
    {ROW("limit: a pass over two rows, memory", "passes", passes, NULL, 0, SPEC_SIBLINGS_IID, false,
         true)},
    {ROW("limit: a pass over two rows, cache", "passes", passes, NULL, 0, SPEC_SIBLINGS_IID, false,
         false)},
    RULE("rrs", 4, SPEC_SIBLINGS_IID, 4.0),
    RULE("rrsw", 4, SPEC_SIBLINGS_WITHOUT, 4.0),
    RULE("spechub", 2, SPEC_SIBLINGS_HUB, 4.0),
    RULE("kseq", 4, SPEC_SIBLINGS_IID, 12.0),
    OTHER("match", 4, SPEC_SIBLINGS_IID),
    OTHER("naive-tree", 4, SPEC_SIBLINGS_IID),
    {ROW("gumbel, all rejected, cache", "decisions", decide, "gumbel", 1, SPEC_SIBLINGS_IID, true,
         false),
     .yardstick = FROM_CACHE},
    OTHER("gumbel", 1, SPEC_SIBLINGS_IID),
    OTHER("minhash", 1, SPEC_SIBLINGS_IID),
    OTHER("gumbel?seed=7", 1, SPEC_SIBLINGS_IID),
    OTHER("minhash?seed=7", 1, SPEC_SIBLINGS_IID),
    OTHER("ot", 4, SPEC_SIBLINGS_IID),
    OTHER("khisti", 4, SPEC_SIBLINGS_IID),
    OTHER("traversal", 4, SPEC_SIBLINGS_IID),
    {ROW("mentored, rejected, cache", "decisions", decide, "mentored", 1, SPEC_SIBLINGS_IID, true,
         false),
     .yardstick = FROM_CACHE},
    {ROW("optimal iid, n = 4, with the sort", "bounds", bound_iid, NULL, 0, SPEC_SIBLINGS_IID,
         false, false),
     .asked = 200.0},
    {ROW("optimal without replacement, n = 4", "bounds", bound_without, NULL, 0, SPEC_SIBLINGS_IID,
         false, false),
     .asked = 200.0},
    {.work = NULL},
};
