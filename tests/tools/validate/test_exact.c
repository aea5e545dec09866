/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact samplers of the catalogue have the target's law. Their output law is summed over all
 * drafts and all coins of a lattice that contains their thresholds, to 1e-9; samplers without such
 * a lattice are tested with large samples. */
#include "tools/validate/mutants/mutants.h"
#include "tools/validate/validate.h"

#include "analysis/statistics/goodness.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { V = 4, NODES = 3, COINS = 8, DEPTH = 3, CELLS = V * V * V };
enum { ANSWERS = (V + 1) * (V + 1) * (V + 1) * (V + 1) }; /* answers of at most NODES + 1 tokens */

/* Rows of eighths, which depend on the previous token. Every threshold is a multiple of 1/24 on
 * `plain`, and of 1/72 on `rich` and after a chosen token of `chosen`; `rich` has two residuals of
 * several tokens. */
typedef struct {
    float target[3][V], draft[3][V];
} pair_rows;

#define EIGHTHS(a, b, c, d) {(a) / 8.0f, (b) / 8.0f, (c) / 8.0f, (d) / 8.0f}

static const pair_rows plain = {{EIGHTHS(3, 3, 1, 1), EIGHTHS(1, 3, 1, 3), EIGHTHS(3, 1, 1, 3)},
                                {EIGHTHS(1, 1, 3, 3), EIGHTHS(3, 1, 3, 1), EIGHTHS(1, 1, 3, 3)}};
static const pair_rows rich = {{EIGHTHS(3, 2, 2, 1), EIGHTHS(1, 3, 1, 3), EIGHTHS(3, 1, 1, 3)},
                               {EIGHTHS(1, 1, 3, 3), EIGHTHS(3, 1, 3, 1), EIGHTHS(1, 1, 3, 3)}};
static const pair_rows chosen = {{EIGHTHS(4, 2, 1, 1), EIGHTHS(4, 2, 1, 1), EIGHTHS(4, 2, 1, 1)},
                                 {EIGHTHS(4, 4, 0, 0), EIGHTHS(4, 4, 0, 0), EIGHTHS(4, 4, 0, 0)}};

typedef struct {
    int n_nodes;
    const int32_t *opt_parent; /* NULL: a chain */
    uint32_t drawn;
    bool draws;                /* scope DV: rows depend on the place only */
} draft_shape;

static const int32_t pair[] = {-1, -1}, below_second[] = {-1, -1, 1};
static const draft_shape chain = {2, NULL, SPEC_DRAWN_IID, false},
                         short_chain = {1, NULL, SPEC_DRAWN_IID, false},
                         fixed_chain = {2, NULL, SPEC_DRAWN_FIXED, false},
                         iid_pair = {2, pair, SPEC_DRAWN_IID, false},
                         iid_tree = {3, below_second, SPEC_DRAWN_IID, false},
                         other_pair = {2, pair, SPEC_DRAWN_WITHOUT, false},
                         fixed_pair = {2, pair, SPEC_DRAWN_FIXED, false},
                         own_draft = {1, NULL, SPEC_DRAWN_IID, true};

/* ---- all coins ------------------------------------------------------------------------------- */

typedef struct {
    const draft_shape *shape;
    const pair_rows *rows;
    int side; /* a coin is the centre of one of this many cells */
    spec_reference_sampler *sampler;
    double answer[ANSWERS]; /* law of the emitted tokens: digits in base V + 1, 0 after the last */
    double law[CELLS];      /* law of the first DEPTH tokens of a text */
    int32_t token[NODES + 1];
} enumeration;

static int row_after(const enumeration *e, int token)
{
    return e->shape->draws ? 1 : 1 + token % 2;
}

/* Adds the emitted tokens, followed by draws from the target. */
static void add_text(enumeration *e, const int32_t *emitted, int n, double chance, int k, int code,
                     int row)
{
    if (k == DEPTH) e->law[code] += chance;
    for (int x = 0; x < V && k < DEPTH; x++) {
        const double here = k < n ? (double)(x == emitted[k]) : (double)e->rows->target[row][x];
        if (here > 0.0)
            add_text(e, emitted, n, chance * here, k + 1, code * V + x, row_after(e, x));
    }
}

