/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/requests.h"

#include "base/wide_rng.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

/* ---- rows: requests of a trace or of a file of accepted lengths ------------------------------ */

typedef struct {
    int64_t n;
    const int32_t *prompt, *output; /* (n), or NULL */
} rows;

/* Returns the rows that OF_ROW refers to. */
static rows rows_of(const spec_requests *requests)
{
    const spec_request_trace *trace = requests->opt_trace;
    const spec_accepted_lengths *accepted = requests->opt_accepted;
    if (trace != NULL) return (rows){trace->n, trace->prompt, trace->output};
    if (accepted != NULL) return (rows){accepted->n, accepted->prompt, accepted->output};
    return (rows){0};
}

int spec_requests_check(const spec_requests *requests, spec_error *error)
{
    const rows row = rows_of(requests);
    if (requests->arrivals.kind == SPEC_ARRIVALS_TRACE) {
        if (requests->opt_trace == NULL)
            return spec_fail(error, GSL_EINVAL, "there is no trace to take arrivals from");
        if (requests->opt_trace->arrival == NULL)
            return spec_fail(error, GSL_EINVAL,
                             "the trace has lengths but no times of arrival: give a rate");
        const double last = requests->opt_trace->arrival[requests->opt_trace->n - 1];
        if (!(requests->speed > 0.0 && isfinite(last / requests->speed)))
            return spec_fail(error, GSL_EDOM, "a speed of %g is not a number above 0",
                             requests->speed);
    }
    if (requests->prompt.kind == SPEC_LENGTH_OF_ROW && row.prompt == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "there is no prompt length: give one, as in --prompt 512");
    if (requests->output.kind == SPEC_LENGTH_OF_ROW && row.output == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "there is no output length: give one, as in --output 256");
    return GSL_SUCCESS;
}

spec_requests spec_requests_by_length(const spec_requests *requests)
{
    const rows row = rows_of(requests);
    spec_requests by_length = *requests;
    by_length.arrivals = (spec_arrivals){.kind = SPEC_ARRIVALS_AT_ONCE};
    by_length.by_length = 1;
    for (int64_t i = 0; requests->output.kind == SPEC_LENGTH_OF_ROW && i < row.n; i++)
        if (row.output[i] > by_length.by_length) by_length.by_length = row.output[i];
    return by_length;
}

double spec_requests_mean_output(const spec_requests *requests)
{
    const rows row = rows_of(requests);
    double sum = 0.0;
    if (requests->output.kind != SPEC_LENGTH_OF_ROW) return spec_length_law_mean(&requests->output);
    for (int64_t i = 0; i < row.n; i++) sum += row.output[i];
    return sum / (double)row.n;
}

double spec_requests_mean_context(const spec_requests *requests)
{
    const rows row = rows_of(requests);
    const bool prompt_of_row = requests->prompt.kind == SPEC_LENGTH_OF_ROW,
               output_of_row = requests->output.kind == SPEC_LENGTH_OF_ROW;
    const int64_t n = prompt_of_row || output_of_row ? row.n : 1;
    const double prompt = spec_length_law_mean(&requests->prompt),
                 output = spec_length_law_mean(&requests->output),
                 square = spec_length_law_mean_square(&requests->output);
    double outputs = 0.0, contexts = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double L = output_of_row ? row.output[i] : output,
                     L2 = output_of_row ? L * L : square;
        outputs += L;
        contexts += L * (prompt_of_row ? row.prompt[i] : prompt) + 0.5 * L2;
    }
    return contexts / outputs;
}

/* Whole numbers: gcc 12 for arm64 crashes where it vectorises a conditional fmax. */
static int most_tokens(const spec_length_law *law, const int32_t *of_row, int64_t n)
{
    int most = law->most;
    for (int64_t i = 0; law->kind == SPEC_LENGTH_OF_ROW && i < n; i++)
        if (of_row[i] > most) most = of_row[i];
    return most;
}

double spec_requests_most_context(const spec_requests *requests)
{
    const rows row = rows_of(requests);
    return most_tokens(&requests->prompt, row.prompt, row.n) +
           0.5 * most_tokens(&requests->output, row.output, row.n);
}

