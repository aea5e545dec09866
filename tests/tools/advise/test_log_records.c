/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_records.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Returns the records as text: "1:first|3:second", with "!" after a cut one, or the error. */
enum { TEXT = 4096 };

static void append(char text[TEXT], const spec_log_piece *piece)
{
    const size_t used = strlen(text);
    assert_int_equal(strlen(piece->bytes), piece->n);
    const int n = snprintf(text + used, TEXT - used, "%s%llu:%s%s", used > 0 ? "|" : "",
                           (unsigned long long)piece->line, piece->bytes, piece->cut ? "!" : "");
    assert_true((size_t)n < TEXT - used);
}

static void read_all(char text[TEXT], int fd)
{
    OWNED(spec_log_records) records = spec_log_records_of(fd, "x", NULL);
    spec_error error = {""};
    text[0] = '\0';
    for (;;) {
        spec_log_piece piece;
        bool end;
        const int status = spec_log_records_next(&piece, &end, &records, &error);
        if (status != GSL_SUCCESS) {
            assert_int_equal(status, GSL_EINVAL);
            snprintf(text, TEXT, "%s", error.text);
        }
        if (status != GSL_SUCCESS || end) break;
        append(text, &piece);
    }
}

static int memory_of(const char *bytes, size_t n)
{
    const int fd = memfd_create("log", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void reads_bytes(const char *bytes, size_t n, const char *expected)
{
    char text[TEXT];
    const int fd = memory_of(bytes, n);
    read_all(text, fd);
    assert_string_equal(text, expected);
    close(fd);
}

static void reads(const char *bytes, const char *expected)
{
    reads_bytes(bytes, strlen(bytes), expected);
}

TEST(lines_are_records_without_blank_ones)
{
    reads("", "");
    reads("\n \n\t\r\n", "");
    reads("a\nbc\r\n\n  d \n", "1:a|2:bc|4:d ");
    reads("a\nb", "1:a|2:b!");
    reads("a\n ", "1:a");
    reads("\xef\xbb\xbf"
          "a\n",
          "1:a");
    reads("\xef\xbb\xbf", "");
}

TEST(json_values_are_records_over_lines)
{
    reads("{\"a\": 1}\n{\"b\": 2}\n", "1:{\"a\": 1}|2:{\"b\": 2}");
    reads("x\n  {\n \"a\": [\n1]\n}\r\ny\n", "1:x|2:{\n \"a\": [\n1]\n}|6:y");
    reads("{\"a\": \"}\",\n\"b\": 1}\nx\n", "1:{\"a\": \"}\",\n\"b\": 1}|3:x");
    reads("[\n{\"a\": 1}\n]", "1:[\n{\"a\": 1}\n]!");
    reads("[]\n[{}]\n", "1:[]|2:[{}]");
}

TEST(events_of_a_stream_are_their_data)
{
    reads("event: x\ndata: {\"a\": 1}\n\ndata:{\"b\": 2}\ndata: [DONE]\n",
          "1:event: x|2:{\"a\": 1}|4:{\"b\": 2}");
    reads("data: some text\ndata:\n", "1:data: some text|2:data:");
}

TEST(text_that_looks_like_json_is_lines)
{
    reads("[2025-11-05 10:00:00 TP0] Decode batch, #running-req: 8\n[\"a\"]\n",
          "1:[2025-11-05 10:00:00 TP0] Decode batch, #running-req: 8|2:[\"a\"]");
    reads("{\nINFO a\n", "1:{|2:INFO a"); /* broken by its second line */
    reads("{\"a\": 1} tail\nb\n", "1:{\"a\": 1} tail|2:b");
    reads("{\"a\": \"cut\n{\"b\": 2}\n", "1:{\"a\": \"cut|2:{\"b\": 2}");
    reads("{\"a\": 1,\n{\"b\": 2}\n", "1:{\"a\": 1,|2:{\"b\": 2}");
    reads("{\n\"a\": 1\n} tail\n{\"b\": 2}\n", "1:{|2:\"a\": 1|3:} tail|4:{\"b\": 2}");
    reads("[\n(a)\n]\n", "1:[|2:(a)|3:]");
    reads("{\n\"a\": 1,\n}\n", "1:{|2:\"a\": 1,|3:}");
    reads("{\n'a': 1\n}\n", "1:{|2:'a': 1|3:}"); /* of Python */
    reads("[\n1\n}\n[\n2\n]\n", "1:[|2:1|3:}|4:[\n2\n]");
    reads("[\n[\n1\n]\n] tail\n", "1:[|2:[|3:1|4:]|5:] tail"); /* its parts are text, too */
}

/* We know that a value is only text before the file ends, and what follows is read as records
 * again. */
TEST(a_break_far_into_a_value_ends_it)
{
    enum { N = 3000 };
    FREED char *bytes = malloc(4 * N + 100);
    spec_log_piece piece;
    bool end;
    assert_non_null(bytes);
    strcpy(bytes, "[\n");
    for (int i = 0; i < N; i++) strcpy(bytes + 2 + 3 * i, "1,\n");
    strcat(bytes, "oops\n{\n\"a\": 1\n}\n");
    const int fd = memory_of(bytes, strlen(bytes));
    spec_log_records records = spec_log_records_of(fd, "x", NULL);
    for (int i = 0; i <= N + 1; i++) {
        assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
        assert_int_equal(piece.line, i + 1);
    }
    assert_string_equal(piece.bytes, "oops");
    assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
    assert_string_equal(piece.bytes, "{\n\"a\": 1\n}");
    assert_int_equal(records.open_line, 0);
    spec_log_records_free(&records);
    close(fd);
}

/* jansson nests 2048 values. */
TEST(values_nested_too_deep_are_lines)
{
    enum { DEPTH = 2048 };
    for (int excess = 0; excess < 2; excess++) {
        char bytes[4 * DEPTH + 8] = "";
        const int depth = DEPTH - 1 + 2 * excess;
        for (int i = 0; i < depth; i++) strcpy(bytes + 2 * i, "[\n");
        memset(bytes + 2 * depth, ']', (size_t)depth);
        const int fd = memory_of(bytes, strlen(bytes));
        spec_log_records records = spec_log_records_of(fd, "x", NULL);
        spec_log_piece piece;
        bool end;
        assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
        assert_int_equal(piece.n, excess ? 1 : 3 * depth);
        spec_log_records_free(&records);
        close(fd);
    }
}

/* If a document is cut, its whole elements, one per line, are records. */
TEST(values_that_never_close_are_lines)
{
    reads("[\n{\"a\": 1},\n{\"b\": 2} , \n{\"c\": ", "1:[|2:{\"a\": 1}|3:{\"b\": 2}|4:{\"c\": !");
    reads("{\"a\": 1,\n\"b\": 2\n", "1:{\"a\": 1,|2:\"b\": 2");
    reads("[\n{\n\"a\": 1\n},\n", "1:[|2:{|3:\"a\": 1|4:},"); /* in time proportional to its
                                                               * length */
    reads("{\"a\": 1},\n", "1:{\"a\": 1}");                   /* without the comma */
}

/* Returns the line of the first value that does not end; 0 if all end. */
TEST(the_line_of_a_value_without_end_is_known)
{
    static const struct {
        const char *bytes;
        uint64_t line;
    } cases[] = {{"{\"a\":1}\n{\"b\":\n2}\n", 0},
                 {"text\n[{\"a\":1},\n {\"b\":", 2},
                 {"[INFO] text\n{not json\n", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int fd = memory_of(cases[c].bytes, strlen(cases[c].bytes));
        spec_log_records records = spec_log_records_of(fd, "x", NULL);
        spec_log_piece piece;
        bool end = false;
        while (!end)
            assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
        assert_int_equal(records.open_line, cases[c].line);
        spec_log_records_free(&records);
        close(fd);
    }
}

TEST(colour_codes_are_removed)
{
    reads(
        "\x1b[36m(Engine pid=1)\x1b[0;0m INFO Spec\x1b[1mDecod\x1b[King\n\x1b[2m \x1b[0m\nx\x1b[\n",
        "1:(Engine pid=1) INFO SpecDecoding|3:x\x1b[");
    /* within a value, blanks replace what is dropped at the beginning of a line */
    reads("\x1b[36m{\x1b[0m\n\x1b[31m\"a\"\x1b[0m: 1\n}\n", "1:{\n         \"a\": 1\n}");
}

TEST(files_of_wide_characters_are_refused)
{
    reads_bytes("\xff\xfe"
                "a\0",
                4, "x:1: is UTF-16: convert it first (iconv -f UTF-16 -t UTF-8)");
    reads_bytes("\xfe\xff\0a", 4, "x:1: is UTF-16: convert it first (iconv -f UTF-16 -t UTF-8)");
    reads_bytes("a\0b\0\n\0", 6,
                "x:1: is UTF-16 without a mark at its beginning: convert it first (iconv -f "
                "UTF-16LE -t UTF-8)");
    reads_bytes("\0a\0b", 4,
                "x:1: is UTF-16 without a mark at its beginning: convert it first (iconv -f "
                "UTF-16BE -t UTF-8)");
}

/* A record says where its first NUL byte is in the file. */
TEST(nul_bytes_have_their_place)
{
    static const char bytes[] = "ab\nc\0d\n{\n\0}\n\x1b[1mx\n\0";
    static const uint64_t zeros[] = {0, 5, 0, 10, 0, 19};
    const int fd = memory_of(bytes, sizeof bytes - 1);
    OWNED(spec_log_records) records = spec_log_records_of(fd, "x", NULL);
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        spec_log_piece piece;
        bool end;
        assert_works(spec_log_records_next(&piece, &end, &records, &error));
        assert_false(end);
        assert_int_equal(piece.zero, zeros[i]);
        assert_int_equal(piece.line, i + 1);
    }
    close(fd);
}

static void fails(const char *bytes, const char *line)
{
    const int fd = memory_of(bytes, strlen(bytes));
    spec_log_records records = spec_log_records_of(fd, "x", NULL);
    spec_log_piece piece;
    spec_error error = {""};
    bool end = false;
    int status = GSL_SUCCESS;
    assert_true(records.line_most == 16 << 20 && records.value_most == 256 << 20);
    records.line_most = 10;
    records.value_most = 30;
    while (status == GSL_SUCCESS && !end)
        status = spec_log_records_next(&piece, &end, &records, &error);
    assert_string_equal(error.text, line);
    assert_int_equal(status, line[0] == '\0' ? GSL_SUCCESS : GSL_EINVAL);
    spec_log_records_free(&records);
    close(fd);
}

TEST(records_have_a_limit)
{
    static const char line[] = "x:2: is a line of over 10 bytes: it is not a log of an engine";
    static const char value[] =
        "x:2: is a JSON value of over 30 bytes: write one response per line";
    fails("a\n0123456789\n0123456789", "");
    fails("a\n01234567890\n", line);
    fails("a\n01234567890", line);
    fails("a\n{\"b\": \"01234567890123456789\"}\n", "");
    fails("a\n{\"b\": \"012345678901234567890\"}\n", "");
    fails("a\n{\"b\": \"01234567890123456789012\"}\n", value);
    fails("a\ndata: {\"b\": \"012345678901\"}\n", "");
    fails("a\n{\"b\": [\n1,\n2,\n3,\n4,\n5,\n6,\n7,\n8]}\n", value);
    fails("a\n{\"b\": [\n1,\n2,\n3,\n4,\n5,\n6\n]}\n", "");
    /* Text is not held back until the limit of a value. */
    fails("a\n[\n(b)\n1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n1\n2\n3\n4\n", "");
}

/* Empty arrays take 50 times their length in memory. */
TEST(the_memory_of_a_value_has_a_limit)
{
    char bytes[4000] = "[\n[]";
    for (int i = 0; i < 500; i++) strcat(bytes, ",[]");
    strcat(bytes, "\n]\n");
    for (int enough = 0; enough < 2; enough++) {
        const int fd = memory_of(bytes, strlen(bytes));
        OWNED(spec_log_records) records = spec_log_records_of(fd, "x", NULL);
        spec_log_piece piece;
        bool end;
        assert_int_equal(records.memory_most, 1 << 30);
        records.memory_most = enough ? 1 << 20 : 1 << 14;
        if (enough)
            assert_works(spec_log_records_next(&piece, &end, &records, &error));
        else
            assert_fails(spec_log_records_next(&piece, &end, &records, &error), GSL_EINVAL,
                         "x:1: is a JSON value that takes over 16384 bytes of memory");
        close(fd);
    }
}

/* A bracket and blanks, one byte per read: the time must not grow with the square of the length. */
TEST(a_long_value_in_many_reads_takes_linear_time)
{
    enum { N = 100000 };
    int pair[2];
    spec_log_piece piece;
    bool end;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        close(pair[0]);
        for (int i = 0; i < N; i++)
            if (write(pair[1], i == 0 ? "[" : " ", 1) != 1) _exit(1);
        _exit(0);
    }
    close(pair[1]);
    spec_log_records records = spec_log_records_of(pair[0], "x", NULL);
    records.line_most = 10;
    const clock_t start = clock();
    assert_works(spec_log_records_next(&piece, &end, &records, &error));
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(piece.n, N);
    if (seconds > 2.0) fail_msg("%d reads took %g s", N, seconds);
    spec_log_records_free(&records);
    close(pair[0]);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

/* Brackets that are nested too deeply for a value: each is text, and is not followed as far
 * again. */
TEST(many_values_that_break_take_linear_time)
{
    enum { N = 200000 };
    FREED char *bytes = malloc(2 * N);
    spec_log_piece piece;
    bool end = false;
    assert_non_null(bytes);
    for (int i = 0; i < N; i++) memcpy(bytes + 2 * i, "[\n", 2);
    const int fd = memory_of(bytes, 2 * N);
    OWNED(spec_log_records) records = spec_log_records_of(fd, "x", NULL);
    const clock_t start = clock();
    while (!end) assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(piece.line, N + 1);
    if (seconds > 2.0) fail_msg("%d brackets took %g s", N, seconds);
    close(fd);
}

/* Lines of several blocks of reading, with the number of their lines. */
TEST(long_files_are_read_in_blocks)
{
    enum { N = 40000, WIDTH = 100 };
    FREED char *bytes = malloc((size_t)N * WIDTH);
    spec_log_piece piece;
    bool end;
    assert_non_null(bytes);
    for (int i = 0; i < N; i++) {
        char *line = bytes + i * WIDTH;
        memset(line, 'a' + i % 26, WIDTH);
        line[i % 97 + 1] = '\n'; /* two lines of different lengths */
        line[WIDTH - 1] = '\n';
    }
    const int fd = memory_of(bytes, (size_t)N * WIDTH);
    spec_log_records records = spec_log_records_of(fd, "x", NULL);
    for (int i = 0; i < 2 * N; i++) {
        const size_t first = (size_t)(i / 2 % 97 + 1), n = i % 2 == 0 ? first : WIDTH - 2 - first;
        if (n == 0) continue;
        assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
        assert_int_equal(piece.n, n);
        assert_int_equal(piece.line, i + 1);
        assert_int_equal(piece.bytes[n - 1], 'a' + i / 2 % 26);
    }
    assert_int_equal(spec_log_records_next(&piece, &end, &records, NULL), GSL_SUCCESS);
    assert_true(end);
    assert_int_equal(records.bytes, N * WIDTH);
    assert_true(records.capacity <= 2 << 20);
    spec_log_records_free(&records);
    close(fd);
}

/* Tiny messages of one byte end every read after it. The records are those of the file, for lines,
 * values, colours and breaks in any order. */
TEST(pieces_of_a_stream_give_the_same_records)
{
    static const char *const parts[] = {
        "a",       "\n",     "\n",          "{\"b\":1}",    "[{", "}",   "{", "\"c\"", ":",
        "1",       "\r\n",   ",",           "\"",           "]",  "[\n", " ", "2",     "\\",
        "\x1b[0m", "data: ", "{\n\"d\":\n", "\"e\":[\n1,\n"};
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 0);
    for (int trial = 0; trial < 500; trial++) {
        char bytes[200] = "", whole[TEXT], pieces[TEXT];
        for (int i = 0; i < 18; i++)
            strcat(bytes, parts[gsl_rng_uniform_int(rng, sizeof parts / sizeof parts[0])]);
        const int fd = memory_of(bytes, strlen(bytes));
        read_all(whole, fd);
        close(fd);
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        for (size_t i = 0; bytes[i] != '\0'; i++) assert_int_equal(write(ends[1], bytes + i, 1), 1);
        close(ends[1]);
        read_all(pieces, ends[0]);
        close(ends[0]);
        assert_string_equal(pieces, whole);
    }
}

TEST(errors_of_reading_come_back)
{
    volatile int stop = 1;
    OWNED(spec_log_records) records = spec_log_records_of(-1, "x", NULL);
    spec_log_piece piece;
    bool end;
    assert_fails(spec_log_records_next(&piece, &end, &records, &error), GSL_EFAILED,
                 "x: Bad file descriptor");
    spec_log_records_free(&records);
    records = spec_log_records_of(-1, "x", &stop);
    assert_fails(spec_log_records_next(&piece, &end, &records, &error), GSL_EFAILED, "x: stopped");
}
