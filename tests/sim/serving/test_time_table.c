/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/time_table.h"

#include "sim/serving/step_cost.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns the path of a file in memory with this text. */
static const char *file_of(const char *text)
{
    static char path[64];
    static int memory = -1;
    if (memory >= 0) close(memory);
    memory = memfd_create("table", 0);
    assert_true(memory >= 0 && write(memory, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    return path;
}

static spec_time_table table_of(const char *text, bool draft, double kv)
{
    spec_time_table table;
    assert_works(spec_time_table_read(&table, file_of(text), draft, kv, &error));
    return table;
}

static double bilinear(double tokens, double kv)
{
    return 7e-3 + 21e-6 * tokens + 39e-9 * kv + 3e-12 * tokens * kv;
}

/* Tests any grid, with rows in any order, within the grid and beyond its last points. */
TEST(interpolation_reproduces_bilinear_functions)
{
    static const double width[] = {1, 4, 64, 1000}, kv[] = {0, 500, 70000};
    char text[2048] = "kv_tokens,seconds,tokens,what\n";
    for (int i = 0; i < 12; i++) {
        const int at = i * 5 % 12;
        const double tokens = width[at / 3], context = kv[at % 3];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%g,%.17g,%g,x\n", context,
                 bilinear(tokens, context), tokens);
    }
    OWNED(spec_time_table) table = table_of(text, false, 0.0);
    assert_int_equal(table.n, 4);
    assert_string_equal(table.warning, "");
    for (double tokens = 1; tokens < 5000; tokens = tokens * 1.37 + 0.5) {
        for (double context = 0; context < 1e6; context = context * 1.9 + 7)
            assert_near(spec_time_table_seconds(&table, tokens, context), bilinear(tokens, context),
                        1e-9); /* a CSV has ten digits */
    }
}

/* Each width has other KV tokens: interpolates on a line in each width, then on a line between the
 * two. */
TEST(widths_need_not_share_their_kv_tokens)
{
    OWNED(spec_time_table) table = table_of(
        "tokens,kv_tokens,seconds\n8,800,0.010\n8,8000,0.013\n32,3200,0.02\n32,64000,0.05\n", false,
        0.0);
    const double at8 = 0.010 + 0.003 * (5000 - 800) / 7200,
                 at32 = 0.02 + 0.03 * (5000 - 3200) / 60800;
    assert_near(spec_time_table_seconds(&table, 8, 5000), at8, 1e-13);
    assert_near(spec_time_table_seconds(&table, 32, 5000), at32, 1e-13);
    assert_near(spec_time_table_seconds(&table, 20, 5000), 0.5 * (at8 + at32), 1e-13);
    assert_near(spec_time_table_seconds(&table, 56, 5000), at32 + (at32 - at8), 1e-13);
}

TEST(below_the_first_point_its_time_holds)
{
    OWNED(spec_time_table) table =
        table_of("tokens,kv_tokens,seconds\n8,800,0.010\n8,8000,0.013\n32,800,0.02\n32,8000,0.05\n",
                 false, 0.0);
    assert_near(spec_time_table_seconds(&table, 1, 0), 0.010, 1e-13);
    assert_near(spec_time_table_seconds(&table, 8, 100), 0.010, 1e-13);
    assert_near(spec_time_table_seconds(&table, 2, 8000), 0.013, 1e-13);
    assert_near(spec_time_table_seconds(&table, 32, 0), 0.02, 1e-13);
}

TEST(without_kv_tokens_a_slope_is_given)
{
    const char *text = "# a comment\ntokens,seconds\n1,0.0071\n256,0.0125";
    OWNED(spec_time_table) table = table_of(text, false, 0.0);
    assert_near(spec_time_table_seconds(&table, 1, 1e6), 0.0071, 1e-13);
    assert_near(spec_time_table_seconds(&table, 1 + 255 * 3, 7.0), 0.0071 + 3 * 0.0054, 1e-13);
    spec_time_table_free(&table);
    table = table_of(text, false, 39e-9);
    assert_near(spec_time_table_seconds(&table, 1, 1e5), 0.0071 + 0.0039, 1e-13);
}

#define BENCH                                                                                      \
    "K,pass,target_pass_ms,draft_pass_ms\n0,1,8,0.9\n3,4,9,1.2\n3,4,9,1.2\n7,8,,\n1,2,8.2,\n"

TEST(results_of_bench_have_both_sides)
{
    spec_time_table target = table_of(BENCH, false, 0.0), draft = table_of(BENCH, true, 0.0);
    assert_int_equal(target.n, 3);
    assert_near(spec_time_table_seconds(&target, 1, 0), 8e-3, 1e-13);
    assert_near(spec_time_table_seconds(&target, 3, 0), 8.6e-3, 1e-13);
    assert_near(spec_time_table_seconds(&target, 6, 0), 9.8e-3, 1e-13);
    assert_int_equal(draft.n, 2);
    assert_near(spec_time_table_seconds(&draft, 4, 0), 1.2e-3, 1e-13);
    spec_time_table_free(&target);
    spec_time_table_free(&draft);

    char spec[128];
    spec_step_cost *cost;
    snprintf(spec, sizeof spec, "table:%s", file_of(BENCH));
    assert_works(spec_step_cost_create(&cost, spec, spec, &error));
    const spec_step_work work = {.decode_tokens = 3, .drafted = 4, .decoding = 1, .passes = 4};
    assert_near(spec_step_cost_target(cost, &work), 8.6e-3, 1e-13);
    assert_near(spec_step_cost_draft(cost, &work), 4 * 0.9e-3, 1e-13);
    assert_null(spec_step_cost_affine(cost));
    assert_string_equal(spec_step_cost_warning(cost), "");
    spec_step_cost_free(cost);
}

TEST(times_that_fall_are_said_and_end_level)
{
    OWNED(spec_time_table) table = table_of("tokens,seconds\n1,8\n16,9\n32,8.5\n", false, 0.0);
    assert_non_null(strstr(table.warning,
                           ": time falls as tokens rise: 9 s for 16 and 8.5 s for 32, at 0 KV "));
    assert_near(spec_time_table_seconds(&table, 1000, 0), 8.5, 1e-13);
    spec_time_table_free(&table);
    table = table_of("tokens,kv_tokens,seconds\n1,0,8\n1,9,7\n2,0,9\n2,9,9\n", false, 0.0);
    assert_non_null(strstr(table.warning,
                           ": time falls as KV tokens rise: 8 s for 0 and 7 s for 9, at 1 tokens"));
    assert_near(spec_time_table_seconds(&table, 1, 1e6), 7.0, 1e-13);
}

TEST(wrong_files_are_refused_in_one_line)
{
    static const struct {
        const char *text, *expected;
        bool draft;
        double kv;
    } bad[] = {
        {"tokens,time\n1,2\n2,3\n",
         ": neither a result of bench nor a table with columns tokens, kv_tokens and seconds",
         false, 0.0},
        {"K,target_pass_ms\n1,2\n", ": a result of bench without the column 'pass'", false, 0.0},
        {"pass,target_pass_ms\n1,2\n", ": a result of bench without the column 'draft_pass_ms'",
         true, 0.0},
        {"tokens,seconds\n", ": 0 rows: a table has 2 to 1048576", false, 0.0},
        {"tokens,seconds\n4,0.1\n",
         ": passes of one width give no time per token; add passes of another width", false, 0.0},
        {"tokens,kv_tokens,seconds\n4,0,0.1\n4,9,0.2\n",
         ": passes of one width give no time per token; add passes of another width", false, 0.0},
        {"pass,target_pass_ms\n4,8\n4,8\n",
         ": passes of one width give no time per token; add passes of another width", false, 0.0},
        {"tokens,seconds\n1,0.1\n2,nan\n", ": row 2: seconds=nan is not between 1e-12 and 1e+06",
         false, 0.0},
        {"tokens,seconds\n1,0.1\n2,inf\n", ": row 2: seconds=inf is not between 1e-12 and 1e+06",
         false, 0.0},
        {"tokens,seconds\n1,-0.1\n2,1\n", ": row 1: seconds=-0.1 is not between 1e-12 and 1e+06",
         false, 0.0},
        {"tokens,seconds\n0,0.1\n2,1\n", ": row 1: tokens=0 is not between 1 and 1e+12", false,
         0.0},
        {"tokens,seconds\n1,0.1\n2,\n", ": row 2: seconds= is not between 1e-12 and 1e+06", false,
         0.0},
        {"tokens,kv_tokens,seconds\n1,x,1\n", ": row 1: kv_tokens=x is not between 0 and 1e+12",
         false, 0.0},
        {"tokens,kv_tokens,seconds\n1,5,1\n2,6,1\n1,5,3\n",
         ": rows 1 and 3 give the same point: 1 tokens and 5 KV tokens", false, 0.0},
        {"tokens,kv_tokens,seconds\n1,5,1\n1,6,1\n2,5,3\n",
         ": 2 tokens have times of one number of KV tokens, and 1 tokens of several: give two or "
         "more for each",
         false, 0.0},
        {"tokens,kv_tokens,seconds\n1,5,1\n2,6,1\n2,5,3\n",
         ": 1 tokens have times of one number of KV tokens, and 2 tokens of several: give two or "
         "more for each",
         false, 0.0},
        {"tokens,kv_tokens,seconds\n1,5,1\n1,6,1\n2,5,3\n2,6,3\n",
         ": the table has times by KV tokens: leave out kv=", false, 1e-9},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        OWNED(spec_time_table) table;
        spec_error error = {""};
        const char *path = file_of(bad[i].text);
        assert_int_equal(spec_time_table_read(&table, path, bad[i].draft, bad[i].kv, &error),
                         GSL_EINVAL);
        assert_int_equal(table.n, 0);
        assert_null(table.tokens);
        assert_true(strncmp(error.text, path, strlen(path)) == 0);
        assert_string_equal(error.text + strlen(path), bad[i].expected);
    }
    spec_time_table table;
    spec_error error = {""};
    assert_int_not_equal(spec_time_table_read(&table, "/nowhere/x.csv", false, 0.0, &error), 0);
    assert_non_null(strstr(error.text, "/nowhere/x.csv"));
}
