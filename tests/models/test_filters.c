/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the filters with a full sort and a compensated sum, bit for bit. */
#include "base/noise.h"
#include "models/filters.h"
#include "models/row.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V_MAX = 20000 };

typedef struct {
    double value;
    int id;
} entry;

static int foremost_first(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Returns the number of tokens of the sorted row that each filter keeps; the smallest number
 * applies. */
static void filter_ref(double *row, int vocab, const spec_filters *filters)
{
    static entry sorted[V_MAX];
    int n_positive = 0, kept = vocab;
    for (int i = 0; i < vocab; i++) {
        sorted[i] = (entry){row[i], i};
        n_positive += row[i] > 0.0;
    }
    qsort(sorted, (size_t)vocab, sizeof *sorted, foremost_first);
    if (filters->top_k > 0 && filters->top_k < vocab) {
        int n = filters->top_k;
        while (n < vocab && sorted[n].value == sorted[n - 1].value) n++;
        if (n < kept) kept = n;
    }
    double sum = 0.0, lost = 0.0;
    for (int n = 0; n < vocab && filters->top_p < 1.0; n++) {
        const double total = sum + sorted[n].value;
        lost += (sum - total) + sorted[n].value;
        sum = total;
        if (sum + lost < filters->top_p) continue;
        if (n + 1 < kept) kept = n + 1;
        break;
    }
    int n = vocab;
    while (n > 0 && sorted[n - 1].value < filters->min_p * sorted[0].value) n--;
    if (n < kept) kept = n;
    if (kept >= n_positive) return;
    for (int i = kept; i < vocab; i++) row[sorted[i].id] = 0.0;
    spec_row_normalise(row, vocab);
}

static double uniform(uint64_t *state)
{
    gsl_rng rng = {.type = spec_noise_rng_type, .state = state};
    return gsl_rng_uniform(&rng);
}

/* Draws steep and flat rows, rows of few levels, rows of mostly zeros, and equal values. */
static void draw_row(double *row, int vocab, int form, uint64_t *state)
{
    const double steep = 8.0 * uniform(state);
    for (int i = 0; i < vocab; i++) {
        const double x = exp(steep * (uniform(state) + uniform(state) + uniform(state) - 1.5));
        row[i] = form == 0   ? x
                 : form == 1 ? ceil(x)
                 : form == 2 ? (i % 7 == 3 ? x : 0.0)
                 : form == 3 ? 1.0
                             : x * x;
    }
    row[vocab / 2] += 1e-3;
    spec_row_normalise(row, vocab);
}

TEST(filters_keep_what_a_whole_sort_keeps_bit_for_bit)
{
    static const int vocabs[] = {1, 2, 9, 48, 50, 257, 1000, 1024, 4097, V_MAX};
    static const int top_ks[] = {0, 0, 1, 2, 16, 40, 63, 250, 999, 2049};
    static const double top_ps[] = {1.0,  0.0,   0.27,       0.651,      0.9,
                                    0.95, 0.999, 1.0 - 1e-9, 1.0 - 1e-15};
    static const double min_ps[] = {0.0, 0.0, 0.0, 1e-3, 0.27, 1.0};
    static double row[V_MAX], expected[V_MAX];
    static int order[V_MAX];
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 1500; c++) {
        const int vocab = vocabs[c % (c % 50 == 49 ? 10 : 9)];
        const spec_filters filters = {.top_k = top_ks[(int)(10 * uniform(&noise))],
                                      .top_p = top_ps[(int)(9 * uniform(&noise))],
                                      .min_p = min_ps[(int)(6 * uniform(&noise))]};
        draw_row(row, vocab, (int)(5 * uniform(&noise)), &noise);
        memcpy(expected, row, sizeof row);
        filter_ref(expected, vocab, &filters);
        spec_filters_apply(row, vocab, &filters, order);
        if (memcmp(row, expected, (size_t)vocab * sizeof *row) != 0)
            fail_msg("case %d: V = %d, top_k = %d, top_p = %.17g, min_p = %g", c, vocab,
                     filters.top_k, filters.top_p, filters.min_p);
    }
}

TEST(top_k_may_keep_many_thousands)
{
    static double row[V_MAX];
    static int order[V_MAX];
    const spec_filters filters = {.top_k = 8000, .top_p = 1.0};
    for (int i = 0; i < V_MAX; i++) row[i] = 1.0 + i;
    spec_row_normalise(row, V_MAX);
    spec_filters_apply(row, V_MAX, &filters, order);
    for (int i = 0; i < V_MAX; i++) assert_true((row[i] > 0.0) == (i >= V_MAX - 8000));
}

/* If the mass is within rounding of top_p, the compensated sum decides: 8 n of 10 n equal tokens
 are 0.8. */
TEST(a_mass_that_is_nearly_reached_is_judged_by_the_compensated_sum)
{
    static double row[1000], expected[1000];
    static int order[1000];
    for (int n = 1; n <= 100; n++) {
        const int vocab = 10 * n;
        for (double nudge = -1.0; nudge <= 1.0; nudge += 0.5) {
            const spec_filters filters = {.top_p = 0.8 + nudge * 1e-15};
            for (int i = 0; i < vocab; i++) row[i] = expected[i] = 1.0 / vocab;
            filter_ref(expected, vocab, &filters);
            spec_filters_apply(row, vocab, &filters, order);
            assert_memory_equal(row, expected, (size_t)vocab * sizeof *row);
        }
    }
}
