/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/observed_sums.h"

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/advise/known_window.h"

/* Checks the counts of an observation once they are completed. */
static void gives(spec_observation o, int K, double rounds, double passes, double drafted,
                  double accepted, double emitted)
{
    const spec_counts_verdict verdict = spec_observation_counts_complete(&o);
    assert_string_equal(verdict.text, "");
    assert_false(verdict.broken || verdict.impossible || verdict.idle);
    assert_int_equal(o.K, K);
    assert_same(o.rounds, rounds);
    assert_same(o.passes, passes);
    assert_same(o.drafted, drafted);
    assert_same(o.accepted, accepted);
    assert_same(o.emitted, emitted);
}

TEST(missing_numbers_follow_from_the_others)
{
    spec_observation o = window(20, 60, 30);
    gives(o, 3, 20, 20, 60, 30, 50); /* drafted / rounds is a whole number */
    gives(window(20, 61, 30), -1, 20, 20, 61, 30, 50);
    gives(window(1, 65, 30), -1, 1, 1, 65, 30, 31);
    o = window(NAN, 60, 30);
    o.K = 3;
    gives(o, 3, 20, 20, 60, 30, 50);
    o.passes = 25; /* in a response, some passes had no draft */
    gives(o, 3, 20, 25, 60, 30, 55);
    o.passes = 15; /* fewer than drafted / K */
    gives(o, 3, 15, 15, 60, 30, 45);
    o = window(NAN, 60, 30); /* without K the rounds are not known, and the passes bound them */
    o.passes = 25;
    gives(o, -1, 25, 25, 60, 30, 55);
    o.passes = NAN;
    o.emitted = 55;
    gives(o, -1, 25, 25, 60, 30, 55);
    o.passes = 26; /* what was given stays unchanged */
    gives(o, -1, 26, 26, 60, 30, 55);
    gives(window(NAN, 60, 30), -1, NAN, NAN, 60, 30, NAN);
    o = window(20, NAN, 30); /* no drafted tokens */
    o.K = 3;
    gives(o, 3, 20, 20, 60, 30, 50);
    o.K = -1;
    gives(o, -1, 20, 20, NAN, 30, 50);
    o = window(20, 60, NAN); /* no accepted tokens */
    o.emitted = 50;
    gives(o, 3, 20, 20, 60, 30, 50);
    o = known_line();
    o.K = -1;
    o.accepted = NAN;
    gives(o, 5, 59, 59, 295, 262, 321);
    o.drafted = 290; /* some drafts were shorter */
    gives(o, 5, 59, 59, 290, 262, 321);
    o.accepted = 262;
    o.drafted = 59 * 7; /* a histogram that ends at the longest accepted draft */
    gives(o, 7, 59, 59, 59 * 7, 262, 321);
    o = window(0, 0, 0); /* nothing to draft from */
    o.K = 3;
    o.emitted = o.passes = 40;
    gives(o, 3, 0, 40, 0, 0, 40);
    o = window(NAN, 0, NAN);
    o.K = 3;
    o.emitted = 40;
    gives(o, 3, 0, 0, 0, 0, 40);
    o = window(10, NAN, 0); /* everything rejected is not idle */
    o.K = 3;
    gives(o, 3, 10, 10, 30, 0, 10);
}

TEST(plain_decoding_has_passes_and_no_rounds)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1);
    o.K = 0;
    o.emitted = 400;
    gives(o, 0, 0, 400, 0, 0, 400);
    o.emitted = NAN;
    o.passes = 400;
    gives(o, 0, 0, 400, 0, 0, 400);
}

TEST(rounds_that_are_not_given_are_inexact)
{
    spec_observation o = window(NAN, 60, 30);
    o.K = 3;
    assert_true(spec_observation_counts_complete(&o).inexact);
    o = window(20, 60, 30);
    assert_false(spec_observation_counts_complete(&o).inexact);
    o.rounds_high = 21;
    assert_true(spec_observation_counts_complete(&o).inexact);
}

static void is_idle(spec_observation o)
{
    const spec_counts_verdict verdict = spec_observation_counts_complete(&o);
    assert_true(verdict.idle);
}

TEST(windows_that_say_nothing_are_idle)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1);
    is_idle(o);
    o = window(0, 0, 0);
    o.seconds = 10;
    is_idle(o);
    o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1); /* tokens, but nothing about drafts */
    o.emitted = 50;
    is_idle(o);
    o.drafted = 100;
    is_idle(o);
    o.K = 3;
    o.passes = 60; /* more than emitted, so fewer than 0 accepted */
    is_idle(o);
}

static void breaks(spec_observation o, bool impossible, const char *text)
{
    const spec_counts_verdict verdict = spec_observation_counts_complete(&o);
    assert_true(verdict.broken && !verdict.idle);
    assert_int_equal(verdict.impossible, impossible);
    assert_string_equal(verdict.text, text);
}

