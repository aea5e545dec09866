/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the answer of an advice: one sentence, which comes first. */
#include "tests/support/support.h"
#include "tests/tools/advise/advice_text_of.h"

TEST(each_verdict_is_one_sentence_that_comes_first)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    assert_answers(&f, "K = 3 has at most 3.14 times the tokens/s of plain decoding: a round emits "
                       "3.12 [3.10, 3.14] tokens and takes at least as long as a plain token. "
                       "Measure plain decoding in llama.cpp: without its speed, these numbers do "
                       "not say which length is the fastest.");
    known_times(&f);
    f.advice.verdict = SPEC_ADVICE_KEEP;
    assert_answers(&f, "Keep K = 3: 1.44 [1.40, 1.48] times the tokens/s of plain decoding, and no "
                       "other length is over 2 % faster.");
    f.advice.length[3].speedup.low = f.advice.length[3].speedup.high = NAN;
    assert_answers(&f, "Keep K = 3: no other length is over 2 % faster.");
    f.advice.n = 1; /* --K 0 */
    assert_answers(&f, "Keep K = 3: no other length is over 2 % faster.");
    const spec_advice_length plain = f.advice.length[0];
    f.advice.length[0] = f.advice.length[3]; /* --K 3 */
    assert_answers(&f, "Keep K = 3: no other length is considered.");
    f.advice.length[0] = plain;
    f.advice.n = 4;
    f.advice.verdict = SPEC_ADVICE_CHANGE;
    f.advice.to_K = 2;
    f.advice.gain.value = 1.124;
    f.advice.gain.low = 1.05;
    f.advice.gain.high = 1.19;
    assert_answers(&f,
                   "Change K from 3 to 2: 1.12 [1.05, 1.19] times the tokens/s of now. K = 2 was "
                   "not run, so this takes the times of its rounds from likely engines.");
    f.advice.verdict = SPEC_ADVICE_OFF;
    f.advice.to_K = 0;
    assert_answers(&f, "Turn speculation off: plain decoding has 1.12 [1.05, 1.19] times the "
                       "tokens/s of K = 3.");
    f.advice.gain.low = f.advice.gain.high = NAN;
    assert_answers(&f, "Turn speculation off: plain decoding has 1.12 times the tokens/s of K = 3. "
                       "It has no interval, which needs more than one window or request; a longer "
                       "run would confirm it.");
    f.advice.gain.low = 1.05;
    f.advice.gain.high = 1.19;
    f.advice.verdict = SPEC_ADVICE_MEASURE;
    f.advice.to_K = 3;
    f.advice.decides_K = 2;
    f.advice.length[3].speedup.low = 1.402;
    f.advice.length[3].speedup.high = 1.481;
    f.advice.loss = 0.071;
    assert_answers(
        &f, "Keep K = 3 for now: it is at most 8 % slower than the fastest of K = 0 to 3. "
            "Run K = 2 once: it may be faster; by estimate its speed-up is 1.35 [1.22, 1.48], "
            "and that of K = 3 1.44 [1.40, 1.48].");
    f.advice.K = 2; /* another length is safer than the present one */
    f.advice.decides_K = 1;
    f.advice.length[1].speedup.value = 1.2;
    f.advice.length[1].speedup.low = 0.9;
    f.advice.length[1].speedup.high = 1.5;
    assert_answers(&f,
                   "Take K = 3 for now: it has 1.12 [1.05, 1.19] times the tokens/s of K = 2, and "
                   "is at most 8 % slower than the fastest of K = 0 to 3. Run K = 1 once: it may "
                   "be faster; by estimate its speed-up is 1.20 [0.90, 1.50], and that of K = 3 "
                   "1.44 [1.40, 1.48].");
    f.advice.to_K = 0;
    assert_answers(
        &f, "Turn speculation off for now: plain decoding has 1.12 [1.05, 1.19] times the "
            "tokens/s of K = 2, and is at most 8 % slower than the fastest of K = 0 to 3. "
            "Run K = 1 once: by estimate its speed-up is 1.20 [0.90, 1.50], and that of plain "
            "decoding 1.00.");
    f.advice.to_K = f.advice.K = 5; /* not among the lengths of --K */
    assert_answers(&f,
                   "Keep K = 5 for now: it is at most 8 % slower than the fastest of K = 0 to 3. "
                   "Run K = 1 once: by estimate its speed-up is 1.20 [0.90, 1.50].");
    f.advice.to_K = f.advice.K = 3;
    f.advice.decides_K = 2;
    f.advice.loss = NAN;
    f.advice.length[1].speedup.value = f.advice.length[1].speedup.low =
        f.advice.length[1].speedup.high = NAN;
    f.advice.length[3].rounds = 51.0;
    f.advice.decides_K = 3;
    assert_answers(&f, "Run K = 3 for longer: its speed-up, 1.44 [1.40, 1.48], is too uncertain to "
                       "decide.");
    f.advice.length[3].speedup.low = NAN;
    assert_answers(&f,
                   "Run K = 3 for longer: its speed-up, 1.44, has no interval, which needs more "
                   "than one window or request.");
    f.advice.decides_K = 4; /* not among the lengths */
    assert_answers(&f, "Run K = 4 once: it may be the fastest.");
    f.advice.length[3].speedup.value = f.advice.length[2].speedup.low =
        f.advice.length[2].speedup.value = NAN;
    f.advice.length[3].best = f.advice.over_plain = false;
    assert_answers(&f, "Measure the time of a round of K = 3, and give it as --round-over-plain: "
                       "these files do not have it.");
    f.advice.length[3].speedup.value = 1.441;
    f.advice.decides_K = 0;
    f.advice.length[0].speedup.low = NAN;
    f.advice.over_plain = true;
    assert_answers(&f, "Measure plain decoding for longer: it may be the fastest.");
    f.advice.verdict = SPEC_ADVICE_NOTHING;
    f.evidence.n = 0;
    assert_answers(&f,
                   "These files contain no round of speculation, so there is nothing to advise. "
                   "Give a log with drafts, and this one as --plain FILE.");
    assert_silent(&f, "Setting for");
}

