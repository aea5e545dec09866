/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/new_file.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect(const char *path, const char *text)
{
    char bytes[64] = "";
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fread(bytes, 1, sizeof bytes - 1, in), strlen(text));
    assert_string_equal(bytes, text);
    fclose(in);
}

TEST(what_has_the_name_stays_until_the_new_one_is_whole)
{
    spec_new_file file;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(spec_new_file_open(&file, "a", NULL), GSL_SUCCESS);
        fprintf(file.out, "round %d", round);
        assert_int_equal(fflush(file.out), 0);
        char *partial = strdup(file.partial);
        assert_non_null(partial);
        assert_int_equal(access(partial, F_OK), 0);
        if (round == 0) assert_int_equal(access("a", F_OK), -1);
        else expect("a", "round 0");
        assert_int_equal(spec_new_file_close(&file, NULL), GSL_SUCCESS);
        assert_int_equal(access(partial, F_OK), -1);
        free(partial);
        spec_new_file_free(&file);
        expect("a", round == 0 ? "round 0" : "round 1");
    }
}

TEST(a_file_that_is_given_up_leaves_nothing)
{
    spec_new_file file = {0};
    spec_new_file_free(&file);
    assert_int_equal(spec_new_file_open(&file, "b", NULL), GSL_SUCCESS);
    FREED char *partial = strdup(file.partial);
    fputs("half", file.out);
    spec_new_file_free(&file);
    assert_int_equal(access(partial, F_OK), -1);
    assert_int_equal(access("b", F_OK), -1);
    assert_null(file.out);
}

/* Files that are published, or only read, are not removed. */
TEST(a_process_that_ends_at_once_leaves_nothing_incomplete)
{
    spec_new_file half, whole;
    FILE *other = fopen("other.partial", "w");
    assert_non_null(other);
    fclose(other);
    assert_non_null(other = fopen("other.partial", "r"));
    assert_works(spec_new_file_open(&half, "half", &error));
    assert_works(spec_new_file_open(&whole, "whole", &error));
    FREED char *partial = strdup(half.partial);
    assert_works(spec_new_file_publish(&whole, &error));
    spec_new_file_abandon_all();
    assert_int_equal(access(partial, F_OK), -1);
    assert_int_equal(access("whole", F_OK), 0);
    assert_int_equal(access("other.partial", F_OK), 0);
    spec_new_file_free(&half);
    spec_new_file_free(&whole);
    fclose(other);
}

TEST(what_cannot_be_is_told)
{
    spec_new_file file;
    assert_fails_with(
        spec_new_file_open(&file, "-", &error), GSL_EINVAL,
        "-: this file cannot be written to standard output; for a file named '-' write ./-");
    assert_fails(spec_new_file_open(&file, "/dev/null", &error), GSL_EINVAL,
                 "/dev/null: exists, and is not a regular file");
    assert_fails(spec_new_file_open(&file, "none/a", &error), GSL_EFAILED,
                 "none/a: No such file or directory");
    assert_true(file.out == NULL && file.path == NULL && file.partial == NULL);

    /* Before the file is renamed, someone creates a folder with its name. */
    assert_works(spec_new_file_open(&file, "c", &error));
    FREED char *partial = strdup(file.partial);
    assert_int_equal(mkdir("c", 0700), 0);
    assert_fails(spec_new_file_close(&file, &error), GSL_EFAILED, "c: Is a directory");
    spec_new_file_free(&file);
    assert_int_equal(access(partial, F_OK), -1);
}

static void write_whole(const char *path, const char *text, int kept)
{
    spec_new_file file;
    assert_int_equal(spec_new_file_open(&file, path, NULL), GSL_SUCCESS);
    fputs(text, file.out);
    assert_int_equal(spec_new_file_close(&file, NULL), GSL_SUCCESS);
    assert_int_equal(file.kept, kept);
    spec_new_file_free(&file);
    expect(path, text);
}

TEST(a_former_file_is_kept_under_a_name_of_its_own)
{
    char *name = spec_new_file_former("d", 1), *second = spec_new_file_former("d", 2);
    write_whole("d", "first", 0);
    write_whole("d", "first", 0); /* the same bytes: no backup */
    assert_int_equal(access(name, F_OK), -1);
    write_whole("d", "second", 1);
    expect("d.bak", "first");
    write_whole("d", "third", 2);
    expect("d.bak", "first");
    expect("d.bak2", "second");
    write_whole("d", "second", 3);
    write_whole("d", "third", 0); /* d.bak2 already has the replaced bytes */
    write_whole("d", "third and more", 0); /* the old bytes are a prefix: no backup */
    write_whole("half", "ten cats", 0);
    write_whole("half", "ten dogs", 1);
    write_whole("half", "nothing", 2); /* half.bak begins with the old bytes, but then differs */
    assert_string_equal(name, "d.bak");
    assert_string_equal(second, "d.bak2");
    free(name);
    free(second);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 0777;
}

