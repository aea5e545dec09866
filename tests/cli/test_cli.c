/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program as its users run it: output, files after a kill, folders. SPECLAB names the
 * program. */
#include "cli/verb.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- no finished row is lost ----------------------------------------------------------------- */

/* After its first row it computes for a third of a second, in which the test sees the row. */
#define LONG "run long.cfg --rounds 5000000 "

/* Waits until the file has rows below its header. */
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

/* Checks the line that says that a result was interrupted, and removes it. */
static void drop_last_line(char *bytes)
{
    char *line = strstr(bytes, "\n# interrupted after ");
    assert_non_null(line);
    assert_true(strchr(line + 1, '\n')[1] == '\0');
    line[1] = '\0';
}

static void check_whole_rows(const char *name, const char *uninterrupted, bool says_so)
{
    char *bytes = spec_file_bytes(name), *all = spec_file_bytes(uninterrupted);
    if (says_so) drop_last_line(bytes);
    const size_t n = strlen(bytes);
    assert_true(n > 0 && bytes[n - 1] == '\n');
    assert_int_equal(strncmp(bytes, all, n), 0);
    free(bytes);
    free(all);
}

TEST(a_run_goes_on_after_kill_9_to_the_same_bytes)
{
    spec_child c;
    spec_needs_program();
    spec_program_works(LONG "-o whole.csv");
    spec_child_start(&c, NULL, NULL, LONG "-o cut.csv --threads 1");
    wait_for_rows("cut.csv");
    kill(c.pid, SIGKILL);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, SPEC_CHILD_KILLED + SIGKILL);
    spec_child_free(&c);
    check_whole_rows("cut.csv", "whole.csv", false);
    FILE *file = fopen("cut.csv", "a"); /* a row cut by the kill */
    assert_non_null(file);
    fputs("0.4,5,0.1,20000", file);
    fclose(file);
    spec_program_works(LONG "-o cut.csv --resume");
    spec_files_same("cut.csv", "whole.csv");
    spec_program_works(LONG "-o cut.csv --resume"); /* a complete result */
    spec_files_same("cut.csv", "whole.csv");
    spec_program_fails(LONG "-o cut.csv --resume --seed 7", 2, "speclab run: long.cfg: cut.csv:");
    spec_child_run(&c, "run one.cfg");
    spec_file_write("plain.csv", c.text);
    spec_child_free(&c);
    spec_program_fails("run one.cfg -o plain.csv --resume", 2,
                       "speclab run: one.cfg: plain.csv: cannot resume: it has no column "
                       "row_check; only -o writes one");
    spec_files_same("cut.csv", "whole.csv");
}

/* The memory limit is too low for a second stack. */
TEST(with_fewer_threads_than_asked_for_the_bytes_are_the_same)
{
    static const char *const commands[][2] = {
        {"sweep --alpha 0.5:0.9:0.1 --K 1:8 --c 0.1 --rounds 100000 --threads 3",
         "speclab sweep: the system allows only 1 of 3 threads\n"},
        {"prove --cases 20 --K 2 --tokens 3 --V 3 --family mixed --threads 3",
         "speclab prove: the system allows only 1 of 3 threads\n"},
        {"rows --target zipf?V=99 -n 500 -o few.rows --threads 3",
         "speclab rows: the system allows only 1 of 3 threads\n"},
        {"validate rule:token --only plain-4 --budget 2k --threads 3",
         "speclab validate: the system allows only 1 of 3 threads\n"},
    };
    spec_needs_program();
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the sanitizer itself needs more memory */
#endif
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char command[PATH_MAX + 512];
        snprintf(command, sizeof command, "'%s' %s >all.csv", spec_program, commands[i][0]);
        const int code = system(command);
        snprintf(command, sizeof command, "ulimit -d 7000; exec '%s' %s >few.csv 2>few.txt",
                 spec_program, commands[i][0]);
        assert_int_equal(system(command), code);
        spec_files_same("few.csv", "all.csv");
        char *said = spec_file_bytes("few.txt");
        assert_string_equal(said, commands[i][1]);
        free(said);
    }
}

/* Returns the text of a file without its last column, as standard output shows it. */
static void drop_row_checks(char *text)
{
    char *to = text;
    for (char *line = text, *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        char *last = end;
        while (*line != '#' && *--last != ',') continue;
        memmove(to, line, (size_t)(last - line));
        to += last - line;
        *to++ = '\n';
    }
    *to = '\0';
}