TEST(contradictions_name_the_first_identity_that_breaks)
{
    spec_observation o;
    breaks(window(20, 60, 70), true, "accepted exceeds drafted: 70 of 60");
    o = window(20, 90, 70);
    o.K = 3;
    breaks(o, true, "accepted exceeds K times rounds: 70 of 3 times 20");
    o = window(NAN, 90, 70);
    o.K = 3;
    o.passes = 20;
    breaks(o, true, "accepted exceeds K times rounds: 70 of 3 times 20");
    o.K = 0;
    breaks(o, true, "drafted tokens with a draft length of 0: 90");
    o = known_line();
    o.passed[0] = 60;
    breaks(o, true, "passed at depth 1 exceeds rounds: 60 of 59");
    o = known_line();
    o.passed[2] = 57;
    breaks(o, true, "passed rises from depth 2 to 3: 57 after 56");
    o = known_line();
    o.accepted = 261;
    breaks(o, true, "passed by depth sums to more than accepted: 262, not 261");
    o.accepted = 263;
    breaks(o, false, "passed by depth sums to less than accepted: 262, not 263");
    o = window(20, 19, 10);
    breaks(o, false, "rounds exceed drafted: 20 of 19");
    o = window(20, 60, 10);
    o.passes = 19;
    breaks(o, false, "rounds exceed passes: 20 of 19");
    o = window(20, 60, -1);
    breaks(o, true, "accepted is not a count: -1");
    o = window(1e17, 1e17, 1);
    breaks(o, true, "rounds is not a count: 1e+17");
    o = window(20, INFINITY, 10);
    breaks(o, true, "drafted is not a count: inf");
    o = window(20, 60, 10);
    o.K = 65;
    breaks(o, true, "K is outside 0..64: 65");
    o.K = 3;
    o.depths = 65;
    breaks(o, true, "more than 64 depths: 65");
    o.depths = 1;
    o.passed[0] = NAN;
    breaks(o, true, "passed at depth 1 is not a count: nan");
}

/* The first token of a request comes from its prompt, and its last round may be cut. */
TEST(a_request_emits_rounds_and_accepted_tokens)
{
    /* Figures of two versions of one engine: 200 = 1 + 188 + 11 and 106 = 43 + 63. */
    spec_observation o = window(188, 940, 11);
    o.kind = SPEC_OBSERVED_REQUEST;
    o.emitted = 200;
    gives(o, 5, 188, 188, 940, 11, 200);
    o.emitted = 199;
    gives(o, 5, 188, 188, 940, 11, 199);
    o.emitted = 194;
    gives(o, 5, 188, 188, 940, 11, 194);
    o.emitted = 193;
    breaks(o, false, "emitted is not rounds + accepted: 193, not 188 + 11");
    o.emitted = 201;
    breaks(o, false, "emitted is not rounds + accepted: 201, not 188 + 11");
    o.passes = 190; /* two passes had no draft */
    gives(o, 5, 188, 190, 940, 11, 201);
    o = window(43, 215, 63);
    o.kind = SPEC_OBSERVED_REQUEST;
    o.emitted = 106;
    gives(o, 5, 43, 43, 215, 63, 106);
    o.kind = SPEC_OBSERVED_WINDOW;
    o.emitted = 150; /* first tokens of other requests, too */
    gives(o, 5, 43, 43, 215, 63, 150);
}

/* Each of these breaks just one identity. */
TEST(an_impossible_count_is_enough)
{
    breaks(window(NAN, 60, 70), true, "accepted exceeds drafted: 70 of 60");
    spec_observation o = known_line();
    o.passed[0] = 60;
    o.passed[4] = 40;
    breaks(o, true, "passed at depth 1 exceeds rounds: 60 of 59");
    o = known_line();
    o.passed[2] = 57;
    o.passed[3] = 49;
    breaks(o, true, "passed rises from depth 2 to 3: 57 after 56");
    o = known_line();
    o.passed[4] = -1;
    breaks(o, true, "passed at depth 5 is not a count: -1");
    o.passed[4] = 0x1p54;
    breaks(o, true, "passed at depth 5 is not a count: 1.80144e+16");
    o = window(20, 20, 10);
    o.rounds_low = -1;
    breaks(o, true, "rounds is not a count: -1");
    o = window(20, 20, 10);
    o.K = -2;
    breaks(o, true, "K is outside 0..64: -2");
}

TEST(counts_at_the_ends_of_their_ranges_are_no_fault)
{
    const double most = 0x1p53;
    spec_observation o = window(most, NAN, NAN);
    o.depths = 64;
    for (int i = 0; i < 64; i++) o.passed[i] = most;
    gives(o, 64, most, most, 64 * most, 64 * most, 65 * most);
    gives(window(20, 64 * 20, 30), 64, 20, 20, 64 * 20, 30, 50);
    gives(window(20, 65 * 20, 30), -1, 20, 20, 65 * 20, 30, 50);
    o = window(20, 20, 20); /* drafts of one token, all accepted */
    o.depths = 1;
    o.passed[0] = 20;
    o.passes = 20;
    gives(o, 1, 20, 20, 20, 20, 40);
    o = window(20, 66, 65); /* up to 22 rounds after rounding */
    o.K = 3;
    o.rounds_high = 22;
    gives(o, 3, 20, 20, 66, 65, 85);
}
