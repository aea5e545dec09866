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

enum { FIELDS = 6 };

/* Turns a row into a point; x holds its required fields in the order of `formats`. Sets seconds to
 * 0 if the row timed no decoding step. */
typedef int maker(spec_pass_point *ret, const double *x, const record *of, spec_error *error);

/* llama-batched-bench: after its prompt, each sequence decodes some tokens. */
static int of_batched_bench(spec_pass_point *ret, const double *x, const record *of,
                            spec_error *error)
{
    const double sequences = x[0], seconds = x[1], prompt = x[2], generated = x[3];
    (void)of, (void)error;
    *ret = (spec_pass_point){sequences, sequences * (prompt + 0.5 * generated),
                             generated > 0.0 ? seconds / generated : 0.0};
    return GSL_SUCCESS;
}

static int number(double *ret, const record *of, const char *name, double low, spec_error *error)
{
    static const double most = 1e12;
    *ret = spec_cell_number(cell(of, name));
    if (*ret >= low && *ret <= most) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.300s: row %zu: '%.40s' is not a number from %g to %g",
                     of->path, of->row + 1, name, low, most);
}

/* SGLang's bench_one_batch: takes the median step; a run with one output token has none. */
static int of_one_batch(spec_pass_point *ret, const double *x, const record *of, spec_error *error)
{
    *ret = (spec_pass_point){x[0], x[0] * (x[2] + 0.5 * x[3]), 0.0};
    if (!has(of, "median_decode_latency")) return GSL_SUCCESS;
    return number(&ret->seconds, of, "median_decode_latency", 1e-9, error);
}

/* vllm bench serve and SGLang's bench_serving, run with a concurrency limit that is always
 * reached. */
static int of_bench_serve(spec_pass_point *ret, const double *x, const record *of,
                          spec_error *error)
{
    const double ms = x[0], output = x[1], batch = x[2], completed = x[3], input = x[4];
    if (has(of, "spec_decode_acceptance_length") || has(of, "accept_length"))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: row %zu: the run has speculation; a fit needs plain decoding",
                         of->path, of->row + 1);
    *ret =
        (spec_pass_point){fmin(batch, completed),
                          fmin(batch, completed) * (input + 0.5 * output) / completed, 1e-3 * ms};
    return GSL_SUCCESS;
}

/* vllm bench latency: the mean time of a whole batch, with the prompts as one more step. The file
 * does not contain the sizes; the defaults are those of the program. */
static int of_bench_latency(spec_pass_point *ret, const double *x, const record *of,
                            spec_error *error)
{
    int batch, input, output, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&batch, of->settings, "batch", 8, 1, 1 << 20, error));
    SPEC_TRY(spec_settings_int(&input, of->settings, "input", 32, 0, 1 << 30, error));
    SPEC_TRY(spec_settings_int(&output, of->settings, "output", 128, 1, 1 << 30, error));
    *ret = (spec_pass_point){batch, batch * (input + 0.5 * output), x[0] / output};
done:
    return status;
}

static int of_csv(spec_pass_point *ret, const double *x, const record *of, spec_error *error)
{
    if (x[2] < x[0])
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: row %zu: tokens counts those of all requests of the pass, so it "
                         "must be at least batch = %.6g, got %.6g",
                         of->path, of->row + 1, x[0], x[2]);
    *ret = (spec_pass_point){x[2], 0.0, 1e-3 * x[1]};
    if (!has(of, "kv_tokens")) return GSL_SUCCESS;
    return number(&ret->kv_tokens, of, "kv_tokens", 0.0, error);
}

/* The fields that each row must have, with their minimum values; NAN: not a number. The first two
 * occur together in no other format. */
static const struct {
    const char *program;
    maker *make;
    struct {
        const char *name;
        double least;
    } field[FIELDS];
} formats[] = {
    {"llama-batched-bench",
     of_batched_bench,
     {{"pl", 1.0}, {"t_tg", 0.0}, {"pp", 0.0}, {"tg", 0.0}}},
    {"bench_one_batch",
     of_one_batch,
     {{"batch_size", 1.0}, {"prefill_latency", NAN}, {"input_len", 0.0}, {"output_len", 0.0}}},
    {"vllm bench serve --max-concurrency N",
     of_bench_serve,
     {{"mean_tpot_ms", 1e-6},
      {"total_output_tokens", 1.0},
      {"max_concurrency", 1.0}, /* the option --max-concurrency, which is the batch */
      {"completed", 1.0},
      {"total_input_tokens", 0.0}}},
    {"vllm bench latency", of_bench_latency, {{"avg_latency", 1e-9}, {"latencies", NAN}}},
    {"a CSV of measured times", of_csv, {{"batch", 1.0}, {"ms", 1e-6}, {"tokens", 1.0}}},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const char *spec_pass_fit_fields(const char **ret_program, int format, int i)
{
    if (format >= FORMATS) return NULL;
    *ret_program = formats[format].program;
    return i < FIELDS ? formats[format].field[i].name : NULL;
}

static int lacks(const record *of, int format, const char *missing, spec_error *error)
{
    char all[200] = "";
    for (int i = 0; i < FIELDS && formats[format].field[i].name != NULL; i++) {
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "",
                 formats[format].field[i].name);
    }
    return spec_fail(error, GSL_EINVAL, "%.300s: row %zu: '%s' is missing; %s needs %s", of->path,
                     of->row + 1, missing, formats[format].program, all);
}

static int read_row(spec_pass_point *ret, const record *of, int format, spec_error *error)
{
    double x[FIELDS] = {0};
    int status = GSL_SUCCESS;
    for (int i = 0; i < FIELDS && formats[format].field[i].name != NULL; i++) {
        const char *name = formats[format].field[i].name;
        const double least = formats[format].field[i].least;
        if (!has(of, name)) SPEC_TRY(lacks(of, format, name, error));
        if (!isnan(least)) SPEC_TRY(number(&x[i], of, name, least, error));
    }
    status = formats[format].make(ret, x, of, error);
done:
    return status;
}

int spec_pass_points_read(spec_pass_points *points, const spec_settings *settings,
                          spec_error *error)
{
    static const spec_input_limit limit = {"measured times", 16 << 20};
    spec_table table = {0};
    record of = {&table, 0, -1, -1, settings->path, settings};
    bool json;
    int format = 0, status = GSL_SUCCESS;
    points->n = 0;
    SPEC_TRY(spec_table_file_read(&table, &json, settings->path, &limit, error));
    of.keys = json ? spec_table_column(&table, "key") : -1;
    of.values = of.keys < 0 ? -1 : spec_table_column(&table, "value");
    if (of.values < 0) of.keys = -1;
    while (format < FORMATS && (cell(&of, formats[format].field[0].name) == NULL ||
                                cell(&of, formats[format].field[1].name) == NULL))
        format++;
    if (format == FORMATS)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: neither JSON of llama-batched-bench, bench_one_batch or vllm "
                           "bench, nor a CSV with columns batch, tokens and ms",
                           settings->path));
    const size_t rows = of.keys < 0 ? table.n_rows : 1;
    for (; of.row < rows; of.row++) {
        spec_pass_point point;
        SPEC_TRY(read_row(&point, &of, format, error));
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

/* Solves for the unknowns in the set, by least squares of relative errors: everything is divided by
 * seconds, so y is 1 minus the part with given coefficients. */
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
