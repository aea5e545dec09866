/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/pass_fit.h"

#include "base/table_file.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_multifit.h>
#include <math.h>
#include <string.h>

/* ---- formats --------------------------------------------------------------------------------- */

/* A row of a file. A JSON file with a single object is a table of keys and values. */
typedef struct {
    const spec_table *table;
    size_t row;
    int keys, values; /* their columns; -1: it is not a table of keys and values */
    const char *path;
    const spec_settings *settings;
} record;

static const spec_cell *cell(const record *of, const char *name)
{
    if (of->keys < 0) {
        const int column = spec_table_column(of->table, name);
        return column < 0 ? NULL : spec_table_cell(of->table, of->row, column);
    }
    for (size_t row = 0; row < of->table->n_rows; row++) {
        const spec_cell *key = spec_table_cell(of->table, row, of->keys);
        if (key->kind == SPEC_CELL_TEXT && strcmp(key->text, name) == 0)
            return spec_table_cell(of->table, row, of->values);
    }
    return NULL;
}

static bool has(const record *of, const char *name)
{
    const spec_cell *found = cell(of, name);
    return found != NULL && found->kind != SPEC_CELL_EMPTY;
}

static int number(double *ret, const record *of, const char *name, double low, spec_error *error)
{
    static const double most = 1e12;
    const spec_cell *found = cell(of, name);
    *ret = found == NULL ? NAN : spec_cell_number(found);
    if (*ret >= low && *ret <= most) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.300s: row %zu: '%.40s' is not a number from %g to %g",
                     of->path, of->row + 1, name, low, most);
}

typedef int reader(spec_pass_point *ret, const record *of, spec_error *error);

/* Reads llama-batched-bench: `pl` sequences decode `tg` tokens each, after prompts of `pp`
 * tokens. */
static int read_batched_bench(spec_pass_point *ret, const record *of, spec_error *error)
{
    double sequences, generated, prompt, seconds;
    int status = GSL_SUCCESS;
    SPEC_TRY(number(&sequences, of, "pl", 1.0, error));
    SPEC_TRY(number(&generated, of, "tg", 0.0, error));
    SPEC_TRY(number(&prompt, of, "pp", 0.0, error));
    SPEC_TRY(number(&seconds, of, "t_tg", 0.0, error));
    *ret = (spec_pass_point){sequences, sequences * (prompt + 0.5 * generated),
                             generated > 0.0 ? seconds / generated : 0.0};
done:
    return status;
}

/* Reads SGLang's bench_one_batch: takes the median step; a run with one output token has none. */
static int read_one_batch(spec_pass_point *ret, const record *of, spec_error *error)
{
    double batch, input, output, seconds = 0.0;
    int status = GSL_SUCCESS;
    SPEC_TRY(number(&batch, of, "batch_size", 1.0, error));
    SPEC_TRY(number(&input, of, "input_len", 0.0, error));
    SPEC_TRY(number(&output, of, "output_len", 0.0, error));
    if (has(of, "median_decode_latency"))
        SPEC_TRY(number(&seconds, of, "median_decode_latency", 1e-9, error));
    *ret = (spec_pass_point){batch, batch * (input + 0.5 * output), seconds};
done:
    return status;
}

/* Reads vllm bench serve and SGLang's bench_serving, run with a limit of concurrency that is always
 * reached. */
static int read_bench_serve(spec_pass_point *ret, const record *of, spec_error *error)
{
    double batch, input, output, completed, ms;
    int status = GSL_SUCCESS;
    if (has(of, "spec_decode_acceptance_length") || has(of, "accept_length"))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: row %zu: the run has speculation; a fit needs plain decoding",
                           of->path, of->row + 1));
    if (!has(of, "max_concurrency"))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: row %zu: there is no max_concurrency; run the benchmark with "
                           "--max-concurrency, which is the batch",
                           of->path, of->row + 1));
    SPEC_TRY(number(&batch, of, "max_concurrency", 1.0, error));
    SPEC_TRY(number(&completed, of, "completed", 1.0, error));
    SPEC_TRY(number(&input, of, "total_input_tokens", 0.0, error));
    SPEC_TRY(number(&output, of, "total_output_tokens", 1.0, error));
    SPEC_TRY(number(&ms, of, "mean_tpot_ms", 1e-6, error));
    *ret =
        (spec_pass_point){fmin(batch, completed),
                          fmin(batch, completed) * (input + 0.5 * output) / completed, 1e-3 * ms};
