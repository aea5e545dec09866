/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/models/open_model.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "test_probs.tmp";

static void write_file(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void assert_file_refused(const char *bytes, size_t n, const char *expected)
{
    write_file(bytes, n);
    assert_refused("probs:test_probs.tmp", NULL, expected);
}

TEST(a_list_is_the_row)
{
    OWNED(opened) o = open_model("probs:0.5, 0.3,2e-1", NULL);
    assert_int_equal(o.model->vocab, 3);
    assert_int_equal(o.model->order, 0);
    assert_int_equal(o.model->ends.n, 0);
    assert_false(o.model->one_hot);
    const double *row = row_after(&o, NULL, 0);
    assert_true(row[0] == 0.5 && row[1] == 0.3 && row[2] == 0.2);
}

TEST(a_sum_near_one_is_made_one)
{
    opened o = open_model("probs:0.3333333,0.3333333,0.3333333", NULL);
    const double *row = row_after(&o, NULL, 0);
    for (int i = 0; i < 3; i++) assert_true(fabs(row[i] - 1.0 / 3.0) < 1e-16);
    opened_free(&o);
    assert_refused("probs:0.333333,0.333333,0.333332", NULL,
                   "sum to 0.999998, not to 1 (normalise=1");
    assert_refused("probs:0.6,0.400002", NULL, "sum to 1.000002");
}

TEST(normalise_divides_by_any_sum)
{
    OWNED(opened) o = open_model("probs:3,1,0,4?normalise=1", NULL);
    const double *row = row_after(&o, NULL, 0);
    assert_true(row[0] == 0.375 && row[1] == 0.125 && row[2] == 0.0 && row[3] == 0.5);
    opened_free(&o);
    assert_refused("probs:0,0?normalise=1", NULL, "sum to 0");
    assert_refused("probs:1e308,1e308?normalise=1", NULL, "too large to add up");
    assert_refused("probs:1?normalise=2", NULL, "between 0 and 1");
    o = open_model("probs:1e-300?normalise=1", NULL);
    assert_true(row_after(&o, NULL, 0)[0] == 1.0);
}

TEST(at_order_one_there_is_a_row_for_the_beginning_and_after_each_token)
{
    opened o = open_model("probs:2,1,1,3,1,1?order=1&normalise=1", NULL);
    assert_int_equal(o.model->vocab, 2);
    assert_int_equal(o.model->order, 1);
    static const double expected[3][2] = {{2.0 / 3.0, 1.0 / 3.0}, {0.25, 0.75}, {0.5, 0.5}};
    for (int text = 0; text < 3; text++) {
        const int context[] = {1, text - 1};
        const double *row = text == 0 ? row_after(&o, NULL, 0) : row_after(&o, context, 2);
        for (int i = 0; i < 2; i++) assert_true(fabs(row[i] - expected[text][i]) < 1e-16);
    }
    opened_free(&o);
    assert_refused(
        "probs:2,1,1,3,1?order=1&normalise=1", NULL,
        "order=1 needs V + 1 rows of V numbers, that is 2, 6, 12, 20, ... numbers, not 5");
    assert_refused("probs:0.5,0.5,0.5,0.6,1,0?order=1", NULL, "the 2 numbers sum to 1.1");
    assert_refused("probs:0.5,0.5?order=2", NULL, "between 0 and 1");
}

TEST(bad_lists_are_refused)
{
    assert_refused("probs", NULL, "needs something after");
    assert_refused("probs:", NULL, "needs something after");
    assert_refused("probs: ", NULL, "no number");
    assert_refused("probs:0.5,-0.1,0.6", NULL,
                   "probs:0.5,-0.1,0.6: a negative probability: '-0.1'");
    assert_refused("probs:0.5,,0.5", NULL, "missing before ',0.5'");
    assert_refused("probs:0.5,", NULL, "missing");
    assert_refused("probs:,1", NULL, "missing");
    assert_refused("probs:1e999", NULL, "not a finite number: '1e999'");
    assert_refused("probs:0.5.5", NULL, "not a finite number");
    assert_refused("probs:nan,1", NULL, "neither a list of numbers nor a file");
    assert_refused("probs:0.5,0x1p-1", NULL, "neither a list");
    assert_refused("probs:0.0000000000000000000000000000000000000000000000000000000000000000000001",
                   NULL, "not a finite number");
}

TEST(a_file_holds_numbers_between_blanks_or_commas)
{
    static const char text[] = "0.25, 0.25\n0.125\t0.125\r\n\n0.25";
    write_file(text, sizeof text - 1);
    OWNED(opened) o = open_model("probs:test_probs.tmp", NULL);
    assert_int_equal(o.model->vocab, 5);
    const double *row = row_after(&o, NULL, 0);
    assert_true(row[1] == 0.25 && row[3] == 0.125 && row[4] == 0.25);
}

TEST(hostile_files_are_refused)
{
    assert_file_refused("", 0, "no number");
    assert_file_refused("\n \n", 3, "no number");
    assert_file_refused("0.5\n0.5\nnan\n", 12, "test_probs.tmp:3: not a finite number: 'nan'");
    assert_file_refused("0.5\n-0.5", 8, ":2: a negative probability: '-0.5'");
    assert_file_refused("0.5 -0.5", 8, "test_probs.tmp:1: a negative probability: '-0.5'");
    assert_file_refused("0.5\0000.5", 7, "binary");
    assert_file_refused("\x7f" "ELF\x01\x02", 6, "not a finite number: '?ELF");
    assert_file_refused("0.5 0.6", 7, "sum to 1.1");
    assert_refused("probs:.", NULL, "not a finite number"); /* a list of one '.' */
    assert_refused("probs:/", NULL, "not a regular file");
    assert_refused("probs:/dev/zero", NULL, "not a regular file");
    assert_refused("probs:no/such/file", NULL, "neither");

    const int many = SPEC_VOCAB_MAX + 1;
    char *ones = malloc(2 * (size_t)many);
    for (int i = 0; i < many; i++) memcpy(ones + 2 * i, "1 ", 2);
    assert_file_refused(ones, 2 * (size_t)many, "more than 2^20");
    free(ones);

    write_file("1", 1);
    assert_int_equal(truncate(path, (off_t)1 << 33), 0); /* sparse: 8 GB of zeros */
    assert_refused("probs:test_probs.tmp", NULL, "larger than 32 MiB");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
