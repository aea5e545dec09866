/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares closed forms of rules with the enumeration of their code: the laws of those that keep
 * another law than the target's, and the acceptance that the table has for them. */
#include "tools/bench/acceptance_theory.h"

#include "analysis/rules/biased_law.h"
#include "analysis/rules/overlap.h"
#include "tests/support/near.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include <math.h>

enum { SETTINGS = 2 };

/* The total variation by its own formula is half the L1 distance of the law. */
static double checked(spec_biased_law form, const double *law, const double *target, int vocab)
{
    double sum = 0.0;
    for (int x = 0; x < vocab; x++) {
        assert_true(law[x] > -1e-14);
        sum += law[x];
    }
    assert_within(sum, 1.0, 1e-13);
    assert_within(form.tv, spec_overlap_total_variation(law, target, (size_t)vocab), 1e-13);
    return form.accepted;
}

static double ensemble(double *ret_law, const double *target, const double *drafted, int vocab,
                       const double *setting)
{
    return checked(spec_biased_law_ensemble(ret_law, target, drafted, vocab, setting[0]), ret_law,
                   target, vocab);
}

static double cactus(double *ret_law, const double *target, const double *drafted, int vocab,
                     const double *setting)
{
    return checked(spec_biased_law_cactus(ret_law, target, drafted, vocab, setting[0]), ret_law,
                   target, vocab);
}

static double single_threshold(double *ret_law, const double *target, const double *drafted,
                               int vocab, const double *setting)
{
    return checked(spec_biased_law_single_threshold(ret_law, target, drafted, vocab, setting[0]),
                   ret_law, target, vocab);
}

static double relaxed_argmax(double *ret_law, const double *target, const double *drafted,
                             int vocab, const double *setting)
{
    return checked(
        spec_biased_law_relaxed(ret_law, target, drafted, vocab, (int)setting[0], setting[1], true),
        ret_law, target, vocab);
}

static double relaxed_sample(double *ret_law, const double *target, const double *drafted,
                             int vocab, const double *setting)
{
    return checked(spec_biased_law_relaxed(ret_law, target, drafted, vocab, (int)setting[0],
                                           setting[1], false),
                   ret_law, target, vocab);
}

static double target_only(double *ret_law, const double *target, const double *drafted, int vocab,
                          const double *setting)
{
    return checked(
        spec_biased_law_target_only(ret_law, target, drafted, vocab, setting[0], setting[1]),
        ret_law, target, vocab);
}

static double cut_invalid(double *ret_law, const double *target, const double *drafted, int vocab,
                          const double *setting)
{
    (void)setting;
    return checked(spec_biased_law_cut_invalid(ret_law, target, drafted, vocab), ret_law, target,
                   vocab);
}

static const struct {
    const char *rule;
    rule_law_formula *formula;
    double setting[SETTINGS];
    double tv; /* a total variation that some pair exceeds */
} forms[] = {
    {"ensemble", ensemble, {0.7}, 0.25},
    {"ensemble?w=0.27", ensemble, {0.27}, 0.6},
    {"ensemble?w=1", ensemble, {1.0}, -1.0},
    {"cactus", cactus, {1.0}, 0.25},
    {"cactus?delta=0.03", cactus, {0.03}, 0.1},
    {"cactus?delta=0", cactus, {0.0}, -1.0},
    {"single-threshold", single_threshold, {0.8}, 0.01},
    {"single-threshold?s=0.23", single_threshold, {0.23}, 0.3},
    {"single-threshold?s=0", single_threshold, {0.0}, 0.5},
    {"relaxed", relaxed_argmax, {10, 0.6}, 0.5},
    {"relaxed?k=2&delta=0.17", relaxed_argmax, {2, 0.17}, 0.5},
    {"relaxed?k=3&delta=0.3&else=sample", relaxed_sample, {3, 0.3}, 0.3},
    {"top-k-relaxed?k=2", relaxed_sample, {2, 1.0}, 0.3},
    {"target-only", target_only, {1.0, 1.0}, -1.0},
    {"target-only?acc=0.43", target_only, {0.43, 1.0}, 0.1},
    {"target-only?single=0.31", target_only, {1.0, 0.31}, 0.1},
    {"target-only?acc=0.6&single=0.4", target_only, {0.6, 0.4}, 0.1},
    {"target-only?acc=0&single=0", target_only, {0.0, 0.0}, 0.3},
    {"cut-invalid", cut_invalid, {0.0}, 0.05},
};
enum { N_FORMS = (int)(sizeof forms / sizeof forms[0]) };

TEST(laws_are_the_enumerated_ones, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    for (int i = 0; i < N_FORMS; i++) {
        const double tv = rule_law_check(forms[i].rule, forms[i].formula, forms[i].setting,
                                         (int)spec_test_samples(15), 1e-12, &noise);
        print_message("%s: tv up to %.3f\n", forms[i].rule, tv);
        if (!(tv > forms[i].tv)) fail_msg("%s: tv %g", forms[i].rule, tv);
        if (forms[i].tv < 0.0) assert_within(tv, 0.0, 1e-12);
    }
}

/* Returns the probability that the token rule accepts the next `left` draft tokens after a context
 * (n). */
static double follows(const table_model *target, const table_model *draft, const char *drafting,
                      int *context, size_t n, int left)
{
    double sum = 0.0;
    for (int y = 0; y < target->head.vocab && left > 0; y++) {
        const double both = fmin(table_model_row(target, context, n)[y],
                                 rule_law_drafted(draft, drafting, context, n, y));
        context[n] = y;
        sum += both * follows(target, draft, drafting, context, n + 1, left - 1);
    }
    return left > 0 ? sum : 1.0;
}

