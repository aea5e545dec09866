/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks gumbel and minhash with their own random numbers: the coupling's law by hand, by formula,
 * and by simulation of the races and the darts. test_shared_noise.c tests the rules with a seed. */
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include "sim/chance/rng.h"

#include <gsl/gsl_randist.h>

static const double target[] = {0.5, 0.3, 0.2}, drafts[] = {0.2, 0.5, 0.3};

/* ---- scripted -------------------------------------------------------------------------------- */

static rule_case one_token(int token, const double *goal, const double *row, int vocab)
{
    rule_case run;
    rule_case_init(&run, vocab);
    run.target[0] = run.target[1] = goal;
    spec_draft_append(&run.draft, token, -1, row, true);
    return run;
}

/* Fills law (V) with the target's token given the draft's, from the rule's own decisions; a bonus
 * after an accepted token is ignored. */
static void conditional(double *ret_law, const char *rule, int token, const double *goal,
                        const double *row, int vocab)
{
    OWNED(rule_case) run = one_token(token, goal, row, vocab);
    int bonus = 0;
    while (!(goal[bonus] > 0.0)) bonus++;
    OWNED(spec_rule) opened;
    assert_int_equal(spec_rule_init(&opened, rule, NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_open(&opened, vocab, 1, NULL), GSL_SUCCESS);
    run.round.token = run.token;
    run.round.node = run.node;
    for (int y = 0; y < vocab; y++) {
        const int accepted[] = {1, bonus}, corrected[] = {0, y};
        spec_script_init(&run.script, y == token ? accepted : corrected, 2, run.asked);
        opened.verify(&run.round, &opened, &run.draft, run.target, run.weight, &run.script.chance);
        ret_law[y] = run.script.broken ? 0.0
                     : y == token      ? run.asked[0]
                                       : run.asked[0] * run.asked[1];
    }
}

/* By hand. For gumbel the ratios are 5/2, 3/5, 2/3, where D is 5/2, 1, 31/30. For minhash the
 * maxima of the two rows sum to 1.3. */
TEST(small_rows_have_their_coupling)
{
    const double gumbel[3][3] = {
        {1.0, 0.0, 0.0},
        {0.5 * (1.0 / 15 / (31.0 / 30) + (11.0 / 6) / (31.0 / 30) / 2.5), 0.6, 0.2 / 15.5},
        {11.0 / 31, 0.0, 20.0 / 31}};
    const double minhash[3][3] = {{1.0, 0.0, 0.0}, {0.25 / 0.65, 0.36 / 0.65, 0.04 / 0.65},
                                  {0.14 / 0.39, 0.03 / 0.39, 0.22 / 0.39}};
    for (int x = 0; x < 3; x++) {
        double law[3];
        conditional(law, "gumbel", x, target, drafts, 3);
        for (int y = 0; y < 3; y++) assert_within(law[y], gumbel[x][y], 1e-15);
        conditional(law, "minhash", x, target, drafts, 3);
        for (int y = 0; y < 3; y++) assert_within(law[y], minhash[x][y], 1e-15);
    }
}

TEST(a_round_goes_on_after_an_agreement_and_ends_with_the_first_other_token)
{
    static const double after[] = {0.15, 0.6, 0.25};
    static const char *const rules[] = {"gumbel", "minhash"};
    for (int r = 0; r < 2; r++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 3);
        run.target[0] = run.target[1] = target;
        run.target[2] = after;
        rule_case_chain(&run, (const int[]){1, 2}, (const double *const[]){drafts, drafts}, 2);
        rule_case_verify(&run, rules[r], (const int[]){1, 0, 0}, 3);
        assert_int_equal(run.round.n_accepted, 1);
        assert_int_equal(run.round.token[0], 1);
        assert_int_equal(run.round.token[1], 0);
        rule_case_verify(&run, rules[r], (const int[]){1, 1, 2}, 3);
        assert_int_equal(run.round.n_accepted, 2);
        assert_int_equal(run.round.token[2], 2);
        assert_same(run.asked[2], 0.25); /* the bonus, from the row after the last token */
    }
}

/* A chosen token is independent of the noise, so the target's own sample must equal it, which takes
 * one decision. */