TEST(ctrl_c_keeps_the_finished_rows_and_says_130)
{
    spec_child c;
    spec_needs_program();
    spec_program_works(LONG "-o whole.csv");
    spec_child_start(&c, NULL, NULL, LONG "-o stopped.csv --threads 1");
    wait_for_rows("stopped.csv");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ctrl-C", 130, "speclab run: long.cfg: interrupted after ");
    spec_child_free(&c);
    check_whole_rows("stopped.csv", "whole.csv", true);
    spec_program_works(LONG "-o stopped.csv --resume");
    spec_files_same("stopped.csv", "whole.csv");

    spec_child_start(&c, NULL, NULL, LONG "--threads 1");
    spec_child_listen(&c, "\n0.21,");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ctrl-C to standard output", 130,
                    "speclab run: long.cfg: interrupted after ");
    drop_last_line(c.text);
    char *whole = spec_file_bytes("whole.csv");
    drop_row_checks(whole);
    assert_int_equal(strncmp(c.text, whole, strlen(c.text)), 0);
    free(whole);
    spec_child_free(&c);
}

/* The second point would enumerate billions of branches. */
TEST(ctrl_c_ends_a_proof_within_a_point)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(
        &c, NULL, NULL,
        "prove --target dirichlet?V=3&seed=1 --draft dirichlet?V=3&seed=2 --rule token "
        "--K 0,3 --tokens 8 --limit 1000000000000000000 -f csv");
    spec_child_listen(&c, ",lossless\n");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ctrl-C", 130, "speclab prove: interrupted after 1 of ");
    assert_true(c.text[c.n - 1] == '\n');
    spec_child_free(&c);
}

/* While it learns, the verb does not see the first signal. A second signal ends it at once;
 * otherwise the clock does. */
TEST(a_verb_that_does_not_see_a_signal_ends_within_two_seconds)
{
    spec_needs_program();
    for (int signals = 1; signals <= 2; signals++) {
        spec_child c;
        const int fifo = open("fifo", O_RDWR | O_CLOEXEC); /* a text without an end */
        assert_true(fifo >= 0);
        spec_child_start(&c, NULL, NULL, "accept --target ngram:fifo");
        spec_await(spec_child_catches(c.pid, SIGINT) && spec_child_is_in(c.pid, SYS_read));
        kill(c.pid, SIGINT);
        spec_await(spec_child_ended(c.pid) || spec_child_is_in(c.pid, SYS_read));
        if (signals == 2) usleep(300000), kill(c.pid, SIGINT);
        spec_child_listen(&c, NULL);
        spec_child_says(&c, "ngram:fifo", 130, "speclab: interrupted\n");
        close(fifo);
        spec_child_free(&c);
    }
}

TEST(ctrl_c_ends_the_wait_for_a_pipe_that_nobody_writes)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "accept --target ngram:fifo");
    spec_await(spec_child_catches(c.pid, SIGINT) && spec_child_is_in(c.pid, SYS_openat));
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "ngram:fifo", 130, "speclab accept: ");
    spec_child_free(&c);
}

/* ---- output ---------------------------------------------------------------------------------- */

TEST(the_bytes_are_the_same_for_one_thread_and_three)
{
    static const char *const work[] = {
        "sweep --alpha 0.27,0.8 --K 2,5 --rounds 700000",
        "sweep --process markov?rho=0.5&spread=0.2 --alpha 0.6 --K 3 --rounds 100000",
        "sweep --target markov?V=4&order=1 --alpha 0.7 --K 3 --rounds 20000",
        "accept --target ngram:text.txt?order=3 --draft ngram:text.txt?order=2 --contexts 300",
        ("plan --target ngram:text.txt?order=3 --draft ngram:text.txt?order=2 --nodes 8 --rounds "
         "300 --siblings top")};
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

TEST(the_exit_code_tells_what_holds)
{
    spec_child c;
    spec_needs_program();
    spec_program_works("run one.cfg");
    /* A rule that is known to be wrong is marked, and does not change the exit code. */
    spec_program_works("prove --rule token,resample-target --K 1 --tokens 2");
    /* match accepts fewer tokens than token. */
    spec_file_write("fails.cfg", "measure = \"dominance\"; grid = { rule = \"match\"; "
                                 "other = \"token\"; K = 2; cases = 5; };");
    spec_child_run(&c, "run fails.cfg --threads 1");
    spec_child_says(&c, "run fails.cfg --threads 1", SPEC_EXIT_FAILS,
                    "speclab run: fails.cfg: 1 of 1 checks failed: verdict is NOT always in row 1");
    assert_non_null(strstr(c.text, "NOT always"));
    spec_child_free(&c);
    spec_child_run(&c, "run fails.cfg one.cfg -d both --threads 1");
    assert_int_equal(c.code, SPEC_EXIT_FAILS);
    assert_non_null(strstr(c.text, "fails "));
    assert_non_null(strstr(c.text, "one "));
    assert_int_equal(access("both/report.md", R_OK), 0);
    spec_child_free(&c);
}

TEST(help_is_printed_and_fits_eighty_columns)
{
    static const char *const verbs[] = {"",      "predict ", "sweep ",  "run ",
                                        "plot ", "prove ",   "accept ", "list "};
    spec_needs_program();
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char arguments[32];
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s--help", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_int_equal(strncmp(c.text, "Usage: speclab", 14), 0);
        for (char *line = c.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            if (end - line > 80)
                fail_msg("%s: over 80 columns: %.*s", arguments, (int)(end - line), line);
        }
        spec_child_free(&c);
        snprintf(arguments, sizeof arguments, "%s--version", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_int_equal(strncmp(c.text, "speclab ", 8), 0);
        spec_child_free(&c);
    }
}

TEST(a_result_tells_its_compiler_and_no_rounds_where_there_are_none)
{
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "predict");
    assert_true(strstr(c.text, "# compiler: gcc ") != NULL ||
                strstr(c.text, "# compiler: clang ") != NULL);
    assert_null(strstr(c.text, "# rounds:"));
    assert_non_null(strstr(c.text, "\n# | speclab predict --alpha 0.8 --K 5 --c 0.1\n"));
    spec_child_free(&c);
    spec_child_run(
        &c, "prove --alpha 0.6 --drafting chain --rule token"); /* the command can be typed again */
    assert_non_null(strstr(c.text, "\n# | speclab prove --rule token"));
    assert_non_null(strstr(c.text, " --drafting chain --alpha 0.6 --K 2 --tokens 3\n"));
    spec_child_free(&c);
}

