/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/tournament.h"

#include "analysis/statistics/compensated.h"

#include <math.h>
#include <stdlib.h>

static const double tie = 1e-9, flat = 1e-12;

/* A challenge: the entries in order of ascending target/law, and for each of them the first entry
 * that ties with it. */
typedef struct {
    int *entry, *first; /* (D) */
    double share;
} challenge;

typedef struct {
    double ratio;
    int entry;
} item;

typedef struct {
    const spec_ratio_order *order;
    int D, n_challenges;   /* entries that can be drafted */
    challenge *challenge;  /* (n_challenges) */
    item *items;           /* (D) */
    /* (D) law of the winner so far; the same when one entry is never drafted */
    double *law, *without;
    double *gain;          /* (D) */
} tournament;

static void tournament_free(tournament *t)
{
    for (int i = 0; t->challenge != NULL && i < t->n_challenges; i++) {
        free(t->challenge[i].entry);
        free(t->challenge[i].first);
    }
    free(t->challenge);
    free(t->items);
    free(t->law);
    free(t->without);
    free(t->gain);
}

static bool tournament_init(tournament *t, const spec_ratio_order *order, int n)
{
    const size_t D = (size_t)order->n_drafted;
    *t = (tournament){.order = order, .D = order->n_drafted, .n_challenges = n - 1};
    t->challenge = calloc((size_t)n, sizeof *t->challenge);
    t->items = malloc(D * sizeof *t->items);
    t->law = malloc(D * sizeof *t->law);
    t->without = malloc(D * sizeof *t->without);
    t->gain = malloc(D * sizeof *t->gain);
    bool complete = t->challenge != NULL && t->items != NULL && t->law != NULL &&
                    t->without != NULL && t->gain != NULL;
    for (int i = 0; complete && i < t->n_challenges; i++) {
        t->challenge[i].entry = malloc(D * sizeof(int));
        t->challenge[i].first = malloc(D * sizeof(int));
        complete = t->challenge[i].entry != NULL && t->challenge[i].first != NULL;
    }
    return complete;
}

static int by_ratio(const void *a, const void *b)
{
    const item *one = a, *other = b;
    if (one->ratio != other->ratio) return one->ratio < other->ratio ? -1 : 1;
    return one->entry - other->entry;
}

static void sort(tournament *t, challenge *c)
{
    for (int i = 0; i < t->D; i++) {
        double ratio = t->law[i] > 0 ? t->order->target[i] / t->law[i] : 0;
        t->items[i] = (item){ratio, i};
    }
    qsort(t->items, (size_t)t->D, sizeof *t->items, by_ratio);
    for (int k = 0, first = 0; k < t->D; k++) {
        if (t->items[k].ratio > t->items[first].ratio * (1 + tie)) first = k;
        c->entry[k] = t->items[k].entry;
        c->first[k] = first;
    }
}

/* Fills gain (D) with the increase of `law` by a challenge of share 1; entry `out`, if not -1, is
 * never drafted. The mass that the law thereby loses is not redistributed. */
static void fill_gain(tournament *t, const challenge *c, const double *law, int out)
{
    double law_below = 0, through = 0;
    for (int k = 0, first = 0, last = 0; k < t->D; k++) {
        if (c->first[k] != first) {
            for (; first < k; first++) law_below += law[c->entry[first]];
        }
        for (; last < t->D && c->first[last] == first; last++) {
            through += c->entry[last] != out ? t->order->draft[c->entry[last]] : 0;
        }
        int i = c->entry[k];
        double draft = i != out ? t->order->draft[i] : 0;
        t->gain[i] = law[i] * through + draft * law_below - law[i];
    }
}

static double slope(const tournament *t, double share)
{
    spec_compensated sum = {0};
    for (int i = 0; i < t->D; i++) {
        if (t->law[i] + share * t->gain[i] < t->order->target[i])
            spec_compensated_add(&sum, t->gain[i]);
    }
    return spec_compensated_value(&sum);
}

static double best_share(const tournament *t)
{
    double low = 0, high = 1;
    if (!(slope(t, 0) > flat)) return 0;
    if (slope(t, 1) > flat) return 1;
    for (;;) {
        double share = low + (high - low) / 2;
        if (share <= low || share >= high) return low;
        if (slope(t, share) > flat) {
            low = share;
        } else {
            high = share;
        }
    }
}

static void play(tournament *t)
{
    for (int i = 0; i < t->D; i++) t->law[i] = t->order->draft[i];
    for (int c = 0; c < t->n_challenges; c++) {
        sort(t, &t->challenge[c]);
        fill_gain(t, &t->challenge[c], t->law, -1);
        t->challenge[c].share = best_share(t);
        for (int i = 0; i < t->D; i++) t->law[i] += t->challenge[c].share * t->gain[i];
    }
}

/* Fills `without` with the winner's chances when entry `out` is not drafted. */
static void play_without(tournament *t, int out)
{
    double others = t->order->draft_below[out] + t->order->draft_above[out + 1];
    for (int i = 0; i < t->D; i++) t->without[i] = i != out ? t->order->draft[i] : 0;
    for (int c = 0; c < t->n_challenges; c++) {
        double share = t->challenge[c].share;
        fill_gain(t, &t->challenge[c], t->without, out);
        for (int i = 0; i < t->D; i++) {
            double prevailed = t->without[i] + t->gain[i];
            t->without[i] = (1 - share) * others * t->without[i] + share * prevailed;
        }
    }
}

/* Returns the chance that the winner is rejected while entry `z`, which is never rejected itself,
 * is among the drafts. */
static double rejected_with(tournament *t, int z)
{
    spec_compensated sum = {0};
    play_without(t, z);
    for (int i = 0; i < t->D; i++) {
        if (t->law[i] > t->order->target[i]) {
            spec_compensated_add(&sum, (1 - t->order->target[i] / t->law[i]) *
                                           (t->law[i] - t->without[i]));
        }
    }
    return spec_compensated_value(&sum);
}

static double acceptance(const spec_ratio_order *order, int n, bool coincidences)
{
    if (!order->sorted || n < 1 || n > SPEC_DRAFTS_MAX) return NAN;
    tournament t;
    spec_compensated sum = {0}, lack = {0}, drafted = {0};
    if (!tournament_init(&t, order, n)) {
        tournament_free(&t);
        return NAN;
    }
    play(&t);
    for (int i = 0; i < t.D; i++) {
        double missing = order->target[i] - t.law[i];
        spec_compensated_add(&sum, fmin(order->target[i], t.law[i]));
        if (!(missing > 0)) continue;
        spec_compensated_add(&lack, missing);
        if (coincidences) spec_compensated_add(&drafted, missing * rejected_with(&t, i));
    }
    spec_compensated_add(&lack, order->target_above[t.D]);
    double correction = spec_compensated_value(&lack);
    double by_chance = correction > 0 ? spec_compensated_value(&drafted) / correction : 0;
    tournament_free(&t);
    return fmin(1, spec_compensated_value(&sum) + by_chance);
}

double spec_tournament_khisti_judged(const spec_ratio_order *order, int n)
{
    return acceptance(order, n, false);
}

double spec_tournament_khisti(const spec_ratio_order *order, int n)
{
    return order->V <= SPEC_TOURNAMENT_VOCAB_MAX ? acceptance(order, n, true) : NAN;
}
