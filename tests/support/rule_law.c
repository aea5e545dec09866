/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/rule_law.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

spec_output_law rule_law(const table_model *target, const table_model *draft, const char *rule,
                         const char *drafting, int K, int n_tokens)
{
    const spec_decoder_config config = {.target = &target->head,
                                        .opt_draft = &draft->head,
                                        .drafting = drafting,
                                        .policy = "fixed",
                                        .rule = rule,
                                        .K = K,
                                        .costs = SPEC_COSTS_DEFAULT};
    spec_output_law law;
    assert_works(spec_output_law_init(&law, &config, NULL, 0, n_tokens, 50000000, &error));
    return law;
}

double rule_law_drafted(const table_model *draft, const char *drafting, const int *context,
                        size_t n, int x)
{
    const double *row = table_model_row(draft, context, n);
    if (drafting[0] == 'c') return row[x];
    int best = 0;
    for (int i = 1; i < draft->head.vocab; i++)
        if (row[i] > row[best]) best = i;
    return x == best ? 1.0 : 0.0;
}

void rule_law_pair(table_model *ret_target, table_model *ret_draft, const double *target,
                   const double *draft, int vocab)
{
    table_model_init(ret_target, vocab);
    table_model_init(ret_draft, vocab);
    table_model_fill(ret_target, target);
    table_model_fill(ret_draft, draft);
}

enum { PLACES_VOCAB = 4 };

static double formula_at(double *ret_law, rule_law_formula *formula, const double *setting,
                         const table_model *target, const table_model *draft, const char *drafting,
                         const int *context, size_t n)
{
    double drafted[PLACES_VOCAB];
    for (int x = 0; x < target->head.vocab; x++)
        drafted[x] = rule_law_drafted(draft, drafting, context, n, x);
    return formula(ret_law, table_model_row(target, context, n), drafted, target->head.vocab,
                   setting);
}

static double check_pair(const char *rule, rule_law_formula *formula, const double *setting,
                         const table_model *target, const table_model *draft, const char *drafting,
                         int K, double tolerance)
{
    const int V = target->head.vocab;
    double first[PLACES_VOCAB], second[PLACES_VOCAB];
    spec_output_law one = rule_law(target, draft, rule, drafting, K, 1),
                    two = rule_law(target, draft, rule, drafting, K, 2);
    const double accepted = formula_at(first, formula, setting, target, draft, drafting, NULL, 0);
    if (K == 1) assert_within(one.accepted, accepted, tolerance);
    for (int x = 0; x < V; x++) {
        assert_within(one.law[x], first[x], tolerance);
        formula_at(second, formula, setting, target, draft, drafting, &x, 1);
        for (int y = 0; y < V && K >= 2; y++)
            assert_within(two.law[x * V + y], first[x] * second[y], tolerance);
    }
    const double tv = one.tv;
    spec_output_law_free(&one);
    spec_output_law_free(&two);
    return tv;
}

double rule_law_check(const char *rule, rule_law_formula *formula, const double *setting,
                      int pairs_a_family, double tolerance, uint64_t *noise)
{
    double worst = 0.0;
    for (int family = 0; family < PAIR_FAMILIES; family++)
        for (int c = 0; c < pairs_a_family; c++) {
            OWNED(table_model) target, draft;
            const int V = 1 + (int)(PLACES_VOCAB * table_uniform(noise)), K = 1 + c % 3;
            table_model_init(&target, V);
            table_model_init(&draft, V);
            table_pair_randomize(&target, &draft, (pair_family)family, noise);
            worst = fmax(
                worst, check_pair(rule, formula, setting, &target, &draft, "chain", K, tolerance));
            worst = fmax(
                worst, check_pair(rule, formula, setting, &target, &draft, "greedy", K, tolerance));
        }
    return worst;
}