done:
    return status;
}

/* Reads vllm bench latency: the mean time of a whole batch, with the prompts as one more step. The
 * file does not contain the sizes; the defaults are those of the program. */
static int read_bench_latency(spec_pass_point *ret, const record *of, spec_error *error)
{
    int batch, input, output, status = GSL_SUCCESS;
    double seconds;
    SPEC_TRY(spec_settings_int(&batch, of->settings, "batch", 8, 1, 1 << 20, error));
    SPEC_TRY(spec_settings_int(&input, of->settings, "input", 32, 0, 1 << 30, error));
    SPEC_TRY(spec_settings_int(&output, of->settings, "output", 128, 1, 1 << 30, error));
    SPEC_TRY(number(&seconds, of, "avg_latency", 1e-9, error));
    *ret = (spec_pass_point){batch, batch * (input + 0.5 * output), seconds / output};
done:
    return status;
}

static int read_csv(spec_pass_point *ret, const record *of, spec_error *error)
{
    double batch, ms;
    int status = GSL_SUCCESS;
    *ret = (spec_pass_point){0};
    SPEC_TRY(number(&batch, of, "batch", 1.0, error));
    SPEC_TRY(number(&ret->tokens, of, "tokens", 1.0, error));
    SPEC_TRY(number(&ms, of, "ms", 1e-6, error));
    if (has(of, "kv_tokens")) SPEC_TRY(number(&ret->kv_tokens, of, "kv_tokens", 0.0, error));
    ret->seconds = 1e-3 * ms;
done:
    return status;
}

/* Each format has two fields that occur together in no other format. */
static const struct {
    const char *first, *second;
    reader *read;
} formats[] = {
    {"pl", "t_tg", read_batched_bench},
    {"batch_size", "prefill_latency", read_one_batch},
    {"mean_tpot_ms", "total_output_tokens", read_bench_serve},
    {"avg_latency", "latencies", read_bench_latency},
    {"batch", "ms", read_csv},
};

int spec_pass_points_read(spec_pass_points *points, const spec_settings *settings,
                          spec_error *error)
{
    static const spec_input_limit limit = {"measured times", 16 << 20};
    spec_table table = {0};
    record of = {&table, 0, -1, -1, settings->path, settings};
    reader *read = NULL;
    bool json;
    int status = GSL_SUCCESS;
    points->n = 0;
    SPEC_TRY(spec_table_file_read(&table, &json, settings->path, &limit, error));
    of.keys = json ? spec_table_column(&table, "key") : -1;
    of.values = of.keys < 0 ? -1 : spec_table_column(&table, "value");
    if (of.values < 0) of.keys = -1;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && read == NULL; i++)
        if (cell(&of, formats[i].first) != NULL && cell(&of, formats[i].second) != NULL)
            read = formats[i].read;
    if (read == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: neither JSON of llama-batched-bench, bench_one_batch or vllm "
                           "bench, nor a CSV with columns batch, tokens and ms",
                           settings->path));
    const size_t rows = of.keys < 0 ? table.n_rows : 1;
    for (; of.row < rows; of.row++) {
        spec_pass_point point;
        SPEC_TRY(read(&point, &of, error));
        if (point.seconds == 0.0) continue;
        if (points->n == SPEC_PASS_FIT_POINTS)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: more than %d points", settings->path,
                               SPEC_PASS_FIT_POINTS));
        points->at[points->n++] = point;
    }
    if (points->n == 0)
        status =
            spec_fail(error, GSL_EINVAL, "%.300s: no step of decoding is timed", settings->path);
done:
    spec_table_free(&table);
    return status;
}

/* ---- least squares --------------------------------------------------------------------------- */

enum { STEP = 1, TOKEN = 2, KV = 4 };

static double term(const spec_pass_point *point, int which)
{
    return which == STEP ? 1.0 : which == TOKEN ? point->tokens : point->kv_tokens;
}

static double at(const spec_pass_fit *fit, const spec_pass_point *point)
{
    return fit->step + fit->token * point->tokens + fit->kv * point->kv_tokens;
}

