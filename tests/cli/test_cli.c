/* The program as its users meet it: what it gives, what a kill leaves, and where it runs. SPECLAB names the program. */
#include "cli/verb.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- no finished row is lost ------------------------------------------------------------------------------------- */

/* Wait until the file has rows below its head. */
static void wait_for_rows(const char *name)
{
    for (int ms = 0; ms < SPEC_CHILD_PATIENCE_MS; ms++, spec_pause(1)) {
        char *bytes = spec_file_bytes(name), *head = strstr(bytes, "\nalpha,"),
             *row = head != NULL ? strchr(head + 1, '\n') : NULL;
        const bool there = row != NULL && strchr(row + 1, '\n') != NULL;
        free(bytes);
        if (there) return;
    }
    fail_msg("%s: no rows", name);
}

static void check_whole_rows(const char *name, const char *uninterrupted)
{
    char *bytes = spec_file_bytes(name), *all = spec_file_bytes(uninterrupted);
    const size_t n = strlen(bytes);
    assert_true(n > 0 && bytes[n - 1] == '\n');
    assert_int_equal(strncmp(bytes, all, n), 0);
    free(bytes);
    free(all);
}

static void a_run_goes_on_after_kill_9_to_the_same_bytes(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_program_works("run long.cfg -o whole.csv");
    spec_child_start(&c, NULL, NULL, "run long.cfg -o cut.csv --threads 1");
    wait_for_rows("cut.csv");
    kill(c.pid, SIGKILL);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, SPEC_CHILD_KILLED + SIGKILL);
    spec_child_free(&c);
    check_whole_rows("cut.csv", "whole.csv");
    FILE *file = fopen("cut.csv", "a"); /* and a row that was cut by the kill */
    assert_non_null(file);
    fputs("0.4,5,0.1,20000", file);
    fclose(file);
    spec_program_works("run long.cfg -o cut.csv --resume");
    spec_files_same("cut.csv", "whole.csv");
    spec_program_works("run long.cfg -o cut.csv --resume"); /* nothing is left to do */
    spec_files_same("cut.csv", "whole.csv");
    spec_program_fails("run long.cfg -o cut.csv --resume --seed 7", 2, "speclab run: long.cfg: cut.csv:");
    spec_files_same("cut.csv", "whole.csv");
}

static void ctrl_c_keeps_the_finished_rows_and_says_130(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_program_works("run long.cfg -o whole.csv");
    spec_child_start(&c, NULL, NULL, "run long.cfg -o stopped.csv --threads 1");
    wait_for_rows("stopped.csv");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ctrl-C", SPEC_EXIT_INTERRUPTED, "speclab run: long.cfg: interrupted after ");
    spec_child_free(&c);
    check_whole_rows("stopped.csv", "whole.csv");
    spec_program_works("run long.cfg -o stopped.csv --resume");
    spec_files_same("stopped.csv", "whole.csv");

    spec_child_start(&c, NULL, NULL, "run long.cfg --threads 1");
    spec_child_listen(&c, "\n0.21,");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ctrl-C to standard output", SPEC_EXIT_INTERRUPTED,
                    "speclab run: long.cfg: interrupted after ");
    assert_true(c.text[c.n - 1] == '\n');
    char *whole = spec_file_bytes("whole.csv");
    assert_int_equal(strncmp(c.text, whole, c.n), 0);
    free(whole);
    spec_child_free(&c);
}

/* The second point would walk through thousands of millions of branches. */
static void ctrl_c_ends_a_proof_within_a_point(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "prove --target dirichlet?V=3&seed=1 --draft dirichlet?V=3&seed=2 --rule token "
                                     "--K 0,6 --tokens 8 --limit 4000000000 -f csv");
    spec_child_listen(&c, ",lossless\n");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ctrl-C", SPEC_EXIT_INTERRUPTED, "speclab prove: interrupted after 1 of ");
    assert_true(c.text[c.n - 1] == '\n');
    spec_child_free(&c);
}

static void a_second_ctrl_c_kills(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "accept --target ngram:/dev/zero"); /* learning does not look at the first */
    spec_pause(100);
    kill(c.pid, SIGINT);
    spec_pause(50);
    assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0);
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, SPEC_CHILD_KILLED + SIGINT);
    spec_child_free(&c);
}

static void ctrl_c_ends_the_wait_for_a_pipe_that_nobody_writes(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "accept --target ngram:fifo");
    spec_pause(100);
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ngram:fifo", SPEC_EXIT_INTERRUPTED, "speclab accept: ");
    spec_child_free(&c);
}

/* ---- what it gives ----------------------------------------------------------------------------------------------- */

