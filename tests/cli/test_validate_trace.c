/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab validate --trace and --write-trace as users run them. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>

TEST(a_trace_that_is_written_is_judged_with_the_exit_codes_of_a_run, SLOW)
{
    spec_needs_program();
    spec_program_ends("validate rule:block --write-trace right.jsonl --budget 20k", 0, "");
    spec_program_ends("validate --trace right.jsonl", 0, "PASS: right.jsonl looks lossless.\n");
    spec_program_ends("validate --trace right.jsonl --eps 0.001", 3, "INCONCLUSIVE: ");
    spec_program_ends(
        "validate rule:resample-target --write-trace wrong.jsonl --only zipf-16 --holds top", 0,
        "");
    spec_program_ends("validate --trace wrong.jsonl", 1, "FAIL: wrong.jsonl is not lossless.\n");
    /* Rounds that begin at any level, with rows that are passed in memory. */
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

TEST(reports_of_a_trace_name_the_command_that_judges_it_again, SLOW)
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

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);

/* A file is judged at the temperature that it declares. */
TEST(responses_of_a_server_are_a_trace)
{
    static const char line[] =
        "{\"model\": \"toy\", \"choices\": [{\"logprobs\": {\"tokens\": [\" a\"], "
        "\"token_logprobs\": [-0.5], \"top_logprobs\": [{\" a\": -0.5, \" b\": -2, \" c\": -3, "
        "\" d\": -4}]}}]}\n";
    static const char *const options[] = {"", " --temperature 2"};
    char text[4 * sizeof line] = "", arguments[96], *said[2];
    spec_needs_program();
    for (int i = 0; i < 4; i++) strcat(text, line);
    spec_file_write("responses.jsonl", text);
    for (int i = 0; i < 2; i++) {
        spec_child c;
        snprintf(arguments, sizeof arguments, "validate --trace responses.jsonl --report r.json%s",
                 options[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 3);
        assert_non_null(strstr(c.text, "\n  engine       \"toy\"\n  tested       4 tokens in 4 "));
        said[i] = strdup(strstr(c.text, "\n  evidence"));
        spec_child_free(&c);
        FREED char *report = spec_file_bytes("r.json");
        assert_int_equal(strstr(report, "\"temperature\": 2") != NULL, i == 1);
        remove("r.json");
    }
    assert_string_not_equal(said[0], said[1]);
    free(said[0]);
    free(said[1]);
}
