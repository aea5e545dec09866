/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks files of rows: written rows are read back at all widths, and damaged or foreign files are
 * refused. */
#include "tests/models/rows/rows_pair.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <sys/stat.h>

static const char path[] = "test_rows_file.tmp";

/* ---- written and read ------------------------------------------------------------------------ */

static void assert_rows(const char *target_spec, const char *draft_spec, double cutoff,
                        double tolerance)
{
    enum { N = 41 };
    opened target = open_model(target_spec, NULL), draft = open_model(draft_spec, NULL);
    const int vocab = target.model->vocab;
    spec_rows_file file;
    double *row = malloc((size_t)vocab * sizeof *row), worst[2] = {0.0, 0.0}, sum[2] = {0.0, 0.0};
    int text[N];
    rows_pair_write(path, &target, &draft, N, 1, cutoff);
    assert_works(spec_rows_file_open(&file, path, &error));
    assert_int_equal(file.vocab, vocab);
    assert_int_equal(file.sides, 2);
    assert_int_equal(file.places, N);
    assert_int_equal(file.tokens, N);
    assert_int_equal(file.texts, 1);
    assert_same(file.cutoff, cutoff);
    assert_int_equal(file.side[0].spec_length, strlen(target_spec));
    assert_memory_equal(file.side[0].spec, target_spec, strlen(target_spec));
    assert_memory_equal(file.side[1].spec, draft_spec, strlen(draft_spec));
    for (int i = 0; i < N; i++) {
        text[i] = spec_rows_file_token(&file, (uint64_t)i);
        assert_int_equal(text[i], rows_pair_token((uint64_t)i, vocab));
    }
    for (int p = N - 1; p >= 0; p--) {
        assert_int_equal(spec_rows_file_position(&file, (uint64_t)p), p);
        for (int s = 0; s < 2; s++) {
            const double *expected = row_after(s == 0 ? &target : &draft, text, (size_t)p);
            double tv = 0.0;
            assert_works(spec_rows_file_row(row, &file, (uint64_t)p, s, &error));
            assert_normalised(row, vocab);
            for (int i = 0; i < vocab; i++) {
                if (cutoff == 0.0) assert_same(row[i], expected[i]);
                assert_within(row[i], expected[i], tolerance);
                tv += 0.5 * fabs(row[i] - expected[i]);
            }
            worst[s] = fmax(worst[s], tv);
            sum[s] += tv;
        }
    }
    for (int s = 0; s < 2; s++) { /* the file's own metadata */
        assert_within(file.side[s].tv_max, worst[s], 1e-15);
        assert_within(file.side[s].tv_mean, sum[s] / N, 1e-15);
    }
    spec_rows_file_close(&file);
    unlink(path);
    free(row);
    opened_free(&draft);
    opened_free(&target);
}

TEST(without_a_cutoff_rows_come_back_bit_for_bit)
{
    assert_rows("cases?V=5&order=2&family=plain&seed=3",
                "cases?V=5&order=2&family=plain&side=draft&seed=3", 0.0, 0.0);
    assert_rows("cases?V=7&order=2&family=mixed&seed=4",
                "cases?V=7&order=2&family=mixed&side=draft&seed=4", 0.0, 0.0);
    assert_rows("cases?V=1&order=2", "cases?V=1&order=2", 0.0, 0.0);
    assert_rows("cases?V=16&order=2&family=one-hot", "cases?V=16&order=2&family=zeros", 0.0, 0.0);
}

TEST(with_a_cutoff_rows_are_as_near_as_the_file_says)
{
    assert_rows("dirichlet?V=300&order=2&concentration=0.05&seed=5", "zipf?V=300&s=3.1", 1e-4,
                2e-2);
    assert_rows("dirichlet?V=300&order=2&concentration=9&seed=5", "uniform?V=300", 1e-7, 1e-8);
    /* A cutoff above all probabilities: the largest stay, all of them if they are equal. */
    assert_rows("uniform?V=300", "uniform?V=300", 1e-2, 1e-9);
    /* Indices take four bytes. */
    assert_rows("zipf?V=70000&s=1.3", "zipf?V=70000&s=1.1", 1e-5, 5e-2);
}

