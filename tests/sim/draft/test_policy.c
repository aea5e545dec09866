/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/policy.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static spec_policy opened(const char *spec, int K)
{
    spec_policy policy;
    spec_error error = {""};
    if (spec_policy_init(&policy, spec, K, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    return policy;
}

/* Drafts tokens with these confidences, one after another, as long as the policy goes on; returns
 * their number. */
static int drafted(const spec_policy *policy, const double *confidence, int n)
{
    static double row[16][2];
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 16, 2, NULL), GSL_SUCCESS);
    for (int i = 0; i < n; i++) {
        row[i][0] = confidence[i];
        row[i][1] = 1.0 - confidence[i];
        if (!spec_policy_go_on(policy, &draft, policy->looks_ahead ? row[i] : NULL)) break;
        spec_draft_append(&draft, 0, i - 1, row[i], true);
        if (spec_policy_retract(policy, &draft)) {
            spec_draft_retract(&draft);
            break;
        }
    }
    const int included = draft.n_nodes;
    return included;
}

static void see(spec_policy *policy, int n_drafted, int n_accepted)
{
    const spec_round round = {
        .n_drafted = n_drafted, .n_accepted = n_accepted, .n_emitted = n_accepted + 1};
    assert_int_equal(spec_policy_observe(policy, NULL, &round, NULL), GSL_SUCCESS);
}

static const double sure[16] = {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9,
                                0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9};

TEST(fixed_drafts_K_tokens_whatever_happens)
{
    for (int K = 0; K <= 6; K += 3) {
        spec_policy policy = opened("fixed", K);
        assert_int_equal(
            drafted(&policy, (const double[]){0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001}, 7),
            K);
        see(&policy, K, 0);
        assert_int_equal(drafted(&policy, sure, 16), K);
    }
}

TEST(heuristic_adds_two_or_takes_one_within_its_bounds)
{
    spec_policy policy = opened("heuristic?cap=8", 5);
    assert_int_equal(policy.K, 8);
    assert_int_equal(drafted(&policy, sure, 16), 5);
    see(&policy, 5, 5);
    assert_int_equal(drafted(&policy, sure, 16), 7);
    see(&policy, 7, 7);
    assert_int_equal(policy.now, 8); /* capped */
    see(&policy, 8, 7);
    assert_int_equal(policy.now, 7);
    see(&policy, 7, 0); /* how many are accepted does not matter, unless it is all of them */
    assert_int_equal(policy.now, 6);
    see(&policy, 3, 3); /* fully accepted, but shorter than asked */
    assert_int_equal(policy.now, 5);
    for (int now = 4; now >= 1; now--) {
        see(&policy, policy.now, 0);
        assert_int_equal(policy.now, now);
    }
    see(&policy, 1, 0);
    assert_int_equal(policy.now, 1);
    see(&policy, 1, 1);
    assert_int_equal(policy.now, 3);
}

TEST(heuristic_caps_at_four_times_its_start_unless_told)
{
    assert_int_equal(opened("heuristic", 5).K, 20);
    assert_int_equal(opened("heuristic", 100).K, SPEC_K_MAX);
    spec_policy policy = opened("heuristic", 0);
    assert_int_equal(policy.K, 0);
    see(&policy, 0, 0);
    assert_int_equal(policy.now, 0);
    assert_status(spec_policy_init(&policy, "heuristic?cap=4", 5, &error), GSL_EINVAL);
}

TEST(confidence_includes_the_low_token_and_stops_after_it)
{
    spec_policy policy = opened("confidence?threshold=0.27", 6);
    assert_int_equal(drafted(&policy, (const double[]){0.9, 0.28, 0.26, 0.9, 0.9, 0.9}, 6), 3);
    assert_int_equal(drafted(&policy, (const double[]){0.1, 0.9, 0.9, 0.9, 0.9, 0.9}, 6), 1);
    assert_int_equal(drafted(&policy, (const double[]){0.27, 0.27, 0.9, 0.9, 0.9, 0.9}, 6),
                     6); /* not below */
    assert_int_equal(drafted(&policy, sure, 16), 6);
    policy = opened("confidence", 6);
    assert_within(policy.threshold, 0.4, 0.0);
}