/* Computes the law of the first token of a chain of K = 2 or 3, whose window is the rest of it. */
TEST(the_first_token_of_fly_has_its_law)
{
    enum { V_MOST = 4 };
    uint64_t noise = spec_test_seed();
    double most = 0.0;
    for (int c = 0; c < 30 * PAIR_FAMILIES; c++) {
        const int V = 1 + (int)(V_MOST * table_uniform(&noise)), K = 2 + c / PAIR_FAMILIES % 2;
        const char *drafting = c / PAIR_FAMILIES / 2 % 2 == 0 ? "chain" : "greedy";
        double law[V_MOST], drafted[V_MOST], follow[V_MOST];
        table_model target, draft;
        table_model_init(&target, V);
        table_model_init(&draft, V);
        table_pair_randomize(&target, &draft, (pair_family)(c % PAIR_FAMILIES), &noise);
        for (int x = 0; x < V; x++) {
            int context[3] = {x};
            drafted[x] = rule_law_drafted(&draft, drafting, NULL, 0, x);
            follow[x] = follows(&target, &draft, drafting, context, 1, K - 1);
        }
        const double *t = table_model_row(&target, NULL, 0);
        const spec_biased_law form = spec_biased_law_fly(law, t, drafted, follow, V, 0.3);
        (void)checked(form, law, t, V);
        spec_output_law exact = rule_law(&target, &draft, "fly", drafting, K, 1);
        for (int x = 0; x < V; x++) assert_within(exact.law[x], law[x], 1e-12);
        assert_within(exact.tv, form.tv, 1e-12);
        most = fmax(most, form.tv);
        spec_output_law_free(&exact);
        table_model_free(&target);
        table_model_free(&draft);
    }
    assert_true(most > 0.1);
}

/* Returns the table's acceptance of one token, drawn or chosen, by the settings of the rule. */
TEST(the_table_has_the_acceptance_of_these_laws)
{
    uint64_t noise = spec_test_seed();
    for (int i = 0; i < N_FORMS; i++) {
        spec_rule rule;
        assert_int_equal(spec_rule_init(&rule, forms[i].rule, NULL), GSL_SUCCESS);
        for (int c = 0; c < 2 * PAIR_FAMILIES; c++) {
            enum { V = 4 };
            double law[V], drafted[V];
            table_model target, draft;
            table_model_init(&target, V);
            table_model_init(&draft, V);
            table_pair_randomize(&target, &draft, (pair_family)(c / 2), &noise);
            const double *t = table_model_row(&target, NULL, 0),
                         *d = table_model_row(&draft, NULL, 0);
            for (int x = 0; x < V; x++)
                drafted[x] = rule_law_drafted(&draft, c % 2 ? "greedy" : "chain", NULL, 0, x);
            assert_within(spec_acceptance_theory_single(&rule, c % 2 == 1, t, d, V),
                          forms[i].formula(law, t, drafted, V, forms[i].setting), 1e-15);
            table_model_free(&target);
            table_model_free(&draft);
        }
    }
}

/* Compares one token of `pardon` with the enumerated round. */
TEST(the_table_has_the_acceptance_of_pardon)
{
    static const char *const rules[] = {"pardon?depth=0", "pardon?depth=0.3", "pardon?depth=1.6"};
    uint64_t noise = spec_test_seed();
    double most = 0.0;
    for (int i = 0; i < 3; i++) {
        spec_rule rule;
        assert_int_equal(spec_rule_init(&rule, rules[i], NULL), GSL_SUCCESS);
        for (int c = 0; c < 2 * PAIR_FAMILIES; c++) {
            enum { V = 4 };
            table_model target, draft;
            table_model_init(&target, V);
            table_model_init(&draft, V);
            table_pair_randomize(&target, &draft, (pair_family)(c / 2), &noise);
            const double *t = table_model_row(&target, NULL, 0),
                         *d = table_model_row(&draft, NULL, 0);
            spec_output_law law =
                rule_law(&target, &draft, rules[i], c % 2 ? "greedy" : "chain", 1, 1);
            assert_within(spec_acceptance_theory_single(&rule, c % 2 == 1, t, d, V), law.accepted,
                          1e-13);
            most = fmax(most, law.tv);
            spec_output_law_free(&law);
            table_model_free(&target);
            table_model_free(&draft);
        }
    }
    assert_true(most > 0.1);
}

/* The closed forms for siblings only hold at the settings of the rule's claim. */
TEST(lossy_settings_have_no_closed_form_for_siblings)
{
    static const double target[] = {0.5, 0.3, 0.2}, draft[] = {0.2, 0.5, 0.3};
    spec_ratio_order order;
    spec_rule rule;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    assert_int_equal(spec_ratio_order_sort(&order, target, draft), GSL_SUCCESS);
    assert_int_equal(spec_rule_init(&rule, "target-only", NULL), GSL_SUCCESS);
    assert_within(spec_acceptance_theory_siblings(&rule, SPEC_SIBLINGS_TOP, 2, &order), 0.5,
                  1e-15); /* tokens 1 and 2 */
    assert_int_equal(spec_rule_init(&rule, "target-only?acc=0.9", NULL), GSL_SUCCESS);
    assert_true(isnan(spec_acceptance_theory_siblings(&rule, SPEC_SIBLINGS_TOP, 2, &order)));
    spec_ratio_order_free(&order);
}