static int run(enumeration *e, const float *coin, int32_t *emitted)
{
    float target[NODES + 1][V], draft[NODES + 1][V];
    int32_t drafted[NODES], n_emitted = 0, n_accepted = 0;
    spec_step step = {.size = sizeof step,
                      .vocab = V,
                      .n_nodes = e->shape->n_nodes,
                      .token = e->shape->draws ? NULL : e->token,
                      .parent = e->shape->opt_parent,
                      .target = target[0],
                      .draft = e->shape->drawn == SPEC_DRAWN_FIXED ? NULL : draft[0],
                      .drawn = e->shape->drawn,
                      .sampling = SPEC_SAMPLING_NONE,
                      .seed = 42,
                      .coin = coin,
                      .n_coins = COINS,
                      .ret_token = emitted,
                      .ret_n_emitted = &n_emitted,
                      .ret_n_accepted = &n_accepted,
                      .ret_draft = e->shape->draws ? drafted : NULL};
    for (int i = 0; i <= NODES && i <= e->shape->n_nodes; i++) {
        const int row = i == 0 ? 0 : row_after(e, e->token[i - 1]);
        memcpy(target[i], e->rows->target[row], sizeof target[i]);
        memcpy(draft[i], e->rows->draft[row], sizeof draft[i]);
    }
    assert_int_equal(spec_reference_sampler_step(e->sampler, &step, 1), GSL_SUCCESS);
    assert_int_equal(n_emitted, n_accepted + 1);
    return n_emitted;
}

static int answer_of(const int32_t *emitted, int n)
{
    int code = 0;
    for (int k = NODES; k >= 0; k--) code = code * (V + 1) + (k < n ? 1 + emitted[k] : 0);
    return code;
}

/* Extends every answer to texts. */
static void add_answers(enumeration *e)
{
    for (int code = 0; code < ANSWERS; code++) {
        int32_t emitted[NODES + 1];
        int n = 0;
        for (int rest = code; rest > 0; rest /= V + 1) emitted[n++] = rest % (V + 1) - 1;
        if (e->answer[code] > 0.0) add_text(e, emitted, n, e->answer[code], 0, 0, 0);
    }
}

/* Recurses over the cells of every coin that was used, starting with the last one. */
static void toss_all(enumeration *e, double chance)
{
    int cell[COINS] = {0};
    double each[COINS];
    for (int used = 0; used < COINS; used++) each[used] = chance * pow(e->side, -used);
    for (int last = 0; last >= 0;) {
        float coin[COINS];
        int32_t emitted[NODES + 1];
        for (int k = 0; k < COINS; k++) coin[k] = ((float)cell[k] + 0.5f) / (float)e->side;
        const int n = run(e, coin, emitted), used = e->sampler->n_coins;
        assert_true(used < COINS);
        e->answer[answer_of(emitted, n)] += each[used];
        for (int k = used; k < COINS; k++) cell[k] = 0;
        for (last = used - 1; last >= 0 && ++cell[last] == e->side; last--) cell[last] = 0;
    }
}

static void draft_all(enumeration *e, int node, double chance)
{
    bool taken[V] = {false};
    double left = 1.0;
    if (node >= NODES || node == e->shape->n_nodes || e->shape->draws) {
        toss_all(e, chance);
        return;
    }
    const int parent = e->shape->opt_parent != NULL ? e->shape->opt_parent[node] : node - 1;
    const float *row = e->rows->draft[parent < 0 ? 0 : row_after(e, e->token[parent])];
    for (int i = 0; i < node && e->shape->drawn != SPEC_DRAWN_IID && e->shape->opt_parent != NULL;
         i++) {
        left -= (double)row[e->token[i]]; /* all nodes are children of the root */
        taken[e->token[i]] = true;
    }
    for (int x = 0; x < V; x++) {
        if (taken[x] || !(row[x] > 0.0f)) continue;
        e->token[node] = x;
        draft_all(e, node + 1, chance * (double)row[x] / left);
    }
}

/* Returns the largest difference between the probabilities of a text under the sampler and under
 * the target. */