static void the_bytes_are_the_same_for_one_thread_and_three(void **state)
{
    static const char *const work[] = {
        "sweep --alpha 0.27,0.8 --K 2,5 --rounds 700000",
        "sweep --process markov?rho=0.5&spread=0.2 --alpha 0.6 --K 3 --rounds 100000",
        "sweep --target markov?V=4&order=1 --alpha 0.7 --K 3 --rounds 20000",
        "accept --target ngram:text.txt?order=3 --draft ngram:text.txt?order=2 --contexts 300",
        "plan --target ngram:text.txt?order=3 --draft ngram:text.txt?order=2 --nodes 8 --rounds 300 --siblings top"};
    (void)state;
    spec_needs_program();
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "%s --threads 1 -o one_thread.csv", work[i]);
        spec_program_works(arguments);
        snprintf(arguments, sizeof arguments, "%s --threads 3 -o three_threads.csv", work[i]);
        spec_program_works(arguments);
        spec_files_same("one_thread.csv", "three_threads.csv");
    }
}

static void the_exit_code_tells_what_holds(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_program_works("run one.cfg");
    /* A mistake that is marked fails nothing. */
    spec_program_works("prove --rule token,resample-target --K 1 --tokens 2");
    /* A chi-square of 15 samples is far from its law: the test of uniformity sees it, whatever the sampler. */
    spec_file_write(
        "fails.cfg",
        "measure = \"uniformity\"; grid = { target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; K = 2; "
        "tokens = 1; samples = 15; replicas = 300; };");
    spec_child_run(&c, "run fails.cfg --threads 1");
    spec_child_says(&c, "run fails.cfg --threads 1", SPEC_EXIT_FAILS, "speclab run: fails.cfg: 1 of 1 checks failed");
    assert_non_null(strstr(c.text, "NOT LOSSLESS"));
    spec_child_free(&c);
    spec_child_run(&c, "run fails.cfg one.cfg -d both --threads 1");
    assert_int_equal(c.code, SPEC_EXIT_FAILS);
    assert_non_null(strstr(c.text, "fails "));
    assert_non_null(strstr(c.text, "one "));
    assert_int_equal(access("both/report.md", R_OK), 0);
    spec_child_free(&c);
}

static void help_is_printed_and_fits_eighty_columns(void **state)
{
    static const char *const verbs[] = {"", "predict ", "sweep ", "run ", "plot ", "prove ", "accept ", "list "};
    (void)state;
    spec_needs_program();
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char arguments[32];
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s--help", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_int_equal(strncmp(c.text, "Usage: speclab", 14), 0);
        for (char *line = c.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            if (end - line > 80) fail_msg("%s: over 80 columns: %.*s", arguments, (int)(end - line), line);
        }
        spec_child_free(&c);
        snprintf(arguments, sizeof arguments, "%s--version", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_int_equal(strncmp(c.text, "speclab ", 8), 0);
        spec_child_free(&c);
    }
}

static void a_result_tells_its_compiler_and_no_rounds_where_there_are_none(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_child_run(&c, "predict");
    assert_true(strstr(c.text, "# compiler: gcc ") != NULL || strstr(c.text, "# compiler: clang ") != NULL);
    assert_null(strstr(c.text, "# rounds:"));
    assert_non_null(strstr(c.text, "\n# | speclab predict --alpha 0.8 --K 5 --c 0.1\n"));
    spec_child_free(&c);
    spec_child_run(&c, "prove --alpha 0.6 --drafting chain --rule token"); /* what is told can be typed again */
    assert_non_null(strstr(c.text, "\n# | speclab prove --rule token"));
    assert_non_null(strstr(c.text, " --drafting chain --alpha 0.6 --K 2 --tokens 3\n"));
    spec_child_free(&c);
}

/* Its rows are in its file; "all rows hold" would be said of a part. */
static void an_experiment_that_fails_is_not_reported_on(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_file_write("whole.cfg", "measure = \"predict\"; grid = { alpha = 0.27; K = 3; };\n");
    spec_file_write("broken.cfg", "measure = \"predict\"; grid = { alpha = [0.27, 2.7]; K = 3; };\n");
    spec_child_run(&c, "run -d reported whole.cfg broken.cfg");
    assert_int_equal(c.code, 2);
    assert_non_null(strstr(c.line, "broken: K=3;alpha=2.7: alpha: 2.7 is not within [0, 1]"));
    spec_child_free(&c);
    char *page = spec_file_bytes("reported/report.md"), *rows = spec_file_bytes("reported/broken.csv");
    assert_non_null(strstr(page, "\n1 rows, of which 0 were checked"));
    assert_null(strstr(page, "broken"));
    assert_non_null(strstr(rows, "\n0.27,3,"));
    free(page);
    free(rows);
}

/* ---- where it runs ----------------------------------------------------------------------------------------------- */

