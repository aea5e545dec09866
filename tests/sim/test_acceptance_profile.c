/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles that were written can be read, files written by hand are completed, and wrong ones are
 * refused. */
#include "sim/acceptance_profile.h"

#include "sim/acceptance.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

SUITE(0, .setup = spec_folder_enter, .teardown = spec_folder_leave);

static void write_profile(const spec_acceptance_profile *profile, const char *name)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    assert_works(spec_acceptance_profile_write(profile, out, &error));
    assert_int_equal(fclose(out), 0);
}

static void assert_alike(const spec_profile_number *a, const spec_profile_number *b)
{
    const double x[] = {a->value, a->low, a->high}, y[] = {b->value, b->low, b->high};
    for (int i = 0; i < 3; i++)
        if (!(isnan(x[i]) && isnan(y[i]))) assert_within(x[i], y[i], 1e-9);
}

TEST(what_is_written_is_read)
{
    spec_acceptance_profile seen = {.K = 3,
                                    .rounds = 1000.0,
                                    .passes = 1200.0,
                                    .one_rate = true,
                                    .length = {2.27, 2.2, 2.41},
                                    .context = {2, {0, 4096}, {0.82, 0.61}},
                                    .engine = "vLLM",
                                    .format = "vllm-log"};
    const double rate[] = {0.77, 0.5, 0.0};
    for (int i = 0; i < 3; i++) {
        seen.unconditional[i] = (spec_profile_number){rate[i], rate[i], fmin(1.0, rate[i] + 0.1)};
        seen.conditional[i] =
            (spec_profile_number){rate[i] / (i > 0 ? rate[i - 1] : 1.0), NAN, NAN};
    }
    assert_works(spec_acceptance_profile_add_file(&seen, "a \"name\"\n.log", &error));
    assert_works(spec_acceptance_profile_add_file(&seen, "not \xff utf8", &error));
    write_profile(&seen, "p.json");
    OWNED(spec_acceptance_profile) read;
    assert_works(spec_acceptance_profile_load(&read, "p.json", &error));
    assert_int_equal(read.K, 3);
    assert_within(read.rounds, 1000.0, 0.0);
    assert_within(read.passes, 1200.0, 0.0);
    assert_true(read.one_rate);
    assert_string_equal(read.engine, "vLLM");
    assert_string_equal(read.format, "vllm-log");
    assert_int_equal(read.n_files, 2);
    assert_string_equal(read.file[0], "a \"name\"\n.log");
    assert_string_equal(read.file[1], "not \xef\xbf\xbd utf8");
    for (int i = 0; i < 3; i++) {
        assert_alike(&read.unconditional[i], &seen.unconditional[i]);
        assert_alike(&read.conditional[i], &seen.conditional[i]);
    }
    assert_alike(&read.length, &seen.length);
    assert_int_equal(read.context.n, 2);
    assert_int_equal(read.context.from[1], 4096);
    assert_within(read.context.value[0], 0.82, 1e-9);
    assert_within(read.context.value[1], 0.61, 1e-9);
    spec_acceptance_profile_free(&seen);
}

/* A file written by hand with rates only. The conditional ones are .8, .5/.8 and .29/.5, and the
 * length is 2.59. */
TEST(rates_alone_are_a_profile)
{
    spec_file_write("hand.json", "{\"speclab_profile\": 1, \"K\": 3, "
                                 "\"unconditional\": {\"rate\": [0.8, 0.5, 0.29]}}");
    OWNED(spec_acceptance_profile) read;
    assert_works(spec_acceptance_profile_load(&read, "hand.json", &error));
    assert_within(read.conditional[0].value, 0.8, 1e-15);
    assert_within(read.conditional[1].value, 0.625, 1e-15);
    assert_within(read.conditional[2].value, 0.58, 1e-15);
    assert_within(read.length.value, 2.59, 1e-15);
    assert_within(spec_acceptance_profile_length(&read, 2), 2.3, 1e-15);
    assert_true(isnan(read.unconditional[0].low) && isnan(read.rounds));
    assert_int_equal(read.n_files, 0);
}

