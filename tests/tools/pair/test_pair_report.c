/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks sentences and rows for numbers that are written by hand. */
#include "tools/pair/pair_report.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { K = 8, DRAFTS = 2, BEST = 4 };

/* There are two drafts, and the first one is the best with K = 4. */
typedef struct {
    spec_pair_run run;
    spec_pair_row row[DRAFTS * K];
    spec_pair_numbers numbers;
} stage;

static const spec_pair_words words = {.target = "t",
                                      .draft = {"folder/a", "folder/b"},
                                      .name = {"a", "b"},
                                      .texts = "2 texts",
                                      .times = "given"};

static void stage_init(stage *s, double gain, const char *alike)
{
    *s = (stage){.run = {.plan = {.n_drafts = DRAFTS, .K = K}, .K = {K, K}}};
    for (int i = 0; i < DRAFTS * K; i++) {
        const bool best = i == BEST - 1;
        const double speed = best ? gain : 0.5 * gain;
        s->row[i] = (spec_pair_row){.draft = i / K,
                                    .K = i % K + 1,
                                    .category = -1,
                                    .speedup = {speed, 0.01, speed - 0.02, speed + 0.02},
                                    .best = best,
                                    .alike = alike[i] == '+'};
    }
    s->numbers = (spec_pair_numbers){.run = &s->run, .row = s->row, .n_rows = DRAFTS * K};
}

static void assert_answer(const stage *s, const char *expected)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_works(spec_pair_report(out, &s->numbers, &words, &error));
    assert_int_equal(fclose(out), 0);
    *strchr(text, '\n') = '\0';
    assert_string_equal(text, expected);
    free(text);
}

#define RUN "Run a with K = 4: expect "
#define SPEED " times the speed without speculation"

TEST(the_answer_lists_what_may_be_as_fast)
{
    static const struct {
        double gain;
        const char *alike, *answer;
    } cases[] = {
        {2.0, "-++++-+-----++++",
         RUN "2.00 [1.98, 2.02]" SPEED
             ". As fast, within the intervals: K = 2 to 3, 5, 7; K = 5 to 8 of b."},
        {2.0, "---+------------", RUN "2.00 [1.98, 2.02]" SPEED "."},
        {1.01, "---+----+-------",
         RUN "1.01 [0.99, 1.03]" SPEED
             ", which is not certain to gain. As fast, within the intervals: K = 1 of b."},
        {0.9, "---+------------",
         "Do not speculate: the best, a with K = 4, has 0.90 [0.88, 0.92] times the speed."},
        {NAN, "----------------",
         "No speed-up is known to within a factor of two: the machine is too busy, or the "
         "texts are too few or too short. Give the times with --c, or use --clock processor "
         "--threads 1."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        stage_init(&s, cases[i].gain, cases[i].alike);
        assert_answer(&s, cases[i].answer);
    }
}

TEST(one_text_has_no_interval)
{
    stage s;
    stage_init(&s, 2.0, "----------------");
    for (int i = 0; i < DRAFTS * K; i++) s.row[i].speedup.low = s.row[i].speedup.high = NAN;
    assert_answer(&s, RUN "2.00" SPEED ". One text gives no interval.");
}

/* The longest draft is the best: the longest that was asked for, or the longest that its model
 * allows. */
TEST(the_answer_says_that_no_longer_draft_was_tried)
{
    stage s;
    stage_init(&s, 2.0, "----------------");
    s.row[K - 1].speedup = (spec_block_interval){2.5, 0.01, 2.48, 2.52};
    assert_answer(&s, "Run a with K = 8: expect 2.50 [2.48, 2.52]" SPEED
                      ". No longer draft was tried: a larger --K may be faster still.");
    s.run.plan.K = K + 1;
    assert_answer(&s, "Run a with K = 8: expect 2.50 [2.48, 2.52]" SPEED ".");
    stage_init(&s, 0.5, "----------------");
    s.row[K - 1].speedup = (spec_block_interval){0.9, 0.01, 0.88, 0.92};
    assert_answer(&s, "Do not speculate: the best, a with K = 8, has 0.90 [0.88, 0.92] times the "
                      "speed.");
}

TEST(the_rows_name_the_best_and_those_like_it)
{
    stage s;
    OWNED(spec_table) table;
    stage_init(&s, 2.0, "--++------------");
    assert_works(spec_pair_report_table(&table, &s.numbers, &words, &error));
    assert_int_equal(table.n_rows, DRAFTS * K);
    const int best = spec_table_column(&table, "best"),
              low = spec_table_column(&table, "speedup_low"),
              high = spec_table_column(&table, "speedup_high");
    assert_int_equal(spec_table_cell(&table, 1, best)->kind, SPEC_CELL_EMPTY);
    assert_string_equal(spec_table_cell(&table, 2, best)->text, "alike");
    assert_string_equal(spec_table_cell(&table, BEST - 1, best)->text, "best");
    assert_within(spec_cell_number(spec_table_cell(&table, BEST - 1, low)), 1.98, 1e-12);
    assert_within(spec_cell_number(spec_table_cell(&table, BEST - 1, high)), 2.02, 1e-12);
}