/* For two lengths that ran, the time of each is relative to the other's. */
TEST(lengths_without_plain_decoding_say_so)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.advice.length[3].best = true;
    f.advice.to_K = 3;
    f.advice.gain.value = 1.3;
    f.advice.gain.low = 1.2;
    f.advice.gain.high = 1.4;
    f.advice.decides_K = 2;
    assert_answers(&f, "Run K = 2 once: it may be the fastest. Plain decoding is not compared: its "
                       "speed is not known.");
    f.advice.length[2].rounds = 3.0; /* one window */
    assert_answers(&f, "Run K = 2 for longer: it may be the fastest. Plain decoding is not "
                       "compared: its speed is not known.");
    f.advice.K = 1;
    f.advice.verdict = SPEC_ADVICE_CHANGE;
    f.advice.decides_K = -1;
    assert_answers(&f, "Change K from 1 to 3: 1.30 [1.20, 1.40] times the tokens/s of now. Plain "
                       "decoding is not compared: its speed is not known.");
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.advice.K = 3;
    f.advice.plain_seconds = 0.01;
    assert_answers(&f, "Keep K = 3: no other length is over 2 % faster. Plain decoding is not "
                       "compared: its run may have had another number of running requests.");
    known_times(&f);
    assert_answers(&f, "Keep K = 3: 1.44 [1.40, 1.48] times the tokens/s of plain decoding, and no "
                       "other length is over 2 % faster.");
    f.advice.running = 1.0;
    assert_answers(&f, "Keep K = 3: 1.44 [1.40, 1.48] times the tokens/s of plain decoding, and no "
                       "other length is over 2 % faster. This takes plain decoding to have had as "
                       "many requests at a time as K = 3, because only one of their files says how "
                       "many.");
}

TEST(plain_decoding_at_another_batch_is_measured_again)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.advice.plain_seconds = 0.01;
    assert_answers(&f, "Measure the time of a round of K = 3, and give it as --round-over-plain: "
                       "these files do not have it.");
    assert_silent(&f, "Setting for");
    f.advice.length[3].seconds = 0.02;
    f.advice.plain_running = 13.0;
    f.advice.running = 4.4;
    assert_answers(&f, "Measure plain decoding with as many running requests as K = 3 has: it had "
                       "13.0 at a time, against 4.4.");
    assert_says(&f, "then add --plain FILE with its log.");
}

