/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/point_message.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const columns[] = {"a", "b", "c", "d"};

static spec_table made(size_t rows)
{
    spec_table table;
    assert_int_equal(spec_table_init(&table, columns, 4), GSL_SUCCESS);
    for (size_t r = 0; r < rows; r++) {
        spec_table_number(&table, "a", 0.27 + (double)r);
        spec_table_integer(&table, "b", -7 - (long long)r);
        spec_table_text(&table, "c", r == 0 ? "" : "a,\"b\"\nc");
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    return table;
}

TEST(rows_arrive_as_they_were_sent)
{
    for (size_t rows = 0; rows < 3; rows++) {
        spec_table sent = made(rows), got = made(0);
        spec_error error = {""};
        size_t size;
        FREED char *bytes = spec_point_message_pack(&size, GSL_SUCCESS, &sent, &error);
        assert_works(spec_point_message_unpack(&got, bytes, size, &error));
        assert_int_equal(got.n_rows, rows);
        for (size_t r = 0; r < rows; r++)
            for (int c = 0; c < 4; c++) {
                const spec_cell *a = spec_table_cell(&sent, r, c), *b = spec_table_cell(&got, r, c);
                char one[40], other[40];
                assert_int_equal(a->kind, b->kind);
                assert_string_equal(spec_cell_format(a, SPEC_FORMAT_CSV, one, sizeof one),
                                    spec_cell_format(b, SPEC_FORMAT_CSV, other, sizeof other));
            }
        spec_table_free(&sent);
        spec_table_free(&got);
    }
}

TEST(a_failure_arrives_with_its_line)
{
    spec_table table = made(1), got = made(0);
    spec_error error = {"K=4: no"}, read = {""};
    size_t size;
    FREED char *bytes = spec_point_message_pack(&size, GSL_EINVAL, &table, &error);
    assert_int_equal(spec_point_message_unpack(&got, bytes, size, &read), GSL_EINVAL);
    assert_string_equal(read.text, "K=4: no");
    assert_int_equal(got.n_rows, 0);
    spec_table_free(&table);
    spec_table_free(&got);
}

TEST(bytes_that_are_cut_or_too_many_are_refused)
{
    OWNED(spec_table) table = made(2);
    size_t size;
    FREED char *bytes = spec_point_message_pack(&size, GSL_SUCCESS, &table, NULL);
    FREED char *more = calloc(size + 1, 1);
    memcpy(more, bytes, size);
    for (size_t n = 0; n <= size + 1; n++) {
        OWNED(spec_table) got = made(0);
        if (n != size) assert_status(spec_point_message_unpack(&got, more, n, &error), GSL_EFAILED);
    }
}