TEST(cumulative_stops_when_a_rejection_is_likely_enough)
{
    spec_policy policy = opened("cumulative?threshold=0.5", 6);
    /* 1 - .8 = .2, 1 - .8^2 = .36, 1 - .8^3 = .488, 1 - .8^4 = .5904 > .5: stops with four
     * included. */
    assert_int_equal(drafted(&policy, (const double[]){0.8, 0.8, 0.8, 0.8, 0.8, 0.8}, 6), 4);
    assert_int_equal(drafted(&policy, (const double[]){0.5, 0.9, 0.9, 0.9, 0.9, 0.9}, 6),
                     2); /* .5 is not above .5 */
    assert_int_equal(drafted(&policy, (const double[]){0.49, 0.9, 0.9, 0.9, 0.9, 0.9}, 6), 1);
    assert_int_equal(drafted(&policy, (const double[]){1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}, 7), 6);
    assert_within(opened("cumulative", 6).threshold, 0.7, 0.0);
}

TEST(peak_stops_before_a_flat_row)
{
    spec_policy policy = opened("peak?threshold=0.7", 6);
    assert_true(policy.looks_ahead);
    /* The largest of (x, 1-x): .9 .75 .7 .69; the token drawn from the row does not matter. */
    assert_int_equal(drafted(&policy, (const double[]){0.1, 0.25, 0.7, 0.69, 0.9, 0.9}, 6), 3);
    assert_int_equal(drafted(&policy, (const double[]){0.5, 0.9}, 2), 0);
    assert_int_equal(drafted(&policy, sure, 16), 6);
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 1, 3, NULL), GSL_SUCCESS);
    assert_true(spec_policy_go_on(&policy, &draft, NULL)); /* without a row it goes on */
    policy = opened("peak", 6);
    assert_within(policy.threshold, 0.4, 0.0);
    assert_false(spec_policy_go_on(&policy, &draft, (const double[]){0.27, 0.39, 0.34}));
    assert_true(spec_policy_go_on(&policy, &draft, (const double[]){0.27, 0.41, 0.32}));
}

/* The peaks .6 .3 .1: .6 of the whole row, .6/.9 of its two largest. */
TEST(a_peak_among_the_top_is_renormalised)
{
    static const double row[] = {0.3, 0.1, 0.6};
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, 1, 3, NULL), GSL_SUCCESS);
    static const struct {
        const char *spec;
        bool goes_on;
    } specs[] = {{"peak?threshold=0.61", false},       {"peak?threshold=0.59", true},
                 {"peak?threshold=0.66&top=2", true},  {"peak?threshold=0.67&top=2", false},
                 {"peak?threshold=0.61&top=3", false}, {"peak?threshold=0.59&top=64", true},
                 {"peak?threshold=1&top=1", true}};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const spec_policy policy = opened(specs[i].spec, 1);
        assert_int_equal(spec_policy_go_on(&policy, &draft, row), specs[i].goes_on);
    }
}

/* Chosen short drafts depend on the context alone; drawn ones do not, so the policy is marked. */
TEST(a_peak_drops_drafts_shorter_than_its_least)
{
    const spec_policy policy = opened("peak?threshold=0.7&least=3", 4);
    spec_draft draft;
    assert_int_equal(spec_draft_init(&draft, 4, 3, NULL), GSL_SUCCESS);
    for (int n = 0; n <= 4; n++) {
        assert_int_equal(spec_policy_cut(&policy, &draft), n < 3 ? 0 : n);
        if (n < 4) spec_draft_append(&draft, 0, n - 1, NULL, false);
    }
    spec_draft_free(&draft);
    assert_true(policy.anticipates);
    assert_false(opened("peak?least=1", 4).anticipates); /* it never drops a token */
}

TEST(confidence_drop_takes_the_low_token_back)
{
    spec_policy policy = opened("confidence-drop?threshold=0.27", 6);
    assert_true(policy.kind->anticipates);
    assert_int_equal(drafted(&policy, (const double[]){0.9, 0.27, 0.26, 0.9, 0.9, 0.9}, 6), 2);
    assert_int_equal(drafted(&policy, (const double[]){0.1, 0.9}, 2), 0);
    assert_int_equal(drafted(&policy, sure, 16), 6);
    assert_within(opened("confidence-drop", 6).threshold, 0.4, 0.0);
}

