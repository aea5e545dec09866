#include "models/transform.h"

#include "models/noise.h"
#include "models/row.h"
#include "models/wrapper.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---------------------------------------------------------------------------------------------------- */

bool spec_transform_is_none(const spec_transform *transform)
{
    return transform->temperature == 1.0 && transform->top_k == 0 && transform->top_p == 1.0 && transform->min_p == 0.0;
}

int spec_transform_read(spec_transform *ret_transform, spec_settings *settings, spec_error *error)
{
    static const char *const filters[] = {"joint", "chained", NULL};
    int status = GSL_SUCCESS, filter;
    spec_transform read = SPEC_TRANSFORM_NONE;
    SPEC_TRY(spec_settings_double(&read.temperature, settings, "temperature", read.temperature, 0.0, 1e9, error));
    SPEC_TRY(spec_settings_int(&read.top_k, settings, "top_k", read.top_k, 0, INT_MAX, error));
    SPEC_TRY(spec_settings_double(&read.top_p, settings, "top_p", read.top_p, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&read.min_p, settings, "min_p", read.min_p, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_choice(&filter, settings, "filters", 0, filters, error));
    read.chained = filter == 1;
done:
    *ret_transform = status == GSL_SUCCESS ? read : SPEC_TRANSFORM_NONE;
    return status;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

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

/* Put the k foremost of the n tokens in `order` first, in no order; quickselect, with hashed pivots so that no row is a
 * bad one. */
static void select_foremost(const double *row, int *order, int n, int k)
{
    int low = 0, high = n; /* the k-th place lies in low..high-1 */
    while (high - low > 1) {
        const uint64_t word = spec_noise_mix((uint64_t)(uint32_t)low << 32 | (uint32_t)high);
        swap(&order[high - 1], &order[low + (int)(word % (uint64_t)(high - low))]);
        const int pivot = order[high - 1];
        int split = low;
        for (int i = low; i < high - 1; i++) {
            if (before(row, order[i], pivot)) swap(&order[i], &order[split++]);
        }
        swap(&order[split], &order[high - 1]);
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

static place top_k_cut(const double *row, int vocab, int k, int *order)
{
    const int n = positive_tokens(row, vocab, order);
    if (k >= n) return (place){0.0, INT_MAX};
    select_foremost(row, order, n, k);
    double least = row[order[0]];
    for (int i = 1; i < k; i++) least = fmin(least, row[order[i]]);
    return (place){least, INT_MAX};
}

/* Sorts only as much as the mass needs: blocks of growing size. The sum is compensated, so that eight times 0.1 reaches
 * 0.8. */
static place top_p_cut(const double *row, int vocab, double top_p, int *order)
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

static place min_p_cut(const double *row, int vocab, double min_p)
{
    return (place){min_p * row[spec_row_argmax(row, vocab)], INT_MAX};
}

/* Remove what a cut does not keep; renormalise only if something went, so that a filter that removes nothing changes no
 * bit. */
static void apply_cuts(double *row, int vocab, const place *cut, int n_cuts)
{
    bool removed = false;
    for (int i = 0; i < vocab; i++) {
        if (row[i] == 0.0) continue;
        bool kept = true;
        for (int c = 0; c < n_cuts; c++) kept = kept && keeps(cut[c], row[i], i);
        if (kept) continue;
        row[i] = 0.0;
        removed = true;
    }
    if (removed) spec_row_normalise(row, vocab);
}

static void apply_argmax(double *row, int vocab)
{
    const int best = spec_row_argmax(row, vocab);
    for (int i = 0; i < vocab; i++) row[i] = 0.0;
    row[best] = 1.0;
}

/* row^(1/T), relative to the largest, which becomes 1: nothing overflows, and the sum cannot vanish. */
static void apply_temperature(double *row, int vocab, double temperature)
{
    const double largest = row[spec_row_argmax(row, vocab)];
    for (int i = 0; i < vocab; i++) {
        if (row[i] > 0.0) row[i] = exp(log(row[i] / largest) / temperature);
    }
    spec_row_normalise(row, vocab);
}

void spec_transform_apply(double *row, int vocab, const spec_transform *transform, int *order)
{
    if (transform->temperature == 0.0) {
        apply_argmax(row, vocab);
        return;
    }
    if (transform->temperature != 1.0) apply_temperature(row, vocab, transform->temperature);

    place cut[3];
    int n = 0;
    if (transform->top_k > 0 && transform->top_k < vocab) {
        cut[n++] = top_k_cut(row, vocab, transform->top_k, order);
        if (transform->chained) apply_cuts(row, vocab, cut, n), n = 0;
    }
    if (transform->top_p < 1.0) {
        cut[n++] = top_p_cut(row, vocab, transform->top_p, order);
        if (transform->chained) apply_cuts(row, vocab, cut, n), n = 0;
    }
    if (transform->min_p > 0.0) cut[n++] = min_p_cut(row, vocab, transform->min_p);
    if (n > 0) apply_cuts(row, vocab, cut, n);
}

/* ---- the model that applies it ----------------------------------------------------------------------------------- */

typedef struct {
    spec_wrapper wrapper;
    spec_transform transform;
} transformed;

typedef struct {
    spec_session base;
    int *order; /* (V) */
} transformed_session;

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_session = NULL;
    transformed_session *session = calloc(1, sizeof *session);
    if (session == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_session_init(&session->base, ((const spec_wrapper *)model)->base, error));
    session->order = calloc((size_t)model->vocab, sizeof session->order[0]);
    if (session->order == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    *ret_session = session;
    session = NULL;
done:
    if (session != NULL) {
        spec_session_free(&session->base);
        free(session);
    }
    return status;
}

static void free_session(const spec_model *model, void *data)
{
    (void)model;
    transformed_session *session = data;
    spec_session_free(&session->base);
    free(session->order);
    free(session);
}

static spec_session *base_session(void *session)
{
    return &((transformed_session *)session)->base;
}

static const double *transform_into(double *scratch, const double *row, const spec_model *model, int *order)
{
    if (row != scratch) memcpy(scratch, row, (size_t)model->vocab * sizeof scratch[0]);
    spec_transform_apply(scratch, model->vocab, &((const transformed *)model)->transform, order);
    return scratch;
}

static const double *transformed_row(const spec_model *model, void *data, const int *context, size_t n, double *scratch,
                                     spec_error *error)
{
    transformed_session *session = data;
    const double *row = spec_session_row(&session->base, context, n, scratch, error);
    if (row == NULL) return NULL;
    return transform_into(scratch, row, model, session->order);
}

static int transformed_score(const spec_model *model, void *data, const int *context, size_t n, const int *token,
                             const int *parent, int n_nodes, int first, const double **ret_row, double *scratch,
                             spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed_session *session = data;
    SPEC_TRY(spec_session_score(&session->base, context, n, token, parent, n_nodes, first, ret_row, scratch, error));
    for (int i = first; i <= n_nodes; i++) {
        ret_row[i] = transform_into(scratch + (size_t)i * (size_t)model->vocab, ret_row[i], model, session->order);
    }
done:
    return status;
}

int spec_transform_wrap(spec_model **ret_model, spec_model *base, const spec_transform *transform, spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed *model = calloc(1, sizeof *model);
    if (model == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_wrapper_init(&model->wrapper, base, error));
    model->wrapper.head.one_hot = base->one_hot || transform->temperature == 0.0;
    model->wrapper.kind.row = transformed_row;
    model->wrapper.kind.score = transformed_score;
    model->wrapper.kind.session_init = init_session;
    model->wrapper.kind.session_free = free_session;
    model->wrapper.kind.session_base = base_session;
    model->transform = *transform;
    *ret_model = &model->wrapper.head;
    model = NULL;
done:
    free(model);
    return status;
}
