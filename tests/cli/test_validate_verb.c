/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab validate as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"
#include "tools/validate/validate.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char brief[] = "--only plain-4,two-2 --budget 200k";

TEST(exit_codes_tell_the_verdict, SLOW)
{
    char arguments[160];
    spec_needs_program();
    snprintf(arguments, sizeof arguments, "validate rule:token %s", brief);
    spec_program_ends(arguments, 0, "PASS: rule:token looks lossless.\n");
    snprintf(arguments, sizeof arguments, "validate rule:resample-target %s", brief);
    spec_program_ends(arguments, 1, "FAIL: rule:resample-target is not lossless.\n");
    snprintf(arguments, sizeof arguments, "validate rule:lenience %s", brief);
    spec_program_ends(arguments, 0, "LOSSY: rule:lenience is not lossless, as it declares.\n");
    spec_program_ends("validate rule:token --only plain-4 --budget 100", 3,
                      "INCONCLUSIVE: no conclusion about rule:token.\n");
    spec_program_ends("validate rule:token --only plain-4 --budget 200k --eps 0.001", 3,
                      "INCONCLUSIVE: ");
    spec_program_ends("validate rule:token --only two-2 --budget 2M --eps 0.02", 0,
                      "PASS: rule:token looks lossless, to a TV of 0.02.\n");
}

TEST(the_bytes_do_not_depend_on_threads)
{
    spec_needs_program();
    for (int threads = 1; threads <= 3; threads++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "validate rule:resample-target %s --threads %d -o t%d.txt --report t%d.json "
                 "--junit t%d.xml",
                 brief, threads, threads, threads, threads);
        spec_program_ends(arguments, 1, "");
    }
    static const char *const endings[] = {"txt", "json", "xml"};
    for (int i = 0; i < 3; i++) {
        char names[3][16];
        for (int t = 0; t < 3; t++)
            snprintf(names[t], sizeof names[t], "t%d.%s", t + 1, endings[i]);
        spec_files_same(names[0], names[1]);
        spec_files_same(names[0], names[2]);
    }
}

/* The same in JSON, CSV and text. */
TEST(reports_call_nothing_just_accepted_or_alpha, SLOW)
{
    spec_needs_program();
    static const char *const formats[] = {"json", "csv", "table"};
    static const char *const words[] = {"\"accepted\"", "\"accepted_token_rule\"", "\"alpha\"",
                                        ",accepted,", "  accepted ", "--alpha"};
    for (int f = 0; f < 3; f++) {
        char arguments[200];
        spec_child c;
        snprintf(arguments, sizeof arguments,
                 "validate rule:resample-target --only plain-4 --scopes V --budget 20k "
                 "--false-alarm-rate 0.001 --format %s",
                 formats[f]);
        spec_child_run(&c, arguments);
        assert_true(c.n > 0);
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strstr(c.text, words[i]) != NULL) fail_msg("%s has %s", formats[f], words[i]);
        if (f == 0) assert_non_null(strstr(c.text, "\"false_alarm_rate\": 0.001"));
        if (f == 2) assert_non_null(strstr(c.text, " --false-alarm-rate 0.001"));
        spec_child_free(&c);
    }
}

TEST(only_chooses_fixtures_and_tests)
{
    spec_child c;
    json_error_t where;
    spec_needs_program();
    spec_child_run(
        &c,
        "validate rule:token --only plain-4,positions,echo --scopes V --budget 20k --format json");
    json_t *root = json_loads(c.text, 0, &where), *results = json_object_get(root, "results");
    assert_non_null(root);
    assert_int_equal(json_array_size(results), 1);
    json_t *result = json_array_get(results, 0), *findings = json_object_get(result, "findings");
    assert_string_equal(json_string_value(json_object_get(result, "fixture")), "plain-4");
    assert_string_equal(json_string_value(json_object_get(result, "scope")), "V");
    assert_int_equal(json_array_size(findings), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(findings, 0), "test")),
                        "echo");
    json_decref(root);
    spec_child_free(&c);
}

TEST(the_list_has_names_and_reasons)
{
    spec_child c;
    spec_needs_program();
    spec_program_prints("validate --list --format csv", 0, "kind,name,scopes,reason\n",
                        "\nfixture,two-2,V S,", "\ntest,counts,", "\nsampler,rule:NAME,");
    /* a right sampler is not a mistake */
    spec_program_prints("validate --list --only right --format csv", 0,
                        "\nexact sampler,right,V,the sampler that", NULL);
    spec_program_prints("validate --list --only coin-zero --format csv", 0,
                        "\nmistake,coin-zero,V,the uniform number of every", NULL);
    spec_program_prints("validate --list --format csv", 0, "\nsampler,./FILE.so,", NULL);
    spec_child_run(&c, "validate --list --only counts --format csv");
    assert_non_null(strstr(c.text, "reason\ntest,counts,"));
    assert_null(strstr(c.text, "fixture,"));
    spec_child_free(&c);
}

TEST(a_failing_case_becomes_a_figure)
{
    char arguments[160];
    spec_needs_program();
    snprintf(arguments, sizeof arguments, "validate rule:resample-target %s --figure case.svg",
             brief);
    spec_program_ends(arguments, 1, "FAIL");
    char *numbers = spec_file_bytes("case.svg.csv"), *figure = spec_file_bytes("case.svg");
    assert_non_null(strstr(numbers, "# figure: conformance\n"));
    assert_non_null(strstr(numbers, "\ntoken,target,draft,seen,n,"));
    assert_non_null(strstr(figure, "</svg>"));
    free(numbers);
    free(figure);
    spec_program_ends(
        "validate rule:token --calibrate 9 --only two-2 --budget 5k --figure cal.svg --format csv",
        0, "test,n,");
    figure = spec_file_bytes("cal.svg");
    assert_non_null(strstr(figure, "</svg>"));
    free(figure);
}

