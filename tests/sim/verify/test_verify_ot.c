/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the optimal transport of one position: no rule accepts more, and emitted tokens have the
 * target's law. */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

/* Returns 1 + min over all sets H of [target(H) - Pr(all drafts in H)], [Hu25]. */
static double most(const double *target, int V, const tuples *all)
{
    double least = 0.0;
    for (int set = 0; set < 1 << V; set++) {
        double excess = 0.0;
        for (int x = 0; x < V; x++) excess += set >> x & 1 ? target[x] : 0.0;
        for (int i = 0; i < all->size; i++) {
            bool in = true;
            for (int k = 0; k < all->n; k++) in = in && (set >> all->token[i][k] & 1);
            excess -= in ? all->chance[i] : 0.0;
        }
        least = fmin(least, excess);
    }
    return 1.0 + least;
}

/* Computes the rule's acceptance with n siblings at the root, and the error of its law. */
static double accepted_by_ot(double *ret_tv, const table_model *target, const table_model *draft,
                             int n, const char *siblings)
{
    char drafting[48];
    snprintf(drafting, sizeof drafting, "tree?n=%d&siblings=%s", n, siblings);
    OWNED(spec_output_law) law = rule_law(target, draft, "ot", drafting, 1, 1);
    const double accepted = law.accepted;
    *ret_tv = law.tv;
    return accepted;
}

static void check_family(pair_family family, const char *siblings, uint64_t pairs, uint64_t *noise)
{
    double worst = 0.0, gap = 0.0, tv;
    for (uint64_t c = 0; c < pairs; c++) {
        const int n = 2 + (int)(c % 3), V = 1 + (int)(c / 3 % 5) - (n == 4 && c / 3 % 5 == 4);
        tuples all = {.n = n};
        OWNED(table_model) target, draft;
        table_model_init(&target, V);
        table_model_init(&draft, V);
        table_pair_randomize(&target, &draft, family, noise);
        const double accepted = accepted_by_ot(&tv, &target, &draft, n, siblings);
        if (siblings[0] == 'i')
            tuples_iid(&all, table_model_row(&draft, NULL, 0), V, n);
        else
            tuples_without_replacement(&all, table_model_row(&draft, NULL, 0), V, n);
        worst = fmax(worst, tv);
        gap = fmax(gap, fabs(accepted - most(table_model_row(&target, NULL, 0), V, &all)));
    }
    print_message("%-8s %-8s %4llu pairs, worst tv %.1e, off the optimum by %.1e\n", siblings,
                  pair_family_names[family], (unsigned long long)pairs, worst, gap);
    assert_true(worst < 1e-14 && gap < 1e-12);
}

TEST(ot_accepts_the_most_there_is, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    for (int family = 0; family < PAIR_FAMILIES; family++) {
        check_family((pair_family)family, "iid", spec_test_samples(200), &noise);
        check_family((pair_family)family, "without", spec_test_samples(200), &noise);
    }
}

/* With more than ten tokens there is no plan over sets. It accepts at least the optimum of iid
 * siblings. */
TEST(without_replacement_a_larger_vocabulary_is_lossless_too)
{
    uint64_t noise = spec_test_seed();
    for (int family = 0; family < PAIR_FAMILIES; family++) {
        double worst = 0.0, tv;
        for (int c = 0; c < 5; c++) {
            const int V = 11 + c % 2, n = c == 4 && family == PAIR_ZEROS ? 3 : 2;
            OWNED(table_model) target, draft;
            table_model_init(&target, V);
            table_model_init(&draft, V);
            table_pair_randomize(&target, &draft, (pair_family)family, &noise);
            const double without = accepted_by_ot(&tv, &target, &draft, n, "without");
            worst = fmax(worst, tv);
            assert_true(without > accepted_by_ot(&tv, &target, &draft, n, "iid") - 1e-13);
        }
        print_message("%-8s worst tv %.1e\n", pair_family_names[family], worst);
        assert_true(worst < 1e-14);
    }
}

TEST(known_optima_are_attained)
{
    /* tests/oracle/vectors.py, as exact fractions. */
    static const double target[2][3] = {{0.5, 0.3, 0.2}, {0.3, 0.4, 0.3}};
    static const double draft[2][3] = {{0.2, 0.5, 0.3}, {0.6, 0.3, 0.1}};
    static const struct {
        const char *drafting;
        int vector;
        double accepted;
    } known[] = {
        {"tree?n=1", 0, 0.7},
        {"tree?n=2", 0, 0.86},
        {"tree?n=3", 0, 247.0 / 250.0},
        {"tree?n=2&siblings=without", 0, 69.0 / 70.0},
        {"tree?n=3&siblings=without", 0, 1.0},
        {"tree?n=2", 1, 0.89},
        {"tree?n=2&siblings=without", 1, 139.0 / 140.0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWNED(table_model) t, d;
        rule_law_pair(&t, &d, target[known[i].vector], draft[known[i].vector], 3);
        OWNED(spec_output_law) law = rule_law(&t, &d, "ot", known[i].drafting, 1, 1);
        assert_within(law.accepted, known[i].accepted, 1e-15);
    }
}

/* By hand. First the case of .86: the two tokens below the cut are raised to (.4, .24), in one
 * block. Then a target that is itself a law of selection: the first two tokens separate at level
 * .45, the last two at .75. */
TEST(decisions_have_the_chances_of_the_levels)
{
    static const double target[3] = {0.5, 0.3, 0.2}, row[3] = {0.2, 0.5, 0.3};
    static const double rising[3] = {0.2, 0.3, 0.5}, even[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    static const struct {
        const double *target, *row;
        int token[2], n_answers, answer[4];
        double asked[4];
        int accepted, emitted;
    } cases[] = {
        {target, row, {2, 1}, 3, {1, 1, 0}, {0.5, 0.75, 0.5}, 1, 1},
        {target, row, {1, 2}, 3, {0, 1, 0}, {0.5, 5.0 / 6.0, 0.5}, 1, 2},
        {target, row, {1, 1}, 3, {0, 0, 0}, {1.0, 0.25, 1.0}, 0, 0},
        {target, row, {0, 1}, 3, {0, 1, 1}, {1.0, 1.0, 0.3}, 1, 0},
        {rising, even, {0, 1}, 3, {0, 1, 0}, {0.725, 1.0, 0.2}, 1, 1},
        {rising, even, {1, 0}, 3, {1, 1, 0}, {0.275, 1.0, 0.2}, 1, 0},
        {rising, even, {2, 0}, 3, {1, 1, 0}, {0.125, 1.0, 0.2}, 1, 0},
        {rising, even, {2, 1}, 3, {0, 1, 0}, {0.875, 1.0, 0.2}, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 3);
        for (int k = 0; k <= 2; k++) run.target[k] = cases[i].target;
        for (int k = 0; k < 2; k++)
            spec_draft_append(&run.draft, cases[i].token[k], -1, cases[i].row, true);
        rule_case_verify(&run, "ot", cases[i].answer, cases[i].n_answers);
        for (int k = 0; k < cases[i].n_answers; k++)
            assert_within(run.asked[k], cases[i].asked[k], 1e-15);
        assert_int_equal(run.round.n_accepted, cases[i].accepted);
        assert_int_equal(run.round.token[0], cases[i].emitted);
    }
}
