/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/shard.h"
#include "tests/support/support.h"

#include <string.h>

TEST(a_text_is_a_shard_or_an_error_that_quotes_it)
{
    static const char *const wrong[] = {"",
                                        "3",
                                        "/",
                                        "3/",
                                        "/3",
                                        "0/3",
                                        "4/3",
                                        "0/0",
                                        "-1/3",
                                        "1/-3",
                                        "+1/3",
                                        "1/3 ",
                                        " 1/3",
                                        "1/2/3",
                                        "a/b",
                                        "1.5/3",
                                        "1e1/9",
                                        "1/10000001",
                                        "18446744073709551617/18446744073709551618"};
    spec_shard shard;
    assert_int_equal(spec_shard_parse(&shard, "3/16", NULL), GSL_SUCCESS);
    assert_int_equal(shard.number, 3);
    assert_int_equal(shard.of, 16);
    assert_int_equal(spec_shard_parse(&shard, "10000000/10000000", NULL), GSL_SUCCESS);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_error error = {""};
        char quoted[80];
        snprintf(quoted, sizeof quoted, "'%s'", wrong[i]);
        assert_int_equal(spec_shard_parse(&shard, wrong[i], &error), GSL_EINVAL);
        if (strstr(error.text, quoted) == NULL) fail_msg("'%s': %s", wrong[i], error.text);
        assert_int_equal(shard.of, 0);
    }
}

TEST(each_point_is_in_one_shard_in_grid_order)
{
    for (uint64_t points = 0; points <= 12; points++)
        for (uint64_t of = 1; of <= 14; of++) {
            int times[12] = {0};
            for (uint64_t number = 1; number <= of; number++) {
                const spec_shard shard = {number, of};
                uint64_t before = 0;
                for (uint64_t k = 0; k < spec_shard_size(&shard, points); k++) {
                    const uint64_t index = spec_shard_index(&shard, k);
                    assert_true(index < points && (k == 0 || index > before));
                    times[before = index]++;
                }
            }
            for (uint64_t i = 0; i < points; i++) assert_int_equal(times[i], 1);
        }
    const spec_shard all = {0};
    assert_int_equal(spec_shard_size(&all, 12), 12);
    assert_int_equal(spec_shard_index(&all, 7), 7);
}

TEST(the_place_of_a_row_reads_back)
{
    static const char *const wrong[] = {
        "",         "1/2",     "1/2 ",     "1/2 3/2", "3/2 1/1", "0/2 1/1",       "1/2 0/1",
        "1/2  1/1", "1/2,1/1", "1/2 1/1 ", "1/2 1/x", "x/2 1/1", "1/10000001 1/1"};
    const spec_shard_row places[] = {{17, 40, 1, 2}, {10000000, 10000000, UINT64_MAX, UINT64_MAX}};
    char text[SPEC_SHARD_ROW_SIZE];
    spec_shard_row read;
    assert_string_equal(spec_shard_row_text(text, &places[0]), "17/40 1/2");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        assert_true(spec_shard_row_parse(&read, spec_shard_row_text(text, &places[i])));
        assert_memory_equal(&read, &places[i], sizeof read);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (spec_shard_row_parse(&read, wrong[i])) fail_msg("'%s' is read", wrong[i]);
}
