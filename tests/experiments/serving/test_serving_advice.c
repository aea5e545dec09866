/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/serving/serving_advice.h"
#include "tests/support/owned.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of a closed loop (share NaN) or of random arrivals. */
typedef struct {
    double load, K, share, latency, speedup, best_K;
    const char *state, *as_good;
} result_row;

/* Returns what is recommended, for the caller to free. */
static char *advice_of(const result_row *row, size_t n, bool closed)
{
    static const char *const columns[] = {"slots",      "rate",    "K",      "lengths", "load",
                                          "latency_ms", "speedup", "best_K", "as_good", "state"};
    OWNED(spec_table) table;
    char *text = NULL;
    size_t size;
    uint64_t refused;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(spec_table_init(&table, columns, sizeof columns / sizeof *columns),
                     GSL_SUCCESS);
    for (size_t i = 0; i < n; i++) {
        spec_table_number(&table, closed ? "slots" : "rate", row[i].load);
        spec_table_number(&table, "K", row[i].K);
        spec_table_text(&table, "lengths", "fixed");
        spec_table_number(&table, "load", row[i].share);
        spec_table_number(&table, "latency_ms", row[i].latency);
        spec_table_number(&table, "speedup", row[i].speedup);
        spec_table_number(&table, "best_K", row[i].best_K);
        spec_table_text(&table, "as_good", row[i].as_good);
        spec_table_text(&table, "state", row[i].state);
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    assert_works(spec_serving_advice_write(out, &refused, &table, &error));
    fclose(out);
    return text;
}

/* At 256 requests K = 3 has no result, because its runs were too short: it may be the best there.
 * At a rate where K = 3 has no result because it is nearer to its capacity, it is not. */
TEST(a_way_without_a_result_may_be_the_best)
{
    const result_row closed[] = {{32, 0, NAN, 100, 1.0, 3, "steady", ""},
                                 {32, 3, NAN, 80, 1.25, 3, "steady", ""},
                                 {256, 0, NAN, 300, 1.0, 0, "steady", ""},
                                 {256, 3, NAN, NAN, NAN, 0, "not steady", ""}},
                     open[] = {{32, 0, 0.9, 100, 1.0, 0, "steady", ""},
                               {32, 3, 0.99, NAN, NAN, 0, "not steady", ""}};
    FREED char *of_closed = advice_of(closed, 4, true), *of_open = advice_of(open, 2, false),
               *alone = advice_of(closed + 2, 2, true);
    assert_non_null(strstr(of_closed, "K = 3 at 256 requests in the system: the warm-up"));
    assert_non_null(strstr(of_closed, "at 32 requests in the system K = 3: latency 1.25 times less "
                                      "than without speculation\n"));
    assert_non_null(strstr(of_open, "at 32 requests/s K = 0: no other choice has a lower latency"));
    assert_non_null(strstr(alone, "\nno recommendation: "));
}

/* K = 2 is the best at 128, but is not distinguished from K = 3; at 512 it is. */
TEST(a_way_holds_until_another_one_is_distinguished_from_it)
{
    const result_row row[] = {
        {32, 2, NAN, 82, 1.2, 3, "steady", ""},    {32, 3, NAN, 80, 1.25, 3, "steady", ""},
        {128, 2, NAN, 160, 1.1, 2, "steady", "3"}, {128, 3, NAN, 161, 1.1, 2, "steady", "3"},
        {512, 2, NAN, 500, 1.05, 2, "steady", ""}, {512, 3, NAN, 540, 0.97, 2, "steady", ""}};
    FREED char *text = advice_of(row, 6, true);
    assert_non_null(strstr(text, "; K = 3 up to 128, K = 2 from 512 requests in the system on\n"));
}

SUITE();
