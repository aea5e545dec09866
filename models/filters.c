/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/filters.h"

#include "base/int_math.h"
#include "base/noise.h"
#include "models/row.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { GROUPS_MIN = 64, GROUPS_MAX = 4096, SHORT = 48, STEP = 8 };

/* The last token that a filter keeps, in the order of probability (ties by the lowest id). */
typedef struct {
    double value;
    int id;
} place;

static bool keeps(place cut, double value, int id)
{
    return value > cut.value || (value == cut.value && id <= cut.id);
}

static bool before(const double *row, int a, int b)
{
    return row[a] > row[b] || (row[a] == row[b] && a < b);
}

/* Moves the elements of order[low..high-2] that precede order[high-1] in front of it; returns its
 * index and their sum. Has no branches, which would be mispredicted. */
static int partition(double *ret_sum, const double *row, int *order, int low, int high)
{
    const int pivot = order[high - 1];
    const double value = row[pivot];
    double sum = 0.0;
    int split = low;
    for (int i = low; i < high - 1; i++) {
        const int id = order[i];
        const bool first = (row[id] > value) | ((row[id] == value) & (id < pivot));
        order[i] = order[split];
        order[split] = id;
        split += first;
        sum += first ? row[id] : 0.0;
    }
    spec_int_swap(&order[split], &order[high - 1]);
    *ret_sum = sum;
    return split;
}

/* Moves a pivot to the end of order[low..high-1]. A hash chooses it, so that no row is always the
 * worst case. */
static void choose_pivot(int *order, int low, int high)
{
    const uint64_t word = spec_noise_mix((uint64_t)(uint32_t)low << 32 | (uint32_t)high);
    spec_int_swap(&order[high - 1], &order[low + (int)(word % (uint64_t)(high - low))]);
}

/* Moves the k most probable of the n tokens in `order` to its front by quickselect, without sorting
 * them. */
static void select_foremost(const double *row, int *order, int n, int k)
{
    int low = 0, high = n; /* low <= the k-th index < high */
    while (high - low > 1) {
        double unused;
        choose_pivot(order, low, high);
        const int split = partition(&unused, row, order, low, high);
        if (split == k || split == k - 1) return;
        if (split > k) {
            high = split;
        } else {
            low = split + 1;
        }
    }
}

static void sift_down(const double *row, int *order, int n, int root)
{
    for (int child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && before(row, order[child], order[child + 1])) child++;
        if (!before(row, order[root], order[child])) return;
        spec_int_swap(&order[root], &order[child]);
    }
}

/* Sorts by heapsort, the most probable first, which needs no allocation or recursion and is fast
 * even in the worst case. */
static void sort(const double *row, int *order, int n)
{
    for (int root = n / 2 - 1; root >= 0; root--) sift_down(row, order, n, root);
    for (int end = n - 1; end > 0; end--) {
        spec_int_swap(&order[0], &order[end]);
        sift_down(row, order, end, 0);
    }
}

/* Lists the tokens of positive probability (filtered tokens have 0); returns their number. */
static int positive_tokens(const double *row, int vocab, int *order)
{
    int n = 0;
    for (int i = 0; i < vocab; i++) {
        if (row[i] > 0.0) order[n++] = i;
    }
    return n;
}

/* ---- top_k ----------------------------------------------------------------------------------- */

/* ret_best[g] = max row[i] over i = g mod groups. */
static void find_group_maxima(double *restrict ret_best, const double *restrict row, int vocab,
                              int groups)
{
    memcpy(ret_best, row, (size_t)groups * sizeof *row);
    for (int begin = groups; begin < vocab; begin += groups) {
        const int n = vocab - begin < groups ? vocab - begin : groups;
        for (int g = 0; g < n; g++)
            ret_best[g] = row[begin + g] > ret_best[g] ? row[begin + g] : ret_best[g];
    }
}

/* Returns the k-th largest value. */
static double least_foremost(const double *row, int *order, int n, int k)
{
    select_foremost(row, order, n, k);
    double least = row[order[0]];
    for (int i = 1; i < k; i++) least = fmin(least, row[order[i]]);
    return least;
}

/* Collects candidates for the k most probable tokens: at least k, unless there are fewer tokens. We
 * take the k-th largest among the groups' largest values as a bound. At least k values reach it, so
 * the k-th largest of all values does too. */
static int top_k_candidates(const double *row, int vocab, int k, int *order)
{
    double best[GROUPS_MAX];
    int groups = GROUPS_MIN;
    while (groups < GROUPS_MAX && groups / 4 < k) groups *= 2;
    if (groups / 2 < k || vocab / 4 < groups) return positive_tokens(row, vocab, order);
    find_group_maxima(best, row, vocab, groups);
    for (int g = 0; g < groups; g++) order[g] = g;
    const double least = least_foremost(best, order, groups, k);
    return least > 0.0 ? spec_row_above(order, row, vocab, least)
                       : positive_tokens(row, vocab, order);
}

static place top_k_cut(const double *row, int vocab, int k, int *order)
{
    const int n = top_k_candidates(row, vocab, k, order);
    if (k > n) return (place){0.0, INT_MAX};
    return (place){least_foremost(row, order, n, k), INT_MAX};
}

/* ---- top_p ----------------------------------------------------------------------------------- */

/* Sorts blocks of growing size, until the mass is reached. The sum is compensated, so that eight
 * times 0.1 reaches 0.8. */
