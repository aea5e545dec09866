/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the tournament: its decisions by hand, its law and its acceptance on random pairs; and
 * rules that select, in vocabularies too large to enumerate. */
#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include <string.h>

static const double target[3] = {0.5, 0.3, 0.2}, row[3] = {0.2, 0.5, 0.3};

/* target/row increases from token 1 to 2 to 0. With share 1 the law would be (.36, .25, .39); at .8
 * token 1 has exactly its target: (.328, .3, .372). */
TEST(decisions_are_those_worked_out_by_hand)
{
    static const struct {
        int token[2], n_answers, answer[4];
        double asked[4];
        int accepted, emitted;
    } cases[] = {
        {{1, 0}, 3, {1, 1, 0}, {0.8, 1.0, 0.5}, 1, 0},
        {{1, 0}, 3, {0, 1, 0}, {0.2, 1.0, 0.5}, 1, 1},
        {{0, 1}, 2, {1, 0}, {1.0, 0.5}, 1, 0}, /* the incumbent is the better one */
        {{2, 1}, 2, {1, 0}, {0.2 / 0.372, 0.5}, 1, 2},
        {{2, 2}, 2, {0, 0}, {0.172 / 0.372, 1.0}, 0, 0},
        {{1, 2}, 3, {1, 0, 0}, {0.8, 0.172 / 0.372, 1.0}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 3);
        for (int k = 0; k <= 2; k++) run.target[k] = target;
        for (int k = 0; k < 2; k++) spec_draft_append(&run.draft, cases[i].token[k], -1, row, true);
        rule_case_verify(&run, "khisti", cases[i].answer, cases[i].n_answers);
        for (int k = 0; k < cases[i].n_answers; k++)
            assert_within(run.asked[k], cases[i].asked[k], 1e-14);
        assert_int_equal(run.round.n_accepted, cases[i].accepted);
        assert_int_equal(run.round.token[0], cases[i].emitted);
    }
}

static double accepted_by(double *ret_tv, const char *rule, const table_model *t,
                          const table_model *d, int n)
{
    char drafting[32];
    snprintf(drafting, sizeof drafting, "tree?n=%d", n);
    OWNED(spec_output_law) law = rule_law(t, d, rule, drafting, 1, 1);
    const double accepted = law.accepted;
    *ret_tv = law.tv;
    return accepted;
}

TEST(khisti_is_lossless_between_token_and_ot, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t pairs = spec_test_samples(200);
    for (int family = 0; family < PAIR_FAMILIES; family++) {
        double worst = 0.0, least = 1.0, tv, other;
        for (uint64_t c = 0; c < pairs; c++) {
            const int n = 2 + (int)(c % 3), V = 1 + (int)(c / 3 % 4);
            OWNED(table_model) t, d;
            table_model_init(&t, V);
            table_model_init(&d, V);
            table_pair_randomize(&t, &d, (pair_family)family, &noise);
            const double accepted = accepted_by(&tv, "khisti", &t, &d, n),
                         most = accepted_by(&other, "ot", &t, &d, n);
            assert_true(accepted > accepted_by(&other, "token", &t, &d, n) - 1e-13);
            assert_true(accepted < most + 1e-12);
            if (most > 1e-9) least = fmin(least, accepted / most);
            worst = fmax(worst, tv);
        }
        print_message("%-8s worst tv %.1e, at least %.3f of the optimum\n",
                      pair_family_names[family], worst, least);
        assert_true(worst < 1e-13);
    }
}

/* ---- many tokens ----------------------------------------------------------------------------- */

enum { V = 1000, CELLS = 20, DECISIONS = 2000 };

/* Counts the tokens emitted by DECISIONS decisions, in cells of neighbours, against the target. */
static double p_of(const char *name, spec_siblings siblings, int n, const double *goal,
                   const double *law, gsl_rng *rng)
{
    static double weight[V], rest[V];
    const double *rows[8] = {goal, goal, goal, goal, goal, goal, goal, goal};
    uint64_t count[CELLS] = {0};
    double share[CELLS] = {0.0};
    spec_chance chance = spec_chance_sampled(rng);
    OWNED(spec_rule) rule;
    OWNED(spec_draft) draft;
    assert_int_equal(spec_rule_init(&rule, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_open(&rule, V, n, NULL), GSL_SUCCESS);
    assert_int_equal(spec_draft_init(&draft, n, V, NULL), GSL_SUCCESS);
    for (int i = 0; i < V; i++) share[i * CELLS / V] += goal[i];
    for (uint64_t i = 0; i < spec_test_samples(DECISIONS); i++) {
        int token[9], node[8];
        spec_round round = {.token = token, .node = node};
        spec_draft_reset(&draft);
        draft.siblings = siblings;
        memcpy(rest, law, sizeof rest);
        for (int k = 0; k < n; k++) {
            const int drawn = spec_chance_pick(&chance, rest, V);
            if (siblings == SPEC_SIBLINGS_WITHOUT) rest[drawn] = 0.0;
            spec_draft_append(&draft, drawn, -1, law, true);
        }
        rule.verify(&round, &rule, &draft, rows, weight, &chance);
        count[token[0] * CELLS / V]++;
    }
    return spec_battery_chi_square(count, share, CELLS);
}

TEST(what_is_emitted_follows_the_target, SLOW | STATISTICS)
{
    static const struct {
        const char *rule;
        spec_siblings siblings;
        int n;
    } cases[] = {{"khisti", SPEC_SIBLINGS_IID, 2},
                 {"khisti", SPEC_SIBLINGS_IID, 4},
                 {"ot", SPEC_SIBLINGS_IID, 3},
                 {"ot", SPEC_SIBLINGS_WITHOUT, 2},
                 {"ot", SPEC_SIBLINGS_WITHOUT, 4}};
    uint64_t noise = spec_test_seed();
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, noise, 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static double both[2][V];
        for (int r = 0; r < 2; r++) {
            double sum = 0.0;
            for (int i = 0; i < V; i++)
                sum += both[r][i] = pow(table_uniform(&noise), 3.0) / (r == 0 ? 1 + i : V + i);
            for (int i = 0; i < V; i++) both[r][i] /= sum;
        }
        const double p = p_of(cases[c].rule, cases[c].siblings, cases[c].n, both[0], both[1], rng);
        print_message("%-6s %-7s n %d: p %.3f\n", cases[c].rule,
                      spec_siblings_names[cases[c].siblings], cases[c].n, p);
        assert_false(spec_battery_rejects(p));
    }
}
