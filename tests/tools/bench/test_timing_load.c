/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures on a busy machine: the costs are programmed, and the clock jumps. */
#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/timing_workshop.h"
#include "tools/bench/timing_load.h"
#include "tools/bench/timing_report.h"
#include "tools/bench/timing_result.h"

#include <gsl/gsl_randist.h>
#include <stdlib.h>
#include <string.h>

/* A clock that other programs disturb: at `rate` per second of the process's own time, they take up
 * to `jump` seconds each. */
typedef struct {
    double *now, rate, jump;
    double read, lost; /* the process's own time at the last reading, and the time of others */
    gsl_rng *rng;
} disturbed;

static double tell_disturbed(void *self)
{
    disturbed *d = self;
    for (unsigned n = gsl_ran_poisson(d->rng, d->rate * (*d->now - d->read)); n > 0; n--)
        d->lost += d->jump * gsl_rng_uniform(d->rng);
    d->read = *d->now;
    return *d->now + d->lost;
}

static void disturb(workshop *w, disturbed *d, double rate, double jump, uint64_t seed)
{
    *d = (disturbed){
        .now = &w->now, .rate = rate, .jump = jump, .rng = gsl_rng_alloc(spec_rng_pcg64dxsm)};
    assert_non_null(d->rng);
    spec_rng_stream(d->rng, seed, 0);
    w->plan.clock = (spec_clock){.seconds = tell_disturbed, .self = d};
}

