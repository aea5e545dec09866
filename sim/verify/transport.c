/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/transport.h"

#include <assert.h>
#include <gsl/gsl_pow_int.h>
#include <stdlib.h>
#include <string.h>

int spec_transport_init(spec_transport *transport, int vocab, spec_error *error)
{
    const size_t V = (size_t)vocab;
    *transport = (spec_transport){.vocab = vocab};
    transport->token = malloc(V * sizeof(int));
    transport->place = malloc(V * sizeof(int));
    transport->hull = malloc((V + 1) * sizeof(int));
    transport->items = malloc(2 * V * sizeof *transport->items);
    double **const array[] = {&transport->target,       &transport->draft,
                              &transport->target_below, &transport->draft_below,
                              &transport->draft_above,  &transport->inside,
                              &transport->selected,     &transport->law};
    bool complete = transport->token != NULL && transport->place != NULL &&
                    transport->hull != NULL && transport->items != NULL;
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        *array[i] = malloc((V + 1) * sizeof(double));
        complete = complete && *array[i] != NULL;
    }
    if (complete) return GSL_SUCCESS;
    spec_transport_free(transport);
    return spec_fail(error, GSL_ENOMEM, "out of memory for a vocabulary of %d", vocab);
}

void spec_transport_free(spec_transport *transport)
{
    free(transport->token);
    free(transport->place);
    free(transport->hull);
    free(transport->items);
    free(transport->target);
    free(transport->draft);
    free(transport->target_below);
    free(transport->draft_below);
    free(transport->draft_above);
    free(transport->inside);
    free(transport->selected);
    free(transport->law);
    *transport = (spec_transport){.vocab = 0};
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Adds a term to a sum and its compensation. */
static void add(double *sum, double *lost, double value)
{
    const double corrected = value - *lost, next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

void spec_transport_sort(spec_transport *transport, const double *target, const double *row)
{
    spec_transport *const t = transport;
    int n = 0;
    for (int i = 0; i < t->vocab; i++) {
        t->place[i] = -1;
        if (!(row[i] > 0.0)) continue;
        t->items[n++] = (spec_ratio_entry){target[i] / row[i], i};
    }
    const spec_ratio_entry *item = spec_ratio_sort(t->items, n);
    double below[2] = {0.0, 0.0}, lost[2] = {0.0, 0.0};
    t->n_drafted = n;
    t->target_below[0] = t->draft_below[0] = 0.0;
    for (int k = 0; k < n; k++) {
        t->token[k] = item[k].token;
        t->place[item[k].token] = k;
        t->target[k] = target[t->token[k]];
        t->draft[k] = row[t->token[k]];
        add(&below[0], &lost[0], t->target[k]);
        add(&below[1], &lost[1], t->draft[k]);
        t->target_below[k + 1] = below[0];
        t->draft_below[k + 1] = below[1];
    }
    double above = 0.0, lost_above = 0.0;
    t->draft_above[n] = 0.0;
    for (int k = n - 1; k >= 0; k--) {
        t->draft[k] /= below[1];
        t->draft_below[k + 1] /= below[1];
        add(&above, &lost_above, t->draft[k]);
        t->draft_above[k] = above;
    }
}

/* ---- the best law ---------------------------------------------------------------------------- */

/* Computes the law for a sorted pair and `inside`. Below the cut, where the draft has too much, it
 * is the target raised to a multiple of the draft; above the cut, where the draft has too little,
 * it is the target lowered to another multiple. It uses products instead of ratios, because a draft
 * may be as small as doubles get. */
static void solve(spec_transport *t)
{
    const int n = t->n_drafted;
    t->cut = 0;
    for (int k = 1; k <= n; k++)
        if (t->target_below[k] - t->inside[k] < t->target_below[t->cut] - t->inside[t->cut])
            t->cut = k;
    const double lack = t->inside[t->cut] - t->target_below[t->cut];

    int low = 0; /* tokens below this index are raised */
    double raised = lack;
    while (low < t->cut && t->target[low] * t->draft_below[low] < raised * t->draft[low])
        raised = lack + t->target_below[++low];
    int high = n; /* tokens from this index on are lowered */
    double lowered = 0.0;
    while (high > t->cut) {
        const double left =
            /* probability not yet selected before that token */
            1.0 - lack - t->target_below[high - 1];
        if (!(t->target[high - 1] * t->draft_above[high - 1] > left * t->draft[high - 1])) break;
        high--;
        lowered = left;
    }
    t->selected[0] = 0.0;
    for (int k = 0; k < n; k++) {
        t->law[k] = k < low     ? raised * (t->draft[k] / t->draft_below[low])
                    : k < high ? t->target[k]
                               : lowered * (t->draft[k] / t->draft_above[high]);
        t->selected[k + 1] = k + 1 == t->cut ? t->inside[t->cut]
                             : k + 1 == n    ? 1.0
                                             : t->selected[k] + t->law[k];
    }
}

void spec_transport_solve(spec_transport *transport, int n)
{
    for (int k = 0; k <= transport->n_drafted; k++)
        transport->inside[k] = gsl_pow_int(transport->draft_below[k], n);
    solve(transport);
}

double spec_transport_law(const spec_transport *transport, int token)
{
    const int k = transport->place[token];
    return k < 0 ? 0.0 : transport->law[k];
}

/* ---- selection ------------------------------------------------------------------------------- */

/* At level w of [0,1] the vertices of the lower hull of selected - w inside over draft_below divide
 * the prefixes into blocks. A draft of the highest block is selected, each with equal chance. The
 * average over w has the required law. */

static double chord(const spec_transport *t, const double *value, int left, int right, int k)
{
    const double share =
        (t->draft_below[k] - t->draft_below[left]) / (t->draft_below[right] - t->draft_below[left]);
    return value[left] + share * (value[right] - value[left]);
}

/* Finds the edge [left,right] of the hull at level w that spans [first,last], assuming that none of
 * these knots is a vertex. */
static void span(const spec_transport *t, double w, int first, int last, int *left, int *right)
{
    const double *x = t->draft_below, *f = t->inside, *g = t->selected;
    int *const hull = t->hull, size = 0;
    for (int k = *left; k <= *right; k++) {
        if (k == first) k = last + 1;
        for (; size >= 2; size--) {
            const int a = hull[size - 2], b = hull[size - 1];
            const double rise_b = (g[b] - g[a]) - w * (f[b] - f[a]),
                         rise_k = (g[k] - g[a]) - w * (f[k] - f[a]);
            if (rise_b * (x[k] - x[a]) < rise_k * (x[b] - x[a])) break;
        }
        hull[size++] = k;
    }
    int i = 1;
    while (hull[i] < first) i++;
    *left = hull[i - 1];
    *right = hull[i];
}

/* Returns the highest level at which some knot of [first,last] is a vertex, and that knot. The
 * highest block ends above them all; below that level it begins at that knot. The search goes down:
 * at each level it finds the edge that spans all of these knots and the level at which one of them
 * would first touch it, until this no longer changes. */
static double level(const spec_transport *t, int first, int last, int *left, int *right, double w,
                    int *ret_knot)
{
    for (;;) {
        double best = 0.0;
        *ret_knot = first;
        for (int k = first; k <= last; k++) {
            const double f = chord(t, t->inside, *left, *right, k) - t->inside[k];
            const double g = chord(t, t->selected, *left, *right, k) - t->selected[k];
            if (!(g > best * f)) continue;
            best = g < w * f ? g / f : w;
            *ret_knot = k;
        }
        w = best;
        const int was_left = *left, was_right = *right;
        span(t, w, first, last, left, right);
        if (*left == was_left && *right == was_right) return w;
    }
}

static int descending(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

int spec_transport_select(const spec_transport *transport, int *tokens, int n, double *weight,
                          spec_chance *chance)
{
    const spec_transport *const t = transport;
    for (int i = 0; i < n; i++) {
        tokens[i] = t->place[tokens[i]];
        assert(tokens[i] >= 0); /* else it was not drawn from that row */
        weight[i] = 0.0;
    }
    qsort(tokens, (size_t)n, sizeof *tokens, descending);
    const int top = tokens[0];
    int left = top < t->cut ? 0 : t->cut, right = top < t->cut ? t->cut : t->n_drafted, size = n;
    while (tokens[size - 1] < left) size--;
    /* From level w down to the next, the tokens [0,size) are in the block. */
    for (double w = 1.0; size > 0;) {
        int knot = left, rest = 0;
        const double next = tokens[size - 1] < top
                                ? level(t, tokens[size - 1] + 1, top, &left, &right, w, &knot)
                                : 0.0;
        for (int i = 0; i < size; i++) weight[i] += (w - next) / size;
        while (rest < size && tokens[rest] >= knot) rest++;
        size = next > 0.0 ? rest : 0;
        left = knot;
        w = next;
    }
    for (int i = n - 1; i > 0; i--) /* a token counts as one choice, however often it was drafted */
        if (tokens[i] == tokens[i - 1]) {
            weight[i - 1] += weight[i];
            weight[i] = 0.0;
        }
    return t->token[tokens[spec_chance_pick(chance, weight, n)]];
}