/* Solves for the unknowns in the set, by relative errors: y is 1 minus what is given, and x is
 * divided by seconds. */
static int solve(spec_pass_fit *fit, double *ret_rest, const spec_pass_points *points, int set,
                 spec_error *error)
{
    int p = 0, which[3], status = GSL_SUCCESS;
    for (int bit = STEP; bit <= KV; bit *= 2)
        if (set & bit) which[p++] = bit;
    double *const values[] = {[STEP] = &fit->step, [TOKEN] = &fit->token, [KV] = &fit->kv};
    const size_t n = (size_t)points->n;
    gsl_matrix *x = gsl_matrix_alloc(n, (size_t)p),
               *covariance = gsl_matrix_alloc((size_t)p, (size_t)p);
    gsl_vector *y = gsl_vector_alloc(n), *c = gsl_vector_alloc((size_t)p);
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(n, (size_t)p);
    if (x == NULL || covariance == NULL || y == NULL || c == NULL || work == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < p; i++) *values[which[i]] = 0.0;
    for (size_t i = 0; i < n; i++) {
        const spec_pass_point *point = &points->at[i];
        gsl_vector_set(y, i, 1.0 - at(fit, point) / point->seconds);
        for (int k = 0; k < p; k++)
            gsl_matrix_set(x, i, (size_t)k, term(point, which[k]) / point->seconds);
    }
    if (gsl_multifit_linear(x, y, c, covariance, ret_rest, work) != GSL_SUCCESS)
        *ret_rest = INFINITY;
    for (int i = 0; i < p; i++) *values[which[i]] = gsl_vector_get(c, (size_t)i);
    fit->step_se = set & STEP && points->n >= p + 2 ? sqrt(gsl_matrix_get(covariance, 0, 0)) : NAN;
done:
    if (x != NULL) gsl_matrix_free(x);
    if (covariance != NULL) gsl_matrix_free(covariance);
    if (y != NULL) gsl_vector_free(y);
    if (c != NULL) gsl_vector_free(c);
    if (work != NULL) gsl_multifit_linear_free(work);
    return status;
}

/* Returns the unknowns that the points can tell apart. */
static int unknowns(const spec_pass_points *points)
{
    double least = INFINITY, most = 0.0, shortest = INFINITY, longest = 0.0;
    for (int i = 0; i < points->n; i++) {
        const spec_pass_point *point = &points->at[i];
        const double context = point->kv_tokens / point->tokens;
        least = fmin(least, point->tokens), most = fmax(most, point->tokens);
        shortest = fmin(shortest, context), longest = fmax(longest, context);
    }
    const bool tokens = most > least;
    return STEP | (tokens ? TOKEN : 0) |
           (points->n >= (tokens ? 3 : 2) && longest > 1.05 * shortest ? KV : 0);
}

int spec_pass_fit_points(spec_pass_fit *fit, const spec_pass_points *points,
                         const spec_pass_fit *given, const char *path, spec_error *error)
{
    const int set = unknowns(points);
    double best = INFINITY;
    int status = GSL_SUCCESS;
    *fit = *given;
    /* There are few unknowns, so we try all subsets and take the best fit without a negative value.
     * Unknowns that are not in the subset are 0. */
    for (int subset = 1; subset <= set; subset++) {
        spec_pass_fit tried = *given;
        double rest;
        if ((subset & ~set) != 0) continue;
        if (set & STEP) tried.step = 0.0;
        if (set & TOKEN) tried.token = 0.0;
        if (set & KV) tried.kv = 0.0;
        SPEC_TRY(solve(&tried, &rest, points, subset, error));
        if (tried.step < 0.0 || tried.token < 0.0 || tried.kv < 0.0 || !(rest < best)) continue;
        best = rest;
        *fit = tried;
    }
    if (!isfinite(best) || fit->step + fit->token <= 0.0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: no times of a step, a token and a KV token >= 0 fit the points",
                           path));
    fit->fits_token = set & TOKEN;
    fit->fits_kv = set & KV;
    fit->worst_error = 0.0;
    for (int i = 0; i < points->n; i++)
        fit->worst_error =
            fmax(fit->worst_error, fabs(at(fit, &points->at[i]) / points->at[i].seconds - 1.0));
done:
    return status;
}
