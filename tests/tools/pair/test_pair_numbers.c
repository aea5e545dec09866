/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks numbers computed from sums that are written by hand. */
#include "tools/pair/pair_numbers.h"

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <math.h>

enum { TEXTS = 6, K = 2, DRAFTS = 2 };
static const double c[DRAFTS] = {0.1, 0.3};
static const double passes[K + 1] = {2.0, 2.5, 3.5}; /* seconds of a target's pass */

typedef struct {
    table_model model;
    spec_pair_text text[TEXTS];
    spec_pair_run run;
} stage;

/* The sums of text i and draft d: 20 + i rounds with one token, in which the draft emits 1.4 + 0.3
 * d each, and less with two; the times of a text vary by `noise`. */
static void stage_init(stage *s, double noise)
{
    static const char *const names[] = {"a", "b"};
    const spec_model *model = table_model_init(&s->model, 2);
    for (int i = 0; i < TEXTS; i++) s->text[i] = (spec_pair_text){.category = i < 3 ? 0 : 1};
    s->run = (spec_pair_run){.plan = {.target = model,
                                      .draft = {model, model},
                                      .n_drafts = DRAFTS,
                                      .K = K,
                                      .text = s->text,
                                      .n_texts = TEXTS,
                                      .n_categories = 2,
                                      .category = names,
                                      .seed = spec_test_seed()},
                             .K = {K, K}};
    s->run.n_columns = spec_pair_run_sums(&s->run, DRAFTS);
    s->run.block = calloc(TEXTS * (size_t)s->run.n_columns, sizeof *s->run.block);
    for (int i = 0; i < TEXTS; i++) {
        double *block = s->run.block + i * s->run.n_columns;
        const double sign = i % 2 == 0 ? 1.0 : -1.0, rounds = 20.0 + i;
        ((spec_pair_head *)block)->positions = 2.0 * rounds;
        for (int width = 1; width <= K + 1; width++) {
            block[spec_pair_run_pass(width)] = 3.0;
            block[spec_pair_run_pass(width) + 1] = 3.0 * passes[width - 1];
        }
        for (int d = 0; d < DRAFTS; d++) {
            spec_pair_sums *sums = (spec_pair_sums *)(block + spec_pair_run_sums(&s->run, d));
            *sums = (spec_pair_sums){.overlap = (1.0 + 0.2 * d + 0.01 * sign) * rounds,
                                     .agree = rounds,
                                     .passes = 2.0,
                                     .seconds = 2.0 * c[d] * passes[0]};
            for (int k = 0; k < K; k++) {
                block[spec_pair_run_array(&s->run, d, SPEC_PAIR_ROUNDS) + k] = rounds;
                block[spec_pair_run_array(&s->run, d, SPEC_PAIR_EMITTED) + k] =
                    (1.4 + 0.3 * d + 0.2 * k + noise * sign * (i < 3 ? 1.0 : 0.5)) * rounds;
                block[spec_pair_run_array(&s->run, d, SPEC_PAIR_CAME) + k] = k == 0 ? rounds : 2.0;
                block[spec_pair_run_array(&s->run, d, SPEC_PAIR_PASSED) + k] =
                    (0.6 + 0.05 * sign) * (k == 0 ? rounds : 2.0);
            }
        }
    }
}

static void stage_free(stage *s)
{
    table_model_free(&s->model);
    spec_pair_run_free(&s->run);
}

static void compute(spec_pair_numbers *numbers, const stage *s, const spec_pair_costs *costs)
{
    assert_works(spec_pair_numbers_init(numbers, &s->run, costs, 0.05, &error));
    assert_int_equal(numbers->n_rows, 3 * DRAFTS * K);
}

static const spec_pair_row *row_of(const spec_pair_numbers *numbers, int category, int draft,
                                   int length)
{
    return &numbers->row[((category + 1) * DRAFTS + draft) * K + length - 1];
}

/* Returns the tokens per round of the texts from..to-1. */
static double tokens(const stage *s, int from, int to, int draft, int length)
{
    double emitted = 0.0, rounds = 0.0;
    for (int i = from; i < to; i++) {
        const double *block = s->run.block + i * s->run.n_columns;
        emitted += block[spec_pair_run_array(&s->run, draft, SPEC_PAIR_EMITTED) + length - 1];
        rounds += block[spec_pair_run_array(&s->run, draft, SPEC_PAIR_ROUNDS) + length - 1];
    }
    return emitted / rounds;
}

