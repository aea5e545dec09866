/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run over several machines, as a user types it: --shard, merge, and --resume after a kill. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Runs `command` whole, and in `of` parts with as many threads as the part's number, and merges the
 * parts. */
static void check_command(const char *command, int of)
{
    char line[512], merge[128] = "merge -o merged.csv --force";
    snprintf(line, sizeof line, "%s -o whole.csv --force", command);
    spec_program_works(line);
    for (int i = of; i >= 1; i--) {
        snprintf(line, sizeof line, "%s --shard %d/%d --threads %d -o part%d.csv --force", command,
                 i, of, i, i);
        spec_program_works(line);
        snprintf(merge + strlen(merge), sizeof merge - strlen(merge), " part%d.csv", i);
    }
    spec_program_works(merge);
    spec_files_same("merged.csv", "whole.csv");
}

TEST(every_grid_verb_runs_in_parts)
{
    static const struct {
        const char *command;
        int of;
    } commands[] = {
        {"predict --alpha 0.5,0.8 --K 1:3", 4},
        {"predict --alpha 0.5 --K 3,4 --distribution", 2},
        {"sweep --alpha 0.5,0.8 --K 1:3 --rounds 3000 --seed 7", 4},
        {"sweep --target zipf?V=9&s=1 --alpha 0.8 --K 1:3 --rounds 300 --ahead", 3},
        {"accept --rule token\nrrs --n 1:3", 1},
        {"prove --rule token,block --K 1:2 --tokens 2", 3},
        {"plan --accept 0.6,0.2 --nodes 1:4", 1},
        {"run long.cfg --set rounds=1000", 3},
        {"serve --alpha 0.8 --rate 1,2 --requests 100 --K 0,3", 2},
        {"validate rule:token --calibrate 7 --budget 5k --only two-2,plain-4 --seed 3", 4},
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        check_command(commands[i].command, commands[i].of);
}

/* Each shard is killed after different numbers of rows. */
TEST(a_killed_shard_resumes_to_the_same_bytes, SLOW)
{
    static const char *const commands[] = {
        "sweep --alpha 0.5:0.9:0.1 --K 1:4 --rounds 20000000",
        "validate rule:token --calibrate 60 --budget 100k --only two-2,plain-4"};
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[256], file[32];
        snprintf(line, sizeof line, "%s -o whole.csv --force", commands[i]);
        const double before = spec_children_seconds();
        spec_program_works(line);
        const double seconds = (spec_children_seconds() - before) / 2;
        for (int shard = 1; shard <= 2; shard++) {
            snprintf(file, sizeof file, "killed%d.csv", shard);
            unlink(file);
            snprintf(line, sizeof line, "%s --shard %d/2 --resume -o %s", commands[i], shard, file);
            assert_true(spec_program_outlives_kills(line, seconds, NULL) > 2);
        }
        spec_program_works("merge killed1.csv killed2.csv -o resumed.csv --force");
        spec_files_same("resumed.csv", "whole.csv");
    }
}

/* The command that merge prints finishes the part, even if it contains characters that are special
 * in a shell. */
TEST(merge_prints_the_command_that_finishes_a_part)
{
    static const char *const commands[] = {
        "sweep --process markov?rho=0.5&spread=0.2 --alpha 0.5,0.6 --K 2,3 --rounds 500 --seed 9",
        "validate rule:token --calibrate 5 --budget 5k --only two-2 --only plain-4 --seed 3",
        "run ./long.cfg --set rounds=500 --set K=1:6"};
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[5000];
        spec_child c;
        check_command(commands[i], 2);
        char *bytes = spec_file_bytes("part1.csv");
        bytes[strlen(bytes) - 3] = '\0';
        spec_file_write("part1.csv", bytes);
        free(bytes);
        spec_child_run(&c, "merge part2.csv part1.csv -o merged.csv");
        assert_int_equal(c.code, 2);
        const char *begin = "speclab merge: part1.csv has ", *typed = strstr(c.line, ": speclab ");
        assert_int_equal(strncmp(c.line, begin, strlen(begin)), 0);
        assert_non_null(typed);
        snprintf(line, sizeof line, "'%s' %s", spec_program, typed + strlen(": speclab "));
        assert_int_equal(system(line), 0);
        spec_child_free(&c);
        spec_program_works("merge part2.csv part1.csv -o merged.csv --force");
        spec_files_same("merged.csv", "whole.csv");
    }
    spec_program_fails("merge part2.csv", 2,
                       "speclab merge: shard 1/2 is missing: speclab run "
                       "long.cfg --set rounds=500 --set K=1:6 --shard 1/2 "
                       "-o FILE\n");
}

