/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that each diagnosis is made where it applies, with its numbers, and not elsewhere. */
#include "tests/support/support.h"
#include "tests/tools/advise/advice_facts.h"

/* Two answers of vLLM with DFlash, K = 15: 91 of 975 draft tokens (its log, in 10 seconds). */
static const double block15[15] = {39, 25, 14, 7, 4, 0};
/* llama.cpp with an MTP head, K = 3, 51 rounds: .90, .725 and .49 by depth. */
static const double mtp3[3] = {46, 37, 25};
/* vLLM with n-grams, K = 3, 43 rounds: a histogram of 39, 1, 0, 3 rounds. */
static const double lookup3[3] = {4, 3, 3};

static bool says(const advice_facts *f, const char *name, const char *words)
{
    const spec_diagnosis *d = spec_diagnoses;
    spec_diagnosis_said said;
    while (d->name != NULL && strcmp(d->name, name) != 0) d++;
    if (d->name == NULL) fail_msg("no diagnosis '%s'", name);
    if (!spec_diagnosis_applies(&said, d, &f->facts)) return false;
    assert_true(said.evidence[0] != '\0' && said.next[0] != '\0');
    assert_true(strlen(said.evidence) < SPEC_SENTENCES - 1 &&
                strlen(said.next) < SPEC_SENTENCES - 1);
    if (words != NULL && strstr(said.evidence, words) == NULL && strstr(said.next, words) == NULL)
        fail_msg("%s: no '%s' in '%s' '%s'", name, words, said.evidence, said.next);
    return true;
}

TEST(names_and_summaries_are_unique_and_wrong_ones_come_first)
{
    int wrong = 0, n = 0;
    for (; spec_diagnoses[n].name != NULL; n++) {
        for (int i = 0; i < n; i++)
            assert_string_not_equal(spec_diagnoses[i].name, spec_diagnoses[n].name);
        assert_true(strlen(spec_diagnoses[n].summary) > 10);
        wrong += spec_diagnoses[n].wrong;
    }
    assert_int_equal(n, 17);
    assert_int_equal(wrong, 4);
    for (int i = 0; i < 4; i++) assert_true(spec_diagnoses[i].wrong);
}

TEST(a_healthy_log_has_no_diagnosis_of_something_wrong)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    assert_false(spec_advice_report_wrong(&f.facts));
    assert_false(says(&f, "blind-draft", NULL));
    assert_false(says(&f, "lookup", NULL));
    assert_false(says(&f, "trained-depth", NULL));
    assert_false(says(&f, "short-drafts", NULL));
    assert_false(says(&f, "restarts", NULL));
    assert_false(says(&f, "mixed-lengths", NULL));
    assert_false(says(&f, "many-sources", NULL));
    assert_false(says(&f, "sglang-rate", NULL));
    assert_false(says(&f, "vllm-v0", NULL));
}

/* 9.1 % of the drafted and 57.8 % of the tested tokens; K = 4 has 2.308 of 2.369 tokens with 4 of
 * 15 drafts. */
TEST(accepted_over_drafted_is_told_from_acceptance)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 15, 65, block15);
    assert_true(says(&f, "accepted-over-drafted", "drafted tokens, 9.13 %,"));
    assert_true(says(&f, "accepted-over-drafted", "57.8 % ["));
    assert_true(says(&f, "accepted-over-drafted",
                     "K = 4 keeps 97 % of the tokens per round with 27 % of the drafts"));
    assert_true(says(&f, "accepted-over-drafted", "] were accepted."));
    f.series[0].depths = 0; /* tested tokens follow from an assumption */
    assert_true(
        says(&f, "accepted-over-drafted", "] were accepted, if it is the same at all depths."));
    f.advice.K = -1; /* not known, so no shorter length is named */
    assert_true(says(&f, "accepted-over-drafted", "57.8 %"));
    f.advice.K =
        15; /* the current length has numbers of its own, which another one does not change */
    f.advice.alpha.value = 0.9;
    assert_true(says(&f, "accepted-over-drafted", "57.8 % ["));
    f.advice.K = -1;
    f.advice.alpha.value = 0.60;
    f.advice.accepted_over_drafted = 0.54;
    assert_true(says(&f, "accepted-over-drafted", "54.0 %"));
    f.advice.accepted_over_drafted = 0.56;
    assert_false(says(&f, "accepted-over-drafted", NULL));
    advice_facts_make(&f, "vllm", 1, 65, block15); /* with one depth both are the same */
    assert_false(says(&f, "accepted-over-drafted", NULL));
}

