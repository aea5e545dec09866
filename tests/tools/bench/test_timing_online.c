/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A draft that learns is measured next to its unchanged copy: both begin the same, one of them
 * improves, and the time of its learning is part of its time. */
#include "tools/bench/timing_online_report.h"

#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

enum { TEXTS = 70, TOKENS = 40, WINDOWS = 4, PROMPTS = 3 };

#define DRAFT "random?dim=8&layers=2&heads=2&ffn=12&vocab=12&context=64&type=f32&seed=2"

typedef struct {
    spec_model *target, *draft, *learning;
    int text[PROMPTS][2], *token[PROMPTS];
    size_t length[PROMPTS];
    spec_timing_prompts prompts;
    spec_timing_online_plan plan;
    double now;
} workshop;

/* The seconds that pass with every reading. */
static double tick(void *now)
{
    return *(double *)now += 1.0;
}

static void open_workshop(workshop *w, int texts)
{
    spec_error error = {""};
    spec_context *context = spec_test_context(1);
    *w = (workshop){.prompts = {.n = PROMPTS, .source = "a test"}};
    for (int i = 0; i < PROMPTS; i++) {
        w->text[i][1] = i;
        w->token[i] = w->text[i];
        w->length[i] = 2;
    }
    w->prompts.token = w->token;
    w->prompts.length = w->length;
    assert_int_equal(spec_model_open(&w->target, "markov?V=12&order=1&seed=3&concentration=0.1",
                                     NULL, context, &error),
                     GSL_SUCCESS);
    assert_int_equal(spec_model_open(&w->draft, DRAFT, NULL, context, &error), GSL_SUCCESS);
    assert_int_equal(spec_model_open(&w->learning, DRAFT, NULL, context, &error), GSL_SUCCESS);
    w->plan = (spec_timing_online_plan){
        .decoder = SPEC_DECODER_DEFAULT,
        .learning = w->learning,
        .online = {{.loss = SPEC_LOSSES_JSD, .texts = WINDOWS, .places = 50, .rate = 0.01},
                   SPEC_ONLINE_ALL},
        .prompts = &w->prompts,
        .texts = texts,
        .tokens = TOKENS,
        .seed = 42};
    w->plan.decoder.target = w->target;
    w->plan.decoder.opt_draft = w->draft;
    w->plan.decoder.clock = (spec_clock){tick, &w->now};
}

static void close_workshop(workshop *w)
{
    spec_model_close(w->learning);
    spec_model_close(w->draft);
    spec_model_close(w->target);
}

