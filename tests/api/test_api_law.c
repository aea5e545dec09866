/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "speclab/speclab.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { TEXTS = 16 };

static speclab *lab;

static int open_lab(void **state)
{
    (void)state;
    return speclab_open(&lab, NULL, NULL, 0);
}

static int close_lab(void **state)
{
    (void)state;
    speclab_close(lab);
    return 0;
}

static speclab_law *open_law(const char *rule)
{
    char error[512];
    const speclab_pair pair = {.size = sizeof pair,
                               .K = 2,
                               .target = "probs:0.5,0.2,0.1,0.2",
                               .draft = "probs:0.4,0.3,0.2,0.1",
                               .rule = rule};
    const speclab_law_options options = {.size = sizeof options, .tokens = 2};
    speclab_law *law;
    if (speclab_law_open(&law, lab, &pair, &options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    return law;
}

static speclab_law_numbers read_law(const speclab_law *law)
{
    speclab_law_numbers numbers = {.size = sizeof numbers};
    assert_int_equal(speclab_law_read(&numbers, law), SPECLAB_OK);
    assert_int_equal(numbers.n_texts, TEXTS);
    assert_int_equal(numbers.vocab, 4);
    return numbers;
}

TEST(the_law_of_a_lossless_rule_is_that_of_the_target)
{
    const double target[] = {0.5, 0.2, 0.1, 0.2};
    speclab_law *law = open_law("block");
    const speclab_law_numbers numbers = read_law(law);
    for (int i = 0; i < TEXTS; i++) {
        assert_within(numbers.promise[i], target[i / 4] * target[i % 4], 1e-15);
        assert_within(numbers.law[i], numbers.promise[i], 1e-14);
    }
    assert_true(numbers.tv < 1e-14 && numbers.branches > 0);
    speclab_law_close(law);
}

/* If a rejected token is drawn from the whole target, tv is .0996 over two tokens. */
TEST(the_law_of_a_wrong_rule_is_another_one)
{
    speclab_law *law = open_law("resample-target");
    const speclab_law_numbers numbers = read_law(law);
    double tv = 0.0;
    for (int i = 0; i < TEXTS; i++) tv += 0.5 * fabs(numbers.law[i] - numbers.promise[i]);
    assert_within(numbers.tv, 0.0996, 1e-12);
    assert_within(tv, numbers.tv, 1e-14);
    speclab_law_close(law);
}

static void sample(uint64_t *counts, speclab_law *law, uint64_t batch)
{
    char error[512];
    if (speclab_law_sample(counts, law, 42, batch, 20000, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
}

TEST(batches_differ_and_add_up)
{
    uint64_t one[TEXTS] = {0}, other[TEXTS] = {0}, both[TEXTS] = {0}, sum = 0;
    speclab_law *law = open_law("token");
    sample(one, law, 3);
    sample(other, law, 4);
    sample(both, law, 4);
    sample(both, law, 3);
    for (int i = 0; i < TEXTS; i++) {
        assert_int_equal(both[i], one[i] + other[i]);
        sum += one[i];
    }
    assert_int_equal(sum, 20000);
    assert_memory_not_equal(one, other, sizeof one);
    speclab_law_close(law);
}

/* With a tv of .0996 the bets win exp(20) with far fewer than 40,000 texts; with a lossless rule
 * they win nothing. */
TEST(evidence_grows_against_wrong_rules_alone)
{
    const char *const rule[] = {"token", "block", "resample-target"};
    for (int r = 0; r < 3; r++) {
        uint64_t counts[TEXTS] = {0};
        speclab_law *law = open_law(rule[r]);
        assert_same(speclab_law_log_e(law, counts), 0.0);
        sample(counts, law, 0);
        sample(counts, law, 1);
        const double log_e = speclab_law_log_e(law, counts);
        if (r < 2 ? log_e > 13.8 : log_e < 20.0) fail_msg("%s: log e %g", rule[r], log_e);
        speclab_law_close(law);
    }
}

TEST(wrong_arguments_are_refused)
{
    char error[512];
    const speclab_pair pair = {.size = sizeof pair, .target = "uniform?V=100", .K = 0};
    speclab_law_options options = {.size = sizeof options, .tokens = 4};
    speclab_law *law;
    assert_int_equal(speclab_law_open(&law, lab, &pair, &options, error, sizeof error),
                     SPECLAB_INPUT);
    assert_null(law);
    assert_non_null(strstr(error, "too many"));
    options.tokens = 0;
    assert_int_equal(speclab_law_open(&law, lab, &pair, &options, error, sizeof error),
                     SPECLAB_INPUT);
    assert_int_equal(speclab_law_open(&law, lab, &pair, NULL, error, sizeof error), SPECLAB_INPUT);
    assert_int_equal(speclab_law_read(&(speclab_law_numbers){.size = 3}, NULL), SPECLAB_INPUT);
    assert_nan(speclab_law_log_e(NULL, NULL));
    speclab_law_close(NULL);
}

SUITE(.setup = open_lab, .teardown = close_lab);
