/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/two_samples.h"

#include "base/int_math.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

/* ENOUGH: extreme permutations that suffice for a p-value. MOMENTS: permutations for mean and
 * deviation. */
enum { ENOUGH = 20, MOMENTS = 1000 };
static const double power_stated = 0.9;

typedef struct {
    int prompt;
    bool first; /* whether the first server drew it */
    const spec_live_tokens *text;
} item;

/* Items begin..end - 1 of the sorted list; `share` of the prompt's texts are the first server's. */
typedef struct {
    int begin, end;
    double share;
} group;

typedef struct {
    item *item; /* (n) by prompt, then by tokens */
    int n;
    group *group; /* (n_groups) of at most n */
    int n_groups;
    bool *first; /* (n) as permuted */
    int *sum;    /* (n + 1) items before this one that are the first server's */
} samples;

/* Returns a token of a text; -1 after its end. */
static int32_t token_of(const item *x, int i)
{
    return i < x->text->n ? x->text->token[i] : -1;
}

static int compare_items(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->prompt != y->prompt) return x->prompt < y->prompt ? -1 : 1;
    for (int i = 0; i < SPEC_TWO_SAMPLES_TOKENS; i++) {
        const int32_t s = token_of(x, i), t = token_of(y, i);
        if (s != t) return s < t ? -1 : 1;
    }
    return 0;
}

/* Returns how many tokens two texts of a prompt share at the beginning. */
static int shared(const item *x, const item *y)
{
    int i = 0;
    while (i < SPEC_TWO_SAMPLES_TOKENS && token_of(x, i) == token_of(y, i)) i++;
    return i;
}

/* Adds the groups among a prompt's items begin..end - 1, except for the group of all of them. The
 * texts of a group may share several beginnings, so we add it at the longest one. */
static void add_groups(samples *s, int begin, int end)
{
    int first = 0;
    for (int i = begin; i < end; i++) first += s->item[i].first;
    for (int depth = 1; depth <= SPEC_TWO_SAMPLES_TOKENS; depth++)
        for (int from = begin, to; from < end; from = to) {
            int least = SPEC_TWO_SAMPLES_TOKENS + 1;
            for (to = from + 1; to < end; to++) {
                const int length = shared(&s->item[to - 1], &s->item[to]);
                if (length < depth) break;
                least = spec_int_min(least, length);
            }
            if (least == depth && to - from < end - begin)
                s->group[s->n_groups++] = (group){from, to, (double)first / (end - begin)};
        }
}

static double statistic_of(samples *s)
{
    double sum = 0.0;
    s->sum[0] = 0;
    for (int i = 0; i < s->n; i++) s->sum[i + 1] = s->sum[i] + s->first[i];
    for (int g = 0; g < s->n_groups; g++) {
        const group *x = &s->group[g];
        const int n = x->end - x->begin;
        const double more = s->sum[x->end] - s->sum[x->begin] - n * x->share;
        sum += 4.0 * more * more / n;
    }
    return sum;
}

/* Permutes within each prompt. */
static void permute(samples *s, spec_rng_state *rng)
{
    for (int begin = 0, end; begin < s->n; begin = end) {
        for (end = begin + 1; end < s->n && s->item[end].prompt == s->item[begin].prompt;) end++;
        for (int i = end - 1; i > begin; i--) {
            const int k = begin + (int)(spec_rng_next_double(rng) * (i - begin + 1));
            const bool swap = s->first[i];
            s->first[i] = s->first[k];
            s->first[k] = swap;
        }
    }
}

/* One tail of the test: permutations so far that are as extreme, and the p-value once it is
 * known. */
typedef struct {
    int extreme;
    double p;
} tail;

static void look(tail *t, bool extreme, uint64_t drawn)
{
    if (t->p == 0.0 && extreme && ++t->extreme == ENOUGH) t->p = ENOUGH / (double)drawn;
}

