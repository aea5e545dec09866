/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab validate --trace and --write-trace as users run them. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>

TEST(a_trace_that_is_written_is_judged_with_the_exit_codes_of_a_run)
{
    spec_needs_program();
    spec_program_ends("validate rule:block --write-trace right.jsonl --budget 20k", 0, "");
    spec_program_ends("validate --trace right.jsonl", 0, "PASS: right.jsonl looks lossless.\n");
    spec_program_ends("validate --trace right.jsonl --eps 0.001", 3, "INCONCLUSIVE: ");
    spec_program_ends(
        "validate rule:resample-target --write-trace wrong.jsonl --only zipf-16 --holds top", 0,
        "");
    spec_program_ends("validate --trace wrong.jsonl", 1, "FAIL: wrong.jsonl is not lossless.\n");
    /* Rows passed in memory, of rounds that begin at any level. */
    spec_program_ends("validate rule:token --write-trace two.jsonl --only two-2 --budget 4k", 0,
                      "");
    spec_program_ends("validate rule:token --write-trace blind.jsonl --only blind-64 --budget 20k",
                      0, "");
    spec_program_ends("validate --trace blind.jsonl", 0, "PASS: blind.jsonl looks lossless.\n");
    spec_program_ends("validate rule:token --write-trace short.jsonl --holds logprobs --budget 2k",
                      0, "");
    spec_program_ends("validate --trace short.jsonl", 3,
                      "INCONCLUSIVE: no conclusion about short.jsonl.\n");
    spec_program_ends(
        "validate rule:token --write-trace - --holds logprobs --budget 1", 0,
        "{\"speclab_trace\": 1, \"engine\": \"token\", \"vocab\": 4}\n{\"request\": 0, "
        "\"position\": 0, ");
}

TEST(reports_of_a_trace_name_the_command_that_judges_it_again)
{
    spec_child c;
    char text[4096];
    spec_needs_program();
    spec_program_ends("validate rule:resample-target --write-trace wrong.jsonl", 0, "");
    spec_program_ends("validate --trace wrong.jsonl --junit report.xml", 1, "FAIL: ");
    FILE *report = fopen("report.xml", "r");
    assert_non_null(report);
    text[fread(text, 1, sizeof text - 1, report)] = '\0';
    fclose(report);
    assert_non_null(strstr(text, ">speclab validate --trace wrong.jsonl --seed 42</failure>"));
    spec_child_run(&c, "validate --trace wrong.jsonl --format json --only target-more");
    assert_non_null(strstr(c.text, "\"test\": \"target-more\""));
    assert_null(strstr(c.text, "\"test\": \"pit-id\""));
    spec_child_free(&c);
}

TEST(bad_usage_and_bad_traces_are_told_in_one_line)
{
    static const char *const lines[][2] = {
        {"validate --trace", "speclab validate: "},
        {"validate --trace there-is-none",
         "speclab validate: there-is-none: No such file or directory"},
        {"validate --trace /dev/null",
         "speclab validate: /dev/null:1: a trace begins with a line like "},
        {"validate --trace .", "speclab validate: .: Is a directory"},
        {"validate --trace x rule:token",
         "speclab validate: 'rule:token' is a second sampler; give one"},
        {"validate --trace x --watch", "speclab validate: --trace excludes --watch"},
        {"validate --trace x --budget 5", "speclab validate: --trace excludes --watch"},
        {"validate --trace x --only pit-di", "speclab validate: x: No such file"},
        {"validate --trace /dev/null --only pit-di",
         "speclab validate: no test of traces is named 'pit-di'; did you"},
        {"validate --write-trace x", "speclab validate: no sampler is given: "},
        {"validate rule:token --holds rows", "speclab validate: --holds needs --write-trace"},
        {"validate rule:token --write-trace x --holds rwos",
         "speclab validate: --holds: 'rwos' is not rows, top or"},
        {"validate rule:token --write-trace x --only pair-iid-4",
         "speclab validate: rule:token: pair-iid-4: traces are made of whole drafted chains alone"},
        {"validate rule:token --write-trace there/is/none",
         "speclab validate: --write-trace: there/is/none: "},
        {"validate rule:block-greedy --write-trace x",
         "speclab validate: rule:block-greedy: plain-4: "},
        {"validate rule:tokne --write-trace x",
         "speclab validate: rule:tokne: no rule is named 'tokne'"},
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        spec_program_fails(lines[i][0], 2, lines[i][1]);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
