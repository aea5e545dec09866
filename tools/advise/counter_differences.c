/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/counter_differences.h"

#include "speclab/no_memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct spec_counter_last {
    spec_observation total; /* total of the newest scrape */
    size_t order;           /* order of the label's first scrape */
    bool used;              /* the total, or a difference from it, is already part of a window */
};

/* Returns counter number i; counts come first. It leaves out rounds, whose rounding is known, and
 * passed. */
enum { COUNTS = 4, COUNTERS = 7 };
static const double *counter(const spec_observation *o, int i)
{
    const double *const counters[COUNTERS] = {&o->passes,  &o->drafted, &o->accepted, &o->emitted,
                                              &o->seconds, &o->busy,    &o->steps};
    return counters[i];
}

static double low(const spec_observation *o)
{
    return spec_observation_is_rounded(o) ? o->rounds_low : o->rounds;
}

static double high(const spec_observation *o)
{
    return spec_observation_is_rounded(o) ? o->rounds_high : o->rounds;
}

static double passed(const spec_observation *o, int depth)
{
    return depth < o->depths ? o->passed[depth] : 0.0;
}

static bool falls(const spec_observation *from, const spec_observation *to)
{
    const int depths = from->depths > to->depths ? from->depths : to->depths;
    if (high(to) < low(from)) return true;
    for (int i = 0; i < COUNTERS; i++)
        if (*counter(to, i) < *counter(from, i)) return true;
    /* Counts derived from rounded means sometimes decrease without a restart. */
    if (spec_observation_is_rounded(from) || spec_observation_is_rounded(to) || from->depths == 0 ||
        to->depths == 0)
        return false;
    for (int i = 0; i < depths; i++)
        if (passed(to, i) < passed(from, i)) return true;
    return false;
}

static bool is_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns whether all counts are equal; times may differ. */
static bool repeats(const spec_observation *from, const spec_observation *to)
{
    if (!is_equal(low(from), low(to)) || !is_equal(high(from), high(to))) return false;
    for (int i = 0; i < COUNTS; i++)
        if (!is_equal(*counter(from, i), *counter(to, i))) return false;
    if (from->depths != to->depths) return false;
    for (int i = 0; i < from->depths; i++)
        if (!is_equal(from->passed[i], to->passed[i])) return false;
    return true;
}

static spec_observation difference(const spec_observation *from, const spec_observation *to)
{
    spec_observation o = *to;
    o.kind = SPEC_OBSERVED_WINDOW;
    /* If the engine decoded plainly from the start, all rounds have the later length. */
    if (from->K != to->K && from->K != 0) o.K = -1;
    o.rounds -= from->rounds;
    if (spec_observation_is_rounded(from) || spec_observation_is_rounded(to)) {
        o.rounds_low = fmax(low(to) - high(from), 0.0);
        o.rounds_high = high(to) - low(from);
        o.rounds = fmin(fmax(o.rounds, o.rounds_low), o.rounds_high);
    } else {
        o.rounds_low = o.rounds_high = o.rounds;
    }
    for (int i = 0; i < COUNTERS; i++) *(double *)counter(&o, i) -= *counter(from, i);
    if (to->time > from->time) o.seconds = to->time - from->time;
    if (from->depths == 0 && from->K != 0) o.depths = 0;
    for (int i = 0; i < o.depths; i++) o.passed[i] = fmax(o.passed[i] - passed(from, i), 0.0);
    return o;
}

/* Turns a window without a draft into plain decoding, whatever the engine's setting. */
static void make_plain(spec_observation *o)
{
    if (o->rounds > 0.0 || !(o->drafted == 0.0) || !(o->emitted > 0.0)) return;
    o->K = o->depths = 0;
}

static int hand_on(spec_counter_differences *d, spec_observation o, spec_error *error)
{
    o.kind = SPEC_OBSERVED_WINDOW;
    make_plain(&o);
    return d->to.take(d->to.self, &o, error);
}

/* Hands on the total as a window, unless a part of it is already in a window. */
static int average(spec_counter_differences *d, struct spec_counter_last *last, spec_error *error)
{
    if (last->used) return GSL_SUCCESS;
    last->used = true;
    return hand_on(d, last->total, error);
}

/* Returns the index of the first label that is at least `label`. */
static size_t place(const spec_counter_differences *d, uint64_t label)
{
    size_t from = 0, to = d->n;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (d->last[middle].total.label < label)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static int insert(spec_counter_differences *d, size_t at, const spec_observation *o,
                  spec_error *error)
{
    if (d->n == SPEC_COUNTER_LABELS)
        return spec_fail(
            error, GSL_EINVAL,
            "counters of more than %d engines, models and slots; give fewer files at a "
            "time",
            SPEC_COUNTER_LABELS);
    if (d->n == d->capacity) {
        const size_t capacity = d->capacity > 0 ? 2 * d->capacity : 4;
        struct spec_counter_last *last = realloc(d->last, capacity * sizeof *last);
        if (last == NULL) return spec_no_memory(error);
        d->last = last;
        d->capacity = capacity;
    }
    memmove(d->last + at + 1, d->last + at, (d->n - at) * sizeof *d->last);
    d->last[at] = (struct spec_counter_last){.total = *o, .order = d->n, .used = false};
    d->n++;
    return GSL_SUCCESS;
}

static int take(void *self, const spec_observation *o, spec_error *error)
{
    spec_counter_differences *d = self;
    if (o->kind != SPEC_OBSERVED_TOTAL) return d->to.take(d->to.self, o, error);
    assert(o->depths >= 0 && o->depths <= SPEC_OBSERVED_DEPTHS);
    const size_t at = place(d, o->label);
    if (at == d->n || d->last[at].total.label != o->label) return insert(d, at, o, error);
    struct spec_counter_last *last = &d->last[at];
    if (last->total.time > 0.0 && o->time > 0.0 && o->time < last->total.time)
        return spec_fail(error, GSL_EINVAL,
                         "scrapes are out of order: # time %.0f follows %.0f; give them in order "
                         "of time",
                         o->time, last->total.time);
    if (falls(&last->total, o)) {
        d->resets++;
        SPEC_PASS(average(d, last, error));
        SPEC_PASS(hand_on(d, *o, error));
        last->used = true;
    } else if (repeats(&last->total, o)) {
        d->repeated++;
    } else {
        if (!last->used && last->total.rounds > 0.0) d->begin_rounds += last->total.rounds;
        SPEC_PASS(hand_on(d, difference(&last->total, o), error));
        last->used = true;
    }
    last->total = *o;
    return GSL_SUCCESS;
}

spec_observer spec_counter_differences_observer(spec_counter_differences *differences)
{
    return (spec_observer){take, differences};
}

static int by_order(const void *a, const void *b)
{
    const struct spec_counter_last *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

int spec_counter_differences_end(spec_counter_differences *d, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (d->n > 0) qsort(d->last, d->n, sizeof *d->last, by_order);
    for (size_t i = 0; i < d->n; i++) SPEC_TRY(average(d, &d->last[i], error));
done:
    d->n = 0;
    return status;
}

void spec_counter_differences_free(spec_counter_differences *differences)
{
    free(differences->last);
    differences->last = NULL;
    differences->n = differences->capacity = 0;
}