TEST(a_chosen_token_is_matched)
{
    static const char *const rules[] = {"gumbel", "minhash"};
    for (int r = 0; r < 2; r++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 3);
        run.target[0] = run.target[1] = target;
        spec_draft_append(&run.draft, 1, -1, drafts, false);
        rule_case_verify(&run, rules[r], (const int[]){2}, 1);
        assert_same(run.asked[0], 0.2);
        assert_int_equal(run.round.n_accepted, 0);
        rule_case_verify(&run, rules[r], (const int[]){1, 0}, 2);
        assert_same(run.asked[0], 0.3);
        assert_int_equal(run.round.n_accepted, 1);
    }
}

/* Ratios that overflow and products that vanish: all values stay finite, and the marginal is the
 * target's. */
TEST(rows_at_the_ends_of_the_numbers_are_served)
{
    static const double pairs[][2][4] = {{{0.5, 0.3, 0.2, 0.0}, {1e-320, 0.5, 0.5, 0.0}},
                                         {{1e-320, 0.5, 0.5, 0.0}, {0.5, 1e-310, 0.5, 0.0}},
                                         {{1e-200, 0.4, 0.6, 0.0}, {0.5, 0.5, 1e-200, 0.0}},
                                         {{5e-324, 1.0, 0.0, 0.0}, {1.0, 5e-324, 0.0, 0.0}},
                                         {{0.0, 0.0, 0.0, 1.0}, {0.3, 0.3, 0.4, 0.0}},
                                         {{0.25, 0.25, 0.25, 0.25}, {0.0, 0.0, 1.0, 0.0}}};
    static const char *const rules[] = {"gumbel", "minhash"};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (int r = 0; r < 2; r++) {
            double marginal[4] = {0};
            for (int x = 0; x < 4; x++) {
                double law[4], sum = 0.0;
                if (!(pairs[p][1][x] > 0.0)) continue;
                conditional(law, rules[r], x, pairs[p][0], pairs[p][1], 4);
                for (int y = 0; y < 4; y++) {
                    sum += law[y];
                    marginal[y] += pairs[p][1][x] * law[y];
                }
                assert_within(sum, 1.0, 1e-15);
            }
            for (int y = 0; y < 4; y++) assert_within(marginal[y], pairs[p][0][y], 1e-15);
        }
}

/* ---- enumerated ------------------------------------------------------------------------------ */

static double gumbel_law(double *ret_law, const double *goal, const double *drafted, int vocab,
                         const double *setting)
{
    double accepted = 0.0;
    (void)setting;
    for (int x = 0; x < vocab; x++) {
        double sum = 0.0;
        ret_law[x] = goal[x];
        if (!(goal[x] > 0.0) || !(drafted[x] > 0.0)) continue;
        for (int y = 0; y < vocab; y++) sum += fmax(goal[y] / goal[x], drafted[y] / drafted[x]);
        accepted += 1.0 / sum;
    }
    return accepted;
}

static double minhash_law(double *ret_law, const double *goal, const double *drafted, int vocab,
                          const double *setting)
{
    double agreed = 0.0, either = 0.0;
    (void)setting;
    for (int x = 0; x < vocab; x++) {
        ret_law[x] = goal[x];
        agreed += fmin(goal[x], drafted[x]) * (1.0 + fabs(goal[x] - drafted[x]));
        either += fmax(goal[x], drafted[x]);
    }
    return agreed / either;
}

TEST(the_output_is_the_targets_and_as_much_is_kept_as_the_closed_form_says, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const int pairs = (int)spec_test_samples(16);
    assert_true(rule_law_check("gumbel", gumbel_law, NULL, pairs, 1e-13, &noise) < 1e-13);
    assert_true(rule_law_check("minhash", minhash_law, NULL, pairs, 1e-13, &noise) < 1e-13);
}

/* With twenty-four tokens there are longer sorts, and ties among ratios and with those of the
 * drafted token. */
