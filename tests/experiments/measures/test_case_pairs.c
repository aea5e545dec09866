/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_measure_prove_cases.c tests wrong parameters of pairs. */
#include "experiments/measures/case_pairs.h"

#include "models/model_open.h"
#include "models/synthetic/cases.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { CASES = 3, VOCAB = 3, TOKENS = 2 };

static spec_case_pairs pairs_of(const char *family)
{
    spec_case_pairs pairs = {.config = SPEC_DECODER_DEFAULT,
                             .vocab = VOCAB,
                             .order = 1,
                             .end = -1,
                             .cases = CASES,
                             .family = family,
                             .n = family != NULL ? CASES : CASES * SPEC_CASES_FAMILIES,
                             .limit = 100000};
    pairs.config.K = 2;
    return pairs;
}

TEST(every_family_comes_with_every_seed_once)
{
    const spec_case_pairs every = pairs_of(NULL), mixed = pairs_of("mixed");
    int i = 0;
    for (int family = 0; family < SPEC_CASES_FAMILIES; family++) {
        for (int seed = 1; seed <= CASES; seed++, i++) {
            assert_string_equal(spec_case_pairs_family(&every, i), spec_cases_families[family]);
            assert_int_equal(spec_case_pairs_seed(&every, i), seed);
        }
    }
    assert_int_equal(i, every.n);
    for (i = 0; i < mixed.n; i++) {
        assert_string_equal(spec_case_pairs_family(&mixed, i), "mixed");
        assert_int_equal(spec_case_pairs_seed(&mixed, i), i + 1);
    }
}

/* Returns the target's law of a pair that is opened by its spec together with a draft of another
 * kind. */
static void open_by_hand(spec_output_law *ret, const char *family, int seed)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_model *target, *draft;
    spec_error error = {""};
    char spec[100];
    snprintf(spec, sizeof spec, "cases?V=%d&order=1&family=%s&seed=%d", VOCAB, family, seed);
    if (spec_model_open(&target, spec, NULL, NULL, &error) != GSL_SUCCESS ||
        spec_model_open(&draft, "uniform?V=3", NULL, NULL, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    config.K = 1;
    config.rule = "token";
    config.target = target;
    config.opt_draft = draft;
    assert_works(spec_output_law_init(ret, &config, NULL, 0, TOKENS, 0, &error));
    spec_model_close(draft);
    spec_model_close(target);
}

/* Two lossless rules emit the law of the target that the spec names; a wrong pair or side would
 * have another law. Pair i of every family is pair i % CASES of its own. */
TEST(a_pair_is_the_same_for_every_rule_and_way_to_name_it)
{
    const spec_case_pairs every = pairs_of(NULL);
    const int n = VOCAB * VOCAB;
    double before[VOCAB * VOCAB] = {0.0};
    for (int i = 0; i < every.n; i++) {
        const spec_case_pairs own = pairs_of(spec_cases_families[i / CASES]);
        OWNED(spec_output_law) token, block, by_hand;
        spec_error error = {""};
        double sum = 0.0, change = 0.0;
        if (spec_case_pairs_law(&token, &every, "token", i, TOKENS, &error) != GSL_SUCCESS ||
            spec_case_pairs_law(&block, &own, "block", i % CASES, TOKENS, &error) != GSL_SUCCESS)
            fail_msg("pair %d: %s", i, error.text);
        open_by_hand(&by_hand, spec_cases_families[i / CASES], i % CASES + 1);
        for (int k = 0; k < n; k++) {
            assert_true(fabs(token.law[k] - block.law[k]) < 1e-12);
            assert_true(token.target_law[k] == block.target_law[k]);
            assert_true(token.target_law[k] == by_hand.target_law[k]);
            sum += token.law[k];
            change += fabs(token.law[k] - before[k]);
            before[k] = token.law[k];
        }
        assert_true(fabs(sum - 1.0) < 1e-12);
        assert_true(token.tv < 1e-12);
        assert_true(change > 1e-6); /* successive pairs differ */
    }
}

TEST(an_interrupt_and_a_wrong_rule_end_in_an_error)
{
    static const volatile int stop = 1;
    spec_case_pairs pairs = pairs_of("plain");
    spec_output_law law;
    assert_fails_with(spec_case_pairs_law(&law, &pairs, "tokne", 0, TOKENS, &error), GSL_EINVAL,
                      "tokne");
    assert_null(law.law);
    pairs.opt_stop = &stop;
    assert_fails(spec_case_pairs_law(&law, &pairs, "token", 0, TOKENS, &error), GSL_EFAILED,
                 "interrupted");
    assert_null(law.law);
}
