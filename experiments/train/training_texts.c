/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/train/training_texts.h"

#include "base/mapping.h"
#include "base/noise.h"
#include "base/parallel.h"
#include "models/row.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_OUT = 10, SHOWN = 16 }; /* one part in so many is held out */

/* Tokens of a window that come from the text: without a begin token the last place's next token
 * adds one. */
static size_t length_of(const spec_training_texts *texts)
{
    return (size_t)texts->places + (texts->begin < 0 ? 1 : 0);
}

void spec_training_texts_free(spec_training_texts *texts)
{
    free(texts->token);
    *texts = (spec_training_texts){0};
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* The line of the first character that the model reads as its unknown token: it decodes to other
 * text. */
static int check_known(const spec_training_texts *texts, const spec_mapping *file,
                       const spec_tokenizer *tokenizer, const char *path, spec_error *error)
{
    const char *text = (const char *)file->bytes;
    char piece[256];
    size_t at = 0;
    long line = 1;
    for (size_t i = 0; i < texts->n; i++) {
        size_t length = spec_tokenizer_text(tokenizer, texts->token[i], piece, sizeof piece);
        const char *spelled = piece;
        if (i == 0 && length > 0 && *piece == ' ' && text[0] != ' ') spelled++, length--;
        if (length > file->length - at || length >= sizeof piece ||
            memcmp(spelled, text + at, length) != 0)
            return spec_fail(error, GSL_EINVAL,
                             "%.300s:%ld: the model's vocabulary has no token for '%.*s'", path,
                             line, (int)(file->length - at < SHOWN ? file->length - at : SHOWN),
                             text + at);
        for (size_t k = 0; k < length; k++) line += text[at + k] == '\n';
        at += length;
    }
    return GSL_SUCCESS;
}

int spec_training_texts_load(spec_training_texts *texts, const char *path,
                             const spec_tokenizer *tokenizer, int begin, int places,
                             spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_mapping file = {0};
    *texts = (spec_training_texts){.stride = 1, .places = places, .begin = begin};
    SPEC_TRY(spec_mapping_init(&file, path, error));
    const char *text = (const char *)file.bytes;
    texts->n = spec_tokenizer_encode(tokenizer, text, file.length, NULL, 0);
    if (texts->n != SIZE_MAX) texts->token = calloc(texts->n + 1, sizeof *texts->token);
    if (texts->token == NULL ||
        spec_tokenizer_encode(tokenizer, text, file.length, texts->token, texts->n) != texts->n)
        SPEC_TRY(spec_no_memory_for(error, path));
    SPEC_TRY(check_known(texts, &file, tokenizer, path, error));
    const size_t length = length_of(texts), held_out = texts->n / HELD_OUT;
    if (held_out < length)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: has %zu tokens; windows of %d tokens, with a tenth of the text "
                           "held out, need %zu",
                           path, texts->n, places, length * HELD_OUT));
    texts->n_training = texts->n - held_out;
done:
    spec_mapping_free(&file);
    if (status != GSL_SUCCESS) spec_training_texts_free(texts);
    return status;
}

/* ---- sampled texts --------------------------------------------------------------------------- */

/* Arrays have one element, or one row, for each worker. */
typedef struct {
    const spec_training_sampling *how;
    spec_training_texts *texts;
    spec_session *session;
    double *row; /* (workers, V) */
    int *status;
    spec_error *error;
} sampling;

static int token_of(const double *row, int vocab, double u)
{
    double sum = 0.0;
    int last = 0;
    for (int i = 0; i < vocab; i++) {
        if (row[i] <= 0.0) continue;
        last = i;
        sum += row[i];
        if (u < sum) return i;
    }
    return last; /* rounding */
}

