/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one Monte Carlo point on several machines: --batches, merge and --sums. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>

/* Runs a command in parts, with as many threads as the part's number; merges their sums, and makes
 * the result from these. */
static void check_command(const char *command, int of)
{
    char line[512], merge[128] = "merge -o sums.csv --force";
    snprintf(line, sizeof line, "%s -o whole.csv --force", command);
    spec_program_works(line);
    for (int i = of; i >= 1; i--) {
        snprintf(line, sizeof line, "%s --batches %d/%d --threads %d -o part%d.csv --force",
                 command, i, of, i, i);
        spec_program_works(line);
        snprintf(merge + strlen(merge), sizeof merge - strlen(merge), " part%d.csv", i);
    }
    spec_program_works(merge);
    snprintf(line, sizeof line, "%s --sums sums.csv -o summed.csv --force", command);
    spec_program_works(line);
    spec_files_same("summed.csv", "whole.csv");
}

TEST(sums_of_parts_give_the_bytes_of_one_run, SLOW)
{
    static const struct {
        const char *command;
        int of;
    } commands[] = {
        {"sweep --alpha 0.5,0.8 --K 1,3 --rounds 80000000 --seed 7", 3},
        {"sweep --process markov?rho=0.5 --alpha 0.8 --K 3 --rounds 60000000", 3},
        {"sweep --target zipf?V=9 --alpha 0.8 --K 1:2 --rounds 200000", 2},
        {"sweep --target zipf?V=9 --alpha 0.8 --K 1:2 --rounds 200000 --ahead", 3},
        {"run heavy.cfg --set K=2", 2},
        {"prove --rule token,block --cases 60 --K 1", 4},
        {"prove --rule resample-target --cases 5 --family zeros,mixed --tokens 2", 1},
        {"run pairs.cfg", 3},
    };
    spec_needs_program();
    spec_file_write("heavy.cfg",
                    "measure = \"acceptance\"; grid = { alpha = \"0.5,0.6\"; K = 5; }; "
                    "rounds = 80000000;");
    spec_file_write("pairs.cfg",
                    "measure = \"prove_cases\"; grid = { rule = \"rrs\"; drafting = "
                    "\"tree?n=2\"; K = 1; V = \"2,3\"; family = \"every\"; cases = 9; };");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (int of = 1; of <= commands[i].of; of++) check_command(commands[i].command, of);
    spec_program_works("sweep --alpha 0.5 --K 3 --rounds 80000000 --batches 1/1 -o one.csv");
    spec_program_works("merge one.csv -o same.csv");
    spec_files_same("one.csv", "same.csv");
}

#define HEAVY "sweep --alpha 0.5,0.7 --K 3 --rounds 4000000000"

/* Even within a point, a kill loses no group that was already written. */
TEST(a_killed_part_resumes_within_a_point, SLOW)
{
    spec_needs_program();
    const double before = spec_children_seconds();
    spec_program_works(HEAVY " --batches 2/3 -o part.csv");
    assert_true(spec_program_outlives_kills(HEAVY " --batches 2/3 --resume -o killed.csv",
                                            spec_children_seconds() - before, NULL) > 2);
    spec_files_same("killed.csv", "part.csv");
}

TEST(sums_of_another_run_or_too_few_are_refused)
{
    spec_needs_program();
    check_command("sweep --alpha 0.5 --K 3 --rounds 80000000", 2);
    spec_program_fails("sweep --alpha 0.5 --K 3 --rounds 80000000 --sums part1.csv", 2,
                       "speclab sweep: part1.csv: not the merged batches of this run");
    spec_program_fails("sweep --alpha 0.5 --K 4 --rounds 80000000 --sums sums.csv", 2,
                       "speclab sweep: sums.csv: not the merged batches of this run");
    spec_program_fails("sweep --alpha 0.5 --K 3 --rounds 80000000 --sums whole.csv", 2,
                       "speclab sweep: whole.csv: not the merged batches of this run");
    spec_program_fails("merge part2.csv", 2,
                       "speclab merge: shard 1/2 is missing: speclab sweep --alpha 0.5 --K 3 --c "
                       "0.1 --rounds 80000000 --batches 1/2 -o FILE\n");
    char *bytes = spec_file_bytes("sums.csv");
    bytes[strlen(bytes) - 1] = '\0';
    *(strrchr(bytes, '\n') + 1) = '\0'; /* without its last row */
    spec_file_write("short.csv", bytes);
    char *rounds = strstr(bytes, "group_sum,row_check\n1/1 1/5,64 ");
    assert_non_null(rounds);
    rounds[strlen("group_sum,row_check\n1/1 1/5,64 ")]++;
    spec_file_write("edited.csv", bytes);
    free(bytes);
    spec_program_fails("sweep --alpha 0.5 --K 3 --rounds 80000000 --sums short.csv", 2,
                       "speclab sweep: short.csv: the sum of group 5 of 5 is missing: no such row");
    spec_program_fails("sweep --alpha 0.5 --K 3 --rounds 80000000 --sums edited.csv", 2,
                       "speclab sweep: edited.csv: row 1, or a line above it, was edited");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
