/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/biased_law.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/validate/mutants/mutants.h"
#include "tools/validate/validate.h"

#include <string.h>

/* ---- the right sampler, over all coins of a lattice ------------------------------------------ */

enum { V = 3, ROUND_MOST = 4 };

static const float target_rows[3][V] = {
    {0.27f, 0.52f, 0.21f}, {0.61f, 0.09f, 0.3f}, {0.15f, 0.35f, 0.5f}};
static const float draft_rows[3][V] = {
    {0.55f, 0.15f, 0.3f}, {0.2f, 0.45f, 0.35f}, {0.4f, 0.3f, 0.3f}};

static const spec_reference_sampler_hooks no_hooks = {0};

/* Runs one round with these coins; returns n_emitted. */
static int round_with(int32_t *ret_token, int32_t *opt_draft, const int32_t *opt_token,
                      const int32_t *opt_parent, int n_nodes, uint32_t drawn, const float *coin,
                      int n_coins)
{
    void *self = NULL;
    int32_t n_emitted = 0, n_accepted = 0;
    spec_step step = {.size = sizeof step,
                      .vocab = V,
                      .n_nodes = n_nodes,
                      .token = opt_token,
                      .parent = opt_parent,
                      .target = target_rows[0],
                      .draft = drawn == SPEC_DRAWN_FIXED ? NULL : draft_rows[0],
                      .drawn = drawn,
                      .sampling = SPEC_SAMPLING_NONE,
                      .seed = 42,
                      .coin = coin,
                      .n_coins = n_coins,
                      .ret_token = ret_token,
                      .ret_n_emitted = &n_emitted,
                      .ret_n_accepted = &n_accepted,
                      .ret_draft = opt_draft};
    assert_int_equal(spec_reference_sampler_open(&self, &no_hooks), GSL_SUCCESS);
    assert_int_equal(spec_reference_sampler_step(self, &step, 1), GSL_SUCCESS);
    assert_int_equal(n_emitted, n_accepted + 1);
    spec_reference_sampler_close(self);
    return n_emitted;
}

/* The centres of cells: coin k of point i of a lattice of side^n. */
static void fill_coins(float *coin, int n, int side, int i)
{
    for (int k = 0; k < n; k++, i /= side) coin[k] = ((float)(i % side) + 0.5f) / (float)side;
}

static int power(int base, int exponent)
{
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

static void expect_target(const double *law, double tolerance)
{
    for (int x = 0; x < V; x++) assert_within(law[x], (double)target_rows[0][x], tolerance);
}

/* A threshold changes the share of a lattice by at most half a cell, and there are three
 * thresholds. Rows do not depend on the token of a node here: after an acceptance, the second token
 * has the law of the second row. */
TEST(the_right_sampler_has_the_targets_law)
{
    enum { SIDE = 64 };
    double first[V] = {0.0}, second[V] = {0.0}, accepted = 0.0;
    float coin[2];
    int32_t token[ROUND_MOST];
    for (int32_t x = 0; x < V; x++)
        for (int i = 0; i < SIDE * SIDE; i++) {
            const double weight = (double)draft_rows[0][x] / (SIDE * SIDE);
            fill_coins(coin, 2, SIDE, i);
            const int n = round_with(token, NULL, &x, NULL, 1, SPEC_DRAWN_IID, coin, 2);
            first[token[0]] += weight;
            if (n == 1) continue;
            second[token[1]] += weight;
            accepted += weight;
        }
    expect_target(first, 0.01);
    assert_within(accepted, 0.27 + 0.15 + 0.21, 0.01);
    for (int x = 0; x < V; x++)
        assert_within(second[x] / accepted, (double)target_rows[1][x], 0.01);
}

/* In scope DV the first coin draws the draft. */
TEST(the_right_sampler_draws_its_own_drafts_too)
{
    enum { SIDE = 40 };
    double first[V] = {0.0}, draft[V] = {0.0};
    float coin[3];
    int32_t token[ROUND_MOST], drafted[1];
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        fill_coins(coin, 3, SIDE, i);
        round_with(token, drafted, NULL, NULL, 1, SPEC_DRAWN_IID, coin, 3);
        first[token[0]] += 1.0 / (SIDE * SIDE * SIDE);
        draft[drafted[0]] += 1.0 / (SIDE * SIDE * SIDE);
    }
    expect_target(first, 0.015);
    for (int x = 0; x < V; x++) assert_within(draft[x], (double)draft_rows[0][x], 0.015);
}

