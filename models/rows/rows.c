/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/rows/rows.h"

#include "models/wrapper.h"
#include "speclab/no_memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A prompt and the place at its end. */
typedef struct {
    uint64_t place;
    int token[SPEC_ROWS_PROMPT]; /* the tokens before the place */
} beginning;

typedef struct {
    spec_model head;
    spec_rows_file file;
    int side;
    uint64_t begin;                   /* the place of contexts that do not begin with a prompt */
    beginning *beginning;             /* the array that the pointers below point into */
    beginning **by_token, **by_place; /* (n_beginnings) in both orders */
    size_t n_beginnings;
    /* (V) the row of place `at`; NULL: the row depends on the place */
    double *fixed;
} rows;

/* ---- places ---------------------------------------------------------------------------------- */

static int compare_tokens(const void *a, const void *b)
{
    const beginning *const *x = a, *const *y = b;
    for (int i = 0; i < SPEC_ROWS_PROMPT; i++)
        if ((*x)->token[i] != (*y)->token[i]) return (*x)->token[i] < (*y)->token[i] ? -1 : 1;
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const beginning *const *x = a, *const *y = b;
    return ((*x)->place > (*y)->place) - ((*x)->place < (*y)->place);
}

static int compare_both(const void *a, const void *b)
{
    const int tokens = compare_tokens(a, b);
    return tokens != 0 ? tokens : compare_places(a, b);
}

/* Returns the place after a context of n tokens. `start` has its first SPEC_ROWS_PROMPT tokens, or
 * is NULL if it has fewer. */
static uint64_t place_after(const rows *model, const int *start, size_t n)
{
    uint64_t place = model->begin;
    if (start != NULL && model->n_beginnings > 0) {
        beginning wanted, *key = &wanted;
        memcpy(wanted.token, start, sizeof wanted.token);
        beginning *const *found = bsearch(&key, model->by_token, model->n_beginnings,
                                          sizeof *model->by_token, compare_tokens);
        if (found != NULL) {
            place = (*found)->place;
            n -= SPEC_ROWS_PROMPT;
        }
    }
    return (place + n) % model->file.places;
}

static void take_tokens(int *ret_token, const spec_rows_file *file, uint64_t first)
{
    for (int i = 0; i < SPEC_ROWS_PROMPT; i++)
        ret_token[i] = spec_rows_file_token(file, first + (uint64_t)i);
}

/* Chooses places spread evenly over the file as ends of prompts. It skips places with too few
 * tokens before them, places whose prompt also ends at an earlier one, and the prompt at the file's
 * beginning: a context that starts with it is at the place given by its number of tokens. */
static int find_beginnings(rows *model, spec_error *error)
{
    const spec_rows_file *file = &model->file;
    const size_t most =
        file->places < SPEC_ROWS_PROMPTS_MAX ? (size_t)file->places : SPEC_ROWS_PROMPTS_MAX;
    int front[SPEC_ROWS_PROMPT];
    size_t n = 0, kept = 0;
    model->beginning = calloc(most, sizeof *model->beginning);
    model->by_token = calloc(most, sizeof *model->by_token);
    model->by_place = calloc(most, sizeof *model->by_place);
    if (model->beginning == NULL || model->by_token == NULL || model->by_place == NULL)
        return spec_fail(error, GSL_ENOMEM, "%.160s: out of memory", file->path);
    if (file->tokens < SPEC_ROWS_PROMPT) return GSL_SUCCESS;
    take_tokens(front, file, 0);
    for (size_t i = 0; i < most; i++) {
        beginning *next = &model->beginning[n];
        next->place = i * file->places / most;
        const uint64_t position = spec_rows_file_position(file, next->place);
        if (position < SPEC_ROWS_PROMPT) continue;
        take_tokens(next->token, file, position - SPEC_ROWS_PROMPT);
        if (memcmp(next->token, front, sizeof front) != 0) model->by_token[n++] = next;
    }
    qsort(model->by_token, n, sizeof *model->by_token, compare_both);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || compare_tokens(&model->by_token[kept - 1], &model->by_token[i]) != 0)
            model->by_token[kept++] = model->by_token[i];
    memcpy(model->by_place, model->by_token, kept * sizeof *model->by_place);
    qsort(model->by_place, kept, sizeof *model->by_place, compare_places);
    model->n_beginnings = kept;
    return GSL_SUCCESS;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_rows(spec_model *head)
{
    rows *model = (rows *)head;
    spec_rows_file_close(&model->file);
    free(model->beginning);
    free(model->by_token);
    free(model->by_place);
    free(model->fixed);
    free(model);
}

/* Reads the place that a key names, or -1. */
static int read_place(int64_t *ret_place, const spec_settings *settings, const char *key,
                      const spec_rows_file *file, spec_error *error)
{
    int place;
    const int most = file->places > INT_MAX ? INT_MAX : (int)file->places - 1;
    const int status = spec_settings_int(&place, settings, key, -1, -1, most, error);
    *ret_place = place;
    return status;
}

