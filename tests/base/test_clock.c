/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"
#include "tests/support/near.h"
#include "tests/support/paced_model.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <unistd.h>

TEST(the_walls_clock_goes_on)
{
    const spec_clock wall = spec_clock_wall(), off = {0};
    const double begun = spec_clock_read(&wall);
    double now = begun;
    for (long i = 0; i < 100000000 && now == begun; i++) now = spec_clock_read(&wall);
    assert_true(now > begun && now < begun + 10.0);
    assert_true(spec_clock_read(&off) == 0.0);
}

TEST(the_processors_clock_stands_while_nothing_is_computed)
{
    const spec_clock wall = spec_clock_wall(), processor = spec_clock_processor();
    const double begun = spec_clock_read(&wall), computed = spec_clock_read(&processor);
    usleep(30000);
    assert_true(spec_clock_read(&wall) - begun >= 0.029);
    assert_true(spec_clock_read(&processor) - computed < 0.02);
    double now = computed;
    for (long i = 0; i < 100000000 && now < computed + 0.002; i++)
        now = spec_clock_read(&processor);
    assert_true(now >= computed + 0.002);
}

/* One tick per call. */
static double tick(void *self)
{
    return ++*(double *)self;
}

TEST(a_round_asks_its_clock_five_times_and_one_that_is_off_never)
{
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, 27);
    double ticks = 0.0;
    for (int on = 0; on < 2; on++) {
        OWNED(spec_decoder) decoder;
        s.config.clock = (spec_clock){.seconds = on ? tick : NULL, .self = &ticks};
        stage_open_decoder(&decoder, &s.config);
        assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
        for (int i = 0; i < 7; i++)
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
        const spec_phases *p = &decoder.phases;
        const double each = on ? 7.0 : 0.0;
        assert_true(p->draft == each && p->score == each && p->rule == each && p->rest == each);
        assert_true(ticks == 5.0 * each);
    }
}

/* A round has K draft calls and one pass over K + 1 tokens. After a fully accepted draft, the
 * draft model also processes its last token. */
TEST(seconds_are_told_apart_by_whose_they_are)
{
    enum { K = 3, ROUNDS = 200 };
    OWNED(stage) s;
    stage_init(&s, 4, PAIR_PLAIN, 27);
    double now = 0.0;
    paced_model target, draft;
    s.config.target = paced_model_init(&target, &s.target.head, 2.385, 0.27, &now);
    s.config.opt_draft = paced_model_init(&draft, &s.draft.head, 0.31, 0.044, &now);
    s.config.K = K;
    s.config.clock = paced_clock(&now);
    OWNED(spec_decoder) decoder;
    stage_open_decoder(&decoder, &s.config);
    const int prompt[] = {1};
    assert_int_equal(spec_decoder_reset(&decoder, prompt, 1, NULL), GSL_SUCCESS);
    spec_tally tally = {0};
    int whole = 0;
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL), GSL_SUCCESS);
        whole += i < ROUNDS - 1 && decoder.round.n_accepted == K;
    }
    assert_true(whole > 10 && whole < ROUNDS - 10);
    assert_near(decoder.phases.draft, ROUNDS * K * 0.31 + whole * 0.044, 1e-9);
    assert_near(decoder.phases.score, ROUNDS * (2.385 + K * 0.27), 1e-9);
    assert_true(decoder.phases.rule == 0.0 && decoder.phases.rest == 0.0);
}