int spec_requests_longest(double *ret_chance, const spec_requests *requests, double share,
                          spec_error *error)
{
    const rows row = rows_of(requests);
    double all = 0.0, sum = 0.0;
    int64_t n = 0;
    *ret_chance = NAN;
    if (requests->output.kind != SPEC_LENGTH_OF_ROW) {
        *ret_chance = spec_length_law_longest(&requests->output, share);
        return GSL_SUCCESS;
    }
    double *square = malloc((size_t)row.n * sizeof *square);
    if (square == NULL) return spec_no_memory(error);
    for (int64_t i = 0; i < row.n; i++) all += square[i] = pow(row.output[i], 2.0);
    gsl_sort(square, 1, (size_t)row.n);
    while (n < row.n && sum < share * all) sum += square[row.n - ++n];
    *ret_chance = (double)n / (double)row.n;
    free(square);
    return GSL_SUCCESS;
}

/* ---- the source ------------------------------------------------------------------------------ */

/* Random streams of a cursor. */
enum { ARRIVALS, PROMPTS, OUTPUTS, ALPHAS, ROWS, REPLAYS, STREAMS };

typedef struct {
    const spec_requests *requests;
    rows row;
    int64_t i; /* requests so far */
    double time;
    gsl_rng *rng[STREAMS];
} cursor;

static void end(void *self)
{
    cursor *c = self;
    if (c == NULL) return;
    for (int s = 0; s < STREAMS; s++)
        if (c->rng[s] != NULL) gsl_rng_free(c->rng[s]);
    free(c);
}

static void *begin(const void *self, uint64_t seed, uint64_t stream)
{
    static const char *const names[STREAMS] = {"arrivals", "prompts", "outputs",
                                               "alphas",   "rows",    "replays"};
    cursor *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->requests = self;
    c->row = rows_of(self);
    for (int s = 0; s < STREAMS; s++) {
        c->rng[s] = spec_rng_alloc();
        if (c->rng[s] == NULL) {
            end(c);
            return NULL;
        }
        spec_rng_stream(c->rng[s], spec_rng_named_seed(seed, names[s]), stream);
    }
    return c;
}

static int length(const spec_length_law *law, const int32_t *opt_row, int64_t i, gsl_rng *rng)
{
    return law->kind == SPEC_LENGTH_OF_ROW ? opt_row[i] : spec_length_law_draw(law, rng);
}

/* Draws the row of the next request, and what it replays. */
static int64_t draw_row(cursor *c, int32_t *ret_replay)
{
    const spec_requests *requests = c->requests;
    *ret_replay = -1;
    if (requests->opt_accepted != NULL)
        *ret_replay =
            (int32_t)spec_wide_rng_below(c->rng[REPLAYS], (uint64_t)requests->opt_accepted->n);
    return requests->opt_trace == NULL
               ? *ret_replay
               : (int64_t)spec_wide_rng_below(c->rng[ROWS], (uint64_t)c->row.n);
}

static bool next(void *self, spec_request *ret_request)
{
    cursor *c = self;
    const spec_requests *requests = c->requests;
    const spec_length_law *output = &requests->output;
    const bool in_order = requests->arrivals.kind == SPEC_ARRIVALS_TRACE;
    if (in_order && c->i == c->row.n) return false;
    int64_t row = c->i++;
    c->time += spec_arrivals_gap(&requests->arrivals, c->rng[ARRIVALS]);
    *ret_request = (spec_request){.arrival = c->time, .replay = -1};
    if (in_order) ret_request->arrival = requests->opt_trace->arrival[row] / requests->speed;
    int64_t drawn = draw_row(c, &ret_request->replay);
    while (requests->by_length > 0 && output->kind == SPEC_LENGTH_OF_ROW &&
           gsl_rng_uniform(c->rng[OUTPUTS]) * requests->by_length >= c->row.output[drawn])
        drawn = draw_row(c, &ret_request->replay);
    if (!in_order) row = drawn;
    ret_request->prompt = length(&requests->prompt, c->row.prompt, row, c->rng[PROMPTS]);
    ret_request->output = requests->by_length > 0 && output->kind != SPEC_LENGTH_OF_ROW
                              ? spec_length_law_draw_by_length(output, c->rng[OUTPUTS])
                              : length(output, c->row.output, row, c->rng[OUTPUTS]);
    ret_request->alpha = requests->opt_accepted != NULL
                             ? requests->opt_accepted->alpha[ret_request->replay]
                             : (float)spec_alpha_law_draw(&requests->alpha, c->rng[ALPHAS]);
    return true;
}