TEST(a_process_has_the_rates_of_a_profile)
{
    spec_file_write("hand.json", "{\"speclab_profile\": 1, \"K\": 3, "
                                 "\"unconditional\": {\"rate\": [0.8, 0.5, 0.29]}}");
    spec_process of_profile, of_rates;
    assert_works(spec_acceptance_process_init(&of_profile, "profile:hand.json", 0.5, &error));
    assert_works(spec_acceptance_process_init(&of_rates, "rates?of=0.8/0.5/0.29", 0.5, &error));
    assert_memory_equal(&of_profile, &of_rates, sizeof of_rates);
    assert_false(spec_acceptance_reads_alpha(&of_profile));
    assert_fails(spec_acceptance_process_check(&of_profile, 4, &error), GSL_EDOM,
                 "acceptance is given to depth 3, but K is 4");
    assert_fails_with(spec_acceptance_process_init(&of_profile, "profile:absent.json", 0.5, &error),
                      GSL_EFAILED, "absent.json");
    assert_fails_with(spec_acceptance_process_init(&of_profile, "profile", 0.5, &error), GSL_EINVAL,
                      "profile:FILE");
}

TEST(a_process_has_the_alpha_by_context_of_a_profile)
{
    spec_file_write("context.json", "{\"speclab_profile\": 1, \"K\": 3, "
                                    "\"unconditional\": {\"rate\": [0.8, 0.5, 0.29]}, "
                                    "\"alpha_by_context\": [[0, 0.75], [4096, 0.5]]}");
    spec_process of_profile, of_steps;
    assert_works(
        spec_acceptance_process_init(&of_profile, "profile:context.json?by=context", 0.5, &error));
    assert_works(
        spec_acceptance_process_init(&of_steps, "context?of=0.75@0/0.5@4096", 0.5, &error));
    assert_memory_equal(&of_profile, &of_steps, sizeof of_steps);
    assert_works(spec_acceptance_process_init(&of_profile, "profile:context.json", 0.5, &error));
    assert_int_equal(of_profile.kind, SPEC_PROCESS_RATES);
    assert_fails_with(
        spec_acceptance_process_init(&of_profile, "profile:hand.json?by=context", 0.5, &error),
        GSL_EINVAL, "hand.json: has no alpha_by_context");
}

#define RATES "\"unconditional\": {\"rate\": [0.8, 0.5]}"
#define HEAD "\"speclab_profile\": 1, \"K\": 2"