static double distance(const char *name, const draft_shape *of, const pair_rows *rows, int side)
{
    enumeration e = {.shape = of, .rows = rows, .side = side};
    const spec_mutant *mutant;
    void *self;
    double most = 0.0, sum = 0.0;
    assert_int_equal(spec_mutants_find(&mutant, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_reference_sampler_open(&self, &mutant->hooks), GSL_SUCCESS);
    e.sampler = self;
    draft_all(&e, 0, 1.0);
    add_answers(&e);
    spec_reference_sampler_close(self);
    for (int code = 0; code < CELLS; code++) {
        const int text[DEPTH] = {code / (V * V), code / V % V, code % V};
        double chance = 1.0;
        for (int k = 0, row = 0; k < DEPTH; k++) {
            chance *= (double)rows->target[row][text[k]];
            row = row_after(&e, text[k]);
        }
        most = fmax(most, fabs(e.law[code] - chance));
        sum += e.law[code];
    }
    assert_within(sum, 1.0, 1e-9);
    return most;
}

typedef struct {
    const char *name;
    const draft_shape *shape;
    const pair_rows *rows;
    int side;
} lattice_case;

TEST(every_lattice_sums_to_the_targets_law, SLOW)
{
    static const lattice_case cases[] = {
        {"right", &chain, &plain, 24},
        {"right", &fixed_chain, &chosen, 24},
        {"right", &iid_pair, &rich, 72},
        {"right", &other_pair, &rich, 72},
        {"right", &fixed_pair, &chosen, 24},
        {"right", &iid_tree, &plain, 24},
        {"coins-lazy", &chain, &plain, 24},
        {"coins-lazy", &iid_pair, &rich, 72},
        {"coins-ahead", &short_chain, &plain, 24},
        {"coin-stretched", &short_chain, &plain, 576},
        {"draws-by-rank", &chain, &plain, 24},
        {"draws-by-alias", &chain, &plain, 24},
        {"draws-by-alias", &iid_pair, &plain, 24},
        {"in-step", &chain, &plain, 24},
        {"capped", &chain, &plain, 24},
        {"sampler-match", &chain, &plain, 24},
        {"sampler-match", &iid_tree, &plain, 24},
        {"draft-as-certain", &short_chain, &chosen, 24},
        {"siblings-reversed", &iid_pair, &rich, 72},
        {"siblings-reversed", &iid_tree, &plain, 24},
        {"siblings-reversed", &fixed_pair, &chosen, 24},
        {"siblings-shuffled", &iid_pair, &plain, 24},
        {"siblings-shuffled", &fixed_pair, &chosen, 24},
        {"twins-once", &iid_pair, &rich, 72},
        {"twins-once", &iid_tree, &plain, 24},
        {"match-last-twin", &iid_tree, &plain, 24},
        {"match-last-twin", &other_pair, &plain, 24},
        {"target-only", &other_pair, &plain, 24},
        {"target-only", &fixed_pair, &chosen, 24},
        {"naive-tree", &iid_pair, &rich, 72},
        {"naive-tree", &iid_tree, &plain, 24},
        {"naive-tree", &other_pair, &rich, 72},
        {"traversal", &iid_pair, &rich, 72},
        {"traversal", &iid_tree, &plain, 24},
        {"traversal", &other_pair, &rich, 72},
        {"right-drafts", &own_draft, &plain, 24},
        {"drafts-ahead", &own_draft, &plain, 24},
        {"draft-drawn-before", &own_draft, &plain, 24},
        {"coin-of-cell", &own_draft, &plain, 24},
    };
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c += spec_test_stride(1)) {
        const double off = distance(cases[c].name, cases[c].shape, cases[c].rows, cases[c].side);
        if (!(off < 1e-9)) fail_msg("%s, case %d: off by %g", cases[c].name, c, off);
    }
}

/* Samplers that are nearly exact. Siblings without replacement have an order, so it is wrong to
 * judge the last one first, or to judge twins once as if they were independent. */
TEST(the_lattice_detects_mistakes, SLOW)
{
    assert_true(distance("siblings-reversed", &other_pair, &rich, 72) > 1e-3);
    assert_true(distance("siblings-shuffled", &other_pair, &plain, 24) > 1e-4);
    assert_true(distance("twins-as-iid", &iid_pair, &rich, 72) > 1e-4);
    assert_true(distance("siblings-by-draft", &other_pair, &rich, 72) > 1e-3);
    assert_true(distance("coin-of-draft", &own_draft, &plain, 24) > 1e-2);
    assert_true(distance("residual-from-target", &chain, &plain, 24) > 1e-2);
}

/* ---- large samples --------------------------------------------------------------------------- */