TEST(no_report_of_an_older_run_is_left_where_there_is_no_verdict)
{
    spec_needs_program();
    spec_file_write("old.json", "of an older run");
    spec_child c;
    spec_child_run(&c, "validate rule:tokne --report old.json");
    assert_int_equal(c.code, 2);
    assert_string_equal(
        c.line, "speclab validate: rule:tokne: no rule is named 'tokne'; did you mean 'token'?\n"
                "speclab validate: old.json: the older file is kept as old.json.bak\n");
    spec_child_free(&c);
    assert_int_equal(access("old.json", F_OK), -1);
    char *kept = spec_file_bytes("old.json.bak");
    assert_string_equal(kept, "of an older run");
    free(kept);
}

TEST(requests_that_depend_on_each_other_fail_unless_that_is_declared)
{
    spec_needs_program();
    const char *sampler = "validate mutant:coins-stratified --only no-draft-4,two-2 --budget 300k";
    char declared[160];
    snprintf(declared, sizeof declared, "%s --dependent-requests", sampler);
    spec_program_ends(sampler, 1,
                      "DEPENDENT: mutant:coins-stratified: each request is right; requests depend "
                      "on each other.\n");
    spec_program_ends(declared, 0,
                      "PASS: mutant:coins-stratified looks lossless, each request by itself.\n");
}

/* The program runs with one more variable, ASKED_KEY=yes. */
TEST(secrets_are_withheld_in_one_line_and_passed_if_asked_for)
{
    static const struct {
        const char *arguments, *seen;
        bool told;
    } cases[] = {
        {"--exec ./env.sh", "[]", true},
        {"--exec ./env.sh --calibrate 2", "[]", true},
        {"--exec ./env.sh --env ASKED_KEY", "[yes]", false},
        {"--exec ./env.sh --env UNSET,ASKED_KEY --env ALSO_UNSET", "[yes]", false},
        {"exec:./env.sh --env UNSET --env ASKED_KEY=a,b", "[a,b]", false},
        {"rule:tokne", "did you mean 'token'", false},
    };
    spec_needs_program();
    spec_file_write("env.sh", "echo \"[$ASKED_KEY]\" >&2; exit 3\n");
    assert_int_equal(chmod("env.sh", 0700), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[128];
        spec_child c;
        snprintf(arguments, sizeof arguments, "validate %s", cases[i].arguments);
        spec_child_start(&c, "ASKED_KEY=yes", NULL, arguments);
        spec_child_listen(&c, NULL);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, cases[i].seen) == NULL) fail_msg("%s: %s", arguments, c.line);
        const char *told = strstr(c.line, "ASKED_KEY");
        if ((told != NULL) != cases[i].told) fail_msg("%s: %s", arguments, c.line);
        if (told != NULL) {
            assert_non_null(strstr(c.line, "not passed: "));
            assert_non_null(strstr(told, "; --env NAME passes one\n"));
            assert_null(strstr(told + 1, "ASKED_KEY"));
        }
        spec_child_free(&c);
    }
}

TEST(what_is_said_to_be_found_is_counted)
{
    spec_needs_program();
    spec_program_prints("validate --check-power 2 --only two-2 --scopes V --budget 10k --power 0.5 "
                        "--format csv",
                        0,
                        "fixture,scope,place,state,direction,tv,found,runs,low,high\n"
                        "two-2,V,first,0,forth,",
                        "\ntwo-2,V,bonus,2,back,");
}

/* ---- ctrl-C ---------------------------------------------------------------------------------- */

TEST(a_watched_run_ends_on_ctrl_c_with_a_verdict)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL,
                     "validate rule:token --only two-2 --scopes V --watch --threads 1");
    spec_child_listen(&c, "stage 1: ");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "PASS: rule:token looks lossless.\n"));
    assert_non_null(strstr(c.text, "1 of 1 fixtures in their scopes, when it was stopped"));
    assert_non_null(strstr(c.text, "is found with a chance of 0.9, by the e-value alone\n"));
    spec_child_free(&c);
}

TEST(a_watched_run_ends_by_itself_when_it_fails)
{
    spec_needs_program();
    spec_program_ends("validate rule:resample-target --only two-2 --watch", 1, "FAIL: ");
}

TEST(any_other_run_that_is_interrupted_has_no_verdict)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL,
                     "validate rule:token --only two-2 --scopes V --budget 100G --report r.json");
    spec_await(spec_child_catches(c.pid, SIGINT) && spec_child_seconds(c.pid) > 0.05);
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "--budget 100G", 130, "speclab validate: interrupted");
    assert_int_equal(access("r.json", F_OK), -1);
    spec_child_free(&c);
}

TEST(a_budget_in_time_is_kept)
{
    spec_child c;
    json_error_t where;
    spec_needs_program();
    spec_child_run(&c, "validate rule:token --only two-2,long-4 --budget 0.3s --format json");
    json_t *root = json_loads(c.text, 0, &where);
    assert_non_null(root);
    assert_true(json_number_value(json_object_get(root, "seconds")) >= 0.3);
    /* Without a budget it would draw SPEC_VALIDATE_DRAWS tokens, which takes seconds. */
    assert_true(json_number_value(json_object_get(root, "draws")) < SPEC_VALIDATE_DRAWS / 2);
    json_decref(root);
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
