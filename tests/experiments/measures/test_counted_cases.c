/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/counted_cases.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { N = 40 };

typedef struct {
    int n;
    spec_observation seen[N];
} list;

static int take(void *self, const spec_observation *observation, spec_error *error)
{
    list *l = self;
    (void)error;
    assert_true(l->n < N);
    l->seen[l->n++] = *observation;
    return GSL_SUCCESS;
}

static spec_counted_case case_of(const char *kind)
{
    spec_counted_case c = {
        .engine = {.output = 50.0, .batch = 4, .cost = {.step = 0.01, .draft_pass = 1e-3}}};
    assert_works(spec_counted_case_kind(&c, kind, 0.7, &error));
    return c;
}

static list observe(const char *kind, spec_counted_source source, int K)
{
    const spec_counted_case c = case_of(kind);
    const spec_counted_reading reading = {source, N, 0.7, 42, 3};
    list l = {0};
    int unread;
    assert_int_equal(
        spec_counted_case_observe(&unread, &(spec_observer){take, &l}, &c, K, &reading, NULL),
        GSL_SUCCESS);
    assert_int_equal(unread, 0);
    assert_int_equal(l.n, N);
    return l;
}

TEST(each_kind_sets_its_own_number)
{
    const spec_counted_case one = case_of("one"), requests = case_of("requests?concentration=3"),
                            rounds = case_of("rounds?concentration=3"), decay = case_of("decay"),
                            correlated = case_of("correlated"), stop = case_of("stop?chance=0.3"),
                            sees = case_of("sees"), drift = case_of("drift?by=-0.2");
    assert_true(one.alpha.kind == SPEC_ALPHA_ONE && one.engine.decay == 1.0 && isnan(one.after));
    assert_true(requests.alpha.kind == SPEC_ALPHA_BETA && requests.alpha.concentration == 3.0);
    assert_same(rounds.engine.over_rounds, 3.0);
    assert_same(decay.engine.decay, 0.9);
    assert_same(correlated.engine.stay, 0.7);
    assert_same(stop.engine.stop, 0.3);
    assert_same(sees.engine.sees, 0.5);
    assert_near(drift.after, 0.5, 1e-15);
}

TEST(wrong_kinds_are_refused)
{
    static const char *const wrong[][2] = {{"request", "did you mean 'requests'?"},
                                           {"one?stay=1", "stay"},
                                           {"decay?rate=0", "rate"},
                                           {"correlated?stay=1", "stay"},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_counted_case c;
        spec_error error = {""};
        assert_int_not_equal(spec_counted_case_kind(&c, wrong[i][0], 0.7, &error), GSL_SUCCESS);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("%s", error.text);
    }
}

TEST(observations_keep_the_identities_of_counters)
{
    for (int source = SPEC_COUNTED_WINDOWS; source <= SPEC_COUNTED_REQUESTS; source += 2) {
        const list l = observe("stop", (spec_counted_source)source, 3);
        for (int i = 0; i < N; i++) {
            const spec_observation *o = &l.seen[i];
            assert_same(o->accepted, o->passed[0] + o->passed[1] + o->passed[2]);
            assert_true(o->passed[0] >= o->passed[1] && o->passed[1] >= o->passed[2]);
            assert_true(o->drafted >= o->rounds && o->drafted <= 3.0 * o->rounds);
            assert_true(o->emitted <= o->rounds + o->accepted);
            assert_same(o->passes, o->rounds);
            assert_int_equal(o->depths, 3);
            assert_int_equal(o->line, i + 1);
            assert_same(o->running, source == SPEC_COUNTED_WINDOWS ? 4.0 : 1.0);
            assert_true(o->seconds > 0.0);
        }
    }
}

/* Windows of 200 rounds are printed with enough digits: rounding loses nothing but the last digits
 * of the rate of tokens. */
TEST(rounded_windows_have_the_same_whole_numbers)
{
    const list exact = observe("rounds", SPEC_COUNTED_WINDOWS, 3);
    const list rounded = observe("rounds", SPEC_COUNTED_ROUNDED, 3);
    for (int i = 0; i < N; i++) {
        const spec_observation *a = &exact.seen[i], *b = &rounded.seen[i];
        assert_true(b->rounds_low <= a->rounds && a->rounds <= b->rounds_high);
        assert_same(a->accepted, b->accepted);
        assert_same(a->drafted, b->drafted);
        if (b->rounds_low == b->rounds_high)
            for (int j = 0; j < 3; j++) assert_within(a->passed[j], b->passed[j], 1.0);
        assert_within(a->emitted, b->emitted, 0.7 * 0.05 + 1e-9);
    }
}

TEST(plain_decoding_has_passes_without_rounds)
{
    const list l = observe("one", SPEC_COUNTED_ROUNDED, 0);
    assert_same(l.seen[0].rounds, 0.0);
    assert_same(l.seen[0].passes, 280.0);
    assert_same(l.seen[0].emitted, 280.0);
    assert_int_equal(l.seen[0].depths, 0);
}

static double alpha_of(const list *l, int from, int to)
{
    double accepted = 0.0, tested = 0.0;
    for (int i = from; i < to; i++) {
        accepted += l->seen[i].accepted;
        tested += l->seen[i].rounds + l->seen[i].passed[0] + l->seen[i].passed[1];
    }
    return accepted / tested;
}

/* 20 windows test about 8000 draft tokens: a standard error of .0055. */
TEST(drift_is_in_the_middle)
{
    for (int source = SPEC_COUNTED_WINDOWS; source <= SPEC_COUNTED_ROUNDED; source++) {
        const list l = observe("drift?by=-0.2", (spec_counted_source)source, 3);
        assert_within(alpha_of(&l, 0, N / 2), 0.7, 0.025);
        assert_within(alpha_of(&l, N / 2, N), 0.5, 0.025);
    }
}

TEST(halves_draw_other_numbers)
{
    const list l = observe("drift?by=0", SPEC_COUNTED_WINDOWS, 3);
    double differences = 0.0;
    for (int i = 0; i < N / 2; i++) differences += l.seen[i].accepted != l.seen[i + N / 2].accepted;
    assert_true(differences > N / 4);
}

TEST(limits_are_those_of_the_draft_length_that_is_asked)
{
    const spec_counted_case c = case_of("decay?rate=0.8");
    spec_counter_limits l;
    assert_int_equal(spec_counted_case_limits(&l, &c, 2, NULL), GSL_SUCCESS);
    assert_near(l.passes[2], 0.7 * 0.7 * 0.8, 1e-13);
    assert_same(l.drafted, 2.0);
    assert_int_equal(spec_counted_case_limits(&l, &c, 0, NULL), GSL_SUCCESS);
    assert_near(l.tokens, 1.0, 1e-13);
}

static int refuse(void *self, const spec_observation *observation, spec_error *error)
{
    (void)self;
    (void)observation;
    return spec_fail(error, GSL_EINVAL, "no");
}

TEST(failures_end_an_observation)
{
    spec_counted_case c = case_of("one");
    spec_counted_reading reading = {SPEC_COUNTED_WINDOWS, N, 1.0, 42, 3};
    spec_counter_limits l;
    assert_status(
        spec_counted_case_observe(NULL, &(spec_observer){refuse, NULL}, &c, 3, &reading, &error),
        GSL_EINVAL);
    reading.seconds = -1.0;
    assert_status(
        spec_counted_case_observe(NULL, &(spec_observer){refuse, NULL}, &c, 3, &reading, &error),
        GSL_EDOM);
    c.engine.output = 0.0;
    assert_status(spec_counted_case_limits(&l, &c, 3, &error), GSL_EDOM);
}
