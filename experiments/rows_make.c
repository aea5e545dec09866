/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/rows_make.h"

#include "base/clock.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "sim/sources.h"
#include "sim/verify/verify.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Maximum rows of a pass; maximum probabilities in them; number of rows that a forecast uses. */
enum { BLOCK_ROWS = 64, BLOCK_CELLS = 1 << 21, FORECAST_ROWS = 64 };

typedef struct {
    const spec_rows_plan *plan;
    spec_rows_writer writer;
    spec_session session[SPEC_ROWS_SIDES_MAX];
    double *store[SPEC_ROWS_SIDES_MAX];                   /* (block, V) */
    const double *row[SPEC_ROWS_SIDES_MAX][BLOCK_ROWS];
    size_t block;
    uint64_t length; /* maximum tokens of a text; UINT64_MAX: no maximum */
    uint64_t all;    /* maximum positions of the file */
    spec_clock clock;
    double begun;
    bool forecast;   /* the forecast has been made, or is not wanted */
    gsl_rng *rng;
    int *text;
    size_t text_capacity;
} maker;

static void maker_free(maker *m)
{
    for (int s = 0; s < m->plan->sides; s++) {
        spec_session_free(&m->session[s]);
        free(m->store[s]);
    }
    spec_rows_writer_free(&m->writer);
    if (m->rng != NULL) gsl_rng_free(m->rng);
    free(m->text);
}

static int maker_init(maker *m, const char *path, const spec_rows_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t vocab = (size_t)plan->model[0]->vocab;
    const size_t fits = BLOCK_CELLS / vocab;
    uint64_t window = UINT64_MAX;
    *m = (maker){.plan = plan, .block = fits < 1 ? 1 : fits > BLOCK_ROWS ? BLOCK_ROWS : fits};
    for (int s = 0; s < plan->sides; s++)
        if (plan->model[s]->window > 0 && (uint64_t)plan->model[s]->window < window)
            window = (uint64_t)plan->model[s]->window;
    m->length = plan->length > 0 ? plan->length : window;
    if (m->length > window)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "texts of %llu tokens: the models read at most %llu",
                           (unsigned long long)m->length, (unsigned long long)window));
    for (int s = 0; s < plan->sides; s++) {
        m->store[s] = malloc(m->block * vocab * sizeof *m->store[s]);
        if (m->store[s] == NULL) SPEC_TRY(spec_no_memory(error));
        SPEC_TRY(spec_session_init(&m->session[s], plan->model[s], error));
    }
    m->rng = spec_rng_alloc();
    if (m->rng == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(
        spec_rows_writer_init(&m->writer, path, plan->model, plan->sides, plan->cutoff, error));
done:
    return status;
}

static bool is_full(const maker *m)
{
    return m->plan->places > 0 && m->writer.places >= m->plan->places;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Computes the rows of one side at n successive positions, the first of which comes after `at`
 * tokens of a text. It takes one pass, or one pass per row if the model's rows after draft nodes
 * differ from those after a context. */
static int score_side(maker *m, int s, const int *text, size_t at, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_model *model = m->plan->model[s];
    const bool one_by_one = model->kind->rows_by_round;
    const size_t passes = one_by_one ? n : 1, nodes = one_by_one ? 0 : n - 1;
    for (size_t i = 0; i < passes; i++)
        SPEC_TRY(spec_session_score(
            &m->session[s],
            &(spec_score_request){.context = text,
                                  .n_context = at + i,
                                  .token = text + at,
                                  .n_nodes = (int)nodes,
                                  .ret_row = m->row[s] + i,
                                  .scratch = m->store[s] + i * (size_t)model->vocab},
            error));
done:
    return status;
}

static int score(maker *m, const int *text, size_t at, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int s = 0; s < m->plan->sides; s++) SPEC_TRY(score_side(m, s, text, at, n, error));
done:
    return status;
}

/* Makes the forecast from the rows at the first positions of a text of n tokens. Scoring does not
 * change any row. */
static int forecast(maker *m, const int *text, size_t n, size_t prompt, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t left = n - prompt, fits = left < m->block ? left : m->block;
    const size_t rows = fits < FORECAST_ROWS ? fits : FORECAST_ROWS;
    double bytes = 0.0;
    if (m->forecast) return status;
    m->forecast = true;
    SPEC_TRY(score(m, text, prompt, rows, error));
    for (size_t i = 0; i < rows; i++) {
        const double *row[SPEC_ROWS_SIDES_MAX];
        for (int s = 0; s < m->plan->sides; s++) row[s] = m->row[s][i];
        bytes += (double)spec_rows_writer_place_bytes(&m->writer, row);
    }
    const double each = (spec_clock_read(&m->clock) - m->begun) / (double)rows;
    const spec_rows_forecast of_all = {.places = m->all,
                                       .bytes = bytes / (double)rows * (double)m->all,
                                       .seconds = each * (double)m->all * (double)m->plan->every};
    status = m->plan->opt_forecast(m->plan->self, &of_all, error);
done:
    return status;
}

/* Writes a text. Its positions come after the first `prompt` tokens, each before the next token. */
static int write_text(maker *m, const int *text, size_t n, size_t prompt, spec_error *error)
{
    int status = GSL_SUCCESS;
    const uint64_t begin = m->writer.tokens;
    SPEC_TRY(forecast(m, text, n, prompt, error));
    SPEC_TRY(spec_rows_writer_text(&m->writer, text, n, error));
    for (size_t at = prompt; at < n && !is_full(m); at += m->block) {
        const size_t left = n - at, rows = left < m->block ? left : m->block;
        SPEC_TRY(spec_stop_check(m->plan->opt_stop, error));
        SPEC_TRY(score(m, text, at, rows, error));
        for (size_t i = 0; i < rows && !is_full(m); i++) {
            const double *row[SPEC_ROWS_SIDES_MAX];
            if ((at + i - prompt) % m->plan->every != 0) continue;
            for (int s = 0; s < m->plan->sides; s++) row[s] = m->row[s][i];
            SPEC_TRY(spec_rows_writer_place(&m->writer, begin + at + i, row, error));
        }
        if (m->plan->progress != NULL) m->plan->progress(m->plan->self, m->writer.places, m->all);
    }
done:
    return status;
}

