/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures while a figure is drawn: the program prints one line, exits 2, and keeps the old figure.
 * SPECLAB names the program. */
#include "cli/verb.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/picture.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_KIB = 4 };

/* Puts a program named gnuplot into a folder at the head of PATH. */
static void plant(const char *script)
{
    mkdir("fake", 0777);
    spec_file_write("fake/gnuplot", script);
    assert_int_equal(chmod("fake/gnuplot", 0755), 0);
}

static void sweep(void)
{
    spec_program_works("sweep --alpha 0.5,0.8 --K 1:4 --c 0.1 --rounds 2000 -o sweep.csv");
}

/* Drawing leaves only files with these endings. */
static void leaves_nothing_over(void)
{
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strstr(entry->d_name, "partial") != NULL) fail_msg("%s is left over", entry->d_name);
    closedir(folder);
}

TEST(a_gnuplot_that_fails_keeps_the_old_figure)
{
    static const char *const cases[][2] = {
        {"#!/bin/sh\nkill -9 $$\n", "gnuplot was killed by signal 9"},
        {"#!/bin/sh\nexit 0\n", "gnuplot drew nothing"},
        {"#!/bin/sh\necho oh >&2\nexit 5\n", "gnuplot ended with status 5: oh"},
        {"#!/bin/sh\nprintf '<?xml version=\"1.0\"?>\\n<svg>' >/dev/fd/4\n",
         "gnuplot did not draw the whole figure"},
        {"#!/bin/sh\necho '\"/dev/fd/3\" line 7: undefined variable: x' >&2\nexit 1\n",
         "gnuplot: undefined variable: x"},
        {"#!/bin/sh\necho '\"/dev/fd/3\" line 9: unknown or ambiguous terminal type' >&2\nexit 1\n",
         "this gnuplot was built without that terminal"},
    };
    char path[2 * PATH_MAX], folder[PATH_MAX];
    spec_needs_program();
    sweep();
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(path, sizeof path, "PATH=%s/fake:/usr/bin:/bin", folder);
    spec_file_write("old.svg", "the old figure");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_child c;
        plant(cases[i][0]);
        spec_child_start(&c, path, NULL, "plot sweep.csv -o old.svg");
        spec_child_listen(&c, NULL);
        assert_int_equal(c.code, SPEC_EXIT_USAGE);
        if (strstr(c.line, cases[i][1]) == NULL)
            fail_msg("'%s' does not say '%s'", c.line, cases[i][1]);
        assert_ptr_equal(strchr(c.line, '\n'), c.line + strlen(c.line) - 1);
        spec_child_free(&c);
        char *bytes = spec_file_bytes("old.svg");
        assert_string_equal(bytes, "the old figure");
        free(bytes);
    }
    leaves_nothing_over();
    spec_program_works("plot sweep.csv -o old.svg");
    spec_picture_check("old.svg");
}

/* The error comes before the simulation, not after it. */
TEST(a_missing_gnuplot_is_told_before_the_work)
{
    static const char *const arguments[] = {
        "plot sweep.csv",
        "run drawn.cfg -d drawn",
        "plan --figure plan.svg -o plan.csv",
        "bench --target zipf?V=4 --figure bench.svg -o bench.csv",
        "validate rule:token --calibrate 2 --figure cal.svg",
    };
    spec_needs_program();
    sweep();
    spec_file_write("drawn.cfg", "measure = \"acceptance\"; figure = \"speedup\"; grid = { alpha = "
                                 "0.27; K = 3; c = 0.1; };");
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        spec_child c;
        spec_child_start(&c, "PATH=/nonexistent", NULL, arguments[i]);
        spec_child_listen(&c, NULL);
        assert_int_equal(c.code, SPEC_EXIT_USAGE);
        assert_non_null(
            strstr(c.line, "gnuplot is not installed; on Debian, type: apt-get install "));
        spec_child_free(&c);
    }
    assert_int_not_equal(access("drawn", F_OK), 0);
    assert_int_not_equal(access("plan.csv", F_OK), 0);
}

/* A shell limits file sizes; the old figure remains after a failure. */
TEST(a_limit_on_file_sizes_keeps_the_old_figure)
{
    char command[PATH_MAX + 128];
    spec_needs_program();
    sweep();
    for (int blocks = 2; blocks <= 48; blocks += 23) {
        spec_file_write("old.svg", "the old figure");
        snprintf(command, sizeof command,
                 "ulimit -f %d; '%s' plot sweep.csv -o old.svg >/dev/null 2>said.txt; [ $? -eq 2 ]",
                 blocks, spec_program);
        char *bytes = NULL;
        const int failed = system(command) == 0;
        bytes = spec_file_bytes("old.svg");
        if (failed) assert_string_equal(bytes, "the old figure");
        else spec_picture_check("old.svg"); /* the figure is below the limit */
        if (blocks == 2) assert_true(failed);
        free(bytes);
        if (!failed) continue;
        bytes = spec_file_bytes("said.txt");
        assert_int_equal(strncmp(bytes, "speclab plot: ", 14), 0);
        assert_ptr_equal(strchr(bytes, '\n'), bytes + strlen(bytes) - 1);
        free(bytes);
    }
    leaves_nothing_over();
}

/* The file system has space for the old figure and n more pages. */
static void fills_the_disk(int n)
{
    spec_child c;
    char command[128];
    snprintf(command, sizeof command, "mount -t tmpfs -o size=%dk none full 2>/dev/null",
             PAGE_KIB * (n + 1));
    if (system(command) != 0) {
        printf("skipped: a small file system cannot be mounted here\n");
        skip();
    }
    spec_file_write("full/old.svg", "the old figure");
    spec_child_run(&c, "plot sweep.csv -o full/old.svg");
    char *bytes = spec_file_bytes("full/old.svg");
    const int left = system("[ \"$(ls full | wc -l)\" = 1 ]");
    assert_int_equal(system("umount full"), 0);
    spec_child_says(&c, "plot", SPEC_EXIT_USAGE,
                    "speclab plot: full/old.svg: No space left on device");
    assert_string_equal(bytes, "the old figure");
    assert_int_equal(left, 0);
    free(bytes);
    spec_child_free(&c);
}

/* The figure exceeds the disk by far, or only by its last page, which is written when the file is
 * closed. */
TEST(a_full_disk_keeps_the_old_figure)
{
    struct stat whole;
    spec_needs_program();
    sweep();
    mkdir("full", 0777);
    spec_program_works("plot sweep.csv -o whole.svg");
    assert_int_equal(stat("whole.svg", &whole), 0);
    fills_the_disk(3);
    fills_the_disk((int)((whole.st_size - 1) / (1024 * PAGE_KIB)));
}

TEST(closed_standard_streams_do_not_mix_with_the_figure)
{
    char command[PATH_MAX + 128];
    spec_needs_program();
    sweep();
    snprintf(command, sizeof command, "'%s' plot sweep.csv -o closed.svg <&- 2>&-", spec_program);
    assert_int_equal(system(command), 0);
    spec_picture_check("closed.svg");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
