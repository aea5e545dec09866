/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab tune as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define TARGET "random?dim=32&layers=3&heads=2&ffn=48&vocab=9&context=80&type=f32"
#define TUNE "tune --target " TARGET " --texts 2 --check 0 "

/* The rows of a CSV, without comments and header. */
static int rows_of(const char *csv)
{
    int n = -1;
    for (const char *at = csv; *at != '\0'; at += strcspn(at, "\n") + 1) n += *at != '#';
    return n;
}

TEST(all_trials_are_written_and_the_best_are_shown)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c, TUNE "--method bayes,random,exhaustive --runs 3 --trials 20 --top 4 "
                            "--format csv -o trials.csv");
    assert_int_equal(c.code, 0);
    assert_non_null(
        strstr(c.text,
               "draft,skipped,alpha_mean,c,best_K,best_speedup,walk_K,walk_tokens,walk_speedup\n"));
    assert_int_equal(rows_of(c.text), 4);
    char *trials = spec_file_bytes("trials.csv");
    assert_int_equal(rows_of(trials), 2 * 3 * 20 + 62);
    assert_non_null(strstr(trials, "# figure: tune\n"));
    assert_non_null(strstr(trials, "\nexhaustive,1,62,layers?of=target&skip="));
    /* the best set of all, which the exhaustive search ends with, heads the table */
    const char *last = strrchr(trials, ','), *first = strstr(c.text, "layers?");
    char best[40], spec[80];
    snprintf(best, sizeof best, ",%.*s,", (int)strcspn(last + 1, "\n"), last + 1);
    snprintf(spec, sizeof spec, "%.*s", (int)strcspn(first, "\n"), first);
    assert_non_null(strstr(spec, best));
    free(trials);
    spec_child_free(&c);
    spec_program_works("plot trials.csv -o trials.svg");
}

TEST(trials_do_not_depend_on_threads)
{
    spec_needs_program();
    spec_program_works(TUNE "--trials 15 --threads 1 -o one.csv");
    spec_program_works(TUNE "--trials 15 --threads 3 -o three.csv");
    spec_files_same("one.csv", "three.csv");
}

/* A printed spec is a draft, and its best rows are checked as decoding uses them. */
TEST(a_printed_draft_can_be_used)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c,
                   "tune --target " TARGET " --texts 2 --trials 8 --top 2 --check 1 --format json");
    assert_int_equal(c.code, 0);
    const char *walked = strstr(c.text, "\"walk_tokens\": ");
    assert_non_null(walked);
    assert_true(strtod(strchr(walked, ' '), NULL) > 1.0);
    const char *spec = strstr(c.text, "layers?of=target&skip=");
    assert_non_null(spec);
    char arguments[400];
    snprintf(arguments, sizeof arguments, "generate --target " TARGET " --draft %.*s -n 12",
             (int)strcspn(spec, "\""), spec);
    spec_program_works(arguments);
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