/* 4e-4 and 1e-4 are dropped; the other probabilities are scaled up. */
TEST(the_stated_distance_is_the_mass_below_the_cutoff)
{
    static const double weight[] = {0.6, 0.3995};
    OWNED(opened) one = open_model("probs:0.6,0.3995,0.0004,0.0001,0,0,0,0", NULL);
    spec_rows_file file;
    double row[8];
    rows_pair_write(path, &one, &one, 3, 1, 1e-3);
    assert_works(spec_rows_file_open(&file, path, &error));
    assert_works(spec_rows_file_row(row, &file, 1, 0, &error));
    assert_near(row[0], weight[0] / 0.9995, 1e-7);
    assert_near(row[1], weight[1] / 0.9995, 1e-7);
    assert_same(row[2], 0.0);
    assert_same(row[3], 0.0);
    assert_within(file.side[0].tv_max, 0.0005, 1e-7);
    spec_rows_file_close(&file);
    unlink(path);
}

TEST(small_rows_are_small)
{
    OWNED(opened) target = open_model("zipf?V=32000&s=3", NULL);
    rows_pair_write(path, &target, &target, 100, 1, 1e-7);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    /* 203 tokens of 6 bytes, for 200 rows, because 1.2 i^3 < 1e7. */
    assert_in_range(info.st_size, 200 * 203 * 6, 200 * 212 * 6);
    unlink(path);
}

TEST(texts_of_tokens_travel_with_them)
{
    spec_file_write("test_rows_file.txt", "a rose is a rose is a rose.");
    opened target = open_model("ngram:test_rows_file.txt?order=3&tokens=words", NULL);
    spec_rows_file file;
    char buffer[8], tiny[3];
    rows_pair_write(path, &target, &target, 9, 1, 0.0);
    assert_works(spec_rows_file_open(&file, path, &error));
    for (int i = 0; i < file.vocab; i++) {
        char expected[8];
        const size_t n = target.model->kind->token_text(target.model, i, expected, sizeof expected);
        assert_int_equal(spec_rows_file_token_text(&file, i, buffer, sizeof buffer), n);
        assert_string_equal(buffer, expected);
        assert_int_equal(spec_rows_file_token_text(&file, i, tiny, sizeof tiny), n);
        assert_int_equal(strlen(tiny), n < 2 ? n : 2);
        assert_int_equal(spec_rows_file_token_text(&file, i, NULL, 0), n);
    }
    spec_rows_file_close(&file);
    opened_free(&target);
    opened nameless = open_model("cases?V=3&order=2", NULL);
    rows_pair_write(path, &nameless, &nameless, 9, 1, 0.0);
    assert_works(spec_rows_file_open(&file, path, &error));
    assert_int_equal(spec_rows_file_token_text(&file, 2, buffer, sizeof buffer), 3);
    assert_string_equal(buffer, "<2>");
    spec_rows_file_close(&file);
    opened_free(&nameless);
    unlink(path);
    unlink("test_rows_file.txt");
}

/* ---- the writer ------------------------------------------------------------------------------ */

TEST(a_file_appears_when_it_is_whole)
{
    OWNED(opened) target = open_model("cases?V=3&order=2", NULL);
    const spec_model *const model[] = {target.model};
    spec_rows_writer writer;
    assert_works(spec_rows_writer_init(&writer, path, model, 1, 0.0, &error));
    assert_works(spec_rows_writer_text(&writer, (const int[]){2}, 1, &error));
    const double *const row[] = {row_after(&target, NULL, 0)};
    assert_works(spec_rows_writer_place(&writer, 0, row, &error));
    assert_int_equal(access(path, F_OK), -1);
    char *partial = strdup(writer.file.partial);
    assert_int_equal(access(partial, F_OK), 0);
    spec_rows_writer_free(&writer);
    assert_int_equal(access(partial, F_OK), -1);
    free(partial);
    assert_int_equal(access(path, F_OK), -1);
}

TEST(the_writer_refuses_what_it_cannot_write)
{
    OWNED(opened) target = open_model("cases?V=3&order=2", NULL);
    const spec_model *const model[] = {target.model};
    OWNED(spec_rows_writer) writer;
    assert_fails(spec_rows_writer_init(&writer, "no-such-folder/x.rows", model, 1, 0.0, &error),
                 GSL_EFAILED, "no-such-folder/x.rows: No such file or directory");
    assert_fails(spec_rows_writer_init(&writer, "/dev/null", model, 1, 0.0, &error), GSL_EINVAL,
                 "/dev/null: exists, and is not a regular file");
    assert_works(spec_rows_writer_init(&writer, path, model, 1, 0.0, &error));
    assert_works(spec_rows_writer_text(&writer, (const int[]){2}, 1, &error));
    const double *const row[] = {(const double[]){0.5, 0.3, 0.2 + 1e-11}};
    assert_fails(spec_rows_writer_place(&writer, 0, row, &error), GSL_EFAILED,
                 "a row of side 0 does not sum to 1");
}

