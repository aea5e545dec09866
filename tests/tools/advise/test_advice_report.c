/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the text of an advice after its answer. */
#include "tests/support/support.h"
#include "tests/tools/advise/advice_text_of.h"

TEST(the_setting_is_that_of_the_answer)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    assert_says(&f, "Setting for llama.cpp:\n\n    # start it without --model-draft");
    assert_says(&f, "Run the same command without --model-draft and --spec-type, then add --plain");
    f.advice.decides_K = 2;
    assert_says(&f, "    --spec-draft-n-max 2\n");
    assert_says(&f, "then add its log:\n\n    speclab advise server.log NEW\n");
    spec_advice_question given = SPEC_ADVICE_QUESTION;
    given.K_low = 0, given.K_high = 3, given.plain_tokens_per_s = 61.5;
    f.facts.opt_question = &given;
    f.facts.opt_format = "llama.cpp";
    assert_says(&f, " NEW --K 0:3 --plain-tokens-per-s 61.5 --engine llama.cpp\n");
    given.without[1] = true;
    assert_says(&f, " NEW --K 0,2,3 --plain-tokens-per-s 61.5 --engine llama.cpp\n");
    f.facts.opt_question = NULL;
    f.facts.opt_format = NULL;
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.advice.to_K = 3;
    assert_says(&f, "    --spec-draft-n-max 3\n");
    assert_silent(&f, "then add --plain");
    f.advice.verdict = SPEC_ADVICE_CHANGE;
    f.advice.to_K = 2;
    assert_says(&f, "    --spec-draft-n-max 2\n");
    f.format.engine = "vllm";
    f.advice.n_batches = 2;
    f.advice.batch[0] = (spec_advice_batch){1, 8, 3, {1.4, NAN, 1.3, 1.5}, true};
    f.advice.batch[1] = (spec_advice_batch){9, -1, 0, {1.0, NAN, 1.0, 1.0}, true};
    assert_says(&f, "Or one length for each batch size:\n\n    --speculative-config '{");
    f.advice.batch[0].decided = f.advice.batch[1].decided = false;
    assert_says(&f, "Or one length for each batch size; more windows would decide for 1 to 8, 9 or "
                    "more:");
}

/* The command reads each file again, but standard input cannot be read twice. */
TEST(the_next_command_has_all_files)
{
    advice_facts f;
    char far[200];
    spec_diagnosis_source source[6] = {{.path = "a.log"}, {.path = "-"}, {.path = far},
                                       {.path = "d.log"}, {.path = "p"}, {.path = "my plain.log"}};
    memset(far, 'c', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    for (int i = 0; i < 6; i++) source[i].summary.format = &f.format;
    f.advice.decides_K = 2;
    source[4].part = source[5].part = SPEC_SOURCE_PLAIN;
    f.facts.source = source;
    f.facts.n_sources = 6;
    char *text = text_of(&f, 40); /* whole and in one line, so that it can be pasted */
    assert_non_null(strstr(text, "\n    speclab advise a.log OLD ccc"));
    assert_non_null(strstr(text, "ccc d.log NEW --plain p --plain 'my plain.log'\n"));
    free(text);
    assert_silent(&f, "--current");
    f.advice.compared = true; /* --before belongs to this question only */
    f.advice.change.p = 0.5;
    source[1].part = SPEC_SOURCE_BEFORE;
    assert_says(&f, "then add its log:\n\n    speclab advise a.log ccc");
    f.facts.K_given = (const int[]){3}; /* a new run has another length */
    f.facts.n_K_given = 1;
    assert_says(&f, "NEW --plain p --plain 'my plain.log' --current 3,3,3,2\n");
    f.facts.K_given = (const int[]){3, 4, 5};
    f.facts.n_K_given = 3;
    assert_says(&f, " --current 3,4,5,2\n");
}

TEST(files_without_times_need_another_output)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    f.source.summary.learned.gaps = SPEC_LOG_NO_TIMES;
    assert_says(&f, "without --speculative-config. The files read here have no times: for both "
                    "runs give the server's log, or vllm bench serve --save-result.\n");
    assert_silent(&f, "then add --plain");
    f.format.engine = "mlc";
    assert_says(&f, "have no times: time both runs, and give --round-over-plain.\n");
    f.format.engine = "vllm";
    f.source.summary.learned = (spec_log_learned){.generation = 0};
    assert_says(&f, "without --speculative-model and --num-speculative-tokens, then add --plain");
}

