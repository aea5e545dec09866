/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_rows.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

enum { TOP_MAX = SPEC_TRACE_TOP_MAX };

/* A row is invalid if its sum differs from 1 by more than sum_off; a smaller difference is
 * rounding. */
static const double sum_off = 1e-3, log_off = 1e-2;

/* For functions with rows r and an error. */
#define BAD(...) spec_text_lines_bad(&r->in->text, error, __VA_ARGS__)

void spec_trace_rows_free(spec_trace_rows *r)
{
    free(r->target.whole);
    free(r->draft.whole);
    free(r->order);
    r->target.whole = r->draft.whole = NULL;
    r->order = NULL;
}

void spec_trace_rows_reset(spec_trace_rows *r)
{
    r->target.given = r->draft.given = false;
    r->target.n_top = r->draft.n_top = 0;
}

int spec_trace_rows_whole(spec_trace_rows *r, spec_trace_row *row, const char *key,
                          const json_t *value, spec_error *error)
{
    const size_t V = (size_t)r->head->vocab;
    double sum = 0.0;
    if (row->given)
        return BAD("\"%s\" and the most probable tokens of the same row are both given; give only "
                   "one",
                   key);
    if (!json_is_array(value)) return BAD("\"%s\" is not a list", key);
    if (json_array_size(value) != V)
        return BAD("\"%s\" has %zu entries, not %zu", key, json_array_size(value), V);
    if (row->whole == NULL && (row->whole = malloc(V * sizeof *row->whole)) == NULL)
        return spec_no_memory(error);
    if (r->order == NULL && (r->order = malloc(V * sizeof *r->order)) == NULL)
        return spec_no_memory(error);
    for (size_t i = 0; i < V; i++) {
        const json_t *entry = json_array_get(value, i);
        double x = json_number_value(entry);
        if (r->head->logprobs && json_is_null(entry))
            x = -INFINITY;
        else if (!json_is_number(entry))
            return BAD("entry %zu of \"%s\" is not a number", i, key);
        if (r->head->logprobs ? x > 1e-3 : !(x >= 0.0 && x <= 1.001))
            return BAD("entry %zu of \"%s\" is %g, which is no %sprobability", i, key, x,
                       r->head->logprobs ? "log-" : "");
        sum += row->whole[i] = r->head->logprobs ? exp(x) : x;
    }
    if (!(fabs(sum - 1.0) <= sum_off)) return BAD("\"%s\" sums to %g, not to 1", key, sum);
    for (size_t i = 0; i < V; i++) row->whole[i] /= sum;
    if (!spec_transform_is_none(&r->head->transform))
        spec_filter_order_apply(&r->head->filters, row->whole, r->head->vocab, &r->head->transform,
                                r->order);
    row->given = true;
    return GSL_SUCCESS;
}

static int read_pair(int32_t *ret_id, double *ret_chance, const spec_trace_rows *r, const char *key,
                     const json_t *pair, spec_error *error)
{
    int64_t id;
    double log;
    int status = GSL_SUCCESS;
    if (json_array_size(pair) != 2)
        return BAD("\"%s\" is not a list of [token, log-probability]", key);
    SPEC_TRY(spec_trace_line_whole(&id, r->in, key, json_array_get(pair, 0), 0, r->head->vocab - 1,
                                   error));
    SPEC_TRY(spec_trace_line_log(&log, r->in, key, json_array_get(pair, 1), error));
    *ret_id = (int32_t)id;
    *ret_chance = exp(log);
done:
    return status;
}

