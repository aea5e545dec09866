/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results with column names of earlier versions: each verb that reads a CSV treats them like the
 * present names. SPECLAB names the program. */
#include "base/table.h"
#include "tests/support/bench_table.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies a file, and replaces each field `now` by `old`. */
static void rename_field(const char *to, const char *from, const char *now, const char *old)
{
    char *bytes = spec_file_bytes(from);
    int n = 0;
    FILE *out = fopen(to, "w");
    assert_non_null(out);
    for (const char *at = bytes; *at != '\0';) {
        const size_t length = strcspn(at, ",\n");
        if (length == strlen(now) && strncmp(at, now, length) == 0) {
            fputs(old, out);
            n++;
        } else {
            fwrite(at, 1, length, out);
        }
        at += length;
        if (*at != '\0') fputc(*at++, out);
    }
    assert_int_equal(fclose(out), 0);
    assert_int_equal(n, 1);
    free(bytes);
}

static void write_bench(void)
{
    bench_table_write("now.csv", NULL, 0.0);
    rename_field("old.csv", "now.csv", "alpha_tested_pooled", "alpha");
}

/* Both outputs of the program are equal for the two files, apart from their names. */
static void says_the_same(const char *verb, const char *after)
{
    static const char *const names[] = {"now.csv", "old.csv"};
    spec_child said[2];
    for (int i = 0; i < 2; i++) {
        char arguments[200];
        snprintf(arguments, sizeof arguments, "%s %s%s", verb, names[i], after);
        spec_child_run(&said[i], arguments);
        assert_int_equal(said[i].code, 0);
        for (char *at; (at = strstr(said[i].text, names[i])) != NULL;) memcpy(at, "xxx", 3);
        for (char *at; (at = strstr(said[i].line, names[i])) != NULL;) memcpy(at, "xxx", 3);
    }
    assert_string_equal(said[0].text, said[1].text);
    assert_string_equal(said[0].line, said[1].line);
    assert_true(said[0].n > 0);
    for (int i = 0; i < 2; i++) spec_child_free(&said[i]);
}

TEST(bench_shows_an_old_result_again)
{
    spec_needs_program();
    write_bench();
    says_the_same("bench --from", "");
}

TEST(predict_and_plan_take_the_costs_of_an_old_result)
{
    spec_needs_program();
    write_bench();
    says_the_same("predict --costs", " --K 0:4 --format json");
    says_the_same("plan --nodes 4 --accept 0.7,0.1 --costs", " --format json");
}

static void draws(const char *text, const char *shown)
{
    spec_file_write("old.csv", text);
    unlink("old.svg");
    spec_program_works("plot old.csv");
    char *figure = spec_file_bytes("old.svg");
    if (strstr(figure, shown) == NULL) fail_msg("the figure lacks '%s'", shown);
    free(figure);
}

TEST(figures_of_old_results_are_drawn)
{
    spec_needs_program();
    if (access("/usr/bin/gnuplot", X_OK) != 0) {
        printf("skipped: there is no gnuplot\n");
        skip();
    }
    draws("# speclab 0\n# figure: hsd\nrule,K,accepted,worst_tv\n"
          "token,1,0.5,0\ntoken,2,0.8,0\nhsd,1,0.5,0\nhsd,2,0.9,0.1\n",
          "accepted draft tokens");
    draws("# speclab 0\n# figure: lossy\nrule,family,K,tv,accepted\n"
          "block-greedy,block-greedy,1,0,0.5\nlenient?l=0.5,lenient,1,0.1,0.6\n",
          "total variation");
    draws("# figure: conformance\n# sampler: s\n# fixture: f\n# scope: V\n# state: 0\n"
          "token,target,draft,seen,n,accepted,accepted_expected,correction,correction_expected,"
          "bonus,bonus_expected\n0,0.5,0.4,0.45,100,40,41,5,9,0,0\n1,0.5,0.6,0.55,100,50,50,5,0,0,"
          "0\n",
          "right: accepted draft");
    draws("# figure: calibration\n# sampler: s\n# runs: 3\n# false alarms: 0\n# alpha: 0.01\n"
          "curve,at,share,n\ntest,0,0,3\ntest,1,1,3\nrun e,0.1,0.1,3\nrun p,0.1,0.1,3\n",
          "0 false alarms at 0.01");
}

/* The rows of another version are never mixed with those of this one. */
TEST(a_run_does_not_go_on_with_an_old_result)
{
    spec_needs_program();
    spec_file_write("exact.cfg", "measure = \"prove\"; grid = { rule = \"token\"; K = [1, 2]; "
                                 "target = \"probs:0.5,0.5\"; draft = \"chain:probs:0.4,0.6\"; };");
    spec_program_works("run exact.cfg -o now.csv");
    rename_field("old.csv", "now.csv", "mean_n_accepted", "accepted");
    char *before = spec_file_bytes("old.csv");
    spec_program_fails("run exact.cfg -o old.csv --resume", 2,
                       "speclab run: exact.cfg: old.csv:");
    char *after = spec_file_bytes("old.csv");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