/* The experiment is refused before its first row, and the report leaves it out. */
TEST(an_experiment_that_fails_is_not_reported_on)
{
    spec_child c;
    spec_needs_program();
    spec_file_write("whole.cfg", "measure = \"predict\"; grid = { alpha = 0.27; K = 3; };\n");
    spec_file_write("broken.cfg",
                    "measure = \"overlap\"; grid = { draft = [\"zipf?V=3\", \"zipf?V=4\"]; "
                    "target = \"zipf?V=3\"; positions = 20; };\n");
    spec_child_run(&c, "run -d reported whole.cfg broken.cfg");
    assert_int_equal(c.code, 2);
    assert_non_null(strstr(
        c.line,
        "broken: draft=zipf?V=4;positions=20;target=zipf?V=3: draft: the draft has 4 tokens"));
    spec_child_free(&c);
    char *page = spec_file_bytes("reported/report.md"),
         *rows = spec_file_bytes("reported/broken.csv");
    assert_non_null(strstr(page, "\n1 rows, 0 of them checked"));
    assert_null(strstr(page, "broken"));
    assert_string_equal(rows, "");
    free(page);
    free(rows);
}

/* ---- where it runs --------------------------------------------------------------------------- */

TEST(its_own_experiments_run_from_any_folder)
{
    spec_child c;
    spec_needs_program();
    spec_program_prints("list experiments -f csv", 0, "experiment,real_text,");
    spec_child_start(&c, NULL, NULL, "run real_text --rounds 100 --set K=2 --set draft_order=1");
    spec_child_listen(&c, "\nexperiments/text/prose.txt,");
    assert_null(strstr(c.text, spec_folder_before)); /* no path of this machine in a result */
    kill(c.pid, SIGTERM);
    spec_child_listen(&c, NULL);
    spec_child_free(&c);
}

TEST(a_wrong_share_folder_is_told)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "run real_text");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "run real_text", 2,
                    "speclab run: 'real_text' is not a file, and the folder of experiments is "
                    "missing: set SPECLAB_SHARE");
    spec_child_free(&c);
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "list experiments");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "list experiments", 2,
                    "speclab list: the folder of experiments is missing: set SPECLAB_SHARE");
    spec_child_free(&c);
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "plot figure.csv -F speedup");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "plot", 2, "speclab plot: ");
    spec_child_free(&c);
    spec_child_start(&c, "SPECLAB_SHARE=/nonexistent", NULL,
                     "run one.cfg"); /* the user's file needs no share folder */
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 0);
    spec_child_free(&c);
}

TEST(no_gnuplot_and_no_home_are_told_or_not_needed)
{
    spec_child c;
    spec_needs_program();
    spec_program_works("sweep --rounds 1000 -o figure.csv");
    spec_child_start(&c, "PATH=/nonexistent", NULL, "plot figure.csv");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "plot figure.csv", 2, "speclab plot: gnuplot is not installed");
    assert_int_not_equal(access("figure.svg", F_OK), 0);
    spec_child_free(&c);
    spec_child_start(&c, "HOME", NULL, "run one.cfg");
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 0);
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