/* A session serves one worker at a time; the model adds its own begin token. */
static void sample_one(void *self, uint64_t item, int worker)
{
    sampling *s = self;
    const spec_training_sampling *how = s->how;
    const int vocab = how->model->vocab, length = (int)s->texts->stride;
    int *text = s->texts->token + (size_t)item * s->texts->stride;
    double *room = s->row + (size_t)worker * (size_t)vocab;
    spec_rng_state rng = spec_rng_stream_state(how->seed, item);
    for (int t = how->prompt; t < length && s->status[worker] == GSL_SUCCESS; t++) {
        const double *row =
            spec_session_row(&s->session[worker], text, (size_t)t, room, &s->error[worker]);
        const double u = spec_rng_next_double(&rng);
        if (row == NULL)
            s->status[worker] = GSL_EFAILED;
        else
            text[t] = how->greedy ? spec_row_argmax(row, vocab) : token_of(row, vocab, u);
    }
}

static size_t held_out_at(const spec_training_texts *texts, size_t i, size_t count)
{
    if (texts->stride > 1) return i * texts->stride;
    const size_t room = texts->n - texts->n_training - length_of(texts);
    return texts->n_training + (count > 1 ? room * i / (count - 1) : 0);
}

int spec_training_texts_sample(spec_training_texts *texts, const spec_training_texts *opt_prompts,
                               const spec_training_sampling *how, spec_thread_pool *opt_pool,
                               spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t workers = (size_t)spec_thread_pool_size(opt_pool);
    sampling s = {.how = how, .texts = texts};
    *texts = (spec_training_texts){.places = how->places, .begin = how->begin};
    texts->stride = length_of(texts);
    texts->n = texts->n_training = how->count * texts->stride;
    texts->token = calloc(texts->n, sizeof *texts->token);
    s.session = calloc(workers, sizeof *s.session);
    s.row = malloc(workers * (size_t)how->model->vocab * sizeof *s.row);
    s.status = calloc(workers, sizeof *s.status);
    s.error = calloc(workers, sizeof *s.error);
    if (texts->token == NULL || s.session == NULL || s.row == NULL || s.status == NULL ||
        s.error == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (size_t i = 0; i < how->count && how->prompt > 0; i++)
        memcpy(texts->token + i * texts->stride,
               opt_prompts->token + held_out_at(opt_prompts, i, how->count),
               (size_t)how->prompt * sizeof *texts->token);
    for (size_t i = 0; i < workers; i++)
        SPEC_TRY(spec_session_init(&s.session[i], how->model, error));
    spec_parallel_run(opt_pool, sample_one, &s, how->count, (int)workers);
    for (size_t i = 0; i < workers; i++)
        if (s.status[i] != GSL_SUCCESS) {
            *error = s.error[i];
            SPEC_TRY(s.status[i]);
        }
done:
    for (size_t i = 0; s.session != NULL && i < workers; i++) spec_session_free(&s.session[i]);
    free(s.session);
    free(s.row);
    free(s.status);
    free(s.error);
    if (status != GSL_SUCCESS) spec_training_texts_free(texts);
    return status;
}

/* ---- windows --------------------------------------------------------------------------------- */

static void window(int *ret_token, int *ret_next, const spec_training_texts *texts, size_t at)
{
    const int *text = texts->token + at, skip = texts->begin < 0 ? 1 : 0;
    for (int t = 0; t < texts->places; t++) {
        ret_token[t] = skip ? text[t] : t == 0 ? texts->begin : text[t - 1];
        ret_next[t] = text[t + skip];
    }
}

void spec_training_texts_batch(int *ret_token, int *ret_next, const spec_training_texts *texts,
                               int count, uint64_t seed, long step)
{
    const uint64_t starts = (texts->n_training - length_of(texts)) / texts->stride + 1,
                   key = spec_noise_key(seed, (const int[]){(int)step}, 1, -1);
    for (int i = 0; i < count; i++) {
        const uint64_t start = spec_noise_word(key, (uint64_t)i) % starts;
        window(ret_token + (long)i * texts->places, ret_next + (long)i * texts->places, texts,
               (size_t)start * texts->stride);
    }
}

void spec_training_texts_held_out(int *ret_token, int *ret_next, const spec_training_texts *texts,
                                  int i, int count)
{
    window(ret_token, ret_next, texts, held_out_at(texts, (size_t)i, (size_t)count));
}
