/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests each branch of the advice with a table that selects it. */
#include "tests/support/bench_table.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/bench/timing_advice.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
    spec_table table;
    spec_timing_result result;
    char *text;
    size_t size;
} advice;

static void take(advice *a)
{
    spec_error error = {{0}};
    if (spec_timing_result_init(&a->result, &a->table, "x.csv", &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    FILE *out = open_memstream(&a->text, &a->size);
    assert_non_null(out);
    assert_int_equal(spec_timing_advice_write(&a->result, out, &error), GSL_SUCCESS);
    fclose(out);
}

static void says(const advice *a, const char *what, bool expected)
{
    if ((strstr(a->text, what) != NULL) != expected)
        fail_msg("%s '%s' in:\n%s", expected ? "no" : "a", what, a->text);
}

static void advice_free(advice *a)
{
    free(a->text);
    spec_table_free(&a->table);
}

static spec_timing_verdict verdict_of(const advice *a)
{
    const spec_timing_result_row *best;
    return spec_timing_advice_verdict(&a->result, &best);
}

TEST(a_gain_is_said_with_the_interval_of_the_table)
{
    const bench_row row[] = {
        {.K = 0, .tokens = 1.0, .verify = 1.0, .width = 0.03},
        {.K = 2, .tokens = 2.2, .draft = 0.54, .verify = 1.1, .width = 0.05, .tied = 1},
        {.K = 4, .tokens = 2.7, .draft = 1.08, .verify = 1.2, .width = 0.1, .tied = 1}};
    advice a = {.size = 0};
    bench_table_init(&a.table, row, 3);
    take(&a);
    assert_int_equal(verdict_of(&a), SPEC_TIMING_GAINS);
    /* 2.2 / 1.64 */
    says(&a,
         "Speculation gains here: K = 2 is 1.34 times as fast as plain decoding (1.27 to 1.41, "
         "with 95 % confidence for "
         "all K together). K = 4 may be as fast, or faster.\n",
         true);
    says(&a, "not trusted", false);
    says(&a, "--texts", false);
    says(&a, "What limits K = 2, and its speed-up without one limit, all else as measured:\n",
         true);
    says(&a, "- --K 1: the best K is the smallest one measured\n", true);
    says(&a, "the largest one measured", false);
    advice_free(&a);
}

TEST(limits_are_arithmetic_on_the_row)
{
    const bench_row row[] = {{.K = 3,
                              .tokens = 2.7,
                              .draft = 0.81,
                              .verify = 1.45,
                              .rule = 0.05,
                              .rest = 0.02,
                              .width = 0.01}};
    static const double factor[] = {2.33 / 1.52, 2.33 / 1.88, 4.0 / 2.7, 2.33 / 2.26};
    advice a = {.size = 0};
    bench_table_init(&a.table, row, 1);
    take(&a);
    for (int i = 0; i < SPEC_LIMITS; i++)
        assert_near(spec_timing_advice_factor(&a.result, &a.result.row[0], (spec_limit)i),
                    factor[i], 1e-9);
    says(&a,
         "drafting              0.81 plain tokens        1.53                 1.78\n"
         "acceptance            emits 2.7 of 4 tokens    1.48                 1.72\n"
         "verification          1.45 plain tokens        1.24                 1.44\n"
         "rule and bookkeeping  0.07 plain tokens        1.03                 1.19\n",
         true);
    /* Each factor multiplies the measured speed-up, 2.7 / 2.33. */
    assert_near(a.result.row[0].speedup * factor[0], 2.7 / 1.52, 1e-9);
    says(&a, "would still lose", false);
    advice_free(&a);
}

TEST(a_loss_is_said_where_every_interval_is_below_one)
{
    const bench_row row[] = {
        {.K = 0, .tokens = 1.0, .verify = 1.0, .width = 0.03},
        {.K = 1, .tokens = 1.5, .draft = 1.0, .verify = 1.2, .width = 0.1, .tied = 1},
        {.K = 2, .tokens = 1.9, .draft = 2.0, .verify = 1.5, .width = 0.1}};
    advice a = {.size = 0};
    bench_table_init(&a.table, row, 3);
    take(&a);
    assert_int_equal(verdict_of(&a), SPEC_TIMING_LOSES);
    says(&a,
         "Speculation loses here, with every K: K = 1 is 0.682 times as fast as plain decoding "
         "(0.614 to 0.75,",
         true);
    says(&a, "may be as fast", false);
    says(&a, "would still lose", false); /* with free drafts K = 1 would have 1.25 */
    says(
        &a,
        "- a draft that costs less than c = 0.27: fewer layers or fewer bits, or --drafting lookup",
        true);
    advice_free(&a);
}

TEST(a_loss_that_no_single_limit_explains_is_called_so)
{
    const bench_row row[] = {{.K = 1, .tokens = 1.2, .draft = 1.0, .verify = 2.0, .width = 0.05}};
    advice a = {.size = 0};
    bench_table_init(&a.table, row, 1);
    take(&a);
    says(&a, "Without any single one of these limits speculation would still lose.\n", true);
    advice_free(&a);
}

TEST(what_the_intervals_leave_open_is_called_open)
{
    const bench_row row[] = {
        {.K = 1, .tokens = 1.6, .draft = 0.27, .verify = 1.2, .width = 0.2, .tied = 1},
        {.K = 2, .tokens = 2.0, .draft = 0.54, .verify = 1.4, .width = 0.25, .tied = 1}};
    advice a = {.size = 0};
    bench_table_init(&a.table, row, 2);
    take(&a);
    assert_int_equal(verdict_of(&a), SPEC_TIMING_OPEN);
    says(&a,
         "This run does not show whether speculation gains here: K = 1 is 1.09 times as fast as "
         "plain decoding (0.871 to 1.31,",
         true);
    says(&a, "- --texts 64: four times as many make intervals about half as wide\n", true);
    advice_free(&a);
}

/* The K with the best lower end loses; another K, with a wide interval, may gain, and a third was
 * not measured. */
TEST(what_is_open_is_named_where_the_best_K_loses)
{
    const bench_row row[] = {
        {.K = 1, .tokens = 1.5, .draft = 0.9, .verify = 1.1, .width = 0.05, .tied = 1},
        {.K = 2, .tokens = 1.9, .draft = 0.9, .verify = 1.4, .width = 0.6, .verdict = BENCH_VAGUE},
        {.K = 5, .tokens = 2.1, .draft = 0.9, .verify = 1.4, .verdict = BENCH_IMPOSSIBLE}};
    advice a = {.size = 0};
    bench_table_init(&a.table, row, 3);
    take(&a);
    assert_int_equal(verdict_of(&a), SPEC_TIMING_OPEN);
    says(&a,
         "K = 1 is 0.75 times as fast as plain decoding (0.713 to 0.787, with 95 % confidence for "
         "all K together). K = 2 lies "
         "between 0.33 and 1.32. K = 5 is withheld.\n",
         true);
    advice_free(&a);
}

TEST(where_nothing_is_told_nothing_is_said)
{
    const bench_row withheld[] = {
        {.K = 0, .tokens = 1.0, .verify = 1.0, .width = 0.03},
        {.K = 1, .tokens = 1.5, .draft = 0.9, .verify = 1.1, .verdict = BENCH_IMPOSSIBLE}};
    const bench_row none[] = {{.K = 0, .tokens = 1.0, .verify = 0.9, .width = 0.03}};
    advice a = {.size = 0}, b = {.size = 0};
    bench_table_init(&a.table, withheld, 2);
    bench_table_set(&a.table, 1, "speedup_predicted", 1.2);
    take(&a);
    assert_int_equal(verdict_of(&a), SPEC_TIMING_NOTHING);
    says(&a, "This run reports no speed-up; the warning says why.\n", true);
    says(&a, "By Theorem 3.8", false);
    says(&a, "What to try:\n- --texts 64, on a machine that does nothing else\n", true);
    says(&a, "What limits", false);
    bench_table_init(&b.table, none, 1);
    take(&b);
    says(&b, "K = 0 drafts nothing: there is no speed-up to report.\n", true);
    says(&b, "What to try:\n- --K 1:5", true);
    assert_true(b.result.row[0].speedup ==
                1.0); /* a round that takes .9 plain tokens does not make the factor 1.11 */
    advice_free(&a);
    advice_free(&b);
}

TEST(every_limit_has_its_own_hint)
{
    static const struct {
        bench_row row;
        const char *says, *other;
    } line[] = {
        {{.K = 1, .tokens = 1.9, .draft = 0.4, .verify = 1.0, .width = 0.01},
         "- a draft that costs less than c = 0.27",
         "--device gpu"},
        {{.K = 1, .tokens = 1.9, .verify = 1.4, .width = 0.01},
         "- a device on which wide passes cost little, such as --device gpu",
         "a draft that costs less"},
        {{.K = 1, .tokens = 1.2, .verify = 1.0, .width = 0.01},
         "- a draft nearer to the target: more layers, or trained on the same texts\n- --rule "
         "block",
         "larger models"},
        {{.K = 1, .tokens = 1.99, .verify = 1.0, .rule = 0.3, .rest = 0.1, .width = 0.01},
         "- larger models, for which the rule and the bookkeeping matter less",
         "a draft nearer"},
        {{.K = 1, .tokens = 1.99, .verify = 1.01, .width = 0.01},
         "- --K 2: the best K is the largest one measured",
         "- a "},
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        advice a = {.size = 0};
        bench_table_init(&a.table, &line[i].row, 1);
        take(&a);
        says(&a, line[i].says, true);
        says(&a, line[i].other, false);
        advice_free(&a);
    }
}

TEST(hints_follow_from_what_was_measured_where)
{
    const bench_row verify = {.K = 1, .tokens = 1.9, .verify = 1.4, .width = 0.01},
                    draft = {.K = 1, .tokens = 1.9, .draft = 0.4, .verify = 1.0, .width = 0.01},
                    accept = {.K = 1, .tokens = 1.2, .verify = 1.0, .width = 0.01};
    advice a = {.size = 0}, b = {.size = 0}, c = {.size = 0}, d = {.size = 0}, e = {.size = 0};
    bench_table_init(&a.table, &verify, 1);
    bench_table_set(&a.table, 0, "processors", 8.0);
    take(&a);
    says(&a, "- --threads 8: the models computed with 2 threads on 8 processors\n", true);
    says(&a, "--device gpu", false);
    bench_table_set(&a.table, 0, "others", 5.8); /* two remain */
    free(a.text);
    take(&a);
    says(&a, "- --threads", false);
    says(&a, "--device gpu", true);
    bench_table_init(&b.table, &verify, 1);
    bench_table_set(&b.table, 0, "waits_on_card", 1.0);
    take(&b);
    says(&b, "- drafts of fewer tokens, or a shorter context\n", true);
    says(&b, "experts", false);
    bench_table_set(&b.table, b.result.pass_row[0], "target_pass_experts", 8.0);
    free(b.text);
    take(&b);
    says(&b, "- drafts of fewer tokens, or of trees with fewer nodes: each token", true);
    says(&b, "or a shorter context", false);
    bench_table_init(&c.table, &draft, 1);
    bench_table_set(&c.table, 0, "c", NAN);
    take(&c);
    says(&c, "- drafts that cost less: fewer layers", true);
    bench_table_init(&d.table, &draft, 1); /* prompt lookup: no draft model was timed */
    bench_table_set(&d.table, 0, "draft_pass_ms", NAN);
    take(&d);
    says(&d, "- drafts that cost less\n", true);
    bench_table_init(&e.table, &accept, 1);
    free(e.table.provenance);
    e.table.provenance = strdup("decoding: rule match, drafting chain, policy fixed");
    take(&e);
    says(&e, "--rule block", false);
    advice_free(&a);
    advice_free(&b);
    advice_free(&c);
    advice_free(&d);
    advice_free(&e);
}

TEST(predictions_stand_beside_the_measurement)
{
    const bench_row row[] = {
        {.K = 0, .tokens = 1.0, .verify = 1.0, .width = 0.03},
        {.K = 1, .tokens = 1.6, .draft = 0.27, .verify = 1.0, .width = 0.05, .tied = 1},
        {.K = 2, .tokens = 2.0, .draft = 0.54, .verify = 1.1, .width = 0.05, .tied = 1},
        {.K = 3, .tokens = 2.1, .draft = 0.9, .verify = 1.5, .width = 0.05}};
    static const char *const says_of[] = {
        "By Theorem 3.8 no K gains: plain decoding would be the fastest.\n",
        "times: the best one measured.\n",
        "times: by measurement it may be.\n", "times: by measurement another is faster.\n"};
    for (size_t most = 0; most < 4; most++) {
        advice a = {.size = 0};
        bench_table_init(&a.table, row, 4);
        for (size_t i = 0; i < 4; i++)
            bench_table_set(&a.table, i, "speedup_predicted", i == most ? 1.5 : 1.2);
        take(&a);
        says(&a, says_of[most], true);
        says(&a, "By what passes cost", false); /* no such column is filled */
        advice_free(&a);
    }
}

TEST(times_that_are_not_trusted_are_called_so)
{
    const bench_row row[] = {{.K = 2, .tokens = 2.2, .draft = 0.54, .verify = 1.1, .width = 0.05}};
    advice a = {.size = 0};
    char line[512];
    bench_table_init(&a.table, row, 1);
    take(&a);
    assert_false(spec_timing_result_warning(line, sizeof line, &a.result));
    bench_table_set(&a.table, 0, "lost", 0.34);
    bench_table_set(&a.table, 0, "others", 0.7);
    free(a.text);
    take(&a);
    says(&a,
         "Speculation gains here, judging by times that are not reliable: K = 2 is 1.34 "
         "times",
         true);
    assert_true(spec_timing_result_warning(line, sizeof line, &a.result));
    assert_string_equal(line, "warning: this run lost 34 % of its time to other programs, which "
                              "took 0.7 of 2 processors: "
                              "close other programs, or use --clock processor --threads 1");
    advice_free(&a);
}

TEST(the_warning_names_what_is_withheld)
{
    const bench_row row[] = {
        {.K = 1, .tokens = 1.6, .draft = 0.27, .verify = 1.0, .width = 0.05},
        {.K = 2, .tokens = 2.0, .draft = 0.54, .verify = 1.1, .width = 0.5, .verdict = BENCH_VAGUE},
        {.K = 3, .tokens = 2.1, .draft = 0.9, .verify = 1.5, .width = 0.5, .verdict = BENCH_VAGUE},
        {.K = 3,
         .tokens = 2.1,
         .draft = 0.9,
         .verify = 1.5,
         .verdict = BENCH_IMPOSSIBLE,
         .ahead = 1}};
    advice a = {.size = 0};
    char line[512];
    bench_table_init(&a.table, row, 4);
    bench_table_set(&a.table, 0, "c", NAN);
    take(&a);
    assert_true(spec_timing_result_warning(line, sizeof line, &a.result));
    assert_string_equal(line, "warning: withheld: c (known to no better than a factor of two), the "
                              "speed-up at K = 2, 3 (known "
                              "to no better than a factor of two), the speed-up at K = 3 ahead (a "
                              "round cannot take less than "
                              "a plain token): give more --texts");
    advice_free(&a);
}

/* Every sentence agrees with the table, for random tables of up to five K. The verdict is "gains"
 * if and only if some interval is above 1, and no reported number exceeds tokens per round. */
TEST(no_table_contradicts_its_verdict)
{
    srand48((long)spec_test_seed());
    int seen[SPEC_TIMING_NOTHING + 1] = {0};
    for (int t = 0; t < 2000; t++) {
        bench_row row[5];
        const int n = 1 + (int)(5.0 * drand48());
        bool above = false, all_below = true, reported = false;
        for (int i = 0; i < n; i++) {
            row[i] = (bench_row){.K = i,
                                 .tokens = 1.0 + i * drand48(),
                                 .draft = 0.8 * i * drand48(),
                                 .verify = 0.9 + 0.4 * i * drand48(),
                                 .rule = 0.1 * drand48(),
                                 .width = 0.3 * drand48(),
                                 .verdict =
                                     (bench_verdict)(drand48() < 0.8 ? 0 : 1 + (drand48() < 0.5))};
            if (i == 0) continue;
            const double round = row[i].draft + row[i].verify + row[i].rule;
            const double speedup = row[i].tokens * fmin(1.0, 1.0 / round);
            const bool known = row[i].verdict == BENCH_REPORTED;
            above = above || (known && speedup * (1.0 - row[i].width) > 1.0);
            all_below = all_below && row[i].verdict != BENCH_IMPOSSIBLE &&
                        speedup * (1.0 + row[i].width) < 1.0;
            reported = reported || known;
        }
        advice a = {.size = 0};
        bench_table_init(&a.table, row, n);
        take(&a);
        const spec_timing_verdict verdict = verdict_of(&a);
        seen[verdict]++;
        assert_int_equal(verdict, !reported   ? SPEC_TIMING_NOTHING
                                  : above     ? SPEC_TIMING_GAINS
                                  : all_below ? SPEC_TIMING_LOSES
                                              : SPEC_TIMING_OPEN);
        for (int i = 0; i < n; i++) assert_false(a.result.row[i].speedup > a.result.row[i].tokens);
        says(&a, "nan", false);
        advice_free(&a);
    }
    for (int v = 0; v <= SPEC_TIMING_NOTHING; v++) assert_true(seen[v] > 20);
}