/* Returns the p-value of the first tokens after one draft, drawn by the sampler or by the test.
 * Most runs detect a TV of .01; drawing from the target instead of the residual is off by .1. */
static double p_of_first_tokens(const char *name, const draft_shape *of)
{
    enum { ROUNDS = 200000 };
    const spec_mutant *mutant;
    spec_goodness g;
    void *self;
    uint64_t count[V] = {0};
    double law[V];
    assert_int_equal(spec_mutants_find(&mutant, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_reference_sampler_open(&self, &mutant->hooks), GSL_SUCCESS);
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 1);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        float target[NODES + 1][V], draft[NODES + 1][V];
        int32_t token[NODES] = {0}, emitted[NODES + 1], drafted[NODES], n_emitted, n_accepted;
        double u = spec_rng_next_double(&rng);
        while (u >= (double)rich.draft[0][token[0]]) u -= (double)rich.draft[0][token[0]++];
        for (int k = 0; k < 2; k++) {
            memcpy(target[k], rich.target[k], sizeof target[k]);
            memcpy(draft[k], rich.draft[k], sizeof draft[k]);
        }
        spec_step step = {.size = sizeof step,
                          .vocab = V,
                          .n_nodes = 1,
                          .token = of->draws ? NULL : token,
                          .target = target[0],
                          .draft = draft[0],
                          .drawn = SPEC_DRAWN_IID,
                          .sampling = SPEC_SAMPLING_NONE,
                          .seed = 42,
                          .offset = i,
                          .ret_token = emitted,
                          .ret_n_emitted = &n_emitted,
                          .ret_n_accepted = &n_accepted,
                          .ret_draft = of->draws ? drafted : NULL};
        assert_int_equal(spec_reference_sampler_step(self, &step, 1), GSL_SUCCESS);
        count[emitted[0]]++;
    }
    spec_reference_sampler_close(self);
    for (int x = 0; x < V; x++) law[x] = (double)rich.target[0][x];
    assert_int_equal(spec_goodness_g(&g, count, law, V, 10, 0), GSL_SUCCESS);
    return g.p;
}

TEST(samplers_without_a_lattice_pass_large_samples, STATISTICS)
{
    static const char *const verifiers[] = {
        "draws-by-race", "one-noise", "residual-by-rejection", "block", "draws-by-rank", NULL};
    for (int i = 0; verifiers[i] != NULL; i++)
        if (!(p_of_first_tokens(verifiers[i], &short_chain) > SPEC_TEST_P))
            fail_msg("%s", verifiers[i]);
    assert_true(p_of_first_tokens("race-coupled", &own_draft) > SPEC_TEST_P);
    assert_true(p_of_first_tokens("residual-from-target", &short_chain) < SPEC_TEST_P);
    assert_true(p_of_first_tokens("gumbel-shared", &own_draft) < SPEC_TEST_P);
}

/* ---- all of them, as samplers ---------------------------------------------------------------- */

TEST(every_exact_sampler_passes, SLOW)
{
    static const char *const few[] = {"plain-4",
                                      "shorter-4",
                                      "fixed-4",
                                      "batch-3",
                                      "blind-3",
                                      "joint-16",
                                      "binary-iid-4",
                                      "shorter-iid-4",
                                      "binary-without-4",
                                      "deep-fixed-4",
                                      "text-5-3",
                                      "greedy-8",
                                      NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    const spec_mutant *m;
    int n = 0;
    plan.draws = 150000;
    plan.hints = false;
    plan.opt_pool = spec_test_pool(1);
    plan.seed = spec_test_seed();
    plan.opt_only = few;
    for (int i = 0; (m = spec_mutants_at(i)) != NULL; i++) {
        spec_validation v;
        spec_error error = {{0}};
        char spec[96];
        if (m->kind != SPEC_MUTANT_EXACT || n++ % spec_test_stride(1) != 0) continue;
        snprintf(spec, sizeof spec, "mutant:%s", m->name);
        if (spec_validate(&v, spec, &plan, &error) != GSL_SUCCESS)
            fail_msg("%s: %s", spec, error.text);
        if (v.verdict != SPEC_VERDICT_PASS) fail_msg("%s: %s", spec, v.reason);
        spec_validation_free(&v);
    }
    assert_true(n >= 30);
}