static int open_rows(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                     spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    static const char *const sides[SPEC_ROWS_SIDES_MAX + 1] = {
        "target", "draft", "draft2", "draft3", "draft4", "draft5", "draft6", "draft7", NULL};
    (void)opt_target;
    int status = GSL_SUCCESS;
    int64_t at, begin;
    rows *model = calloc(1, sizeof *model);
    if (model == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_settings_choice(&model->side, settings, "side", 0, sides, error));
    SPEC_TRY(spec_rows_file_open(&model->file, settings->path, error));
    if (model->side >= model->file.sides)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "side=%s: %.160s has %d draft%s", sides[model->side],
                           settings->path, model->file.sides - 1,
                           model->file.sides == 2 ? "" : "s"));
    SPEC_TRY(read_place(&at, settings, "at", &model->file, error));
    SPEC_TRY(read_place(&begin, settings, "begin", &model->file, error));
    if (at >= 0 && begin >= 0)
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL,
                      "rows: give at, one position for all contexts, or begin, the position where "
                      "they begin, not both"));
    model->head = (spec_model){.vocab = model->file.vocab, .order = at >= 0 ? 0 : -1};
    if (at >= 0) {
        model->fixed = malloc((size_t)model->head.vocab * sizeof *model->fixed);
        if (model->fixed == NULL) SPEC_TRY(spec_no_memory(error));
        SPEC_TRY(spec_rows_file_row(model->fixed, &model->file, (uint64_t)at, model->side, error));
    } else if (begin >= 0) {
        model->begin = (uint64_t)begin;
    } else {
        SPEC_TRY(find_beginnings(model, error));
    }
    *ret_model = &model->head;
    model = NULL;
done:
    if (model != NULL) close_rows(&model->head);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const double *row_at(const rows *model, uint64_t place, double *scratch, spec_error *error)
{
    return spec_rows_file_row(scratch, &model->file, place, model->side, error) == GSL_SUCCESS
               ? scratch
               : NULL;
}

static const double *rows_row(const spec_model *head, void *session, const int *context, size_t n,
                              double *scratch, spec_error *error)
{
    (void)session;
    const rows *model = (const rows *)head;
    if (model->fixed != NULL) return model->fixed;
    return row_at(model, place_after(model, n >= SPEC_ROWS_PROMPT ? context : NULL, n), scratch,
                  error);
}

/* Nodes of the same depth share a place. Each gets its own copy of the row, because a wrapper may
 * write into it. */
static int rows_score(const spec_model *head, void *session, const spec_score_request *request,
                      spec_error *error)
{
    (void)session;
    const rows *model = (const rows *)head;
    uint64_t last = UINT64_MAX;
    for (int i = request->first; i <= request->n_nodes; i++) {
        int start[SPEC_ROWS_PROMPT];
        size_t length = request->n_context;
        for (int node = i - 1; node >= 0;
             node = request->opt_parent != NULL ? request->opt_parent[node] : node - 1)
            length++;
        for (size_t k = 0; k < request->n_context && k < SPEC_ROWS_PROMPT; k++)
            start[k] = request->context[k];
        size_t k = length;
        for (int node = i - 1; node >= 0;
             node = request->opt_parent != NULL ? request->opt_parent[node] : node - 1)
            if (--k < SPEC_ROWS_PROMPT) start[k] = request->token[node];
        const uint64_t place =
            place_after(model, length >= SPEC_ROWS_PROMPT ? start : NULL, length);
        double *row = request->scratch + (size_t)i * (size_t)head->vocab;
        if (model->fixed != NULL)
            request->ret_row[i] = model->fixed;
        else if (place == last)
            request->ret_row[i] =
                memcpy(row, request->ret_row[i - 1], (size_t)head->vocab * sizeof *row);
        else
            request->ret_row[i] = row_at(model, place, row, error);
        if (request->ret_row[i] == NULL) return GSL_EFAILED;
        last = place;
    }
    return GSL_SUCCESS;
}

/* ---- text ------------------------------------------------------------------------------------ */

static size_t rows_token_text(const spec_model *model, int token, char *buffer, size_t size)
{
    return spec_rows_file_token_text(&((const rows *)model)->file, token, buffer, size);
}

/* However many there are, successive multiples of the golden ratio are spread evenly over the
 * circle. */
static size_t rows_prompt(const spec_model *head, uint64_t index, int *token, size_t capacity)
{
    const rows *model = (const rows *)head;
    if (model->n_beginnings == 0 || capacity < SPEC_ROWS_PROMPT) return 0;
    const uint64_t turn = (uint64_t)index * 0x9E3779B97F4A7C15u >> 32;
    memcpy(token, model->by_place[turn * model->n_beginnings >> 32]->token,
           SPEC_ROWS_PROMPT * sizeof *token);
    return SPEC_ROWS_PROMPT;
}

/* ---- the file of a model --------------------------------------------------------------------- */

const spec_rows_file *spec_rows_of(const spec_model *model, uint64_t *opt_begin)
{
    const rows *inner = (const rows *)spec_wrapper_innermost(model);
    if (inner->head.kind != &spec_model_rows || inner->fixed != NULL) return NULL;
    if (opt_begin != NULL) *opt_begin = inner->begin;
    return &inner->file;
}

void spec_rows_starts(double *ret_law, const spec_model *model)
{
    const rows *inner = (const rows *)spec_wrapper_innermost(model);
    for (uint64_t p = 0; p < inner->file.places; p++) ret_law[p] = 0.0;
    for (size_t i = 0; i < inner->n_beginnings; i++)
        ret_law[inner->by_place[i]->place] += 1.0 / (double)inner->n_beginnings;
    if (inner->n_beginnings == 0) ret_law[inner->begin] = 1.0;
}

int *spec_rows_text(const spec_rows_file *file)
{
    int *token = malloc(file->places * sizeof *token);
    for (uint64_t i = 0; token != NULL && i < file->places; i++)
        token[i] = spec_rows_file_token(file, i);
    return token;
}

const spec_model_kind spec_model_rows = {
    .name = "rows",
    .usage = "rows:PATH?side=target&at=-1&begin=-1",
    .summary = "rows of real models along a text, written by speclab rows; by position, or `at` a "
               "fixed one",
    .reference = "",
    .open = open_rows,
    .close = close_rows,
    .row = rows_row,
    .score = rows_score,
    .token_text = rows_token_text,
    .prompt = rows_prompt,
};