/* ---- bad files ------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes;
    size_t n;
} image;

static void put(image *i, size_t at, uint64_t value, int bytes)
{
    for (int k = 0; k < bytes; k++) i->bytes[at + (size_t)k] = (unsigned char)(value >> 8 * k);
}

static uint64_t get(const image *i, size_t at, int bytes)
{
    uint64_t value = 0;
    for (int k = 0; k < bytes; k++) value |= (uint64_t)i->bytes[at + (size_t)k] << 8 * k;
    return value;
}

/* Makes a good file in memory: V = 5, two sides, 20 places, tokens without texts. */
static image make_image(double cutoff)
{
    OWNED(opened) target = open_model("cases?V=5&order=2&seed=3", NULL);
    OWNED(opened) draft = open_model("cases?V=5&order=2&family=zeros&seed=3", NULL);
    image i;
    struct stat info;
    rows_pair_write(path, &target, &draft, 20, 1, cutoff);
    assert_int_equal(stat(path, &info), 0);
    i.n = (size_t)info.st_size;
    i.bytes = malloc(i.n);
    FILE *in = fopen(path, "rb");
    assert_int_equal(fread(i.bytes, 1, i.n, in), i.n);
    fclose(in);
    unlink(path);
    return i;
}

/* Recomputes the checksums: of the tables, then of the head. */
static void seal(image *i)
{
    const size_t tables = get(i, 72, 8);
    if (tables <= i->n && (i->n - tables) % 8 == 0)
        put(i, 80, spec_rows_check(i->bytes + tables, i->n - tables, 0), 8);
    put(i, 88, spec_rows_check(i->bytes, 88, 0), 8);
}

static void write_image(const image *i)
{
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(i->bytes, 1, i->n, out), i->n);
    fclose(out);
}

static void assert_image_refused(const image *i, const char *expected)
{
    spec_rows_file file;
    spec_error error = {""};
    write_image(i);
    assert_int_equal(spec_rows_file_open(&file, path, &error), GSL_EINVAL);
    if (strncmp(error.text, "test_rows_file.tmp: ", 20) != 0 ||
        strcmp(error.text + 20, expected) != 0)
        fail_msg("'%s' is not '%s'", error.text, expected);
    assert_null(file.map.bytes);
    unlink(path);
}

TEST(foreign_and_cut_files_are_refused)
{
    spec_rows_file file;
    assert_fails(spec_rows_file_open(&file, "no-such.rows", &error), GSL_EFAILED,
                 "no-such.rows: No such file or directory");
    image i = make_image(0.0);
    const size_t n = i.n;
    i.n = 95;
    assert_image_refused(&i, "not a file of rows, which 'speclab rows' writes");
    i.n = 96;
    assert_image_refused(&i, "is truncated: it has 96 bytes of 2296");
    i.n = n - 1;
    assert_image_refused(&i, "is truncated: it has 2295 bytes of 2296");
    i.n = n;
    assert_int_equal(n, 2296);
    put(&i, 8, 2, 4);
    assert_image_refused(&i, "has version 2 of the format; this speclab reads version 1");
    i.bytes[0] = 's';
    assert_image_refused(&i, "not a file of rows, which 'speclab rows' writes");
    free(i.bytes);
}

/* Every bit of head and tables is covered by a check. */
TEST(a_flipped_bit_is_seen)
{
    image i = make_image(0.0);
    const size_t tables = get(&i, 72, 8);
    for (size_t at = 12; at < i.n; at += at < 96 ? 1 : 7) {
        spec_rows_file file;
        spec_error error = {""};
        double row[5];
        i.bytes[at] = (unsigned char)(i.bytes[at] ^ 1 << at % 8);
        write_image(&i);
        if (at < 96 || at >= tables) {
            assert_int_equal(spec_rows_file_open(&file, path, &error), GSL_EINVAL);
        } else {
            int bad = 0;
            assert_works(spec_rows_file_open(&file, path, &error));
            for (uint64_t p = 0; p < file.places; p++)
                for (int s = 0; s < 2; s++)
                    bad += spec_rows_file_row(row, &file, p, s, &error) != GSL_SUCCESS;
            assert_in_range(bad, 1,
                            2); /* that row is wrong, and the draft's if the target's size is */
            assert_non_null(strstr(error.text, "test_rows_file.tmp: position "));
        }
        spec_rows_file_close(&file);
        i.bytes[at] = (unsigned char)(i.bytes[at] ^ 1 << at % 8);
    }
    unlink(path);
    free(i.bytes);
}