static void its_own_experiments_run_from_any_folder(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_child_run(&c, "list experiments -f csv");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "experiment,real_text,"));
    spec_child_free(&c);
    spec_child_start(&c, NULL, NULL, "run real_text --rounds 100 --set K=2 --set draft_order=1");
    spec_child_listen(&c, "\ndocs/*.md,");
    assert_null(strstr(c.text, spec_folder_before)); /* no path of this machine in a result */
    kill(c.pid, SIGTERM);
    spec_child_listen(&c, NULL);
    spec_child_free(&c);
}

static void a_wrong_share_folder_is_told(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "run real_text");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "run real_text", 2,
                    "speclab run: 'real_text' is no file, and there is no folder of experiments: SPECLAB_SHARE");
    spec_child_free(&c);
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "list experiments");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "list experiments", 2, "speclab list: there is no folder of experiments: SPECLAB_SHARE");
    spec_child_free(&c);
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "plot figure.csv -F speedup");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "plot", 2, "speclab plot: ");
    spec_child_free(&c);
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "run one.cfg"); /* a file of one's own needs none */
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 0);
    spec_child_free(&c);
}

static void no_gnuplot_and_no_home_are_told_or_not_needed(void **state)
{
    spec_child c;
    (void)state;
    spec_needs_program();
    spec_program_works("sweep --rounds 1000 -o figure.csv");
    spec_child_start(&c, "PATH=/nonexistent", NULL, "plot figure.csv");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "plot figure.csv", 2, "speclab plot: gnuplot is not there");
    assert_int_not_equal(access("figure.svg", F_OK), 0);
    spec_child_free(&c);
    spec_child_start(&c, "HOME", NULL, "run one.cfg");
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 0);
    spec_child_free(&c);
}

static void bash_completes_verbs_options_and_names(void **state)
{
    static const char *const cases[][3] = {
        {"speclab pre", "1", "predict"},           {"speclab predict --alp", "2", "--alpha"},
        {"speclab prove --rule gre", "3", "greedy"}, {"speclab prove --target zi", "3", "zipf"},
        {"speclab run real_te", "2", "real_text"}, {"speclab sweep --format mark", "3", "markdown"},
        {"speclab prove --siblings wi", "3", "without"}, {"speclab accept --drafting loo", "3", "lookup"},
        {"speclab list pol", "2", "policies"},     {"speclab plan --methods seq", "3", "sequoia"},
        {"speclab plot --fig", "2", "--figure"},
    };
    (void)state;
    spec_needs_program();
    char script[PATH_MAX + 32];
    snprintf(script, sizeof script, "%s/cli/completion.bash", spec_folder_before);
    if (access(script, R_OK) != 0 || system("command -v bash >/dev/null 2>&1") != 0) {
        printf("skipped: %s: no bash, or not run from the source tree\n", __func__);
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char command[3 * PATH_MAX], answer[1024] = "";
        snprintf(
            command, sizeof command,
            "bash -c 'compopt() { :; }; source \"%s\"; COMP_WORDS=(%s); COMP_WORDS[0]=\"%s\"; COMP_CWORD=%s; _speclab; "
            "echo \" ${COMPREPLY[*]} \"'",
            script, cases[i][0], spec_program, cases[i][1]);
        FILE *in = popen(command, "r");
        assert_non_null(in);
        (void)!fgets(answer, sizeof answer, in);
        pclose(in);
        char wanted[64];
        snprintf(wanted, sizeof wanted, " %s ", cases[i][2]);
        if (strstr(answer, wanted) == NULL) fail_msg("%s: '%s' lacks %s", cases[i][0], answer, cases[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_on_after_kill_9_to_the_same_bytes),
        cmocka_unit_test(ctrl_c_keeps_the_finished_rows_and_says_130),
        cmocka_unit_test(ctrl_c_ends_a_proof_within_a_point),
        cmocka_unit_test(a_second_ctrl_c_kills),
        cmocka_unit_test(ctrl_c_ends_the_wait_for_a_pipe_that_nobody_writes),
        cmocka_unit_test(the_bytes_are_the_same_for_one_thread_and_three),
        cmocka_unit_test(the_exit_code_tells_what_holds),
        cmocka_unit_test(help_is_printed_and_fits_eighty_columns),
        cmocka_unit_test(a_result_tells_its_compiler_and_no_rounds_where_there_are_none),
        cmocka_unit_test(an_experiment_that_fails_is_not_reported_on),
        cmocka_unit_test(its_own_experiments_run_from_any_folder),
        cmocka_unit_test(a_wrong_share_folder_is_told),
        cmocka_unit_test(no_gnuplot_and_no_home_are_told_or_not_needed),
        cmocka_unit_test(bash_completes_verbs_options_and_names),
    };
    return cmocka_run_group_tests(tests, spec_program_set_up, spec_program_tear_down);
}