/* With given times a pass of the target takes 1, or what a file states; measured times are in the
 * sums. */
TEST(a_speedup_is_tokens_over_the_time_of_a_round)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    int width[] = {1, 2, 3};
    double time[] = {1.0, 1.25, 1.75};
    const spec_pass_costs file = {.n = 3, .width = width, .time = time};
    for (int way = 0; way < 3; way++) {
        const spec_pair_costs costs = {.opt_c = way < 2 ? c : NULL,
                                       .opt_passes = way == 1 ? &file : NULL};
        s.run.plan.clock = way == 2 ? spec_clock_wall() : (spec_clock){NULL, NULL};
        OWNED(spec_pair_numbers) numbers;
        compute(&numbers, &s, &costs);
        for (int d = 0; d < DRAFTS; d++)
            for (int k = 1; k <= K; k++) {
                const double pass = way > 0 ? passes[k] / passes[0] : 1.0, round = k * c[d] + pass;
                const spec_pair_row *all = row_of(&numbers, -1, d, k),
                                    *b = row_of(&numbers, 1, d, k);
                assert_within(all->tokens_per_round.value, tokens(&s, 0, TEXTS, d, k), 1e-12);
                assert_within(all->speedup.value, tokens(&s, 0, TEXTS, d, k) / round, 1e-12);
                assert_within(b->speedup.value, tokens(&s, 3, TEXTS, d, k) / round, 1e-12);
                assert_within(b->speedup.low, b->tokens_per_round.low / round, 1e-12);
                assert_within(b->speedup.high, b->tokens_per_round.high / round, 1e-12);
                assert_true(all->speedup.low < all->speedup.value &&
                            all->speedup.value < all->speedup.high);
                assert_int_equal(all->texts, TEXTS);
                assert_int_equal(b->texts, 3);
                assert_within(numbers.c[d].value, c[d], 1e-12);
            }
        assert_within(row_of(&numbers, -1, 1, 1)->agreement.value, 0.5, 1e-12);
        assert_within(row_of(&numbers, 0, 0, 1)->alpha.value, 0.5016, 1e-4); /* (20-21+22)/63/200 */
    }
}

TEST(the_best_row_has_the_largest_lower_end)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    OWNED(spec_pair_numbers) numbers;
    compute(&numbers, &s, &(spec_pair_costs){.opt_c = c});
    /* 1.4 / 1.1, 1.6 / 1.2; 1.7 / 1.3, 1.9 / 1.6 */
    const spec_pair_row *best = spec_pair_numbers_best(&numbers, -1, -1);
    assert_ptr_equal(best, row_of(&numbers, -1, 0, 2));
    assert_true(best->best && best->alike);
    assert_false(row_of(&numbers, -1, 1, 2)->alike);
    assert_false(row_of(&numbers, -1, 0, 1)->best);
    assert_ptr_equal(spec_pair_numbers_best(&numbers, -1, 1), row_of(&numbers, -1, 1, 1));
    assert_true(spec_pair_numbers_best(&numbers, 1, -1)->best);
}

TEST(noise_leaves_more_than_one_that_may_be_the_fastest)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    for (int i = 0; i < TEXTS; i++) /* the second draft varies independently */
        s.run.block[i * s.run.n_columns + spec_pair_run_array(&s.run, 1, SPEC_PAIR_EMITTED)] +=
            i < 3 ? 9.0 : -6.0;
    OWNED(spec_pair_numbers) numbers;
    compute(&numbers, &s, &(spec_pair_costs){.opt_c = c});
    assert_true(row_of(&numbers, -1, 1, 1)->alike && row_of(&numbers, -1, 0, 2)->alike);
    assert_true(row_of(&numbers, -1, 1, 1)->speedup.value >
                row_of(&numbers, -1, 0, 2)->speedup.value);
    assert_true(row_of(&numbers, -1, 0, 2)->best);   /* its lower end is the largest */
    assert_false(row_of(&numbers, -1, 0, 1)->alike); /* its tokens vary with those of K = 2 */
}