/* Makes the table, and its numbers, from the workshop's measurement. */
static spec_timing_result *result_of(spec_table *table, const workshop *w)
{
    spec_error error = {{0}};
    spec_timing_result *result = malloc(sizeof *result);
    assert_non_null(result);
    if (spec_timing_report_table(table, &w->timed, &w->prediction, "", &error) != GSL_SUCCESS ||
        spec_timing_result_init(result, table, "result", &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    return result;
}

static double number(const spec_table *table, size_t row, const char *column)
{
    return spec_cell_number(spec_table_cell(table, row, spec_table_column(table, column)));
}

/* A pass of five tokens takes a quarter of the time of one, so a round takes less than a plain
 * token. */
TEST(a_round_that_takes_less_than_a_plain_token_has_no_speed_up)
{
    workshop *w = workshop_init(-0.005, 0.0);
    spec_table table;
    char line[512];
    w->plan.texts = 8;
    w->draft.first = 0.001;
    workshop_run(w);
    const spec_timing_speed *s = &w->prediction.speed[0];
    assert_true(workshop_speedup(w, 4) > 1.5 * s->tokens_per_round.high); /* as programmed */
    assert_int_equal(s->verdict, SPEC_RATIO_IMPOSSIBLE);
    assert_nan(s->speedup.value);
    assert_nan(s->speedup.high);
    assert_nan(s->speedup_costed);
    assert_int_equal(w->prediction.best, -1);
    spec_timing_result *result = result_of(&table, w);
    assert_nan(number(&table, 0, "speedup"));
    assert_nan(number(&table, 0, "tokens_per_s"));
    assert_nan(number(&table, 0, "target_pass_ratio"));
    assert_true(number(&table, 0, "target_pass_ms") > 0.0); /* measurements stay */
    assert_true(spec_timing_result_warning(line, sizeof line, result));
    assert_non_null(strstr(
        line, "withheld: the speed-up at K = 4 (a round cannot take less than a plain token)"));
    free(result);
    spec_table_free(&table);
    workshop_free(w);
}

/* Sometimes other programs take up to twenty seconds, thousands of passes, so c depends on which
 * passes they interrupt. */
TEST(c_is_withheld_where_a_few_jumps_decide_it)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    disturbed d;
    spec_table table;
    char line[512];
    w->plan.texts = 16;
    disturb(w, &d, 0.2, 20.0, w->plan.seed);
    workshop_run(w);
    const spec_block_interval *c = &w->prediction.c;
    assert_nan(c->value);
    assert_true(c->high > 2.0 * c->low && c->low > 0.0);
    assert_nan(w->prediction.speed[0].speedup_theorem); /* nor its consequences */
    assert_nan(w->prediction.speed[0].speedup_costed);
    spec_timing_result *result = result_of(&table, w);
    assert_nan(number(&table, 0, "c"));
    assert_near(number(&table, 0, "c_high"), c->high, 1e-6 * c->high);
    assert_true(spec_timing_result_warning(line, sizeof line, result));
    assert_non_null(strstr(line, "c (known to no better than a factor of two)"));
    free(result);
    spec_table_free(&table);
    gsl_rng_free(d.rng);
    workshop_free(w);
}

/* How often a chain that was drafted ahead is the right one does not depend on costs. */
TEST(hits_are_predicted_where_c_is_withheld)
{
    int withheld = 0;
    for (uint64_t run = 0; run < 8; run++) {
        workshop *w = workshop_init(0.0013, 0.0002);
        disturbed d;
        w->plan.texts = 16;
        w->plan.decoder.ahead = true;
        disturb(w, &d, 0.2, 20.0, w->plan.seed + run);
        workshop_run(w);
        const spec_timing_speed *last = &w->prediction.speed[w->prediction.n_speeds - 1];
        assert_true(last->way->ahead && last->hit_predicted > 0.0);
        assert_int_equal(isnan(last->speedup_theorem), isnan(w->prediction.c.value));
        withheld += isnan(w->prediction.c.value);
        gsl_rng_free(d.rng);
        workshop_free(w);
    }
    assert_true(withheld > 0);
}

/* Whatever the noise: no speed-up is above tokens per round, none of K = 0 is above 1, and no pass
 * is cheaper than that of one token. */
TEST(no_noise_makes_a_number_that_cannot_be)
{
    int reported = 0, withheld = 0, cut = 0;
    for (int run = 0; run < 24; run++) {
        workshop *w = workshop_init(run % 3 == 0 ? 0.0 : 0.0013, 0.0);
        disturbed d;
        spec_table table;
        w->plan.n_K = 3;
        memcpy(w->plan.K, (int[]){0, 1, 3}, 3 * sizeof w->plan.K[0]);
        w->plan.texts = 8;
        w->plan.tokens = 100;
        w->draft.first = 1e-5;
        disturb(w, &d, 1.0, (double[]){0.002, 0.05, 0.5, 5.0}[run % 4],
                w->plan.seed + (uint64_t)run);
        workshop_run(w);
        spec_timing_result *result = result_of(&table, w); /* which checks it, too */
        for (size_t r = 0; r < 3; r++) {
            const double speedup = number(&table, r, "speedup"),
                         tokens = number(&table, r, "tokens_per_round");
            const double raw =
                tokens * number(&table, r, "plain_ms") / number(&table, r, "round_ms");
            assert_false(speedup > tokens);
            assert_false(number(&table, r, "speedup_costed") >
                         number(&table, r, "tokens_per_round_by_depth"));
            if (r == 0) assert_false(speedup > 1.0 || number(&table, r, "speedup_high") > 1.0);
            reported += !isnan(speedup);
            withheld += isnan(speedup);
            cut += speedup < raw * (1.0 - 1e-6);
        }
        for (size_t r = 0; r < table.n_rows; r++) {
            assert_false(number(&table, r, "target_pass_ratio") < 1.0);
            assert_false(number(&table, r, "draft_pass_ratio") < 1.0);
        }
        free(result);
        spec_table_free(&table);
        gsl_rng_free(d.rng);
        workshop_free(w);
    }
    printf("%d reported, %d of them cut, %d withheld\n", reported, cut, withheld);
    assert_true(reported > 20 && withheld > 10 && cut > 5);
}

/* Expensive drafts: plain decoding is the fastest, but the best K is above 0. */
TEST(K_of_zero_is_no_candidate_for_the_best)
{
    workshop *w = workshop_init(0.01, 0.0);
    spec_table table;
    w->plan.n_K = 2;
    w->plan.K[0] = 0;
    w->plan.K[1] = 3;
    w->plan.texts = 8;
    w->draft.first = 0.03;
    workshop_run(w);
    const spec_timing_prediction *p = &w->prediction;
    assert_near(p->speed[0].speedup.value, 1.0, 1e-9);
    assert_true(p->speed[1].speedup.high < 1.0);
    assert_int_equal(p->best, 1);
    assert_true(!p->speed[0].tied && p->speed[1].tied);
    free(result_of(&table, w));
    spec_table_free(&table);
    workshop_free(w);
}

/* On a simulated machine, others take half of the time, and use 1.5 of 4 processors; its speed
 * falls by a fifth. */
typedef struct {
    const double *now;
    int reads, spins;
} machine;

static void read_machine(void *self, spec_load_reading *ret)
{
    machine *m = self;
    *ret = (spec_load_reading){
        .wall = *m->now, .processor = 0.5 * *m->now, .switched = 10.0 * *m->now};
    m->reads++;
}

static double busy_machine(void *self)
{
    return 2.0 * *((machine *)self)->now + (((machine *)self)->spins > 1 ? SPEC_TRUST_COUNTS : 0.0);
}

static double spin_machine(void *self)
{
    machine *m = self;
    return m->spins++ < 20 ? 65e-6 : 80e-6;
}

TEST(the_load_is_read_at_both_ends_of_every_interval)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    machine m = {.now = &w->now};
    spec_table table;
    char line[512];
    w->plan.load = (spec_machine_load){.read = read_machine,
                                       .busy = busy_machine,
                                       .spin = spin_machine,
                                       .processors = 4,
                                       .self = &m};
    workshop_run(w);
    spec_timing_result *result = result_of(&table, w);
    for (int way = 0; way < 2; way++) {
        double seconds = 0.0, wall = 0.0;
        for (int i = 0; i < w->timed.n_blocks; i++) {
            const double *block = w->timed.block + (size_t)i * (size_t)w->timed.n_columns;
            seconds += block[spec_timing_column(way, SPEC_TIMING_SECONDS)];
            wall += block[spec_timing_column(way, SPEC_TIMING_WALL)];
        }
        assert_near(wall, seconds, 1e-9 * seconds);
    }
    assert_true(w->timed.block[w->timed.passes_load] > 0.0);
    assert_near(number(&table, 0, "processor_share"), 0.5, 1e-9);
    assert_near(number(&table, 0, "switches_per_s"), 10.0, 1e-6);
    assert_near(number(&table, 0, "others"), 1.5, 1e-9);
    assert_near(number(&table, 0, "lost"), 0.5, 1e-9);
    assert_within(number(&table, 0, "plain_spread"), 0.0, 1e-9);
    assert_near(number(&table, 0, "speed_spread"), (80.0 - 65.0) / 80.0,
                1e-6); /* 41 readings: 20 and 21 */
    assert_int_equal(m.spins, 41);
    assert_true(m.reads > 2 * 40 * 2 * 5);
    assert_true(spec_timing_result_warning(line, sizeof line, result));
    assert_non_null(strstr(
        line,
        "this run lost 50 % of its time to other programs, which took 1.5 of 4 processors; the "
        "processor's speed varies by 19 %"));
    free(result);
    spec_table_free(&table);
    workshop_free(w);
}

/* Without a source nothing is known, and nothing is doubted. */
TEST(a_load_that_is_off_leaves_its_columns_empty)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    spec_table table;
    char line[512];
    w->plan.texts = 4;
    workshop_run(w);
    spec_timing_result *result = result_of(&table, w);
    static const char *const empty[] = {"processor_share", "switches_per_s", "others", "lost",
                                        "speed_spread"};
    for (int i = 0; i < 5; i++) assert_nan(number(&table, 0, empty[i]));
    assert_within(number(&table, 0, "plain_spread"), 0.0, 1e-9);
    assert_false(spec_timing_result_warning(line, sizeof line, result));
    free(result);
    spec_table_free(&table);
    workshop_free(w);
}