/* The part was edited: no file can have a name of more than 255 bytes. */
TEST(merge_cuts_a_name_that_no_file_can_have)
{
    char name[300 + 1], part[512];
    spec_needs_program();
    memset(name, 'x', 300);
    name[300] = '\0';
    snprintf(part, sizeof part, "# experiment: %s\n# shard: 1/1\nalpha,shard_row,row_check\n",
             name);
    spec_file_write("named.csv", part);
    snprintf(part, sizeof part,
             "speclab merge: named.csv has 0 of the 0 points of shard 1/1: speclab run %.255s.cfg "
             "--shard 1/1 --resume -o named.csv\n",
             name);
    spec_program_fails("merge named.csv", 2, part);
}

/* An edited part cannot put a command of its own into the one to type. */
TEST(the_command_of_a_part_is_one_command)
{
    spec_needs_program();
    spec_file_write("odd.csv", "# speclab 0\n# | speclab sweep --alpha $(touch${IFS}P)\n"
                               "# seed: 1;touch P\n# shard: 1/1\nalpha,shard_row,row_check\n");
    spec_program_fails("merge odd.csv", 2,
                       "speclab merge: odd.csv has 0 of the 0 points of shard 1/1: speclab sweep "
                       "--alpha '$(touch${IFS}P)' --seed '1;touch P' --shard 1/1 --resume -o "
                       "odd.csv\n");
}

/* The lines and the exit code are those of the whole run. */
TEST(merge_says_what_the_run_says_at_its_end)
{
    static const struct {
        const char *command;
        int code;
    } runs[] = {
        {"serve --alpha 0.8 --rate 2,4 --requests 100 --K 0,3", 0},
        {"serve --alpha 0.8 --rate 2,60 --requests 100 --K 0,3", 3},
        {"validate rule:resample-target --calibrate 5 --budget 100k --only plain-4", 1},
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char line[256];
        spec_child whole, part, merged;
        spec_child_run(&whole, runs[i].command);
        for (int shard = 1; shard <= 2; shard++) {
            snprintf(line, sizeof line, "%s --shard %d/2 -o said%d.csv --force", runs[i].command,
                     shard, shard);
            spec_child_run(&part, line);
            assert_int_equal(part.code, 0);
            spec_child_free(&part);
        }
        spec_child_run(&merged, "merge said1.csv said2.csv");
        assert_int_equal(whole.code, runs[i].code);
        assert_int_equal(merged.code, runs[i].code);
        assert_string_equal(merged.text, whole.text);
        const bool named = strncmp(whole.line, "speclab ", 8) == 0; /* after the verb */
        assert_true(whole.line[0] != '\0');
        assert_string_equal(named ? strchr(merged.line, ':') : merged.line,
                            named ? strchr(whole.line, ':') : whole.line);
        spec_child_free(&whole);
        spec_child_free(&merged);
    }
}

/* The false-alarm rate is not that of the runs. */
TEST(merge_refuses_an_edited_calibration)
{
    spec_needs_program();
    spec_program_works("validate rule:token --calibrate 2 --budget 5k --only two-2 --shard 1/2 -o "
                       "run1.csv");
    char *bytes = spec_file_bytes("run1.csv"), *rate = strstr(bytes, "_rate: 1e-06");
    assert_non_null(rate);
    rate[7] = '2';
    spec_file_write("run2.csv", bytes);
    free(bytes);
    spec_program_fails("merge run2.csv", 2,
                       "speclab merge: run2.csv: row 1, or a line above it, was edited");
}

/* The exit code and the line are those of the whole run. */
TEST(a_failed_check_fails_the_merged_run)
{
    spec_child whole, merged;
    spec_needs_program();
    spec_file_write("fails.cfg", "measure = \"dominance\"; grid = { rule = \"match\"; "
                                 "other = \"token\"; K = \"1,2\"; cases = 5; };");
    const char *command = "run fails.cfg";
    char line[256];
    spec_child_run(&whole, command);
    for (int i = 1; i <= 2; i++) {
        spec_child part;
        snprintf(line, sizeof line, "%s --shard %d/2 -o failed%d.csv", command, i, i);
        spec_child_run(&part, line);
        spec_child_free(&part);
    }
    spec_child_run(&merged, "merge failed1.csv failed2.csv");
    assert_int_equal(whole.code, 1);
    assert_int_equal(merged.code, 1);
    assert_non_null(strstr(merged.line, "speclab merge: 2 of 2 checks failed"));
    assert_string_equal(merged.text, whole.text);
    spec_child_free(&whole);
    spec_child_free(&merged);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