static double chance_of_pair(const int32_t *token, uint32_t drawn)
{
    const double a = (double)draft_rows[0][token[0]], b = (double)draft_rows[0][token[1]];
    switch (drawn) {
    case SPEC_DRAWN_IID: return a * b;
    case SPEC_DRAWN_WITHOUT: return token[0] == token[1] ? 0.0 : a * b / (1.0 - a);
    default: return token[0] == 2 && token[1] == 0 ? 1.0 : 0.0;
    }
}

/* Two siblings of each kind; the mutants that are wrong are off by at least .05. */
TEST(siblings_of_all_kinds_leave_the_law_as_it_is)
{
    enum { SIDE = 24 };
    const int32_t parent[2] = {-1, -1};
    const uint32_t kinds[] = {SPEC_DRAWN_FIXED, SPEC_DRAWN_IID, SPEC_DRAWN_WITHOUT};
    for (int kind = 0; kind < 3; kind++) {
        double first[V] = {0.0};
        for (int i = 0; i < V * V; i++) {
            const int32_t pair[2] = {i % V, i / V};
            const double weight = chance_of_pair(pair, kinds[kind]);
            for (int c = 0; c < power(SIDE, 3) && weight > 0.0; c++) {
                float coin[3];
                int32_t token[ROUND_MOST];
                fill_coins(coin, 3, SIDE, c);
                round_with(token, NULL, pair, parent, 2, kinds[kind], coin, 3);
                first[token[0]] += weight / power(SIDE, 3);
            }
        }
        expect_target(first, 0.02);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

TEST(every_line_has_a_name_of_its_own_and_says_what_is_wrong)
{
    int n = 0, seen = 0;
    for (const spec_mutant *m; (m = spec_mutants_at(n)) != NULL; n++) {
        const spec_mutant *found;
        assert_true(strlen(m->name) > 0 && strlen(m->mistake) > 10 && m->where != NULL);
        assert_null(strchr(m->mistake, '"'));
        assert_true(m->scope == SPEC_SCOPE_VERIFY || m->scope == SPEC_SCOPE_DRAFT ||
                    m->scope == SPEC_SCOPE_STREAM);
        assert_int_equal(strncmp(m->mistake, "none:", 5) == 0, m->kind == SPEC_MUTANT_EXACT);
        assert_int_equal(spec_mutants_find(&found, m->name, NULL), GSL_SUCCESS);
        assert_ptr_equal(found, m); /* names are unique */
        seen += m->where[0] != '\0';
    }
    assert_true(n >= 80);
    assert_true(seen >= 35); /* mistakes that are known to have occurred */
}

TEST(an_unknown_mistake_is_an_error)
{
    const spec_mutant *m;
    assert_fails(spec_mutants_find(&m, "acept-all", &error), GSL_EINVAL,
                 "no known mistake is named 'acept-all'; did you mean 'accept-all'?");
    assert_null(m);
}

/* The nearest bfloat16 numbers: 1 + 1/128 is one; 1 + 1/256 is half-way, and rounds to the even one
 * below. */
TEST(bf16_has_eight_bits)
{
    assert_true(spec_mutants_bf16(1.0078125) == 1.0078125);
    assert_true(spec_mutants_bf16(1.00390625) == 1.0);
    assert_true(spec_mutants_bf16(1.004) == 1.0078125);
    assert_true(spec_mutants_bf16(0.27) == 0.26953125);
}

/* ---- as samplers ----------------------------------------------------------------------------- */

/* The law of a mutant's first token after one drafted token, over a lattice of three coins. */
static void mutant_law(double ret_law[V], const char *name, const float *target, const float *draft)
{
    enum { SIDE = 30, POINTS = SIDE * SIDE * SIDE };
    const spec_mutant *mutant;
    void *self = NULL;
    assert_int_equal(spec_mutants_find(&mutant, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_reference_sampler_open(&self, &mutant->hooks), GSL_SUCCESS);
    for (int x = 0; x < V; x++) ret_law[x] = 0.0;
    for (int32_t x = 0; x < V; x++)
        for (int i = 0; i < POINTS; i++) {
            float coin[3];
            int32_t token[ROUND_MOST], n_emitted = 0, n_accepted = 0;
            fill_coins(coin, 3, SIDE, i);
            spec_step step = {.size = sizeof step,
                              .vocab = V,
                              .n_nodes = 1,
                              .token = &x,
                              .target = target,
                              .draft = draft,
                              .drawn = SPEC_DRAWN_IID,
                              .sampling = SPEC_SAMPLING_NONE,
                              .seed = 42,
                              .coin = coin,
                              .n_coins = 3,
                              .ret_token = token,
                              .ret_n_emitted = &n_emitted,
                              .ret_n_accepted = &n_accepted};
            assert_int_equal(spec_reference_sampler_step(self, &step, 1), GSL_SUCCESS);
            ret_law[token[0]] += (double)draft[x] / POINTS;
        }
    spec_reference_sampler_close(self);
}

/* cut-impossible is the rule cut-invalid: (.7, .3, 0) where the target is (.5, .5, 0). */
TEST(the_cut_has_the_law_of_its_rule)
{
    static const float target[2 * V] = {0.5f, 0.5f, 0.0f, 0.3f, 0.3f, 0.4f},
                       draft[2 * V] = {0.45f, 0.05f, 0.5f, 0.2f, 0.2f, 0.6f};
    double law[V], expected[V], wide_target[V], wide_draft[V];
    for (int x = 0; x < V; x++) {
        wide_target[x] = (double)target[x];
        wide_draft[x] = (double)draft[x];
    }
    mutant_law(law, "cut-impossible", target, draft);
    assert_within(spec_biased_law_cut_invalid(expected, wide_target, wide_draft, V).tv, 0.2, 1e-7);
    for (int x = 0; x < V; x++) assert_within(law[x], expected[x], 0.01);
}

/* A drafted x stays if it is also the first draw; otherwise the emitted token is a new draw: t(y)
 * (1 - sum d t + d(y)). */
TEST(drawing_again_selects_what_was_drafted)
{
    double law[V], match = 0.0;
    for (int x = 0; x < V; x++) match += (double)(target_rows[0][x] * draft_rows[0][x]);
    mutant_law(law, "redraws-partial", target_rows[0], draft_rows[0]);
    for (int x = 0; x < V; x++)
        assert_within(law[x],
                      (double)target_rows[0][x] * (1.0 - match + (double)draft_rows[0][x]), 0.02);
}

static spec_validate_verdict verdict_of(const char *name, uint64_t draws)
{
    const char *const only[] = {"plain-4", NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    OWNED(spec_validation) v;
    spec_error error = {{0}};
    char spec[96];
    snprintf(spec, sizeof spec, "mutant:%s", name);
    plan.draws = draws;
    plan.seed = spec_test_seed();
    plan.opt_only = only;
    plan.hints = false;
    if (spec_validate(&v, spec, &plan, &error) != GSL_SUCCESS) fail_msg("%s: %s", name, error.text);
    const spec_validate_verdict verdict = v.verdict;
    return verdict;
}

TEST(gross_mistakes_fail_at_once)
{
    static const char *const gross[] = {
        "accept-all", "residual-from-target", "residual-softmax", "ratio-inverted", "target-argmax",
        "row-before", "block-share",          "coin-again",       "bonus-left-out", "cache-kept",
        NULL};
    for (int i = 0; gross[i] != NULL; i++)
        if (verdict_of(gross[i], 100000) != SPEC_VERDICT_FAIL)
            fail_msg("%s was not found", gross[i]);
    assert_int_equal(verdict_of("typical", 100000), SPEC_VERDICT_LOSSY);
}

TEST(exact_algorithms_that_are_taken_for_mistakes_pass)
{
    static const char *const exact[] = {"sampler-match",
                                        "draft-as-certain",
                                        "judges-fewer",
                                        "block",
                                        "draft-cache-kept",
                                        "right-texts",
                                        NULL};
    for (int i = 0; exact[i] != NULL; i++)
        if (verdict_of(exact[i], 100000) != SPEC_VERDICT_PASS)
            fail_msg("%s did not pass", exact[i]);
}