TEST(inconsistent_numbers_are_refused)
{
    static const struct {
        size_t at;
        int bytes;
        uint64_t value;
    } wrong[] = {
        {12, 4, 0},
        {12, 4, (1 << 20) + 1},
        {16, 4, 0},
        {16, 4, 9},
        {16, 4, 1},
        {20, 4, 2},
        {20, 4, 0},
        {32, 8, 0},
        {32, 8, 21},
        {32, 8, UINT64_MAX},
        {32, 8, UINT64_MAX / 16 + 1},
        {40, 8, 0},
        {40, 8, 22},
        {40, 8, UINT64_MAX / 4},
        {48, 8, 0},
        {48, 8, 2},
        {48, 8, UINT64_MAX / 8 + 2},
        {56, 8, UINT64_MAX},
        {56, 8, 1},
        {64, 8, 0x7FF8000000000000},
        {64, 8, 0x3FF0000000000000},
        {64, 8, 0xBFF0000000000000},
        {72, 8, 88},
        {72, 8, 0},
        {72, 8, UINT64_MAX - 7},
        {72, 8, 97},
    };
    image i = make_image(0.0);
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        const uint64_t before = get(&i, wrong[k].at, wrong[k].bytes);
        put(&i, wrong[k].at, wrong[k].value, wrong[k].bytes);
        put(&i, 88, spec_rows_check(i.bytes, 88, 0), 8);
        assert_image_refused(&i, "damaged: the numbers in its header contradict each other");
        put(&i, wrong[k].at, before, wrong[k].bytes);
    }
    free(i.bytes);
}

TEST(inconsistent_tables_are_refused)
{
    image i = make_image(0.0);
    const size_t tables = get(&i, 72, 8), row_at = tables, position = row_at + 21 * 8,
                 text_at = position + 20 * 8, token = text_at + 8, names = token + 80,
                 tv = i.n - 32;
    const struct {
        size_t at;
        int bytes;
        uint64_t value;
        const char *expected;
    } lie[] = {
        {row_at, 8, 104, "damaged: positions out of order"},    /* the first row is not first */
        {row_at + 8, 8, 97, "damaged: positions out of order"}, /* no space for two rows */
        {row_at + 8, 8, UINT64_MAX, "damaged: positions out of order"},
        {row_at + 20 * 8, 8, tables - 8,
         "damaged: positions out of order"},                     /* rows do not end at the tables */
        {position + 8, 8, 0, "damaged: positions out of order"}, /* not after the position before */
        {position + 19 * 8, 8, 20, "damaged: positions out of order"}, /* beyond the text */
        {text_at, 8, 1, "damaged: positions out of order"},            /* tokens outside any text */
        {token + 4, 4, 5, "damaged: a token outside the vocabulary"},
        {token + 4, 4, UINT32_MAX, "damaged: a token outside the vocabulary"},
        {names, 4, UINT32_MAX, "damaged: a name is truncated"},
        {names, 4, get(&i, 56, 8) - 3, "damaged: a name is truncated"},
        {names, 4, 2,
         "damaged: a name is truncated"}, /* then the length field holds bytes of a name */
        {tv, 8, 0xBFF0000000000000, "damaged: a total variation is outside [0,1]"},
        {tv + 24, 8, 0x7FF8000000000000, "damaged: a total variation is outside [0,1]"},
        {tv + 8, 8, 0x3FF0000000000001, "damaged: a total variation is outside [0,1]"},
    };
    for (size_t k = 0; k < sizeof lie / sizeof lie[0]; k++) {
        const uint64_t before = get(&i, lie[k].at, lie[k].bytes);
        put(&i, lie[k].at, lie[k].value, lie[k].bytes);
        assert_image_refused(&i, "damaged: the checksum of its tables is wrong");
        seal(&i);
        assert_image_refused(&i, lie[k].expected);
        put(&i, lie[k].at, before, lie[k].bytes);
        seal(&i);
    }
    free(i.bytes);
}