TEST(rates_by_depth_are_shares_of_all_rounds)
{
    static const double flat[2] = {50, 49};
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    assert_true(says(&f, "per-position", "their sum, 2.12,"));
    assert_true(says(&f, "per-position", "Depth 3: 0.490 of all"));
    assert_true(says(&f, "per-position", "0.676 of those"));
    advice_facts_run(&f, 1, 51, mtp3, 1); /* another length does not dilute them */
    assert_true(says(&f, "per-position", "Depth 3: 0.490 of all"));
    advice_facts_make(&f, "llama.cpp", 2, 51, flat); /* no difference worth mentioning */
    assert_false(says(&f, "per-position", NULL));
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3); /* some drafts end before depth 3 */
    f.column[0][SPEC_SUM_DRAFTED] -= 4;
    assert_true(says(&f, "per-position", "at least 0.676 of those"));
    f.series[0].depths = 0;
    assert_false(says(&f, "per-position", NULL));
}

TEST(each_generation_of_sglang_has_its_rate_explained)
{
    advice_facts f;
    advice_facts_make(&f, "sglang", 3, 51, mtp3);
    assert_false(says(&f, "sglang-rate", NULL)); /* prints no rate */
    f.evidence.printed_length = 1.0;
    f.evidence.printed_rate = 1.0 / 9.0;
    assert_true(says(&f, "sglang-rate", "0.11, is accepted draft tokens over rounds"));
    f.source.summary.learned.gaps = SPEC_LOG_TREE;
    assert_true(says(&f, "sglang-rate", "over num_draft_tokens - 1."));
    f.source.summary.learned.gaps = SPEC_LOG_OLD_MEANING;
    assert_true(says(&f, "sglang-rate", "bonus token included"));
    f.format.engine = "vllm";
    assert_false(says(&f, "sglang-rate", NULL));
}

/* Drafted 13311, emitted 10616, K 3: alpha .663 where V0 prints .642. */
TEST(v0_counts_behind_a_rejection)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.evidence.printed_rate = 0.642;
    f.advice.alpha.value = 0.663;
    assert_false(says(&f, "vllm-v0", NULL));
    f.source.summary.learned.gaps = SPEC_LOG_OLD_MEANING;
    assert_true(says(&f, "vllm-v0",
                     "It prints 0.642; from the emitted tokens the "
                     "acceptance rate is 0.663"));
    f.evidence.printed_rate = NAN;
    assert_true(says(&f, "vllm-v0", "after a rejection"));
    f.format.engine = "sglang";
    assert_false(says(&f, "vllm-v0", NULL));
}

/* .272 % of drafted: 8 of 2940. */
TEST(a_draft_that_sees_nothing_is_wrong)
{
    static const double few[3] = {8, 0, 0}, more[3] = {80, 30, 10}, none[3] = {0};
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 980, few);
    assert_true(says(&f, "blind-draft", "8 of 2940 draft tokens were accepted (0.27 %)"));
    assert_true(spec_advice_report_wrong(&f.facts));
    advice_facts_make(&f, "llama.cpp", 3, 980, more);
    assert_false(says(&f, "blind-draft", NULL));
    advice_facts_make(&f, "llama.cpp", 3, 99, none); /* 297 tokens: may be luck */
    assert_false(says(&f, "blind-draft", NULL));
    advice_facts_make(&f, "llama.cpp", 3, 100, none);
    assert_true(says(&f, "blind-draft", "0 of 300"));
}

/* 10 of 3675 draft tokens, as llama-server prints before June 2026: neither rounds nor K are
 * known. */
TEST(a_blind_draft_is_seen_without_its_length)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 980, (const double[]){8, 0, 0});
    f.series[0].K = -1;
    f.series[0].depths = 0;
    f.column[0][SPEC_SUM_ROUNDS] = f.column[0][SPEC_SUM_PASSES] = 0.0;
    f.column[0][SPEC_SUM_DRAFTED] = 3675;
    f.column[0][SPEC_SUM_ACCEPTED] = 10;
    assert_true(says(&f, "blind-draft", "(0.27 %): the draft guesses"));
    f.column[0][SPEC_SUM_ACCEPTED] = 19; /* with K = 16, 1.08 tokens per round */
    assert_false(says(&f, "blind-draft", NULL));
}

/* At both limits: 1.02 tokens per round, and 1 % of the drafts. Plain rounds do not count. */
TEST(a_draft_is_blind_below_both_limits)
{
    static const double tokens[3] = {25, 0, 0}, share[1] = {15}, both[3] = {19, 0, 0};
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 1000, tokens);
    assert_false(says(&f, "blind-draft", NULL));
    advice_facts_run(&f, 0, 1000, tokens, 0);
    assert_false(says(&f, "blind-draft", NULL));
    advice_facts_make(&f, "vllm", 1, 1000, share);
    assert_false(says(&f, "blind-draft", NULL));
    advice_facts_make(&f, "vllm", 3, 1000, both);
    assert_true(says(&f, "blind-draft", "1.02 tokens per round"));
}