static void run_test(spec_two_samples *ret, samples *s, double rate, uint64_t seed)
{
    const uint64_t most = (uint64_t)ceil(fmax(1.0 / rate, MOMENTS));
    spec_rng_state rng = spec_rng_stream_state(seed, 0);
    tail large = {0, 0.0}, small = {0, 0.0};
    double mean = 0.0, square = 0.0, pairs = 0.0;
    uint64_t drawn = 0;
    for (int i = 0; i < s->n; i++) s->first[i] = s->item[i].first;
    ret->groups = s->n_groups;
    ret->statistic = statistic_of(s);
    const double slack = 1e-9 * (1.0 + ret->statistic);
    while (drawn < most && (drawn < MOMENTS || large.p == 0.0 || small.p == 0.0)) {
        permute(s, &rng);
        const double x = statistic_of(s), off = x - mean;
        drawn++;
        mean += off / (double)drawn;
        square += off * (x - mean);
        look(&large, x >= ret->statistic - slack, drawn);
        look(&small, x <= ret->statistic + slack, drawn);
    }
    ret->permutations = drawn;
    ret->mean = mean;
    ret->deviation = sqrt(square / (double)drawn);
    ret->p = large.p > 0.0 ? large.p : (large.extreme + 1.0) / ((double)drawn + 1.0);
    ret->p_close = small.p > 0.0 ? small.p : (small.extreme + 1.0) / ((double)drawn + 1.0);
    for (int g = 0; g < s->n_groups; g++) pairs += s->group[g].end - s->group[g].begin - 1;
    ret->detectable = spec_two_samples_detectable(ret, pairs, rate, power_stated);
}

int spec_two_samples_test(spec_two_samples *ret, const spec_live_tokens *a,
                          const spec_live_tokens *b, int texts, int n_prompts, double rate,
                          uint64_t seed, spec_error *error)
{
    const size_t most = 2 * (size_t)texts + 1;
    samples s = {.item = malloc(most * sizeof *s.item),
                 .group = malloc(most * sizeof *s.group),
                 .first = malloc(most * sizeof *s.first),
                 .sum = malloc(most * sizeof *s.sum)};
    int status = GSL_SUCCESS;
    if (s.item == NULL || s.group == NULL || s.first == NULL || s.sum == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < texts; i++) {
        if (a[i].token != NULL) s.item[s.n++] = (item){i % n_prompts, true, &a[i]};
        if (b[i].token != NULL) s.item[s.n++] = (item){i % n_prompts, false, &b[i]};
    }
    qsort(s.item, (size_t)s.n, sizeof *s.item, compare_items);
    for (int begin = 0, end; begin < s.n; begin = end) {
        for (end = begin + 1; end < s.n && s.item[end].prompt == s.item[begin].prompt;) end++;
        add_groups(&s, begin, end);
    }
    run_test(ret, &s, rate, seed);
done:
    free(s.item);
    free(s.group);
    free(s.first);
    free(s.sum);
    return status;
}

/* Solves x - d = z sqrt(variance + 4 c x) for the shift x = pairs TV^2. d is the distance from the
 * mean to the threshold. c is the variance of the statistic relative to that of independent groups,
 * which is 2 for each group. */
double spec_two_samples_detectable(const spec_two_samples *t, double pairs, double rate,
                                   double power)
{
    const double variance = t->deviation * t->deviation, z = gsl_cdf_ugaussian_Pinv(power);
    if (!(pairs > 0.0) || !(variance > 0.0)) return NAN;
    const double c = variance / (2.0 * t->groups);
    const double d =
        gsl_cdf_gamma_Qinv(rate, t->mean * t->mean / variance, variance / t->mean) - t->mean;
    const double half = d + 2.0 * c * z * z;
    const double variation = sqrt((half + sqrt(half * half - d * d + z * z * variance)) / pairs);
    return variation <= 1.0 ? variation : NAN;
}