TEST(only_negative_controls_anticipate_or_take_back)
{
    for (int i = 0; spec_policy_kinds[i] != NULL; i++) {
        const spec_policy_kind *kind = spec_policy_kinds[i];
        const bool drops = strcmp(kind->name, "confidence-drop") == 0;
        assert_int_equal(kind->anticipates, drops || strcmp(kind->name, "trim-drawn") == 0);
        assert_int_equal(kind->retract != NULL, drops);
    }
}

TEST(the_oracle_is_charged_for_what_was_accepted)
{
    const spec_round round = {.n_drafted = 5, .n_accepted = 2, .n_emitted = 3};
    spec_policy oracle = opened("oracle", 5), fixed = opened("fixed", 5);
    assert_int_equal(spec_policy_charged(&oracle, &round, 5), 2);
    assert_int_equal(spec_policy_charged(&oracle, &round, 0), 0); /* no model was called */
    assert_int_equal(spec_policy_charged(&fixed, &round, 5), 5);
    assert_int_equal(spec_policy_charged(&fixed, &round, 6),
                     6); /* a call whose token was not submitted */
    assert_int_equal(drafted(&oracle, sure, 16), 5);
}

TEST(bad_specs_are_refused_with_a_line)
{
    static const struct {
        const char *spec;
        int K;
        const char *says;
    } bad[] = {
        {"fixd", 5, "'fixed'"},
        {"nothing like it", 5, "nothing like it"},
        {"fixed", -1, "-1"},
        {"fixed", SPEC_K_MAX + 1, "257"},
        {"fixed?K=3", 5, "K"},
        {"fixed:file", 5, "file"},
        {"confidence?treshold=0.3", 5, "threshold"},
        {"confidence?threshold=1.5", 5, "threshold"},
        {"confidence?threshold=nan", 5, "threshold"},
        {"cumulative?threshold=-0.1", 5, "threshold"},
        {"heuristic?cap=1000", 5, "cap"},
        {"peak?top=65", 5, "top"},
        {"average?lengths=3.1", 5, "rising"},
        {"average?lengths=", 5, "lengths"},
        {"average?lengths=1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17", 5, "at most 16"},
        {"average?rate=1.1", 5, "rate"},
        {"gate?base=0", 5, "base"},
        {"gate?window=65", 5, "window"},
        {"gate?window=4&warm=5", 5, "warm"},
        {"tiers?max=4", 5, "max"},
        {"switch-off?of=shares", 5, "of"},
        {"switch-off?window=0", 5, "window"},
        {"refit?schedule=heuristics", 5, "schedule"},
        {"refit?cap=9", 5, "the schedule is constant"},
        {"refit?schedule=heuristic&cap=4", 5, "cap"},
        {"bins?cut=both", 5, "cut"},
        {"bins?width=0", 5, "width"},
        {"goodput", 65, "it estimates at most 64 positions, and K is 65"},
        {"trim?every=0", 5, "every"},
        {"trim?sizes=4.2", 5, "rising"},
        {"trim?sizes=", 5, "sizes"},
        {"goodput?sizes=1.2", 5, "sizes"},
        {"ucb?explore=-1", 5, "explore"},
        {"ucb?samples=0", 5, "samples"},
        {"ucbspec?doubt=0", 5, "doubt"},
        {"exp3spec?seed=-1", 5, "seed"},
        {"probe?least=6", 5, "least"},
        {"probe?least=0", 5, "least"},
        {"probe?max=4", 5, "max"},
        {"climb?every=513", 5, "every"},
        {"climb?rate=1.1", 5, "rate"},
        {"", 5, ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec_policy policy;
        spec_error error = {""};
        const int status = spec_policy_init(&policy, bad[i].spec, bad[i].K, &error);
        assert_true(status == GSL_EINVAL || status == GSL_EDOM);
        if (strstr(error.text, bad[i].says) == NULL || error.text[0] == '\0')
            fail_msg("%s: '%s'", bad[i].spec, error.text);
        assert_null(policy.kind);
        assert_int_equal(policy.K, 0);
    }
    assert_int_equal(opened("fixed", SPEC_K_MAX).K, SPEC_K_MAX);
}