TEST(a_verifier_that_rejects_nothing_is_wrong)
{
    static const double all[3] = {100, 100, 100}, most[3] = {100, 100, 99};
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 100, all);
    assert_true(says(&f, "all-accepted", "All 300 draft tokens"));
    assert_true(says(&f, "all-accepted", "below 1 %"));
    assert_true(says(&f, "all-accepted", "vllm_rejection.py"));
    advice_facts_make(&f, "mlx-lm", 3, 100, all);
    assert_true(says(&f, "all-accepted", "an adapter of your own"));
    advice_facts_make(&f, "vllm", 3, 100, most);
    assert_false(says(&f, "all-accepted", NULL));
    advice_facts_make(&f, "vllm", 3, 22, all);
    f.column[0][SPEC_SUM_ACCEPTED] = 66; /* 66 of 66, as vLLM 0.8.3 prints after a short text */
    assert_false(says(&f, "all-accepted", NULL));
}

TEST(acceptance_that_changed_leads_to_validate)
{
    advice_facts f;
    advice_facts_make(&f, "sglang", 3, 51, mtp3);
    f.advice.change = (spec_permutation){0.62, 0.81, 0.0004};
    assert_false(says(&f, "changed", NULL)); /* not compared */
    f.advice.compared = true;
    assert_true(says(&f, "changed", "was 62.0 % before the change and is 81.0 %"));
    assert_true(says(&f, "changed", "sglang_tree.py"));
    assert_true(spec_advice_report_wrong(&f.facts));
    f.advice.change.p = 0.01;
    assert_false(says(&f, "changed", NULL));
    f.advice.drift = (spec_acceptance_drift){0.0001, 39, 0.62, 0.71};
    assert_true(says(&f, "drift", "62.0 % in the first 39 windows or requests at K = "));
    assert_false(spec_advice_report_wrong(&f.facts)); /* texts may have changed */
    f.advice.drift.p = 0.01;
    assert_false(says(&f, "drift", NULL));
}

TEST(drafts_that_end_early_are_seen)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    f.advice.length[3].drafted = 0.9 * 3 * 51 + 0.1;
    assert_false(says(&f, "short-drafts", NULL));
    f.advice.length[3].drafted = 61;
    assert_true(says(&f, "short-drafts", "drafts 1.20 tokens on average"));
    assert_true(says(&f, "short-drafts", "--spec-draft-p-min"));
    f.format.engine = "vllm";
    assert_true(says(&f, "short-drafts", "a grammar"));
    f.advice.length[3].rounds = 19;
    assert_false(says(&f, "short-drafts", NULL));
    f.advice.K = -1;
    assert_false(says(&f, "short-drafts", NULL));
}

TEST(a_depth_that_never_passes_is_seen_if_it_was_tested_often)
{
    static const double trained[5] = {800, 600, 450, 0, 0}, never[2] = {0, 0};
    advice_facts f;
    advice_facts_make(&f, "vllm", 5, 1000, trained);
    assert_true(
        says(&f, "trained-depth", "Depth 3 accepts 450 of 600 tokens, and depth 4 none of 450"));
    assert_true(says(&f, "trained-depth", "Set K = 3"));
    advice_facts_make(&f, "vllm", 2, 19, (const double[]){15, 0}); /* .605^15 < .001 */
    assert_true(says(&f, "trained-depth", "none of 15"));
    advice_facts_make(&f, "vllm", 2, 16, (const double[]){12, 0}); /* .625^12 > .001 */
    assert_false(says(&f, "trained-depth", NULL));
    advice_facts_make(&f, "vllm", 15, 65, block15); /* none of 4 */
    assert_false(says(&f, "trained-depth", NULL));
    /* Drafts that end early may leave the depth untested: the 300 tokens that are missing at depths
     * 4 and 5 belong to at most 150 rounds. */
    advice_facts_make(&f, "vllm", 5, 1000, trained);
    f.column[0][SPEC_SUM_DRAFTED] = 4700;
    assert_true(says(&f, "trained-depth", "depth 4 none of at least 300"));
    f.column[0][SPEC_SUM_DRAFTED] = 4101; /* of 450 rounds */
    assert_false(says(&f, "trained-depth", NULL));
    advice_facts_make(&f, "vllm", 2, 1000, never); /* that is a blind draft */
    assert_false(says(&f, "trained-depth", NULL));
}