TEST(each_length_says_how_it_is_known)
{
    spec_advice_question given = SPEC_ADVICE_QUESTION;
    advice_facts f;
    given.round_over_plain = 1.4;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    known_times(&f);
    f.advice.n = 5;
    f.advice.length[4] = f.advice.length[2];
    assert_silent(&f, "--round-over-plain");
    f.facts.opt_question = &given; /* a further run may have more rounds */
    assert_says(&f, "\n--round-over-plain is taken to be for K = 3, which has the most rounds.\n");
    f.advice.length[4].K = 4;
    f.advice.length[4].source = SPEC_ADVICE_BEYOND;
    f.advice.length[4].tokens = advice_facts_ratio(3.41, 3.118, 3.608);
    assert_says(&f, "K  tokens/round       round/plain        speed-up           known from\n");
    assert_says(&f, "3.12 [3.10, 3.14]");
    assert_says(&f, "1.44 [1.40, 1.48]");
    assert_says(&f, "1.00               run\n");
    f.advice.plain_given = true;
    assert_says(&f, "1.00               given\n");
    f.advice.plain_seconds = NAN;
    assert_says(&f, "1.00               given\n");
    f.advice.over_plain = false;
    assert_says(&f, "1.00               not run\n");
    assert_says(&f, "3.41 [3.12, 3.61]");
    for (int k = 1; k < 5; k++)
        f.advice.length[k].speedup.value = f.advice.length[k].speedup.low = NAN;
    assert_silent(&f, "speed-up  "); /* without times there are no columns for them */
}

TEST(the_legend_has_the_signs_of_the_table)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    assert_says(&f, "\n\n[low, high]: 95 % interval, which also covers what these data do not "
                    "determine; run: this K was run; shorter: computed from the rounds of a longer "
                    "K.\n");
    for (int k = 0; k < 4; k++)
        f.advice.length[k].tokens.low = f.advice.length[k].tokens.high = NAN; /* one window */
    assert_says(&f, "\n\nrun: this K was run; shorter: computed from the rounds of a longer K.\n");
    f.advice.length[0] = f.advice.length[3];
    f.advice.n = 1; /* --K 3 */
    assert_says(&f, "\n\nrun: this K was run.\n");
    f.advice.length[0].tokens = advice_facts_ratio(3.1, 3.0, 3.2);
    assert_says(&f, "\n\n[low, high]: 95 % interval; run: this K was run.\n");
    f.advice.length[0].K = 4;
    f.advice.length[0].source = SPEC_ADVICE_BEYOND;
    assert_says(&f, "determine; longer: extrapolated, since no K this long was run.\n");
}

TEST(an_interval_has_the_digits_that_tell_its_ends_apart)
{
    assert_string_equal(spec_say_ratio(1.441, 1.402, 1.481).text, "1.44 [1.40, 1.48]");
    assert_string_equal(spec_say_ratio(1.7021, 1.7011, 1.7036).text, "1.702 [1.701, 1.704]");
    assert_string_equal(spec_say_ratio(2.3, 2.3 - 1e-12, 2.3 + 1e-12).text, "2.30");
    assert_string_equal(spec_say_ratio(2.0, NAN, NAN).text, "2.00");
    assert_string_equal(spec_say_ratio(2.0, 2.0, 2.0).text, "2.00");
    assert_string_equal(spec_say_ratio(NAN, NAN, 1.0).text, "not known");
    assert_string_equal(spec_say_ratio(12.34, 11.0, 13.0).text, "12.3 [11.0, 13.0]");
    assert_string_equal(spec_say_ratio(123.4, 110.0, INFINITY).text, "123");
    assert_string_equal(spec_say_share(0.578, 0.501, 0.652).text, "57.8 % [50.1, 65.2]");
}