TEST(drafts_of_an_unknown_length_ask_for_it)
{
    advice_facts f;
    advice_facts_make(&f, "sglang", 3, 51, mtp3);
    f.advice.verdict = SPEC_ADVICE_NOTHING;
    f.series[0].K = f.advice.K = -1;
    assert_answers(&f,
                   "Give the draft length with --current K: these files do not have it, and the "
                   "advice depends on it.");
    f.facts.n_K_given = 1; /* this one did not help */
    assert_answers(&f,
                   "The draft length of these rounds is not known: it changed between two counts "
                   "of the engine, or --current contradicts the files.");
}

TEST(a_comparison_comes_before_the_advice)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.advice.compared = true;
    f.advice.change = (spec_permutation){0.62, 0.631, 0.41};
    assert_answers(&f, "No change of acceptance was found: 62.0 % before, 63.1 % after (p = 0.41). "
                       "Keep K = 3: no other length is over 2 % faster.");
    f.advice.change.before = NAN;
    assert_answers(&f, "No comparison: the files before and after have no draft length in common. "
                       "Keep K = 3: no other length is over 2 % faster.");
    f.advice.change.before = 0.62;
    f.advice.change.p = 0.001;
    assert_says(&f, "Something is wrong: acceptance differs between --before and --after (changed, "
                    "below). Acceptance was 62.0 % before and is 63.1 % after.");
    f.advice.change.p = 0.41; /* something else is wrong, but they are compared anyway */
    f.evidence.contradictions = 1;
    assert_says(&f, "(broken-identity, below). No change of acceptance was found");
}

TEST(something_wrong_is_the_first_word)
{
    static const double few[3] = {8, 0, 0};
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 980, few);
    f.advice.verdict = SPEC_ADVICE_OFF;
    f.advice.gain.value = 1.7;
    assert_answers(&f, "Something is wrong: acceptance near 0: the draft does not get the right "
                       "input (blind-draft, below). Taking the numbers as they are: Turn "
                       "speculation off: plain decoding has 1.70 times the tokens/s of K = 3. It "
                       "has no interval, which needs more than one window or request; a longer run "
                       "would confirm it.");
    assert_says(&f, "Setting for llama.cpp:");
    f.advice.verdict = SPEC_ADVICE_MEASURE; /* this must be repaired before anything is measured */
    assert_silent(&f, "Setting for");
    assert_answers(&f, "Something is wrong: acceptance near 0: the draft does not get the right "
                       "input (blind-draft, below).");
    assert_says(&f, "Wrong (blind-draft): 8 of 2940");
    assert_says(&f, "Next: Turn speculation off.");
    assert_true(spec_advice_report_wrong(&f.facts));
}

TEST(lengths_by_batch_come_first)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.advice.n_batches = 2;
    f.advice.batch[0] = (spec_advice_batch){1, 32, 4, {1.68, NAN, 1.66, 1.70}, true};
    f.advice.batch[1] = (spec_advice_batch){33, -1, 0, {1.0, NAN, 1.0, 1.0}, true};
    assert_answers(&f,
                   "The length depends on the batch: K = 4 for 1 to 32 requests (1.68 [1.66, "
                   "1.70] times plain decoding), plain decoding for 33 or more. With one length "
                   "for all: Keep K = 3: no other length is over 2 % faster.");
    f.advice.batch[1].decided = false;
    assert_says(&f, "plain decoding for 33 or more (by estimate).");
    f.advice.n_batches = 6; /* even with all sentences at once, each is complete */
    for (int i = 2; i < 6; i++) f.advice.batch[i] = f.advice.batch[0];
    f.advice.verdict = SPEC_ADVICE_MEASURE;
    f.advice.decides_K = 2;
    f.advice.to_K = 3;
    f.advice.loss = 0.2;
    known_times(&f);
    assert_says(&f, "and that of K = 3 1.44 [1.40, 1.48].\n");
    f.advice.n_batches = 2;
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.advice.length[3].speedup.low = NAN;
    f.advice.batch[0].decided = false;
    assert_answers(&f, "Keep K = 3: no other length is over 2 % faster.");
}