static place top_p_cut_by_sorting(const double *row, int vocab, double top_p, int *order)
{
    const int n = positive_tokens(row, vocab, order);
    double sum = 0.0, lost = 0.0;
    for (int start = 0, size = 64; start < n; start += size, size *= 4) {
        if (size > n - start) size = n - start;
        select_foremost(row, order + start, n - start, size);
        sort(row, order + start, size);
        for (int i = start; i < start + size; i++) {
            const double total = sum + row[order[i]];
            lost += (sum - total) +
                    row[order[i]]; /* exact: no term exceeds the sum so far, unless that is 0 */
            sum = total;
            if (sum + lost >= top_p) return (place){row[order[i]], order[i]};
        }
    }
    return (place){0.0, INT_MAX};
}

/* Finds the same cut from sums. It goes down from the largest value in steps, each of which takes
 * the tokens within a factor. When a step contains the cut, quickselect finds it there. Tokens that
 * are together too small to matter are never visited. Returns false if rounding could change the
 * result: a plain sum of at most V terms that add up to 1 has an error below `margin`. */
static bool find_top_p_cut(place *ret_cut, const double *row, int vocab, double top_p, int *order)
{
    const double margin = vocab * DBL_EPSILON, reached = top_p + margin, missed = top_p - margin;
    const double least = 0.5 * (1.0 - top_p) / vocab;
    double upper = INFINITY, lower = row[spec_row_argmax(row, vocab)],
           mass = 0.0; /* mass of the tokens before low */
    int low = 0, high; /* low <= the index of the cut < high */
    for (;;) {
        double sum = 0.0;
        lower = fmax(lower / STEP, least);
        const int n = spec_row_above(order, row, vocab, lower);
        high = 0;
        for (int i = 0; i < n; i++) {
            const int id = order[i];
            const bool is_new = row[id] < upper;
            order[high] = id;
            high += is_new;
            sum += is_new ? row[id] : 0.0;
        }
        if (mass + sum >= reached) break;
        if (mass + sum >= missed || lower == least) return false;
        mass += sum;
        upper = lower;
    }
    while (high - low > SHORT) {
        double sum;
        choose_pivot(order, low, high);
        const int split = partition(&sum, row, order, low, high);
        if (mass + sum >= reached) {
            high = split;
        } else if (mass + sum < missed) {
            mass += sum + row[order[split]];
            low = split + 1;
            if (mass >= reached) {
                *ret_cut = (place){row[order[split]], order[split]};
                return true;
            }
            if (mass >= missed) return false;
        } else {
            return false;
        }
    }
    sort(row, order + low, high - low);
    for (int i = low; i < high; i++) {
        mass += row[order[i]];
        if (mass >= missed) {
            *ret_cut = (place){row[order[i]], order[i]};
            return mass >= reached;
        }
    }
    return false;
}

static place top_p_cut(const double *row, int vocab, double top_p, int *order)
{
    place cut;
    if (find_top_p_cut(&cut, row, vocab, top_p, order)) return cut;
    return top_p_cut_by_sorting(row, vocab, top_p, order);
}

/* ---- all filters ----------------------------------------------------------------------------- */

static place min_p_cut(const double *row, int vocab, double min_p)
{
    return (place){min_p * row[spec_row_argmax(row, vocab)], INT_MAX};
}

static bool keeps_all(const place *cut, int n_cuts, double value, int id)
{
    for (int c = 0; c < n_cuts; c++)
        if (!keeps(cut[c], value, id)) return false;
    return true;
}

/* Removes the tokens that a cut rejects. Renormalises only if a token was removed, so that a filter
 * without effect changes no bit. */
static void apply_cuts(double *row, int vocab, const place *cut, int n_cuts, int *order)
{
    double least = 0.0;
    for (int c = 0; c < n_cuts; c++) least = fmax(least, cut[c].value);
    if (least == 0.0) return; /* every positive token is kept */
    const int n = spec_row_above(order, row, vocab, least);
    int kept = 0, faint = 0; /* faint: the first token with positive probability that is below all
                                cuts */
    for (int i = 0; i < n; i++) {
        if (keeps_all(cut, n_cuts, row[order[i]], order[i])) order[kept++] = order[i];
        else row[order[i]] = 0.0;
    }
    while (faint < vocab && !(row[faint] > 0.0 && row[faint] < least)) faint++;
    if (kept == n && faint == vocab) return;
    for (int i = faint; i < vocab; i++) row[i] = row[i] < least ? 0.0 : row[i];
    const double sum = spec_row_sum(row, vocab);
    for (int i = 0; i < kept; i++) row[order[i]] /= sum;
}

void spec_filters_apply(double *row, int vocab, const spec_filters *filters, int *order)
{
    place cut[3];
    int n = 0;
    if (filters->top_k > 0 && filters->top_k < vocab) {
        cut[n++] = top_k_cut(row, vocab, filters->top_k, order);
        if (filters->chained) apply_cuts(row, vocab, cut, n, order), n = 0;
    }
    if (filters->top_p < 1.0) {
        cut[n++] = top_p_cut(row, vocab, filters->top_p, order);
        if (filters->chained) apply_cuts(row, vocab, cut, n, order), n = 0;
    }
    if (filters->min_p > 0.0) cut[n++] = min_p_cut(row, vocab, filters->min_p);
    apply_cuts(row, vocab, cut, n, order);
}