TEST(larger_rows_are_coupled_as_exactly)
{
    enum { V = 24 };
    static const char *const rules[] = {"gumbel", "minhash"};
    rule_law_formula *const formulas[] = {gumbel_law, minhash_law};
    uint64_t noise = spec_test_seed();
    for (int family = 0; family < PAIR_FAMILIES; family++)
        for (int r = 0; r < 2; r++) {
            OWNED(table_model) goal, draft;
            double law[V];
            table_model_init(&goal, V);
            table_model_init(&draft, V);
            table_pair_randomize(&goal, &draft, (pair_family)family, &noise);
            const double accepted = formulas[r](law, table_model_row(&goal, NULL, 0),
                                                table_model_row(&draft, NULL, 0), V, NULL);
            OWNED(spec_output_law) found = rule_law(&goal, &draft, rules[r], "chain", 1, 1);
            assert_true(found.tv < 1e-14);
            assert_within(found.accepted, accepted, 1e-14);
        }
}

/* ---- simulated ------------------------------------------------------------------------------- */

static int arrival(const double *row, const double *clock, int vocab)
{
    int first = -1;
    for (int i = 0; i < vocab; i++)
        if (row[i] > 0.0 && (first < 0 || clock[i] / row[i] < clock[first] / row[first])) first = i;
    return first;
}

static void race(int *ret_x, int *ret_y, const double *goal, const double *row, int vocab,
                 gsl_rng *rng)
{
    double clock[RULE_CASE_VOCAB];
    for (int i = 0; i < vocab; i++) clock[i] = gsl_ran_exponential(rng, 1.0);
    *ret_x = arrival(row, clock, vocab);
    *ret_y = arrival(goal, clock, vocab);
}

static void throw_darts(int *ret_x, int *ret_y, const double *goal, const double *row, int vocab,
                        gsl_rng *rng)
{
    for (*ret_x = *ret_y = -1; *ret_x < 0 || *ret_y < 0;) {
        const int at = (int)gsl_rng_uniform_int(rng, (unsigned long)vocab);
        const double height = gsl_rng_uniform(rng);
        if (*ret_x < 0 && height < row[at]) *ret_x = at;
        if (*ret_y < 0 && height < goal[at]) *ret_y = at;
    }
}

/* Compares the pairs of tokens of 40,000 races or throws with the rule's own joint law. The other
 * rule's law is rejected at p < 1e-30, since the two differ in at least 2 % of the pairs. */
TEST(the_joint_law_is_that_of_races_and_of_darts, STATISTICS)
{
    enum { V = 4, PAIRS = 4 };
    static const double goals[PAIRS][V] = {{0.27, 0.33, 0.15, 0.25},
                                           {0.1, 0.0, 0.62, 0.28},
                                           {0.02, 0.9, 0.03, 0.05},
                                           {0.3, 0.3, 0.2, 0.2}};
    static const double rows[PAIRS][V] = {{0.4, 0.05, 0.35, 0.2},
                                          {0.35, 0.25, 0.4, 0.0},
                                          {0.3, 0.25, 0.3, 0.15},
                                          {0.15, 0.15, 0.1, 0.6}};
    static const char *const rules[] = {"gumbel", "minhash"};
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, spec_test_seed());
    const uint64_t samples = spec_test_samples(40000);
    for (int p = 0; p < PAIRS; p++)
        for (int r = 0; r < 2; r++) {
            double law[2][V * V] = {{0}}, possible[2][V * V];
            uint64_t counts[V * V] = {0}, counted[V * V];
            size_t cells = 0;
            for (int x = 0; x < V; x++)
                for (int which = 0; which < 2 && rows[p][x] > 0.0; which++) {
                    conditional(&law[which][x * V], rules[which == 0 ? r : 1 - r], x, goals[p],
                                rows[p], V);
                    for (int y = 0; y < V; y++) law[which][x * V + y] *= rows[p][x];
                }
            for (uint64_t i = 0; i < samples; i++) {
                int x, y;
                (r == 0 ? race : throw_darts)(&x, &y, goals[p], rows[p], V, rng);
                counts[x * V + y]++;
            }
            for (int i = 0; i < V * V; i++) {
                if (!(law[0][i] > 0.0)) {
                    assert_true(counts[i] == 0);
                    continue;
                }
                counted[cells] = counts[i];
                possible[0][cells] = law[0][i];
                possible[1][cells++] =
                    fmax(law[1][i], 1e-3); /* at least a little where the other law has none */
            }
            assert_false(
                spec_battery_rejects(spec_battery_chi_square(counted, possible[0], cells)));
            assert_true(spec_battery_chi_square(counted, possible[1], cells) < 1e-30);
        }
}