TEST(mode_and_links_of_a_former_file_are_kept)
{
    struct stat info;
    write_whole("private", "secret", 0);
    assert_int_equal(chmod("private", 0600), 0);
    assert_int_equal(mkdir("below", 0700), 0);
    assert_int_equal(symlink("../private", "below/link"), 0);
    assert_int_equal(symlink("below/link", "chain"), 0);
    write_whole("chain", "new secret", 1);
    assert_int_equal(mode_of("private"), 0600);
    assert_int_equal(mode_of("below/../private.bak"), 0600);
    expect("private", "new secret");
    expect("private.bak", "secret");
    assert_true(lstat("chain", &info) == 0 && S_ISLNK(info.st_mode));
    assert_int_equal(symlink("absent", "dangling"), 0);
    write_whole("dangling", "made", 0);
    expect("absent", "made");

    spec_new_file file;
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_fails(spec_new_file_open(&file, "circle", &error), GSL_EFAILED,
                 "circle: Too many levels of symbolic links");
}

/* We look at the second descriptor, because the first may be that of a folder, which is closed
 * while its file stays open. */
static int unused_descriptor(void)
{
    const int first = dup(STDERR_FILENO), fd = dup(STDERR_FILENO);
    assert_true(close(first) == 0 && close(fd) == 0);
    return fd;
}

TEST(what_a_killed_program_left_is_found_and_blocks_nobody)
{
    spec_new_file file, other;
    assert_null(spec_new_file_left_over("e"));
    assert_int_equal(spec_new_file_open(&file, "e", NULL), GSL_SUCCESS);
    assert_int_equal(spec_new_file_open(&other, "e", NULL),
                     GSL_SUCCESS); /* two open files have different names */
    assert_string_not_equal(file.partial, other.partial);
    assert_null(spec_new_file_left_over("e")); /* both writers are alive */
    spec_new_file_free(&other);

    FREED char *partial = strdup(file.partial);
    fputs("half", file.out);
    free(file.partial);
    file.partial = NULL; /* as after a kill */
    spec_new_file_free(&file);
    const int unused = unused_descriptor();
    FREED char *found = spec_new_file_left_over("e");
    assert_string_equal(found, partial);
    assert_int_equal(unused_descriptor(), unused);
    write_whole("e", "whole", 0);
    expect(partial, "half");
    FILE *near = fopen("e.12345.partial", "w"); /* five characters: another program's file */
    assert_true(near != NULL && fclose(near) == 0 && unlink(partial) == 0);
    assert_null(spec_new_file_left_over("e"));
}

TEST(a_file_that_another_program_wrote_meanwhile_is_left_alone)
{
    OWNED(spec_new_file) file;
    spec_error error = {""};
    char line[128];
    assert_int_equal(spec_new_file_open(&file, "f", NULL), GSL_SUCCESS);
    fputs("ours", file.out);
    FILE *theirs = fopen("f", "w");
    assert_true(fputs("theirs", theirs) >= 0 && fclose(theirs) == 0);
    char *partial = strdup(file.partial);
    assert_int_equal(spec_new_file_close(&file, &error), GSL_EFAILED);
    spec_new_file_free(&file);
    snprintf(line, sizeof line,
             "f: another program wrote it in the meantime; the new file is left "
             "as %s",
             partial);
    assert_string_equal(error.text, line);
    expect("f", "theirs");
    expect(partial, "ours");
    free(partial);

    assert_int_equal(spec_new_file_open(&file, "g", NULL), GSL_SUCCESS);
    assert_int_equal(unlink(file.partial), 0);
    snprintf(line, sizeof line, "g: %s: No such file or directory", file.partial);
    assert_fails(spec_new_file_close(&file, &error), GSL_EFAILED, line);
}

TEST(a_report_without_a_verdict_takes_the_name_from_the_former_one)
{
    spec_new_file file;
    write_whole("h", "old", 0);
    assert_int_equal(spec_new_file_open(&file, "h", NULL), GSL_SUCCESS);
    assert_int_equal(spec_new_file_retire(&file, NULL), GSL_SUCCESS);
    assert_int_equal(file.kept, 1);
    spec_new_file_free(&file);
    assert_int_equal(access("h", F_OK), -1);
    expect("h.bak", "old");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
