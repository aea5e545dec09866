/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two routes: the law from a list of the most probable tokens, and the filters applied to the whole
 * row (tools/validate/fixtures/filter_order.h). */
#include "tests/support/near.h"
#include "tools/live/drawn_law.h"

#include <math.h>

enum { V = 12 };

static const double row[V] = {0.31, 0.22, 0.14, 0.09,  0.07, 0.05,
                              0.04, 0.03, 0.02, 0.015, 0.01, 0.005};

static spec_live_place place_of(int n)
{
    spec_live_place place = {.n = n};
    for (int i = 0; i < n; i++) place.top[i] = (spec_live_candidate){i, log(row[i])};
    return place;
}

/* Compares the law with the whole row after the filters; if the rest is unknown, both are
 conditioned on the listed tokens. */
static void check(const spec_drawn_rule *rule, int n, spec_drawn_rest expected)
{
    const spec_live_place place = place_of(n);
    double chance[SPEC_LIVE_TOP], whole[V], listed = 0.0;
    int workspace[V];
    memcpy(whole, row, sizeof whole);
    spec_filter_order_apply(&rule->order, whole, V, &rule->transform, workspace);
    assert_int_equal(spec_drawn_law(chance, rule, &place), expected);
    for (int i = 0; i < n; i++) listed += whole[i];
    if (expected == SPEC_REST_NONE) assert_within(listed, 1.0, 1e-12);
    for (int i = 0; i < n; i++)
        assert_within(chance[i], expected == SPEC_REST_UNKNOWN ? whole[i] / listed : whole[i],
                      1e-12);
}

static spec_drawn_rule rule_of(const char *order, double temperature, int top_k, double top_p,
                               double min_p)
{
    spec_drawn_rule rule = {
        .transform = {.temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p}};
    assert_works(spec_filter_order_parse(&rule.order, order, &error));
    return rule;
}

TEST(lists_give_the_law_of_the_whole_row_in_each_engines_order)
{
    static const struct {
        double temperature;
        int top_k;
        double top_p, min_p;
        int n;
        spec_drawn_rest rest;
    } cases[] = {
        {1.0, 0, 1.0, 0.0, 6, SPEC_REST_KNOWN},  {1.3, 0, 1.0, 0.0, 6, SPEC_REST_UNKNOWN},
        {1.0, 4, 1.0, 0.0, 6, SPEC_REST_NONE},   {0.6, 4, 1.0, 0.0, 6, SPEC_REST_NONE},
        {1.0, 0, 0.72, 0.0, 6, SPEC_REST_NONE},  {1.0, 0, 0.95, 0.0, 6, SPEC_REST_UNKNOWN},
        {1.0, 0, 1.0, 0.27, 6, SPEC_REST_NONE},  {1.6, 0, 1.0, 0.03, 6, SPEC_REST_UNKNOWN},
        {1.0, 0, 0.84, 0.17, 8, SPEC_REST_NONE}, {1.0, 5, 0.72, 0.0, 8, SPEC_REST_NONE},
        {1.0, 5, 0.72, 0.25, 8, SPEC_REST_NONE}, {0.6, 0, 1.0, 0.27, 8, SPEC_REST_NONE},
    };
    static const char *const orders[] = {"top_k,top_p,min_p,temperature",
                                         "temperature,min_p,top_k,top_p",
                                         "temperature,top_k+top_p+min_p"};
    for (int o = 0; o < 3; o++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const spec_drawn_rule rule = rule_of(orders[o], cases[i].temperature, cases[i].top_k,
                                                 cases[i].top_p, cases[i].min_p);
            check(&rule, cases[i].n, cases[i].rest);
        }
}

TEST(filters_after_a_temperature_need_a_known_total)
{
    const spec_drawn_rule chained = rule_of("temperature,min_p,top_k,top_p", 0.7, 5, 0.8, 0.0);
    const spec_drawn_rule cold = rule_of("top_k,top_p,min_p,temperature", 0.7, 0, 0.8, 0.0);
    spec_drawn_rule hot = rule_of("temperature,min_p,top_k,top_p", 0.7, 0, 0.8, 0.0);
    check(&chained, 8, SPEC_REST_NONE);
    check(&cold, 8, SPEC_REST_NONE);
    assert_works(spec_drawn_check(&cold, 8, &error));
    assert_fails_with(spec_drawn_check(&hot, 8, &error), GSL_EINVAL, "needs --top-k");
    hot.transform.top_k = 8;
    assert_fails(spec_drawn_check(&hot, 8, &error), GSL_EINVAL, "--top-k 8 needs --top 9 or more");
    assert_works(spec_drawn_check(&hot, 9, &error));
    const spec_drawn_rule joint = rule_of("temperature,top_k+top_p+min_p", 0.7, 5, 0.8, 0.0);
    assert_fails_with(spec_drawn_check(&joint, 8, &error), GSL_EINVAL, "cannot be judged");
}

/* 0.14 / 0.31 is 0.4516: whether min_p keeps token 2 is decided by the noise. */
TEST(an_edge_within_the_noise_is_not_judged)
{
    const spec_live_place place = place_of(8);
    double chance[SPEC_LIVE_TOP];
    spec_drawn_rule rule = rule_of("top_k,top_p,min_p,temperature", 1.0, 0, 1.0, 0.45);
    assert_int_equal(spec_drawn_law(chance, &rule, &place), SPEC_REST_NONE);
    rule.noise = 0.003;
    assert_int_equal(spec_drawn_law(chance, &rule, &place), SPEC_REST_SKIP);
    rule = rule_of("top_k,top_p,min_p,temperature", 1.0, 4, 1.0, 0.0);
    rule.noise = 0.2; /* tokens 3 and 4 differ by .25 */
    assert_int_equal(spec_drawn_law(chance, &rule, &place), SPEC_REST_SKIP);
    rule = rule_of("top_k,top_p,min_p,temperature", 1.0, 0, 0.671, 0.0); /* the third sum is .67 */
    assert_int_equal(spec_drawn_law(chance, &rule, &place), SPEC_REST_NONE);
    rule.noise = 0.001;
    assert_int_equal(spec_drawn_law(chance, &rule, &place), SPEC_REST_SKIP);
}

TEST(a_list_of_the_whole_vocabulary_leaves_no_rest)
{
    spec_drawn_rule rule = rule_of("top_k,top_p,min_p,temperature", 1.7, 0, 1.0, 0.0);
    rule.vocab = V;
    check(&rule, V, SPEC_REST_NONE);
}