TEST(long_tables_have_the_rows_that_matter)
{
    static const double passed[30] = {39, 25, 14, 7, 4};
    advice_facts f;
    char *text;
    advice_facts_make(&f, "vllm", 30, 65, passed);
    f.advice.verdict = SPEC_ADVICE_CHANGE;
    f.advice.to_K = 12;
    text = text_of(&f, 0);
    assert_non_null(strstr(text, "\n12 "));
    assert_non_null(strstr(text, "\n30 "));
    assert_null(strstr(text, "\n20 "));
    assert_non_null(strstr(text, "-f csv has all lengths"));
    free(text);
}

TEST(acceptance_has_its_interval_and_what_disturbs_it)
{
    advice_facts f;
    advice_facts_make(&f, "llama.cpp", 3, 51, mtp3);
    assert_says(&f,
                "Acceptance: 80.6 % [77.6, 83.6] of the tested draft tokens (the interval is 1.4 "
                "times as wide as that of independent tokens).");
    known_times(&f);
    assert_says(&f,
                "At this load K = 3 pays if accepted over drafted is above 0.388; it is 0.706.");
    f.advice.break_even = 1.145;
    assert_says(&f, "At this load K = 3 does not pay even if all drafts are accepted.");
    f.series[0].depths = 0; /* tested tokens follow from an assumption */
    f.advice.alpha.design_effect = NAN;
    assert_says(&f, "[77.6, 83.6] of the tested draft tokens if it is the same at all depths.");
    f.advice.K = 1;
    assert_says(&f, "[77.6, 83.6] of the tested draft tokens.");
    f.advice.K = 3;
    f.series[0].depths = 3;
    f.advice.alpha.design_effect = 163.0;
    assert_says(&f, "(the interval is 13 times as wide");
    f.advice.alpha.low = f.advice.alpha.high = NAN;
    assert_says(&f, "80.6 % of the tested draft tokens, without an interval");
    f.advice.alpha.low = 0.0; /* two clusters of different size */
    f.advice.alpha.high = 1.0;
    assert_says(&f, "80.6 % of the tested draft tokens, without an interval, because a few "
                    "windows or requests have most");
    f.advice.mixture_z = 4.2;
    assert_says(&f, "Rounds differ in acceptance");
    f.advice.mixture_z = -4.2;
    assert_says(&f, "Acceptance falls with depth.");
    f.advice.mixture_z = -INFINITY; /* two equal clusters */
    assert_silent(&f, "Acceptance falls");
    f.advice.mixture = (spec_beta_mixture){0.0221, 0.218, 0.2, 18.2};
    assert_says(&f, "It varies over rounds as Beta(0.022, 0.22)");
    f.advice.mixture.likelihood_ratio = 6.6;
    assert_silent(&f, "rather Beta");
    f.advice.without_longest = advice_facts_ratio(0.71, 0.66, 0.76);
    f.advice.longest_share = 0.42;
    assert_says(&f, "have 42 % of the rounds; without them acceptance is 71.0 % [66.0, 76.0].");
    f.advice.mixture_z = 1.2e5; /* even with all sentences at once, each is complete */
    f.advice.mixture.likelihood_ratio = 1.2e9;
    f.advice.alpha = advice_facts_ratio(0.706, 0.676, 0.736);
    f.advice.break_even = 0.388;
    assert_says(&f, "accepted over drafted is above 0.388; it is 0.706. A perfect draft would have "
                    "1.85 times the tokens/s of plain decoding with these rounds.\n");
    f.advice.undrafted = 0.123;
    assert_says(&f, "\n12 % of the steps of a request had no draft; tokens/round counts each as a "
                    "round of one token.\n");
    f.source.summary.learned.gaps |= SPEC_LOG_NO_ROUNDS; /* drafts are not counted */
    assert_silent(&f, "had no draft");
    f.source.summary.learned.gaps = 0;
    f.advice.without_longest.value = f.advice.alpha.value - 0.01; /* no matter */
    assert_silent(&f, "The longest 1 %");
    f.advice.without_longest.value = 0.71;
    f.advice.longest_share = 0.1;
    assert_silent(&f, "The longest 1 %");
}

