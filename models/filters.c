#include "models/filters.h"

#include "base/noise.h"
#include "models/row.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { GROUPS_MIN = 64, GROUPS_MAX = 4096, SHORT = 48, STEP = 8 };

/* A filter keeps the tokens that stand at or before one place in the order of probability, ties by the lowest id. */
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

static void swap(int *a, int *b)
{
    const int kept = *a;
    *a = *b;
    *b = kept;
}

/* Put those of order[low..high-2] that stand before order[high-1] in front of it; returns its place, and their sum.
 * Without branches, which no processor could foresee. */
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
    swap(&order[split], &order[high - 1]);
    *ret_sum = sum;
    return split;
}

/* Make one of order[low..high-1] the last of them: by a hash, so that no row is a bad one. */
static void choose_pivot(int *order, int low, int high)
{
    const uint64_t word = spec_noise_mix((uint64_t)(uint32_t)low << 32 | (uint32_t)high);
    swap(&order[high - 1], &order[low + (int)(word % (uint64_t)(high - low))]);
}

/* Put the k foremost of the n tokens in `order` first, in no order: quickselect. */
static void select_foremost(const double *row, int *order, int n, int k)
{
    int low = 0, high = n; /* the k-th place lies in low..high-1 */
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
        swap(&order[root], &order[child]);
    }
}

/* Heapsort, the foremost first: no allocation, no recursion, no bad case. */
static void sort(const double *row, int *order, int n)
{
    for (int root = n / 2 - 1; root >= 0; root--) sift_down(row, order, n, root);
    for (int end = n - 1; end > 0; end--) {
        swap(&order[0], &order[end]);
        sift_down(row, order, end, 0);
    }
}

/* The tokens of positive probability; the others are gone already. */
static int positive_tokens(const double *row, int vocab, int *order)
{
    int n = 0;
    for (int i = 0; i < vocab; i++) {
        if (row[i] > 0.0) order[n++] = i;
    }
    return n;
}

/* ---- top_k ------------------------------------------------------------------------------------------------------- */

/* ret_best[g] = the largest row[i] of i = g mod groups. */
static void find_group_maxima(double *restrict ret_best, const double *restrict row, int vocab, int groups)
{
    memcpy(ret_best, row, (size_t)groups * sizeof *row);
    for (int begin = groups; begin < vocab; begin += groups) {
        const int n = vocab - begin < groups ? vocab - begin : groups;
        for (int g = 0; g < n; g++) ret_best[g] = row[begin + g] > ret_best[g] ? row[begin + g] : ret_best[g];
    }
}

/* The least of the k foremost. */
static double least_foremost(const double *row, int *order, int n, int k)
{
    select_foremost(row, order, n, k);
    double least = row[order[0]];
    for (int i = 1; i < k; i++) least = fmin(least, row[order[i]]);
    return least;
}

/* Tokens among which the k foremost are, at least k of them unless there are fewer. Of the largest of each group, k are
 * at least as large as the k-th of these: so is the k-th of all. */
static int top_k_candidates(const double *row, int vocab, int k, int *order)
{
    double best[GROUPS_MAX];
    int groups = GROUPS_MIN;
    while (groups < GROUPS_MAX && groups / 4 < k) groups *= 2;
    if (groups / 2 < k || vocab / 4 < groups) return positive_tokens(row, vocab, order);
    find_group_maxima(best, row, vocab, groups);
    for (int g = 0; g < groups; g++) order[g] = g;
    const double least = least_foremost(best, order, groups, k);
    return least > 0.0 ? spec_row_above(order, row, vocab, least) : positive_tokens(row, vocab, order);
}

static place top_k_cut(const double *row, int vocab, int k, int *order)
{
    const int n = top_k_candidates(row, vocab, k, order);
    if (k > n) return (place){0.0, INT_MAX};
    return (place){least_foremost(row, order, n, k), INT_MAX};
}

/* ---- top_p ------------------------------------------------------------------------------------------------------- */

/* Sorts only as much as the mass needs: blocks of growing size. The sum is compensated, so that eight times 0.1 reaches
 * 0.8. */
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
            lost += (sum - total) + row[order[i]]; /* exact: no term exceeds the sum before it, if that is not 0 */
            sum = total;
            if (sum + lost >= top_p) return (place){row[order[i]], order[i]};
        }
    }
    return (place){0.0, INT_MAX};
}

/* The same by sums: down from the largest in steps, each of the tokens within a factor, until one has the cut, and
 * there by quickselect. What is too small to matter, all together, is never looked at. False where rounding might tell
 * otherwise: a plain sum of at most V terms that add up to 1 is off by less than `margin`. */
static bool find_top_p_cut(place *ret_cut, const double *row, int vocab, double top_p, int *order)
{
    const double margin = vocab * DBL_EPSILON, reached = top_p + margin, missed = top_p - margin;
    const double least = 0.5 * (1.0 - top_p) / vocab;
    double upper = INFINITY, lower = row[spec_row_argmax(row, vocab)], mass = 0.0; /* mass: of those before low */
    int low = 0, high;                                                             /* the cut is in low..high-1 */
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

/* ---- all of them ------------------------------------------------------------------------------------------------- */

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

/* Remove what a cut does not keep; renormalise only if something went, so that a filter that removes nothing changes no
 * bit. */
static void apply_cuts(double *row, int vocab, const place *cut, int n_cuts, int *order)
{
    double least = 0.0;
    for (int c = 0; c < n_cuts; c++) least = fmax(least, cut[c].value);
    if (least == 0.0) return; /* all that is positive stays */
    const int n = spec_row_above(order, row, vocab, least);
    int kept = 0, faint = 0; /* faint: the first of positive probability below all cuts */
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

void spec_filters_apply(double *row, int vocab, const spec_transform *transform, int *order)
{
    place cut[3];
    int n = 0;
    if (transform->top_k > 0 && transform->top_k < vocab) {
        cut[n++] = top_k_cut(row, vocab, transform->top_k, order);
        if (transform->chained) apply_cuts(row, vocab, cut, n, order), n = 0;
    }
    if (transform->top_p < 1.0) {
        cut[n++] = top_p_cut(row, vocab, transform->top_p, order);
        if (transform->chained) apply_cuts(row, vocab, cut, n, order), n = 0;
    }
    if (transform->min_p > 0.0) cut[n++] = min_p_cut(row, vocab, transform->min_p);
    apply_cuts(row, vocab, cut, n, order);
}