spec_request_source spec_requests_source(const spec_requests *requests)
{
    return (spec_request_source){requests, begin, next, end};
}

/* ---- the law --------------------------------------------------------------------------------- */

/* Returns the shortest length n with P(length > n) < tail. */
static int longest(const spec_length_law *law, double tail)
{
    int low = law->low, high = law->most;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (spec_length_law_above(law, middle) < tail)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* Computes the mean prompt of all requests and its mean square, from the distribution or from
 * rows. */
static void fill_prompts(spec_requests_law *law, const spec_requests *requests, const rows *row)
{
    double sum = 0.0, square = 0.0;
    if (requests->prompt.kind != SPEC_LENGTH_OF_ROW) {
        law->mean_prompt = spec_length_law_mean(&requests->prompt);
        law->mean_prompt_square = spec_length_law_mean_square(&requests->prompt);
        return;
    }
    for (int64_t i = 0; i < row->n; i++) {
        sum += row->prompt[i];
        square += (double)row->prompt[i] * row->prompt[i];
    }
    law->mean_prompt = sum / (double)row->n;
    law->mean_prompt_square = square / (double)row->n;
}

static void fill_by_law(spec_requests_law *law, const spec_length_law *output)
{
    double above = 1.0;
    for (int l = 1; l <= law->most; l++) {
        const double next_above = l < law->most ? spec_length_law_above(output, l) : 0.0;
        law->output[l] = above - next_above;
        if (law->output[l] > 0.0) law->prompt[l] = law->mean_prompt;
        above = next_above;
    }
}

static void fill_by_rows(spec_requests_law *law, const spec_requests *requests, const rows *row)
{
    const bool prompts = requests->prompt.kind == SPEC_LENGTH_OF_ROW;
    for (int64_t i = 0; i < row->n; i++) {
        law->output[row->output[i]] += 1.0;
        if (prompts) law->prompt[row->output[i]] += row->prompt[i];
    }
    for (int l = 0; l <= law->most; l++) {
        if (law->output[l] <= 0.0) continue;
        law->prompt[l] = prompts ? law->prompt[l] / law->output[l] : law->mean_prompt;
        law->output[l] /= (double)row->n;
    }
}

int spec_requests_law_init(spec_requests_law *law, const spec_requests *requests, spec_error *error)
{
    const rows row = rows_of(requests);
    const bool by_rows = requests->output.kind == SPEC_LENGTH_OF_ROW;
    int status = GSL_SUCCESS;
    *law = (spec_requests_law){0};
    fill_prompts(law, requests, &row);
    if (by_rows) {
        for (int64_t i = 0; i < row.n; i++)
            if (row.output[i] > law->most) law->most = row.output[i];
    } else {
        law->most = longest(&requests->output, 1e-15);
    }
    law->output = calloc((size_t)law->most + 1, sizeof *law->output);
    law->prompt = calloc((size_t)law->most + 1, sizeof *law->prompt);
    if (law->output == NULL || law->prompt == NULL) SPEC_TRY(spec_no_memory(error));
    if (by_rows)
        fill_by_rows(law, requests, &row);
    else
        fill_by_law(law, &requests->output);
    for (int l = 1; l <= law->most; l++) law->mean_output += law->output[l] * l;
    if (requests->opt_accepted == NULL)
        SPEC_TRY(
            spec_alpha_law_nodes(&law->n_alpha, law->alpha, law->weight, &requests->alpha, error));
done:
    if (status != GSL_SUCCESS) spec_requests_law_free(law);
    return status;
}

void spec_requests_law_free(spec_requests_law *law)
{
    free(law->output);
    free(law->prompt);
    *law = (spec_requests_law){0};
}