TEST(files_and_gaps_are_accounted_for)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    assert_says(&f, "Read server.log: its log, since 0.10.2; 5 measurements in 7 records.");
    assert_silent(&f, "This output does not contain");
    f.source.summary.unreadable = 1;
    strcpy(f.source.summary.fault.text, "server.log:4: there is no number");
    assert_says(
        &f,
        "5 measurements in 7 records; 1 record is left out, the first at server.log:4: there is no "
        "number.");
    f.source.summary.unreadable = 2;
    assert_says(&f, "; 2 records are left out, the first at server.log:4: ");
    f.source.summary.cut = true;
    strcpy(f.source.summary.learned.note, "2 counters are not known");
    f.source.summary.learned.gaps = SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES;
    f.evidence.idle = 3;
    f.evidence.inexact = 2;
    f.counters.repeated = 4;
    assert_says(&f, "the last line is not complete and is left out; 2 counters are not known.");
    assert_says(&f, "3 idle windows are left out. In 2 of 1 measurements the number of rounds is "
                    "rounded or not printed");
    f.advice.verdict = SPEC_ADVICE_NOTHING; /* no number of rounds is used */
    f.evidence.idle = 1;
    assert_silent(&f, "the number of rounds is");
    assert_says(&f, "1 idle window is left out.");
    assert_says(&f, "4 scrapes repeat the one before.");
    f.counters.repeated = 1;
    assert_says(&f, "1 scrape repeats the one before.");
    assert_says(&f, "This output does not contain: acceptance by depth (see responses with "
                    "--per-request-spec-decode-metrics summary, or two scrapes of /metrics); times "
                    "(see the server's log, ");
    f.format.engine = "other";
    assert_says(&f, "This output does not contain: acceptance by depth; times.");
    f.source.summary.learned.gaps |= SPEC_LOG_ROUNDED;
    assert_says(&f, "This output does not contain: exact counts and acceptance by depth; times.");
    f.source.summary.learned.gaps = SPEC_LOG_ROUNDED;
    assert_says(&f, "This output does not contain: exact counts.");
    f.source.path = "-";
    assert_says(&f, "Read standard input: its log");
    assert_silent(&f, "is not used");
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.facts.K_given = (const int[]){4, 5};
    f.facts.n_K_given = 2;
    assert_says(&f, "--current is ignored, because these files contain their draft lengths.");
}

/* A remark that is pasted with its setting remains one. */
TEST(remarks_of_a_setting_are_remarks_in_each_line)
{
    advice_facts f;
    advice_facts_make(&f, "tensorrt-llm", 3, 51, mtp3);
    known_times(&f);
    f.advice.verdict = SPEC_ADVICE_KEEP;
    char *text = text_of(&f, 80);
    const char *setting = strstr(text, "    speculative_config:\n      max_draft_len: 3\n"
                                       "      acceptance_rate_threshold: 0.388\n"
                                       "    # the threshold: ");
    assert_non_null(setting);
    assert_non_null(strstr(setting, " costs more\n    # than it gives, at this load. It has no"));
    free(text);
    assert_says(&f, " costs more than it gives, at this load. It has no"); /* not wrapped */
}

/* Settings are for pasting: they are the only lines that may be wider. */
TEST(lines_fit_the_columns)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, mtp3);
    known_times(&f);
    f.advice.verdict = SPEC_ADVICE_KEEP;
    f.evidence.contradictions = 1;
    memset(f.evidence.contradiction, 'x', sizeof f.evidence.contradiction - 1);
    for (int columns = 40; columns <= 120; columns += 40) {
        FREED char *text = text_of(&f, columns);
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            if (strlen(line) > (size_t)columns && strstr(line, "    --spec") != line)
                fail_msg("%d columns: %s", columns, line);
    }
}