/* Rows with correct checksums but invalid values. */
TEST(inconsistent_rows_are_refused)
{
    enum { FIRST = 96 };
    for (int floats = 0; floats < 2; floats++) {
        image i = make_image(floats ? 1e-4 : 0.0);
        const int width = floats ? 4 : 8;
        const struct {
            size_t at;
            int bytes;
            uint64_t value;
            const char *expected;
        } lie[] = {
            {FIRST, 4, 0, "its sizes contradict each other"},
            {FIRST, 4, 6, "its sizes contradict each other"},
            {FIRST, 4, UINT32_MAX, "its sizes contradict each other"},
            {FIRST + 8, width, floats ? 0xBE800000 : 0xBFD0000000000000,
             "its values are not probabilities"}, /* -0.25 */
            {FIRST + 8, width, floats ? 0x7FC00000 : 0x7FF8000000000000,
             "its values are not probabilities"}, /* NaN */
            {FIRST + 8, width, floats ? 0x7F800000 : 0x7FF0000000000000,
             "its values are not probabilities"}, /* infinity */
            {FIRST + 8, width, floats ? 0x40000000 : 0x3FF8000000000000,
             "its values are not probabilities"}, /* 2, 1.5 */
        };
        for (size_t k = 0; k < sizeof lie / sizeof lie[0]; k++) {
            const uint64_t before = get(&i, lie[k].at, lie[k].bytes);
            spec_rows_file file;
            spec_error error = {""};
            double row[5];
            char expected[128];
            put(&i, lie[k].at, lie[k].value, lie[k].bytes);
            const size_t size = 5 * (size_t)width + (floats ? 4 : 0);
            const uint64_t check = spec_rows_check(i.bytes + FIRST + 8, size, get(&i, FIRST, 4));
            put(&i, FIRST + 4, (check ^ check >> 32) & UINT32_MAX, 4);
            write_image(&i);
            assert_works(spec_rows_file_open(&file, path, &error));
            assert_int_equal(spec_rows_file_row(row, &file, 0, 0, &error), GSL_EINVAL);
            snprintf(expected, sizeof expected,
                     "test_rows_file.tmp: position 0, side 0: damaged: "
                     "%s",
                     lie[k].expected);
            assert_string_equal(error.text, expected);
            assert_works(spec_rows_file_row(row, &file, 1, 0, &error));
            spec_rows_file_close(&file);
            put(&i, lie[k].at, before, lie[k].bytes);
        }
        unlink(path);
        free(i.bytes);
    }
}

/* Writes indices of a row that omits tokens. */
TEST(indices_out_of_order_are_refused)
{
    static const unsigned lie[][2] = {{1, 1}, {2, 1}, {0, 300}, {0, 65535}};
    OWNED(opened) target = open_model("probs:0.6,0,0,0.4,0,0,0,0,0,0", NULL);
    rows_pair_write(path, &target, &target, 3, 1, 0.0);
    image i;
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    i.n = (size_t)info.st_size;
    i.bytes = malloc(i.n);
    FILE *in = fopen(path, "rb");
    assert_int_equal(fread(i.bytes, 1, i.n, in), i.n);
    fclose(in);
    assert_int_equal(get(&i, 96, 4), 2);
    assert_int_equal(get(&i, 96 + 8, 2), 0);
    assert_int_equal(get(&i, 96 + 10, 2), 3);
    for (size_t k = 0; k < sizeof lie / sizeof lie[0]; k++) {
        CLOSED(spec_rows_file) file;
        spec_error error = {""};
        double row[10];
        put(&i, 96 + 8, lie[k][0], 2);
        put(&i, 96 + 10, lie[k][1], 2);
        const uint64_t check = spec_rows_check(i.bytes + 96 + 8, 24, 2);
        put(&i, 96 + 4, (check ^ check >> 32) & UINT32_MAX, 4);
        write_image(&i);
        assert_works(spec_rows_file_open(&file, path, &error));
        assert_int_equal(spec_rows_file_row(row, &file, 0, 0, &error), GSL_EINVAL);
        assert_string_equal(
            error.text,
            "test_rows_file.tmp: position 0, side 0: damaged: its tokens are out of order");
    }
    unlink(path);
    free(i.bytes);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
