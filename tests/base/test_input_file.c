/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/input_file.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const spec_input_limit small = {"a test", 3 << 10};

static void put(const char *path, size_t n)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (size_t i = 0; i < n; i++) fputc('a' + (int)(i % 26), out);
    assert_int_equal(fclose(out), 0);
}

static void fails(const char *path, const spec_input_limit *limit, const char *line)
{
    char *bytes = (char *)(uintptr_t)path;
    size_t n = 7;
    spec_error error = {""};
    assert_int_not_equal(spec_input_file_read_text(&bytes, &n, path, limit, &error), GSL_SUCCESS);
    assert_string_equal(error.text, line);
    assert_true(bytes == NULL && n == 0);
}

TEST(a_file_comes_whole_up_to_its_limit)
{
    static const size_t sizes[] = {0, 1, 1000, 3 << 10};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        FREED char *bytes;
        size_t n;
        put("a", sizes[i]);
        assert_int_equal(spec_input_file_read(&bytes, &n, "a", &small, NULL), GSL_SUCCESS);
        assert_int_equal(n, sizes[i]);
        assert_int_equal(strlen(bytes), n);
        for (size_t b = 0; b < n; b++) assert_int_equal(bytes[b], 'a' + (int)(b % 26));
    }
    put("a", (3 << 10) + 1);
    fails("a", &small, "a: larger than 3 KiB: too large for a test");
    assert_int_equal(truncate("a", (off_t)1 << 40), 0);
    fails("a", &(spec_input_limit){"a test", 1 << 30},
          "a: larger than 1 GiB: too large for a test");
    fails("a", &(spec_input_limit){"a test", 1000},
          "a: larger than 1000 bytes: too large for a test");
}

/* A pipe that is written in pieces, as by a shell's <(...), and a pipe that never ends. */
TEST(a_pipe_is_read_up_to_its_limit)
{
    static const size_t wanted[] = {2000, 1 << 20};
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (int i = 0; i < 2; i++) {
        char *bytes;
        size_t n;
        spec_error error = {""};
        const pid_t writer = fork();
        if (writer == 0) {
            const int fd = open("pipe", O_WRONLY);
            for (size_t sent = 0; sent < wanted[i]; sent += 100) {
                char block[100];
                memset(block, 'x', sizeof block);
                if (write(fd, block, sizeof block) != (ssize_t)sizeof block) break;
            }
            _exit(0);
        }
        const int status = spec_input_file_read(&bytes, &n, "pipe", &small, &error);
        waitpid(writer, NULL, 0);
        assert_int_equal(status, i == 0 ? GSL_SUCCESS : GSL_EINVAL);
        assert_int_equal(n, i == 0 ? 2000 : 0);
        if (i == 1)
            assert_string_equal(error.text, "pipe: larger than 3 KiB: too large for a test");
        free(bytes);
    }
}

TEST(what_is_no_file_is_refused)
{
    fails("none", &small, "none: No such file or directory");
    fails("http://a/metrics", &small,
          "http://a/metrics: is a URL; download it first: curl -s URL "
          "> FILE");
    fails(".", &small, ".: Is a directory");
    fails("/dev/zero", &small, "/dev/zero: is a device, not a file");
    FILE *out = fopen("zeros", "w");
    assert_true(fwrite("ab\0c", 1, 4, out) == 4 && fclose(out) == 0);
    fails("zeros", &small, "zeros: contains a zero byte: a binary file, not a test");
    FREED char *bytes;
    size_t n;
    assert_int_equal(spec_input_file_read(&bytes, &n, "/dev/null", &small, NULL), GSL_SUCCESS);
    assert_int_equal(n, 0);
    free(bytes);
    assert_int_equal(spec_input_file_read(&bytes, &n, "zeros", &small, NULL), GSL_SUCCESS);
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, "ab\0c", 5);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
