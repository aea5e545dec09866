/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/drawn_law.h"

#include <math.h>
#include <string.h>

/* Returns whether the parameter `first` is applied in an earlier stage than `second`. */
static bool is_before(const spec_filter_order *order, unsigned first, unsigned second)
{
    for (int i = 0; i < order->n_stages; i++) {
        if (order->stage[i] & second) return false;
        if (order->stage[i] & first) return true;
    }
    return false;
}

int spec_drawn_check(const spec_drawn_rule *rule, int top, spec_error *error)
{
    const spec_transform *t = &rule->transform;
    const bool hot = is_before(&rule->order, SPEC_FILTER_TEMPERATURE, SPEC_FILTER_TOP_P);
    const bool joint = !is_before(&rule->order, SPEC_FILTER_TOP_K, SPEC_FILTER_TOP_P) &&
                       !is_before(&rule->order, SPEC_FILTER_TOP_P, SPEC_FILTER_TOP_K);
    if (t->top_k >= top && t->top_k > 0)
        return spec_fail(error, GSL_EINVAL, "--top-k %d needs --top %d or more", t->top_k,
                         t->top_k + 1);
    if (t->top_p < 1.0 && rule->penalised && (t->top_k == 0 || joint))
        return spec_fail(
            error, GSL_EINVAL,
            "--top-p with penalties%s: they change the probabilities of all tokens, and "
            "only the most probable are known",
            joint ? " cannot be judged" : " needs --top-k");
    if (t->top_p < 1.0 && t->temperature != 1.0 && hot && (t->top_k == 0 || joint))
        return spec_fail(error, GSL_EINVAL,
                         "--top-p at a temperature other than 1%s: this engine applies it after "
                         "the temperature, to all tokens, and only the most probable are known",
                         joint ? " cannot be judged" : " needs --top-k");
    return GSL_SUCCESS;
}

/* Returns how many tokens of the list top_k, min_p and top_p keep, if their thresholds move by a
 * factor exp(shift); n if the cut is not within the list; 0 if the sum of which top_p keeps a share
 * is not known. Each filter keeps the first tokens of the list. */
static int kept(const spec_drawn_rule *rule, const spec_live_place *place, double shift)
{
    const spec_transform *t = &rule->transform;
    const bool hot = is_before(&rule->order, SPEC_FILTER_TEMPERATURE, SPEC_FILTER_MIN_P);
    const bool afterwards = is_before(&rule->order, SPEC_FILTER_MIN_P, SPEC_FILTER_TOP_P);
    const double T = t->temperature, best = place->top[0].log;
    const bool whole = rule->vocab > 0 && place->n >= rule->vocab;
    int n = place->n;
    double sum = 0.0, all = 1.0;
    if (t->top_k > 0 && t->top_k < n) n = t->top_k;
    const int at_most = n;
    if (t->min_p > 0.0)
        while (n > 1 && (place->top[n - 1].log - best) / (hot ? T : 1.0) < log(t->min_p) + shift)
            n--;
    if (!(t->top_p < 1.0)) return n;
    /* the mass of which top_p keeps a share: that of all tokens, or of those still left, at the
     * temperature it sees */
    const bool cut = at_most < place->n || (afterwards && n < at_most) || whole;
    const int of = afterwards ? n : at_most;
    const double heat =
        is_before(&rule->order, SPEC_FILTER_TEMPERATURE, SPEC_FILTER_TOP_P) ? T : 1.0;
    const bool joint = !is_before(&rule->order, SPEC_FILTER_TOP_K, SPEC_FILTER_TOP_P) &&
                       t->top_k > 0; /* sees the tokens that top_k excludes too */
    if (rule->penalised && (!cut || joint)) return 0;
    if (cut && !joint) {
        all = 0.0;
        for (int i = 0; i < of; i++) all += exp((place->top[i].log - best) / heat);
    } else {
        all = exp(-best);
    }
    for (int i = 0; i < n; i++) {
        sum += exp((place->top[i].log - best) / heat) / all;
        if (sum >= t->top_p + shift) return i + 1;
    }
    return n;
}

/* Returns how many tokens of the list are more probable than any other token, by more than the
 * noise. */
static int certain(const spec_drawn_rule *rule, const spec_live_place *place)
{
    int n = place->n;
    while (n > 0 && place->top[n - 1].log < place->unlisted + 2.0 * rule->noise) n--;
    return n;
}

static spec_drawn_rest law_of(double *chance, const spec_drawn_rule *rule,
                              const spec_live_place *place)
{
    const spec_transform *t = &rule->transform;
    const double best = place->top[0].log, margin = 2.0 * rule->noise;
    const int n = kept(rule, place, 0.0);
    const bool filters = t->top_k > 0 || t->top_p < 1.0 || t->min_p > 0.0;
    const bool whole = rule->vocab > 0 && place->n >= rule->vocab;
    const bool cut = n < place->n || whole;
    double sum = 0.0;
    if (n == 0) return SPEC_REST_SKIP;
    if (filters && (n != kept(rule, place, margin) || n != kept(rule, place, -margin)))
        return SPEC_REST_SKIP;
    if (t->top_k > 0 && n == t->top_k && n < place->n &&
        place->top[n - 1].log - place->top[n].log <= margin)
        return SPEC_REST_SKIP;
    for (int i = 0; i < place->n; i++) {
        chance[i] = i < n ? exp((place->top[i].log - best) / t->temperature) : 0.0;
        sum += chance[i];
    }
    if (!cut && !filters && !rule->penalised && t->temperature == 1.0) {
        for (int i = 0; i < place->n; i++) chance[i] = exp(place->top[i].log);
        return SPEC_REST_KNOWN;
    }
    for (int i = 0; i < place->n; i++) chance[i] /= sum;
    return cut ? SPEC_REST_NONE : SPEC_REST_UNKNOWN;
}

spec_drawn_rest spec_drawn_law(double *chance, const spec_drawn_rule *rule,
                               const spec_live_place *place)
{
    const spec_transform *t = &rule->transform;
    const bool filters = t->top_k > 0 || t->top_p < 1.0 || t->min_p > 0.0;
    if (place->n == 0) return SPEC_REST_SKIP;
    if (!rule->penalised || !filters) return law_of(chance, rule, place);
    /* A filter's cut is known only if it falls among the tokens that are surely more probable than
     * any unlisted token, so the others are dropped. */
    spec_live_place known = *place;
    known.n = certain(rule, place);
    for (int i = known.n; i < place->n; i++) chance[i] = 0.0;
    return known.n > 0 ? law_of(chance, rule, &known) : SPEC_REST_SKIP;
}