TEST(few_rounds_at_a_depth_give_no_interval)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    OWNED(spec_pair_numbers) numbers;
    compute(&numbers, &s, &(spec_pair_costs){.opt_c = c});
    const spec_pair_row *first = row_of(&numbers, -1, 0, 1), *second = row_of(&numbers, -1, 0, 2);
    assert_within(first->conditional.value, 0.5989, 1e-4); /* (66 - 69) / 135 / 20 from 0.6 */
    assert_true(first->conditional.low < 0.5989 && first->conditional.high > 0.5989);
    assert_within(second->conditional.value, 0.6, 1e-12);
    assert_true(isnan(second->conditional.low) && isnan(second->conditional.high));
}

/* Times differ by a factor of ten between texts, as on a busy machine. */
TEST(times_of_a_busy_machine_are_withheld)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    s.run.plan.clock = spec_clock_wall();
    for (int i = 0; i < TEXTS; i += 2)
        s.run.block[i * s.run.n_columns + spec_pair_run_pass(2) + 1] *= 10.0;
    OWNED(spec_pair_numbers) numbers;
    compute(&numbers, &s, &(spec_pair_costs){NULL, NULL});
    for (int d = 0; d < DRAFTS; d++) {
        assert_true(isnan(row_of(&numbers, -1, d, 1)->speedup.value));
        assert_true(isnan(row_of(&numbers, 0, d, 1)->speedup.value));
        assert_false(row_of(&numbers, -1, d, 1)->alike);
        assert_true(isfinite(row_of(&numbers, -1, d, 2)->speedup.value)); /* needs passes of 3 */
    }
}

/* A pass over two tokens takes less time than one over one token. If that is beyond noise, nothing
 * is reported; within noise the speed-up is cut to the tokens per round. The wrong version, which
 * tests at the confidence of an interval, withholds both. */
TEST(a_round_is_not_faster_than_a_plain_token)
{
    static const double share[] = {0.9, 0.97};
    for (int way = 0; way < 2; way++) {
        OWNED(stage) s;
        stage_init(&s, 0.01);
        s.run.plan.clock = spec_clock_wall();
        for (int i = 0; i < TEXTS; i++) {
            double *block = s.run.block + i * s.run.n_columns;
            block[spec_pair_run_pass(2) + 1] =
                3.0 * passes[0] * share[way] * (i % 2 == 0 ? 1.0155 : 0.9845);
            ((spec_pair_sums *)(block + spec_pair_run_sums(&s.run, 0)))->seconds = 0.0;
        }
        OWNED(spec_pair_numbers) numbers;
        compute(&numbers, &s, &(spec_pair_costs){NULL, NULL});
        const spec_pair_row *row = row_of(&numbers, -1, 0, 1);
        if (way == 0) {
            assert_true(isnan(row->speedup.value) && isnan(row->speedup.low));
        } else {
            assert_within(row->speedup.value, row->tokens_per_round.value, 1e-12);
            assert_within(row->speedup.high, row->tokens_per_round.high, 1e-12);
        }
        assert_true(isfinite(row_of(&numbers, -1, 0, 2)->speedup.value));
    }
}

TEST(without_times_there_is_no_speedup)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    OWNED(spec_pair_numbers) numbers;
    compute(&numbers, &s, &(spec_pair_costs){NULL, NULL});
    assert_null(spec_pair_numbers_best(&numbers, -1, -1));
    assert_true(isfinite(row_of(&numbers, -1, 0, 1)->tokens_per_round.low));
}

TEST(one_text_gives_no_interval)
{
    OWNED(stage) s;
    stage_init(&s, 0.02);
    s.run.plan.n_texts = 1;
    s.run.plan.n_categories = 0;
    OWNED(spec_pair_numbers) numbers;
    assert_works(
        spec_pair_numbers_init(&numbers, &s.run, &(spec_pair_costs){.opt_c = c}, 0.05, &error));
    const spec_pair_row *row = &numbers.row[0];
    assert_within(row->speedup.value, 1.42 / 1.1, 1e-12);
    assert_true(isnan(row->speedup.low) && isnan(row->alpha.low) &&
                isnan(row->tokens_per_round.low));
    assert_non_null(spec_pair_numbers_best(&numbers, -1, -1));
}
