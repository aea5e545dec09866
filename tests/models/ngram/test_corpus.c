/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files, patterns and pipes in blocks, and paths that are refused. */
#include "models/ngram/corpus.h"

#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/speclab-corpus-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const files[] = {"a.txt", "b.txt", "c.txt", "big", "[x]", "fifo", "shut"};
    char path[128];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, size_t length)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

/* Reads all texts, leaving up to `left` bytes of each block unread; writes a bar after each text.
 * Returns the status. */
static int read_shared(char *out, size_t *ret_length, const char *path, const char *opt_share,
                       uint64_t limit, size_t left, spec_error *error)
{
    int status = GSL_SUCCESS;
    OWNED(spec_corpus) corpus;
    spec_block block;
    size_t unread = 0, n = 0;
    SPEC_TRY(spec_corpus_init(&corpus, path, opt_share, limit, error));
    for (;;) {
        SPEC_TRY(spec_corpus_next(&block, &corpus, unread, error));
        if (block.text == NULL) break;
        unread = block.ends_text ? 0 : block.length < left ? block.length : left;
        memcpy(out + n, block.text, block.length - unread);
        n += block.length - unread;
        if (block.ends_text) out[n++] = '|';
    }
done:
    out[n] = '\0';
    *ret_length = n;
    return status;
}

static int read_all(char *out, size_t *ret_length, const char *path, uint64_t limit, size_t left,
                    spec_error *error)
{
    return read_shared(out, ret_length, path, NULL, limit, left, error);
}

TEST(a_pattern_is_its_files_in_sorted_order)
{
    char out[100];
    size_t n;
    write_file("b.txt", "two", 3);
    write_file("a.txt", "one", 3);
    write_file("c.txt", "", 0);
    assert_works(read_all(out, &n, in_folder("*.txt"), 0, 0, &error));
    assert_string_equal(out, "one|two||");
    assert_works(read_all(out, &n, in_folder("?.txt"), 4, 2, &error));
    assert_string_equal(out, "one|t|");
    assert_works(read_all(out, &n, in_folder("a.txt"), 3, 2, &error));
    assert_string_equal(out, "one|");
}

TEST(a_file_may_be_called_like_a_pattern)
{
    char out[100];
    size_t n;
    write_file("[x]", "odd", 3);
    assert_works(read_all(out, &n, in_folder("[x]"), 0, 0, &error));
    assert_string_equal(out, "odd|");
}

TEST(a_large_file_comes_whole_in_blocks)
{
    enum { BYTES = 1000003 };
    static char text[BYTES], out[BYTES + 10];
    for (size_t i = 0; i < BYTES; i++) text[i] = (char)(i * i >> 7);
    write_file("big", text, BYTES);
    for (size_t left = 0; left < 300; left = left * 7 + 1) {
        size_t n;
        assert_works(read_all(out, &n, in_folder("big"), 0, left, &error));
        assert_int_equal(n, BYTES + 1);
        assert_memory_equal(out, text, BYTES);
    }
}

TEST(a_pipe_is_read_to_its_end)
{
    char out[100], path[32];
    size_t n;
    int end[2];
    assert_int_equal(pipe(end), 0);
    assert_int_equal(write(end[1], "in a pipe", 9), 9);
    close(end[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", end[0]);
    assert_works(read_all(out, &n, path, 0, 3, &error));
    assert_string_equal(out, "in a pipe|");
    close(end[0]);
}

TEST(invalid_texts_are_refused_in_one_line)
{
    char out[100];
    size_t n;
    spec_error error;
    write_file("c.txt", "", 0);
    assert_fails_with(read_all(out, &n, in_folder("c.txt"), 0, 0, &error), GSL_EINVAL,
                      "c.txt: the text is empty");
    assert_fails_with(read_all(out, &n, folder, 0, 0, &error), GSL_EFAILED, "is a folder");
    assert_fails_with(read_all(out, &n, in_folder("none"), 0, 0, &error), GSL_EFAILED,
                      "none: No such file or directory");
    assert_fails_with(read_all(out, &n, in_folder("none*"), 0, 0, &error), GSL_EFAILED,
                      "none*: no file matches");
    assert_int_equal(read_all(out, &n, "/proc/self/mem", 0, 0, &error), GSL_EFAILED);
    assert_non_null(strstr(error.text, "/proc/self/mem: "));
    assert_null(strchr(error.text, '\n'));
    if (geteuid() == 0) return; /* root may read everything */
    write_file("shut", "x", 1);
    chmod(in_folder("shut"), 0);
    assert_fails_with(read_all(out, &n, in_folder("shut"), 0, 0, &error), GSL_EFAILED,
                      "Permission denied");
}

TEST(a_relative_path_is_looked_for_below_the_share_folder_too)
{
    char out[64];
    size_t n = 0;
    write_file("a.txt", "first", 5);
    write_file("b.txt", "second", 6);
    assert_works(read_shared(out, &n, "a.txt", folder, 0, 0, &error));
    assert_int_equal(n, 6);
    assert_memory_equal(out, "first|", 6);
    assert_works(read_shared(out, &n, "[ab].txt", folder, 0, 0, &error));
    assert_int_equal(n, 13);
    assert_memory_equal(out, "first|second|", 13); /* a pattern also searches the share folder */
    assert_fails(read_shared(out, &n, "none.txt", folder, 0, 0, &error), GSL_EFAILED,
                 /* the error names the path as given */ "none.txt: No such file or directory");
    assert_status(read_all(out, &n, "a.txt", 0, 0, &error), GSL_EFAILED);
}

SUITE(.setup = make_folder, .teardown = remove_folder);