TEST(a_first_depth_below_the_rest_is_lookup)
{
    static const double few[3] = {1, 1, 1};
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 43, lookup3);
    assert_true(says(&f, "lookup", "Depth 1 accepts 9.3 %, and deeper tokens 85.7 %"));
    assert_true(says(&f, "lookup", "--spec-ngram-mod-n-match")); /* --draft-min was removed */
    advice_facts_make(&f, "vllm", 3, 1000, (const double[]){600, 540, 486}); /* .6 and .9 */
    assert_false(says(&f, "lookup", NULL));
    advice_facts_make(&f, "vllm", 3, 1000, (const double[]){160, 70, 32}); /* prompts differ */
    assert_false(says(&f, "lookup", NULL));
    /* The same, but the draft is good for a fifth of the requests. */
    advice_facts_make(&f, "vllm", 3, 100, (const double[]){8, 7, 7});
    advice_facts_run(&f, 3, 100, (const double[]){4, 4, 4}, 3);
    assert_true(says(&f, "lookup", "Depth 1 accepts 6.0 %"));
    f.column[1][SPEC_SUM_PASSED] = f.column[1][SPEC_SUM_PASSED + 1] = 0.0;
    f.column[1][SPEC_SUM_PASSED + 2] = 0.0;
    f.column[0][SPEC_SUM_PASSED] = 40;
    f.column[0][SPEC_SUM_PASSED + 1] = 36;
    f.column[0][SPEC_SUM_PASSED + 2] = 32;
    assert_false(says(&f, "lookup", NULL));
    advice_facts_make(&f, "vllm", 3, 3, few); /* 1 of 3 against 2 of 2 */
    assert_false(says(&f, "lookup", NULL));
    advice_facts_make(&f, "vllm", 15, 65, block15);
    assert_false(says(&f, "lookup", NULL));
    f.series[0].depths = 0;
    assert_false(says(&f, "lookup", NULL));
}

TEST(a_good_draft_that_is_slower_points_to_the_batch)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    spec_advice_length *now = &f.advice.length[3];
    now->round_over_plain = (spec_block_interval){3.61, NAN, 3.61, 3.61};
    now->speedup.value = 0.86;
    now->speedup.low = 0.84;
    now->speedup.high = 1.01;
    assert_false(says(&f, "slow-rounds", NULL));
    now->speedup.high = 0.88;
    assert_true(says(&f, "slow-rounds", "takes the time of 3.61 plain tokens"));
    assert_true(says(&f, "slow-rounds", "--K 0,3 --slots"));
    f.advice.alpha.value = 0.3; /* the draft is the reason */
    assert_false(says(&f, "slow-rounds", NULL));
}

TEST(a_round_shorter_than_a_plain_token_means_other_conditions)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    spec_advice_length *now = &f.advice.length[3];
    assert_false(says(&f, "impossible-rounds", NULL));
    now->round_over_plain = (spec_block_interval){0.9, 0.05, 0.8, 1.0};
    assert_false(says(&f, "impossible-rounds", NULL));
    now->round_over_plain.high = 0.99;
    assert_true(
        says(&f, "impossible-rounds", "A round of K = 3 takes the time of 0.90 [0.80, 0.99]"));
}

TEST(counts_that_contradict_themselves_are_wrong)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.evidence.contradictions = 2;
    f.evidence.contradiction_line = 17;
    strcpy(f.evidence.contradiction, "accepted exceeds drafted: 70 of 60");
    assert_true(says(&f, "broken-identity", "in line 17: accepted exceeds drafted: 70 of 60."));
    assert_true(spec_advice_report_wrong(&f.facts));
}

TEST(several_runs_lengths_and_engines_are_named)
{
    static const double passed[2] = {30, 20};
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.counters.resets = 2;
    assert_true(says(&f, "restarts", "fell 2 times"));
    assert_true(says(&f, "restarts", "from the oldest to the newest"));
    f.facts.counters = NULL;
    assert_false(says(&f, "restarts", NULL));
    advice_facts_run(&f, 0, 100, passed, 0); /* plain decoding is not a second length */
    f.series[1].label = 5;
    assert_false(says(&f, "mixed-lengths", NULL));
    assert_false(says(&f, "many-sources", NULL));
    advice_facts_run(&f, 2, 50, passed, 2);
    assert_true(says(&f, "mixed-lengths", "K = 2, 3 are"));
    assert_false(says(&f, "many-sources", NULL));
    f.series[2].label = 9;
    assert_true(says(&f, "many-sources", "2 engines, processes, models"));
    f.series[2].label = 0; /* the source does not tell */
    assert_false(says(&f, "many-sources", NULL));
    static const spec_log_format other = {.name = "sglang-log"};
    f.source.summary.other = &other;
    f.source.summary.other_line = 7;
    f.source.summary.other_records = 12;
    assert_true(says(&f, "many-sources",
                     "The numbers here leave out those of sglang-log (12, from line 7 on)."));
}
