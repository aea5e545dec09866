/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

/* Runs experiments with the user's models and inputs, by the program. */

#define TARGET "random?dim=32&layers=3&heads=2&ffn=32&vocab=256&context=120"
#define PAIR "--target " TARGET " --draft layers?of=target&exit=2 "
#define SAME "--set target=" TARGET " --set draft=layers?of=target&exit=2 "

static void has(const char *file, const char *text)
{
    char *bytes = spec_file_bytes(file);
    if (strstr(bytes, text) == NULL) fail_msg("no '%s' in %s:\n%s", text, file, bytes);
    free(bytes);
}

static void has_not(const char *file, const char *text)
{
    char *bytes = spec_file_bytes(file);
    if (strstr(bytes, text) != NULL) fail_msg("'%s' is in %s:\n%s", text, file, bytes);
    free(bytes);
}

TEST(an_experiment_runs_with_models_of_the_user, SLOW)
{
    static const char little[] = "--rounds 200 --set K=1:2 ";
    static const char note[] =
        "speclab run: block: without the axes that built the replaced models: draft_order; without "
        "the figure 'block', which needs them";
    spec_child c;
    spec_needs_program();
    char command[600];
    snprintf(command, sizeof command, "run block " PAIR "%s-o pair.csv", little);
    spec_child_run(&c, command);
    spec_child_says(&c, command, 0, note);
    spec_child_free(&c);
    snprintf(command, sizeof command, "run block " SAME "%s-o same.csv", little);
    spec_child_run(&c, command);
    spec_child_says(&c, command, 0, note);
    spec_child_free(&c);
    has("pair.csv", "\nrule,K,emitted,emitted_se,");
    has_not("pair.csv", "# figure:");

    snprintf(command, sizeof command, "run block -d own " PAIR "%s--seed 7", little);
    spec_child_run(&c, command);
    spec_child_says(&c, command, 0, note);
    spec_child_free(&c);
    has("own/report.md", "## Block verification against the token rule, for random?dim=32\\&");
    has("own/report.md",
        "**Command.** `speclab run block --set 'target=" TARGET "' --set "
        "'draft=layers?of=target&exit=2' --set rounds=200 --set K=1:2 --seed 7`\n");
    has_not("own/report.md", "**Finding.**");
    has_not("own/report.md", "gram");
    assert_int_not_equal(access("own/block.svg", F_OK), 0);

    char *pair = spec_file_bytes("pair.csv"), *same = spec_file_bytes("same.csv");
    assert_string_equal(strstr(pair, "\nrule,K,"), strstr(same, "\nrule,K,"));
    free(pair);
    free(same);
}

TEST(what_has_no_models_or_lacks_an_input_says_so)
{
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "run speedup_table --draft zipf");
    if (strstr(c.line, "'draft=zipf' sets nothing: the measure acceptance has no models") == NULL)
        fail_msg("%s", c.line);
    assert_int_equal(c.code, 2);
    spec_child_free(&c);
    spec_program_prints("list experiments -f csv", 0,
                        "\nexperiment,real_rows,Rows of real models along a text; needs "
                        "your ROWS,",
                        "\nexperiment,speedup_table,Speed-up by alpha and K at c = 0.1,");
}

TEST(help_on_an_experiment_says_what_it_asks)
{
    spec_needs_program();
    spec_program_prints("run serve_coverage --help", 0, "Intervals of serve contain the truth\n",
                        "\nQuestion: How often do the 95 % intervals ",
                        "\n    output = geometric?mean=64, ...\n    rate = 20\n",
                        "\n    $ speclab run serve_coverage -o serve_coverage.csv\n");
    spec_program_prints("list cards -f csv", 0, "\ncard,RTX 4090,\"24 GB, 1008 GB/s, 165.2 ");
}

TEST(a_digest_and_a_limit_are_part_of_the_inputs)
{
    char other[100];
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "run published_claims speedup_table --digest");
    assert_int_equal(strncmp(c.text, "published_claims ", 17), 0);
    snprintf(other, sizeof other, "%.33s", c.text + 17 + 16 + 1);
    assert_int_equal(strncmp(other, "speedup_table ", 14), 0);
    spec_child_free(&c);
    spec_program_works("run published_claims -d shipped");
    has("shipped/report.md", "**Finding.** Ten of twelve claims");
    has("shipped/report.md", "**Command.** `speclab run published_claims`: under a second\n");
    spec_program_works("run published_claims -d limited --limit 7");
    has("limited/report.md", "**Command.** `speclab run published_claims --limit 7`\n");
    has_not("limited/report.md", "**Finding.**");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