static void measure(spec_timing_online *timed, const workshop *w)
{
    spec_error error = {""};
    if (spec_timing_online_init(timed, &w->plan, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
}

static double sum_of(const spec_timing_online *timed, int way, int text,
                     spec_timing_online_field field)
{
    return timed
        ->block[(text * SPEC_TIMING_ONLINE_WAYS + way) * SPEC_TIMING_ONLINE_FIELDS + (int)field];
}

/* A window is a text. Until the first batch of windows is full both drafts are the same, and the
 * text decoded beforehand has left no trace. */
TEST(both_begin_alike_until_the_first_update)
{
    static const spec_timing_online_field fields[] = {
        SPEC_TIMING_ONLINE_TOKENS, SPEC_TIMING_ONLINE_ROUNDS, SPEC_TIMING_ONLINE_ACCEPTED,
        SPEC_TIMING_ONLINE_TESTED};
    workshop w;
    spec_timing_online timed;
    int differ = 0;
    open_workshop(&w, TEXTS);
    measure(&timed, &w);
    for (int text = 0; text < TEXTS; text++)
        for (int i = 0; i < 4; i++) {
            const bool same =
                sum_of(&timed, 0, text, fields[i]) == sum_of(&timed, 1, text, fields[i]);
            if (text < WINDOWS) assert_true(same);
            differ += !same;
            assert_true(sum_of(&timed, 1, text, SPEC_TIMING_ONLINE_TOKENS) >= TOKENS);
        }
    assert_true(differ > TEXTS);
    assert_int_equal(timed.updates, (TEXTS - 1) / WINDOWS);
    spec_timing_online_free(&timed);
    close_workshop(&w);
}

/* The clock ticks once per reading: five readings per round, and one after learning. */
TEST(the_time_of_learning_is_part_of_the_time)
{
    workshop w;
    spec_timing_online timed;
    open_workshop(&w, 3);
    measure(&timed, &w);
    for (int text = 0; text < 3; text++)
        for (int way = 0; way < 2; way++) {
            const double rounds = sum_of(&timed, way, text, SPEC_TIMING_ONLINE_ROUNDS);
            assert_same(sum_of(&timed, way, text, SPEC_TIMING_ONLINE_LEARN), way * rounds);
            assert_same(sum_of(&timed, way, text, SPEC_TIMING_ONLINE_SECONDS),
                        (5 + way) * rounds + 1.0);
        }
    spec_timing_online_free(&timed);
    close_workshop(&w);
}

static double number(const spec_table *table, size_t row, const char *column)
{
    return spec_cell_number(spec_table_cell(table, row, spec_table_column(table, column)));
}

/* 70 texts form ten parts of 7, with two rows each, plus the whole run; 10 texts have no intervals.
 * The acceptance of the last part exceeds that of the first by far more than both intervals. */
TEST(parts_have_rows_of_both_drafts)
{
    workshop w;
    spec_timing_online timed;
    spec_table table;
    spec_error error = {""};
    open_workshop(&w, TEXTS);
    measure(&timed, &w);
    assert_int_equal(spec_timing_online_report_table(&table, &timed, "asked", &error), GSL_SUCCESS);
    assert_int_equal(table.n_rows, 22);
    double rounds[2] = {0.0, 0.0};
    for (size_t i = 0; i < 22; i++) {
        assert_same(number(&table, i, "texts"), i < 20 ? 7.0 : 70.0);
        assert_string_equal(spec_table_cell(&table, i, 1)->text, i % 2 == 0 ? "static" : "all");
        if (i < 20) rounds[i % 2] += number(&table, i, "rounds");
        assert_true(number(&table, i, "alpha_tested_low") < number(&table, i, "alpha_tested"));
        assert_int_equal(isnan(number(&table, i, "speed_gain")), i % 2 == 0);
        assert_int_equal(isnan(number(&table, i, "learning_share")), i % 2 == 0);
    }
    assert_same(number(&table, 20, "rounds"), rounds[0]);
    assert_same(number(&table, 21, "rounds"), rounds[1]);
    assert_true(number(&table, 19, "alpha_tested_low") > number(&table, 1, "alpha_tested_high"));
    assert_true(number(&table, 19, "alpha_tested_low") > number(&table, 18, "alpha_tested_high"));
    spec_table_free(&table);
    spec_timing_online_free(&timed);
    w.plan.texts = 5;
    measure(&timed, &w);
    assert_int_equal(spec_timing_online_report_table(&table, &timed, "asked", &error), GSL_SUCCESS);
    assert_int_equal(table.n_rows, 12);
    assert_nan(number(&table, 10, "alpha_tested_low"));
    assert_true(number(&table, 11, "speed_gain") > 0.0);
    spec_table_free(&table);
    spec_timing_online_free(&timed);
    close_workshop(&w);
}

TEST(a_strategy_without_the_draft_is_refused)
{
    workshop w;
    spec_timing_online timed;
    spec_error error = {""};
    open_workshop(&w, 3);
    w.plan.decoder.drafting = "lookup";
    assert_int_equal(spec_timing_online_init(&timed, &w.plan, &error), GSL_EINVAL);
    assert_string_equal(error.text,
                        "draft strategy 'lookup' uses no draft model, so that none can learn");
    close_workshop(&w);
}
