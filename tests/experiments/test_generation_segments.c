/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/capped_geometric.h"
#include "experiments/generation.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/timing_workshop.h"

#include <math.h>

static int hear_nothing(void *self, const int *token, const spec_origin *origin, int n,
                        spec_error *error)
{
    (void)self, (void)token, (void)origin, (void)n, (void)error;
    return GSL_SUCCESS;
}

typedef struct {
    spec_generation g;
    spec_block_interval speedup;
    spec_ratio_verdict verdict;
    spec_timing_trust trust;
} spoken;

/* Texts of the test models with programmed times, and a baseline. */
static void speak(spoken *ret, workshop *w, uint64_t tokens, const spec_machine_load *opt_load)
{
    spec_error error = {{0}};
    spec_ending ending;
    spec_generation_plan plan = {.decoder = w->plan.decoder,
                                 .baseline = true,
                                 .seed = 7,
                                 .clock = w->plan.clock,
                                 .hear = hear_nothing};
    plan.decoder.K = 4;
    if (opt_load != NULL) plan.load = *opt_load;
    if (spec_generation_init(&ret->g, &plan, &error) != GSL_SUCCESS ||
        spec_generation_text(&ret->g, &ending, w->prompts.token[0], w->prompts.length[0], 0, tokens,
                             &error) != GSL_SUCCESS ||
        spec_generation_speedup(&ret->speedup, &ret->verdict, &ret->trust, &ret->g, &error) !=
            GSL_SUCCESS)
        fail_msg("%s", error.text);
}

static double tokens_per_round(const spoken *s)
{
    return (double)s->g.tally.emitted / (double)s->g.tally.rounds;
}

TEST(the_speed_up_is_the_one_that_was_programmed)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    spoken s;
    speak(&s, w, 4000, NULL);
    assert_int_equal(s.verdict, SPEC_RATIO_REPORTED);
    assert_near(s.speedup.value, s.g.beside_seconds / s.g.seconds, 1e-12);
    assert_within(s.speedup.value, workshop_speedup(w, 4), 5.0 * s.speedup.se);
    assert_true(s.speedup.se < 0.03 * s.speedup.value);
    assert_true(s.speedup.low < s.speedup.value && s.speedup.value < s.speedup.high);
    assert_true(s.speedup.value < tokens_per_round(&s));
    assert_within(s.trust.spread, 0.0, 1e-9); /* every plain token takes the same time */
    assert_nan(s.trust.lost);
    spec_generation_free(&s.g);
    workshop_free(w);
}

TEST(an_impossible_speed_up_is_withheld)
{
    workshop *w = workshop_init(-0.005, 0.0); /* a pass with more tokens takes less time */
    spoken s;
    w->draft.first = 0.001;
    speak(&s, w, 2000, NULL);
    assert_true(s.g.beside_seconds / s.g.seconds > 1.5 * tokens_per_round(&s));
    assert_int_equal(s.verdict, SPEC_RATIO_IMPOSSIBLE);
    assert_nan(s.speedup.value);
    assert_nan(s.speedup.high);
    spec_generation_free(&s.g);
    workshop_free(w);
}

/* If drafts are free and passes flat, the speed-up is the number of tokens per round, which is its
 * upper bound. */
TEST(a_speed_up_at_its_bound_is_reported)
{
    workshop *w = workshop_init(0.0, 0.0);
    spoken s;
    w->draft.first = 0.0;
    speak(&s, w, 2000, NULL);
    assert_int_equal(s.verdict, SPEC_RATIO_REPORTED);
    assert_within(s.speedup.value, tokens_per_round(&s),
                  0.02); /* the last round is cut to the text */
    assert_false(s.speedup.value > tokens_per_round(&s) || s.speedup.high > tokens_per_round(&s));
    spec_generation_free(&s.g);
    workshop_free(w);
}

TEST(a_text_of_one_segment_has_no_speed_up)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    spoken s;
    speak(&s, w, 12, NULL);
    assert_int_equal(s.verdict, SPEC_RATIO_VAGUE);
    assert_nan(s.speedup.value);
    assert_nan(s.speedup.low);
    spec_generation_free(&s.g);
    workshop_free(w);
}

/* Whatever the length of the text, there are fewer than SPEC_SEGMENTS_MAX segments, which contain
 * all of its tokens. */
TEST(segments_grow_with_the_text)
{
    const spec_machine_load off = {.read = NULL};
    OWNED(spec_generation_segments) segments;
    assert_int_equal(spec_generation_segments_init(&segments, &off, 16.0, NULL), GSL_SUCCESS);
    const int n = 200000;
    for (int i = 0; i < n; i++) {
        spec_generation_segments_add(&segments, 0.5, 1.0, 17.0);
        assert_true(segments.n < SPEC_SEGMENTS_MAX);
    }
    double tokens = segments.open.tokens, seconds = segments.open.seconds;
    for (int i = 0; i < segments.n; i++) {
        tokens += segments.segment[i].tokens;
        seconds += segments.segment[i].seconds;
        assert_true(segments.segment[i].tokens >= segments.least);
    }
    assert_true(tokens == 17.0 * n && seconds == 0.5 * n);
    assert_true(segments.n >= SPEC_SEGMENTS_MAX / 2 - 1 && segments.least > 16.0);
    spec_timing_trust trust = {.threads = 1};
    spec_block_interval speedup;
    spec_ratio_verdict verdict;
    assert_int_equal(
        spec_generation_segments_speedup(&speedup, &verdict, &trust, &segments, 5.0, 1, NULL),
        GSL_SUCCESS);
    assert_true(verdict == SPEC_RATIO_REPORTED && speedup.value == 2.0 && speedup.low == 2.0 &&
                speedup.high == 2.0);
}

static double *now_of_machine;

static void read_half(void *self, spec_load_reading *ret)
{
    (void)self;
    *ret = (spec_load_reading){
        .wall = *now_of_machine, .processor = 0.5 * *now_of_machine, .switched = 0.0};
}

static double busy_machine(void *self)
{
    (void)self;
    return 2.0 * *now_of_machine;
}

TEST(a_busy_machine_is_noticed)
{
    workshop *w = workshop_init(0.0013, 0.0002);
    const spec_machine_load load = {.read = read_half, .busy = busy_machine, .processors = 2};
    char line[256];
    spoken s;
    now_of_machine = &w->now;
    speak(&s, w, 600, &load);
    assert_near(s.trust.lost, 0.5, 1e-9);
    assert_within(s.trust.others, 1.5, 0.01);
    assert_true(spec_timing_trust_line(line, sizeof line, &s.trust, NULL, "more --tokens", false));
    assert_string_equal(line, "warning: this run lost 50 % of its time to other programs, which "
                              "took 1.5 of 2 processors: "
                              "close other programs");
    spec_generation_free(&s.g);
    workshop_free(w);
}
