/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/owned.h"
#include "tests/support/support.h"
#include "tools/serve/serving_advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Makes a row of a closed loop (share NaN) or of random arrivals. */
typedef struct {
    double load, K, share, latency, speedup, best_K;
    const char *state, *as_good;
    double memory;             /* share; 0: unknown */
    double least, most, worst; /* the range that uncertain costs leave; 0: no cost is uncertain */
} result_row;

/* Returns the recommendation, which the caller frees. */
static char *advice_of(const result_row *row, size_t n, bool closed)
{
    static const char *const columns[] = {
        "slots",           "rate",        "K",       "lengths", "load",          "latency_ms",
        "speedup",         "best_K",      "as_good", "state",   "speedup_least", "speedup_most",
        "latency_most_ms", "memory_share"};
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
        spec_table_text(&table, "as_good", row[i].as_good != NULL ? row[i].as_good : "");
        spec_table_text(&table, "state", row[i].state);
        if (row[i].memory > 0.0) spec_table_number(&table, "memory_share", row[i].memory);
        if (row[i].worst > 0.0) {
            spec_table_number(&table, "speedup_least", row[i].least);
            spec_table_number(&table, "speedup_most", row[i].most);
            spec_table_number(&table, "latency_most_ms", row[i].worst);
        }
        assert_int_equal(spec_table_append(&table), GSL_SUCCESS);
    }
    assert_works(spec_serving_advice_write(out, &refused, &table, &error));
    fclose(out);
    return text;
}

/* At 256 requests K = 3 has no result because its runs were too short, so it may be the best there.
 * At a rate where it has no result because it is nearer to its capacity, it cannot be. */
TEST(a_way_without_a_result_may_be_the_best)
{
    const result_row closed[] = {{.load = 32,
                                  .K = 0,
                                  .share = NAN,
                                  .latency = 100,
                                  .speedup = 1.0,
                                  .best_K = 3,
                                  .state = "steady"},
                                 {.load = 32,
                                  .K = 3,
                                  .share = NAN,
                                  .latency = 80,
                                  .speedup = 1.25,
                                  .best_K = 3,
                                  .state = "steady"},
                                 {.load = 256,
                                  .K = 0,
                                  .share = NAN,
                                  .latency = 300,
                                  .speedup = 1.0,
                                  .best_K = 0,
                                  .state = "steady"},
                                 {.load = 256,
                                  .K = 3,
                                  .share = NAN,
                                  .latency = NAN,
                                  .speedup = NAN,
                                  .best_K = 0,
                                  .state = "not steady"}},
                     open[] = {{.load = 32,
                                .K = 0,
                                .share = 0.9,
                                .latency = 100,
                                .speedup = 1.0,
                                .best_K = 0,
                                .state = "steady"},
                               {.load = 32,
                                .K = 3,
                                .share = 0.99,
                                .latency = NAN,
                                .speedup = NAN,
                                .best_K = 0,
                                .state = "not steady"}};
    FREED char *of_closed = advice_of(closed, 4, true), *of_open = advice_of(open, 2, false),
               *alone = advice_of(closed + 2, 2, true);
    assert_non_null(strstr(of_closed, "K = 3 at 256 requests in the system: the warm-up"));
    assert_non_null(strstr(of_closed, "at 32 requests in the system K = 3: latency 1.25 times "
                                      "lower than without speculation\n"));
    assert_non_null(strstr(of_open, "at 32 requests/s K = 0: no other choice has a lower latency"));
    assert_non_null(strstr(alone, "\nno recommendation: "));
}

/* The range contains the answer, even if there is theory as well; above the capacity there is no
 * range. */
TEST(a_range_of_costs_holds_its_own_answer)
{
    result_row row = {.load = 20,
                      .K = 3,
                      .share = 0.5,
                      .latency = 80,
                      .speedup = 1.25,
                      .best_K = 3,
                      .state = "steady",
                      .least = 1.3,
                      .most = 1.6,
                      .worst = 120};
    FREED char *beside = advice_of(&row, 1, false);
    assert_non_null(strstr(beside, "speculation, and 1.25 to 1.6 with other plausible costs\n"));
    row.worst = INFINITY;
    FREED char *above = advice_of(&row, 1, false);
    assert_non_null(strstr(above, "speculation, but with other plausible costs this load is above "
                                  "the capacity\n"));
}

/* At 128 requests K = 2 is the best but cannot be told from K = 3; at 512 it can. */
TEST(a_way_holds_until_another_one_is_distinguished_from_it)
{
    const result_row row[] = {{.load = 32,
                               .K = 2,
                               .share = NAN,
                               .latency = 82,
                               .speedup = 1.2,
                               .best_K = 3,
                               .state = "steady"},
                              {.load = 32,
                               .K = 3,
                               .share = NAN,
                               .latency = 80,
                               .speedup = 1.25,
                               .best_K = 3,
                               .state = "steady"},
                              {.load = 128,
                               .K = 2,
                               .share = NAN,
                               .latency = 160,
                               .speedup = 1.1,
                               .best_K = 2,
                               .state = "steady",
                               .as_good = "3"},
                              {.load = 128,
                               .K = 3,
                               .share = NAN,
                               .latency = 161,
                               .speedup = 1.1,
                               .best_K = 2,
                               .state = "steady",
                               .as_good = "3"},
                              {.load = 512,
                               .K = 2,
                               .share = NAN,
                               .latency = 500,
                               .speedup = 1.05,
                               .best_K = 2,
                               .state = "steady"},
                              {.load = 512,
                               .K = 3,
                               .share = NAN,
                               .latency = 540,
                               .speedup = 0.97,
                               .best_K = 2,
                               .state = "steady"}};
    FREED char *text = advice_of(row, 6, true);
    assert_non_null(strstr(text, "; K = 3 up to 128, K = 2 from 512 requests in the system on\n"));
}

TEST(caches_that_exceed_the_memory_have_a_line)
{
    result_row row = {.load = 8,
                      .K = 3,
                      .share = 0.5,
                      .latency = 100,
                      .speedup = 1.2,
                      .best_K = 3,
                      .state = "steady",
                      .memory = 1.275};
    FREED char *over = advice_of(&row, 1, false);
    assert_non_null(strstr(over, "K = 3 at 8 requests/s: weights and KV caches need 1.27 times the "
                                 "cards' memory; limit the caches with --memory\n"));
    row.memory = 0.9;
    FREED char *within = advice_of(&row, 1, false);
    assert_null(strstr(within, "memory"));
}

SUITE();
