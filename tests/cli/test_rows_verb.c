/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab rows as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

#define PAIR "--target ngram:text.txt?order=4 --draft ngram:text.txt?order=2"

static int set_up(void **state)
{
    const int status = spec_program_set_up(state);
    if (spec_program[0] == '\0') return status;
    FILE *text = fopen("text.txt", "w");
    for (int i = 0; i < 200; i++)
        fprintf(text, "The %d cats of %d kings sat on %d mats, and thought.\n", i, i * i, i % 7);
    fclose(text);
    return status;
}

/* Returns the number in a column of the first row of a CSV. */
static double cell(const char *csv, const char *column)
{
    const char *head = csv, *row = strchr(csv, '\n');
    while (*head == '#') {
        head = row + 1;
        row = strchr(head, '\n');
    }
    const char *found = strstr(head, column);
    assert_non_null(found);
    for (const char *c = head; c < found; c++)
        if (*c == ',') row = strchr(row + 1, ',');
    return strtod(row + 1, NULL);
}

TEST(a_file_is_written_and_looked_at)
{
    spec_needs_program();
    spec_child made, seen;
    spec_child_run(&made, "rows " PAIR " --text text.txt -n 1000 -o a.rows");
    assert_int_equal(made.code, 0);
    spec_child_run(&seen, "rows a.rows");
    assert_int_equal(seen.code, 0);
    assert_string_equal(made.text, seen.text);
    assert_same(cell(seen.text, "positions"), 1000);
    assert_same(cell(seen.text, "tokens"), 1000);
    assert_same(cell(seen.text, "texts"), 1);
    assert_same(cell(seen.text, "V"), 256);
    assert_same(cell(seen.text, "target_tv"), 0);
    assert_true(cell(seen.text, "target_log_loss") < cell(seen.text, "draft_log_loss"));
    assert_true(cell(seen.text, "beta_q10") < cell(seen.text, "beta_median"));
    assert_true(cell(seen.text, "beta_median") < cell(seen.text, "beta_q90"));
    spec_child_free(&seen);
    spec_child_free(&made);
}

/* The file has the same bytes with any number of threads, and other bytes with another seed. */
TEST(a_seed_gives_one_file)
{
    spec_needs_program();
    spec_program_works("rows " PAIR " -n 500 --length 100 -o one.rows");
    spec_program_works("rows " PAIR " -n 500 --length 100 --threads 3 -o other.rows");
    spec_files_same("one.rows", "other.rows");
    spec_program_works("rows " PAIR " -n 500 --length 100 --seed 7 -o other.rows");
    spec_child c;
    spec_child_run(&c, "rows other.rows");
    const double entropy = cell(c.text, "target_entropy");
    spec_child_free(&c);
    spec_child_run(&c, "rows one.rows");
    assert_true(cell(c.text, "target_entropy") != entropy);
    assert_same(cell(c.text, "texts"), 8); /* prompts of 32 tokens leave 68 positions */
    spec_child_free(&c);
}

TEST(a_cutoff_is_told_by_its_distance)
{
    spec_needs_program();
    spec_child exact, cut;
    spec_child_run(&exact, "rows " PAIR " --text text.txt -n 300 -o exact.rows");
    spec_child_run(&cut, "rows " PAIR " --text text.txt -n 300 --cutoff 1e-4 -o cut.rows");
    assert_true(cell(cut.text, "bytes") < cell(exact.text, "bytes"));
    assert_true(cell(cut.text, "target_tv") > 0 &&
                cell(cut.text, "target_tv") <= cell(cut.text, "target_tv_max"));
    assert_true(cell(cut.text, "target_tv_max") < 256 * 1e-4);
    assert_within(cell(cut.text, "beta_mean"), cell(exact.text, "beta_mean"),
                  cell(cut.text, "target_tv") + cell(cut.text, "draft_tv"));
    spec_child_free(&cut);
    spec_child_free(&exact);
}

TEST(files_are_models_of_other_verbs)
{
    spec_needs_program();
    spec_program_works(
        "rows --target markov?V=4 --draft markov?V=4&seed=8 --draft uniform?V=4 -n 200 -o m.rows");
    spec_program_works(
        "prove --target rows:m.rows --draft rows:m.rows?side=draft2 --K 2 --tokens 3 --rule token");
    spec_program_works(
        "accept --target rows:m.rows?at=17 --draft rows:m.rows?at=17&side=draft --n 1:2");
    spec_program_works(
        "plan --target rows:m.rows --draft rows:m.rows?side=draft --nodes 4 --positions 1000");
    spec_program_works("accept --target rows:m.rows --draft rows:m.rows?side=draft --contexts all");
    spec_program_works("accept --target rows:m.rows --draft rows:m.rows?side=draft --contexts 3,5");
    spec_program_fails("prove --target rows:m.rows --draft rows:m.rows?side=draft3", 2,
                       "speclab prove: --draft: side=draft3: m.rows has 2 drafts");
}

TEST(samplers_are_validated_on_them)
{
    spec_needs_program();
    spec_child c;
    spec_program_works(
        "rows --target cases?V=5&seed=2 --draft cases?V=5&side=draft&seed=2 -n 300 -o v.rows");
    spec_program_works(
        "validate rule:token --rows v.rows --only rows-low,rows-blind --budget 200k");
    spec_child_run(
        &c,
        "validate rule:resample-target --rows v.rows --only rows-low,rows-middle --budget 200k");
    assert_int_equal(c.code, 1);
    assert_non_null(
        strstr(c.text, " --rows v.rows --only rows-")); /* the command that repeats it */
    spec_child_free(&c);
    spec_program_prints("validate --list --rows v.rows", 0, "fixture,rows-blind,V DV,");
}

/* Each text begins without a context, and the separator belongs to no text. */
TEST(a_text_is_split_where_it_says)
{
    spec_needs_program();
    spec_child c;
    spec_file_write("split.txt", "one, two.##three##four and five.");
    spec_child_run(&c, "rows " PAIR " --text split.txt --split ## -o split.rows");
    assert_same(cell(c.text, "texts"), 3);
    assert_same(cell(c.text, "tokens"), 28);
    spec_child_free(&c);
    spec_child_run(&c,
                   "rows " PAIR " --text split.txt --split ## --length 6 --every 3 -o split.rows");
    assert_same(cell(c.text, "texts"), 6); /* of 6, 3, 5, 6, 6 and 2 tokens */
    assert_same(cell(c.text, "positions"), 2 + 1 + 2 + 2 + 2 + 1);
    spec_child_free(&c);
}

/* 120 positions with two rows of 30,000 doubles are 58 MB. A file larger than the free disk space
 * is refused before anything is written. */
TEST(a_large_file_is_announced_and_one_too_large_refused)
{
    spec_needs_program();
    spec_child c;
    const char *large =
        "rows --target zipf?V=30000 --draft zipf?V=30000&s=2 --cutoff 0 -n 120 -o large.rows";
    spec_child_run(&c, large);
    spec_child_says(&c, large, 0,
                    "speclab rows: large.rows will have about 57.6 MB and take about ");
    assert_non_null(strstr(c.line, "; -n N writes fewer positions\n"));
    spec_child_free(&c);
    unlink("large.rows");
    spec_program_works("rows --target zipf?V=30 --draft zipf?V=30&s=2 -n 120 -o small.rows");
    spec_program_fails(
        "rows --target zipf?V=30000 --draft zipf?V=30000&s=2 -n 1000000000000 -o huge.rows", 2,
        "speclab rows: huge.rows: about ");
    assert_int_equal(access("huge.rows", F_OK), -1);
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
