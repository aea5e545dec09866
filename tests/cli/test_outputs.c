/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output files of all verbs follow one rule: none is lost, and none is left half written.
 * SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state)
{
    if (spec_program_set_up(state) != 0) return -1;
    if (spec_program[0] != '\0') spec_file_write("theirs", "not ours\n");
    return 0;
}

/* Writes a file with the contents of "theirs". */
static void put_theirs(const char *name)
{
    spec_file_write(name, "not ours\n");
}

static void keeps(const char *arguments, const char *name)
{
    spec_child c;
    char line[256], former[64];
    put_theirs(name);
    assert_int_equal(chmod(name, 0600), 0);
    snprintf(former, sizeof former, "%s.bak", name);
    spec_child_run(&c, arguments);
    if (c.code == 2) fail_msg("%s: %s", arguments, c.line);
    snprintf(line, sizeof line, "%s: the older file is kept as %s\n", name, former);
    if (strstr(c.line, line) == NULL) fail_msg("%s: no '%s' in '%s'", arguments, line, c.line);
    spec_files_same(former, "theirs");
    struct stat info;
    assert_int_equal(stat(name, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(unlink(former), 0);
    spec_child_free(&c);
}

TEST(no_verb_destroys_a_file_that_has_the_name)
{
    spec_needs_program();
    keeps("predict -o x.csv", "x.csv");
    keeps("predict -f json -o x.json", "x.json");
    keeps("sweep --rounds 1000 -o x.csv", "x.csv");
    keeps("run one.cfg -o x.csv", "x.csv");
    keeps("list rules -o x.csv", "x.csv");
    keeps("generate --target zipf?V=9 --plain -n 5 -o x.txt", "x.txt");
    keeps("rows --target zipf?V=9 -n 3 -o x.rows", "x.rows");
    keeps("validate rule:token --only plain-4 --budget 20k -o x.txt", "x.txt");
    keeps("validate rule:token --only plain-4 --budget 20k --report x.json", "x.json");
    keeps("validate rule:token --only plain-4 --budget 20k --junit x.xml", "x.xml");
    keeps("validate rule:token --only plain-4 --budget 2k --write-trace x.jsonl", "x.jsonl");
    assert_int_equal(mkdir("results", 0777), 0);
    keeps("run one.cfg -d results", "results/one.csv");
    keeps("run one.cfg -d results", "results/report.md");
    keeps("plan --accept 0.6,0.2 --nodes 1:4 -o plan.csv --figure x.svg", "x.svg");
    keeps("plot plan.csv -o x.png", "x.png");
}

TEST(the_same_command_again_keeps_nothing)
{
    static const char *const commands[] = {
        "sweep --rounds 1000 -o again.csv", "predict -f json -o again.json",
        "rows --target zipf?V=9 -n 3 -o again.rows", "run one.cfg -d again"};
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        for (int time = 0; time < 2; time++) {
            spec_child c;
            spec_child_run(&c, commands[i]);
            assert_int_equal(c.code, 0);
            assert_string_equal(c.line, "");
            spec_child_free(&c);
        }
    }
    assert_int_equal(access("again.csv.bak", F_OK), -1);
    assert_int_equal(access("again/one.csv.bak", F_OK), -1);
}

TEST(force_keeps_nothing)
{
    spec_child c;
    spec_needs_program();
    put_theirs("forced.csv");
    spec_child_run(&c, "predict --force -o forced.csv");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.line, "");
    assert_int_equal(access("forced.csv.bak", F_OK), -1);
    put_theirs("forced.svg");
    spec_program_works("sweep --rounds 1000 -o drawn.csv");
    spec_program_works("plot drawn.csv --x K --y speedup --force -o forced.svg");
    assert_int_equal(access("forced.svg.bak", F_OK), -1);
    spec_child_free(&c);
}

TEST(links_are_followed)
{
    static const char *const commands[] = {
        "predict -o link", "predict -f json -o link", "run one.cfg -o link",
        "generate --target zipf?V=9 --plain -n 5 -o link", "rows --target zipf?V=9 -n 3 -o link"};
    struct stat info;
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        put_theirs("meant");
        assert_int_equal(symlink("meant", "link"), 0);
        spec_program_works(commands[i]);
        assert_true(lstat("link", &info) == 0 && S_ISLNK(info.st_mode));
        spec_files_same("meant.bak", "theirs");
        assert_int_equal(unlink("link") | unlink("meant") | unlink("meant.bak"), 0);
    }
}

TEST(what_a_killed_run_left_is_said)
{
    spec_child c;
    spec_needs_program();
    spec_file_write("left.csv.aB3dE6.partial", "half");
    spec_child_run(&c, "predict -o left.csv");
    spec_child_says(
        &c, "predict -o left.csv", 0,
        "speclab predict: left.csv.aB3dE6.partial is left over from a killed run; remove it");
    assert_int_equal(unlink("left.csv.aB3dE6.partial"), 0);
    spec_child_free(&c);
}

TEST(a_file_that_vanishes_during_a_run_is_noticed)
{
    spec_child c;
    spec_needs_program();
    for (int replaced = 0; replaced < 2; replaced++) {
        spec_child_start(&c, NULL, NULL, "run long.cfg -o gone.csv --threads 1 --rounds 100000000");
        spec_await(access("gone.csv", F_OK) == 0); /* the run continues for seconds */
        assert_int_equal(replaced ? rename("theirs", "gone.csv") : unlink("gone.csv"), 0);
        spec_child_listen(&c, NULL);
        spec_child_says(&c, "run", 2,
                        "speclab run: long.cfg: gone.csv: another program removed or replaced it "
                        "during the run");
        spec_child_free(&c);
    }
    put_theirs("theirs");
    spec_files_same("gone.csv", "theirs");
}

TEST(a_file_that_grows_too_large_is_told)
{
    static const char *const commands[][2] = {
        {"run long.cfg -o large.csv", "speclab run: long.cfg: large.csv: File too large"},
        {"generate --target zipf?V=9 --plain -n 5000 -o large.txt",
         "speclab generate: large.txt: "},
        {"rows --target zipf?V=99 -n 500 -o large.rows",
         "speclab rows: large.rows: File too large"},
    };
    spec_needs_program();
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1024;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        spec_child c;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        spec_child_start(&c, NULL, NULL, commands[i][0]);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        spec_child_listen(&c, NULL);
        spec_child_says(&c, commands[i][0], 2, commands[i][1]);
        spec_child_free(&c);
    }
    assert_int_equal(system("ls | grep -q partial"), 256); /* no partial file remains */
    char *rows = spec_file_bytes("large.csv");
    assert_true(rows[0] == '#' && rows[strlen(rows) - 1] == '\n'); /* whole rows remain */
    free(rows);
}

/* The reader closes the pipe before the first byte. */
TEST(a_reader_that_leaves_is_no_error)
{
    static const char *const commands[] = {"list rules", "predict", "predict --help",
                                           "validate --list",
                                           "generate --target zipf?V=9 --plain -n 5"};
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        spec_child c;
        int pipe_fd[2];
        char path[64];
        assert_int_equal(pipe(pipe_fd), 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", pipe_fd[1]);
        close(pipe_fd[0]);
        spec_child_start(&c, NULL, path, commands[i]);
        close(pipe_fd[1]);
        spec_child_listen(&c, NULL);
        if (c.code != SPEC_CHILD_KILLED + SIGPIPE || c.n_line > 0)
            fail_msg("%s: code %d: %s", commands[i], c.code, c.line);
        spec_child_free(&c);
    }
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
