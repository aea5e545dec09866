/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/training_texts.h"

#include "base/mapping.h"
#include "base/noise.h"
#include "base/parallel.h"
#include "models/ngram/corpus.h"
#include "models/row.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* One in this many parts is held out; maximum missing characters in a row. */
enum { HELD_OUT = 10, MISSING = 8 };

/* Returns the tokens of a window that come from the text; one more without a begin token, because
 * the token after the last position is needed too. */
static size_t length_of(const spec_training_texts *texts)
{
    return (size_t)texts->places + (texts->begin < 0 ? 1 : 0);
}

void spec_training_texts_free(spec_training_texts *texts)
{
    free(texts->token);
    free(texts->start);
    *texts = (spec_training_texts){0};
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Returns the bytes of a character of UTF-8 at text[at]. */
static size_t character(const char *text, size_t at, size_t length)
{
    size_t end = at + 1;
    while (end < length && ((unsigned char)text[end] & 0xc0) == 0x80) end++;
    return end - at;
}

/* Returns whether the token's text is at text[at]. */
static bool is_at(const char *piece, size_t n, const char *text, size_t at, size_t length)
{
    return n <= length - at && memcmp(piece, text + at, n) == 0;
}

/* Compares the tokens' texts with the file. A character outside the vocabulary is an unknown token,
 * or has no token at all. ret_known[i]: token i is known, and no character is missing before it. */
static void mark_unknown(spec_training_texts *texts, bool *ret_known, const char *text,
                         size_t length, const spec_tokenizer *tokenizer)
{
    char piece[256];
    size_t at = 0;
    long line = 1;
    for (size_t i = 0; i < texts->n; i++) {
        size_t n = spec_tokenizer_text(tokenizer, texts->token[i], piece, sizeof piece), from = at;
        const char *spelled = piece;
        if (i == 0 && n > 0 && *piece == ' ' && text[0] != ' ') spelled++, n--;
        ret_known[i] = n < sizeof piece && is_at(spelled, n, text, at, length);
        if (!ret_known[i]) {
            if (texts->n_unknown++ == 0) texts->unknown_line = line;
            for (int k = 0; k < MISSING && from < length; k++) {
                from += character(text, from, length);
                if (n < sizeof piece && is_at(spelled, n, text, from, length)) break;
            }
            if (n < sizeof piece && is_at(spelled, n, text, from, length))
                from += n;
            else
                from = at < length ? at + character(text, at, length) : at;
        } else {
            from += n;
        }
        for (; at < from; at++) line += text[at] == '\n';
    }
}

/* Lists the windows without unknown tokens: those for training, then the held-out ones. */
static void list_starts(spec_training_texts *texts, const bool *known)
{
    const size_t length = length_of(texts);
    size_t clean = 0; /* known tokens before the current one, since the last unknown one */
    for (size_t end = 1; end <= texts->n; end++) {
        clean = known[end - 1] ? clean + 1 : 0;
        if (end == texts->n_training + 1) clean = known[end - 1] ? 1 : 0;
        if (clean < length) continue;
        texts->start[texts->n_starts++] = end - length;
        if (end <= texts->n_training) texts->n_training_starts = texts->n_starts;
    }
}

int spec_training_texts_load(spec_training_texts *texts, const char *path,
                             const spec_tokenizer *tokenizer, int begin, int places,
                             spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_mapping file = {0};
    bool *known = NULL;
    *texts = (spec_training_texts){.stride = 1, .places = places, .begin = begin};
    SPEC_TRY(spec_mapping_init(&file, path, error));
    if (file.length > SPEC_CORPUS_BYTES_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: more than %d GiB of text: train on a part of it", path,
                           (int)(SPEC_CORPUS_BYTES_MAX >> 30)));
    const char *text = (const char *)file.bytes;
    texts->n = spec_tokenizer_encode(tokenizer, text, file.length, NULL, 0);
    if (texts->n != SIZE_MAX) texts->token = calloc(texts->n + 1, sizeof *texts->token);
    if (texts->token == NULL ||
        spec_tokenizer_encode(tokenizer, text, file.length, texts->token, texts->n) != texts->n)
        SPEC_TRY(spec_no_memory_for(error, path));
    texts->start = malloc((texts->n + 1) * sizeof *texts->start);
    known = malloc(texts->n + 1);
    if (texts->start == NULL || known == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    mark_unknown(texts, known, text, file.length, tokenizer);
    texts->n_training = texts->n - texts->n / HELD_OUT;
    list_starts(texts, known);
    if (texts->n_training_starts == 0 || texts->n_starts == texts->n_training_starts)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: its %zu tokens, %zu of them unknown, have too few windows of "
                           "%d known tokens; the last tenth is held out",
                           path, texts->n, texts->n_unknown, places));
done:
    free(known);
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
    return last; /* reached only by rounding */
}

/* Samples one text. A session serves one worker at a time; the model adds its own begin token. */
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
    if (texts->start == NULL) return i * texts->stride;
    const size_t most = texts->n_starts - texts->n_training_starts - 1;
    return texts->start[texts->n_training_starts + (count > 1 ? most * i / (count - 1) : 0)];
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
    const uint64_t key = spec_noise_key(seed, (const int[]){(int)step}, 1, -1),
                   starts =
                       texts->start != NULL ? texts->n_training_starts : texts->n / texts->stride;
    for (int i = 0; i < count; i++) {
        const uint64_t start = spec_noise_word(key, (uint64_t)i) % starts;
        window(ret_token + (long)i * texts->places, ret_next + (long)i * texts->places, texts,
               texts->start != NULL ? texts->start[start] : (size_t)start * texts->stride);
    }
}

void spec_training_texts_held_out(int *ret_token, int *ret_next, const spec_training_texts *texts,
                                  int i, int count)
{
    window(ret_token, ret_next, texts, held_out_at(texts, (size_t)i, (size_t)count));
}

void spec_training_texts_held_out_batch(int *ret_token, int *ret_next,
                                        const spec_training_texts *texts, int first, int n,
                                        int count)
{
    for (int k = 0; k < n; k++)
        spec_training_texts_held_out(ret_token + (long)k * texts->places,
                                     ret_next + (long)k * texts->places, texts, first + k, count);
}