/* Returns how many tokens of a text we need: up to the token after the last remaining position. */
static uint64_t tokens_wanted(const maker *m)
{
    const uint64_t places = m->plan->places;
    return places > 0 ? (places - m->writer.places - 1) * m->plan->every + 1 : UINT64_MAX;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int given_texts(maker *m, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_rows_plan *plan = m->plan;
    size_t at = 0;
    for (size_t i = 0; i < plan->n_texts && !is_full(m); i++)
        while (at < plan->text_end[i] && !is_full(m)) {
            const uint64_t wanted = tokens_wanted(m),
                           most = wanted < m->length ? wanted : m->length;
            const size_t left = plan->text_end[i] - at, n = left < most ? left : (size_t)most;
            SPEC_TRY(write_text(m, plan->opt_text + at, n, 0, error));
            at += n;
        }
done:
    return status;
}

static int push(maker *m, size_t *n, int token, spec_error *error)
{
    if (*n == m->text_capacity) {
        const size_t capacity = 2 * m->text_capacity + SPEC_PROMPT_MAX;
        int *text = realloc(m->text, capacity * sizeof *text);
        if (text == NULL) return spec_no_memory(error);
        m->text = text;
        m->text_capacity = capacity;
    }
    m->text[(*n)++] = token;
    return GSL_SUCCESS;
}

static int begin_text(maker *m, size_t *ret_n, unsigned long number, spec_error *error)
{
    int status = GSL_SUCCESS, room[SPEC_PROMPT_MAX];
    const spec_rows_plan *plan = m->plan;
    const spec_model *target = plan->model[0];
    const int *prompt = plan->opt_prompt;
    size_t n = plan->n_prompt;
    *ret_n = 0;
    if (prompt == NULL && target->kind->prompt != NULL) {
        n = target->kind->prompt(target, number, room, SPEC_PROMPT_MAX);
        prompt = room;
    }
    if (n >= m->length)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a prompt of %zu tokens leaves no room in texts of %llu", n,
                           (unsigned long long)m->length));
    for (size_t i = 0; i < n; i++) SPEC_TRY(push(m, ret_n, prompt[i], error));
done:
    return status;
}

/* Lets the target write until the text has its full length, its end, or all remaining positions. */
static int own_text(maker *m, unsigned long number, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t n, prompt;
    const spec_rows_plan *plan = m->plan;
    const spec_model *target = plan->model[0];
    spec_chance chance = spec_chance_sampled(m->rng);
    const uint64_t wanted = tokens_wanted(m);
    spec_rng_stream(m->rng, plan->seed, number);
    SPEC_TRY(begin_text(m, &prompt, number, error));
    for (n = prompt; n < m->length && n - prompt < wanted;) {
        SPEC_TRY(spec_stop_check(m->plan->opt_stop, error));
        if (n - prompt == FORECAST_ROWS)
            SPEC_TRY(forecast(m, m->text, n, prompt, error)); /* the forecast uses the buffer */
        const double *row = spec_session_row(&m->session[0], m->text, n, m->store[0], error);
        if (row == NULL) SPEC_TRY(GSL_EFAILED);
        const int token = spec_verify_sample(row, target->vocab, &chance);
        SPEC_TRY(push(m, &n, token, error));
        if (spec_model_ends_text(target, token)) break;
    }
    SPEC_TRY(write_text(m, m->text, n, prompt, error));
done:
    return status;
}

/* Counts the positions in the given texts: every `every`-th token of each part. */
static uint64_t count_places(const maker *m)
{
    const spec_rows_plan *plan = m->plan;
    uint64_t places = 0;
    size_t at = 0;
    if (plan->opt_text == NULL) return plan->places;
    for (size_t i = 0; i < plan->n_texts; at = plan->text_end[i++]) {
        const uint64_t tokens = plan->text_end[i] - at, pieces = tokens / m->length,
                       rest = tokens % m->length;
        places +=
            pieces * ((m->length - 1) / plan->every + 1) + (rest + plan->every - 1) / plan->every;
    }
    return plan->places > 0 && plan->places < places ? plan->places : places;
}

int spec_rows_make(const char *path, const spec_rows_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    maker m;
    assert(plan->sides >= 1 && plan->every >= 1 && (plan->opt_text != NULL || plan->places > 0));
    SPEC_TRY(maker_init(&m, path, plan, error));
    m.all = count_places(&m);
    m.clock = spec_clock_wall();
    m.begun = spec_clock_read(&m.clock);
    m.forecast = plan->opt_forecast == NULL;
    if (plan->opt_text != NULL) SPEC_TRY(given_texts(&m, error));
    for (unsigned long number = 0; plan->opt_text == NULL && !is_full(&m); number++)
        SPEC_TRY(own_text(&m, number, error));
    if (m.writer.places == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "the text has no tokens"));
    SPEC_TRY(spec_rows_writer_close(&m.writer, error));
    if (plan->opt_kept != NULL) *plan->opt_kept = m.writer.file.kept;
done:
    maker_free(&m);
    return status;
}