TEST(wrong_profiles_get_one_clear_line)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "is not valid JSON"},
        {"[1]", "not an object"},
        {"{" HEAD ", " RATES, "is not valid JSON"},
        {"{" HEAD ", \"K\": 3, " RATES "}", "duplicate"},
        {"{" RATES "}", "is not a profile"},
        {"{\"speclab_profile\": \"1\", \"K\": 2, " RATES "}", "is not a profile"},
        {"{\"speclab_profile\": 2, \"K\": 2, " RATES "}", "version 2"},
        {"{\"speclab_profile\": 1, " RATES "}", "'K'"},
        {"{\"speclab_profile\": 1, \"K\": 0, " RATES "}", "between 1 and 64"},
        {"{\"speclab_profile\": 1, \"K\": 65, " RATES "}", "between 1 and 64"},
        {"{\"speclab_profile\": 1, \"K\": 2.5, " RATES "}", "between 1 and 64"},
        {"{\"speclab_profile\": 1, \"K\": 99999999999999999999, " RATES "}", "JSON"},
        {"{\"speclab_profile\": 1, \"K\": 3, " RATES "}", "K = 3 numbers"},
        {"{" HEAD "}", "no 'unconditional'"},
        {"{" HEAD ", \"unconditional\": null}", "no 'unconditional'"},
        {"{" HEAD ", \"unconditional\": [0.8, 0.5]}", "an object"},
        {"{" HEAD ", \"unconditional\": {}}", "no 'rate'"},
        {"{" HEAD ", \"unconditional\": {\"rate\": 0.8}}", "not a list"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.8, null]}}", "depth 2 is not a number"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [\"0.8\", 0.5]}}", "depth 1 is not a number"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [1.0001, 0.5]}}", "depth 1 is not a number"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.8, -0.1]}}", "depth 2 is not a number"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.8, 1e999]}}", "JSON"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.8, NaN]}}", "JSON"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.5, 0.8]}}", "rise from 0.5 to 0.8"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.8, 0.5], \"low\": [0.9, 0.4]}}",
         "outside its interval"},
        {"{" HEAD ", \"unconditional\": {\"rate\": [0.8, 0.5], \"high\": [0.9]}}", "K = 2 numbers"},
        {"{" HEAD ", " RATES ", \"conditional\": {\"rate\": [0.8, 0.5]}}", "give 0.625"},
        {"{" HEAD ", " RATES ", \"conditional\": {\"rate\": [0.8]}}", "K = 2 numbers"},
        {"{" HEAD ", " RATES ", \"mean_length\": {\"with_bonus\": {\"value\": 1.3}}}",
         "with_bonus is 1.3, but the unconditional rates give 2.3"},
        {"{" HEAD ", " RATES ", \"mean_length\": {\"without_bonus\": {\"value\": 2.3}}}",
         "without_bonus is 2.3, but the unconditional rates give 1.3"},
        {"{" HEAD ", " RATES ", \"mean_length\": 2.3}", "an object"},
        {"{" HEAD ", " RATES ", \"mean_length\": {\"with_bonus\": {\"low\": 2.4}}}",
         "outside its interval"},
        {"{" HEAD ", " RATES ", \"conditional\": {\"rate\": [null, 0.625], \"high\": [0.7, 1]}}",
         "'conditional' has 0.8 outside its interval"},
        {"{" HEAD ", " RATES ", \"alpha_by_context\": []}", "a list of [tokens, alpha]"},
        {"{" HEAD ", " RATES ", \"alpha_by_context\": [[5, 0.8]]}", "rising from 0 tokens"},
        {"{" HEAD ", " RATES ", \"alpha_by_context\": [[0, 0.8], [0, 0.7]]}", "rising from 0"},
        {"{" HEAD ", " RATES ", \"alpha_by_context\": [[0, 1.8]]}", "a list of [tokens, alpha]"},
        {"{" HEAD ", " RATES ", \"rounds\": -1}", "at least 0"},
        {"{" HEAD ", " RATES ", \"rounds\": \"many\"}", "a number"},
        {"{" HEAD ", " RATES ", \"one_rate_assumed\": 1}", "true or false"},
        {"{" HEAD ", " RATES ", \"source\": {\"engine\": 7}}", "a text"},
        {"{" HEAD ", " RATES ", \"source\": {\"files\": \"a.log\"}}", "a list of names"},
        {"{" HEAD ", " RATES ", \"source\": {\"files\": [7]}}", "a list of names"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec_acceptance_profile profile;
        spec_error error = {""};
        spec_file_write("bad.json", bad[i].text);
        const int status = spec_acceptance_profile_load(&profile, "bad.json", &error);
        if (status != GSL_EINVAL || strncmp(error.text, "bad.json: ", 10) != 0 ||
            strstr(error.text, bad[i].part) == NULL)
            fail_msg("%s: %d '%s', not '%s'", bad[i].text, status, error.text, bad[i].part);
        assert_int_equal(profile.K, 0);
        assert_null(profile.file);
    }
}

TEST(a_profile_names_a_limited_number_of_files)
{
    OWNED(spec_acceptance_profile) profile = {.K = 1};
    for (int i = 0; i < SPEC_PROFILE_FILES; i++)
        assert_works(spec_acceptance_profile_add_file(&profile, "a.log", &error));
    assert_fails_with(spec_acceptance_profile_add_file(&profile, "a.log", &error), GSL_EINVAL,
                      "at most");
}