int spec_trace_rows_top(spec_trace_rows *r, spec_trace_row *row, const char *key,
                        const json_t *value, spec_error *error)
{
    const size_t n = json_array_size(value);
    double sum = 0.0, least = 1.0;
    if (row->given) return BAD("\"%s\" and the whole row are both given; give only one", key);
    if (n < 1 || n > TOP_MAX) return BAD("\"%s\" is not a list of 1 to %d pairs", key, TOP_MAX);
    /* All records must have the same k: an extra pair for an emitted token outside the top k would
     * depend on that token. */
    if (row->n_top_first == 0) row->n_top_first = (int)n;
    if ((int)n != row->n_top_first)
        return BAD("\"%s\" has %zu pairs, those before had %d: always log the same number of most "
                   "probable "
                   "tokens, whether the emitted one is among them or not",
                   key, n, row->n_top_first);
    for (size_t i = 0; i < n; i++) {
        const int status =
            read_pair(&row->id[i], &row->chance[i], r, key, json_array_get(value, i), error);
        if (status != GSL_SUCCESS) return status;
        for (size_t k = 0; k < i; k++)
            if (row->id[k] == row->id[i])
                return BAD("token %d occurs twice in \"%s\"", row->id[i], key);
        sum += row->chance[i];
        least = fmin(least, row->chance[i]);
    }
    least *= exp(2.0 * r->head->precision); /* both may be rounded */
    if (1.0 - sum > least * (r->head->vocab - (int)n) + sum_off)
        return BAD(
            "\"%s\" sums to %g: the other tokens cannot hold the rest, each with at most %g, "
            "so these are not the most probable ones",
            key, sum, least);
    if (!(sum <= 1.0 + sum_off)) return BAD("\"%s\" sums to %g, more than 1", key, sum);
    row->n_top = (int)n;
    row->given = true;
    return GSL_SUCCESS;
}

/* Returns the index of a token among the pairs, or -1. */
static int top_place(const spec_trace_row *row, int32_t token)
{
    for (int i = 0; i < row->n_top; i++)
        if (row->id[i] == token) return i;
    return -1;
}

/* The last cell gets what the pairs leave of 1, or `least` if rounding leaves less. */
static void close_cells(double *cell, int n, double least)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += cell[i];
    cell[n] = fmax(1.0 - sum, least);
    sum += cell[n];
    for (int i = 0; i <= n; i++) cell[i] /= sum;
}

/* Makes cells of the tokens in the pairs of both models, whose probabilities are all known. */
static void make_cells(spec_trace_rows *r, spec_trace_record *record)
{
    const double least = fmax(r->head->precision, 1e-9);
    int n = 0;
    for (int i = 0; i < r->target.n_top; i++) {
        const int other = r->draft.given ? top_place(&r->draft, r->target.id[i]) : 0;
        if (other < 0) continue;
        r->cell_id[n] = r->target.id[i];
        r->cell_target[n] = r->target.chance[i];
        if (r->draft.given) r->cell_draft[n] = r->draft.chance[other];
        n++;
    }
    r->cell_id[n] = -1;
    close_cells(r->cell_target, n, least);
    if (r->draft.given) close_cells(r->cell_draft, n, least);
    record->n_cells = n + 1;
    record->id = r->cell_id;
    record->target = r->cell_target;
    record->draft = r->draft.given ? r->cell_draft : NULL;
    for (record->cell = 0; record->cell < n && r->cell_id[record->cell] != record->token;)
        record->cell++;
}

int spec_trace_rows_use(spec_trace_rows *r, spec_trace_record *record, spec_error *error)
{
    const bool whole_target = r->target.given && r->target.n_top == 0;
    const bool whole_draft = r->draft.given && r->draft.n_top == 0;
    if (!spec_transform_is_none(&r->head->transform) &&
        ((r->target.given && !whole_target) || (!r->target.given && !isnan(record->target_log))))
        return BAD("temperature and filters apply to whole rows only: log the rows after them");
    if (!r->target.given)
        return r->draft.given ? BAD("there is a row of the draft, but none of the "
                                    "target")
                              : GSL_SUCCESS;
    if (r->draft.given && whole_target != whole_draft)
        return BAD("one row is complete, and the other has only the most probable tokens");
    if (!whole_target)
        make_cells(r, record);
    else {
        record->n_cells = r->head->vocab;
        record->whole = true;
        record->cell = record->token;
        record->target = r->target.whole;
        record->draft = whole_draft ? r->draft.whole : NULL;
    }
    if (record->cell < 0 || record->cell >= record->n_cells || isnan(record->target_log))
        return GSL_SUCCESS;
    const double chance = record->target[record->cell], logged = exp(record->target_log);
    const bool rest = !whole_target && record->cell == record->n_cells - 1;
    if (rest ? logged > chance + sum_off
             : fabs(logged - chance) > log_off * fmax(logged, chance) + 1e-8)
        return BAD("\"target_logprob\" says that the token had a chance of %.4g, its row %.4g",
                   logged, chance);
    return GSL_SUCCESS;
}
