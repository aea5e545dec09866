/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/ngram.h"

#include "models/context.h"
#include "models/ngram/corpus.h"
#include "models/ngram/kneser_ney.h"
#include "models/ngram/ngram_counts.h"
#include "models/ngram/prompts.h"
#include "models/ngram/vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096, BOUNDARY = -1, VOCAB_MAX = 1 << 21 };

typedef struct {
    spec_model head;
    const spec_model
        *opt_tokenizer; /* the target, if it is the tokenizer; else there is a vocabulary */
    spec_vocabulary vocabulary;
    spec_kneser_ney law;
    spec_prompts prompts;
} ngram;

/* The state needed only while learning. */
typedef struct {
    ngram *model;
    int order, max_vocab;
    spec_corpus corpus;
    spec_ngram_counts counts;
    int *stream; /* words: the whole text in preliminary numbers, renumbered at the end; BOUNDARY
                    between texts */
    size_t n_stream, stream_capacity;
    int *block_token; /* the target's tokens: (capacity) for one block */
    size_t block_capacity;
} learner;

static int count_tokens(learner *learning, const int *token, size_t n, spec_error *error)
{
    spec_prompts_push(&learning->model->prompts, token, n);
    return spec_ngram_counts_push(&learning->counts, token, n, error);
}

static void count_boundary(learner *learning)
{
    spec_prompts_boundary(&learning->model->prompts);
    spec_ngram_counts_boundary(&learning->counts);
}

static int store_tokens(learner *learning, const int *token, size_t n, spec_error *error)
{
    if (n > learning->stream_capacity - learning->n_stream) {
        const size_t capacity = 2 * learning->stream_capacity + n + CHUNK;
        int *stream = realloc(learning->stream, capacity * sizeof *stream);
        if (stream == NULL)
            return spec_fail(error, GSL_ENOMEM,
                             "out of memory for the text; limit=BYTES reads less of it");
        learning->stream = stream;
        learning->stream_capacity = capacity;
    }
    memcpy(learning->stream + learning->n_stream, token, n * sizeof *token);
    learning->n_stream += n;
    return GSL_SUCCESS;
}

/* Reads the tokens of a block, all of it if its text ends there; the next block starts with the
 * last *ret_unread bytes. */
static int learn_block(learner *learning, size_t *ret_unread, const spec_block *block,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_vocabulary *vocabulary = &learning->model->vocabulary;
    const bool words = vocabulary->tokens == SPEC_TOKENS_WORDS;
    int token[CHUNK];
    size_t at = 0;
    const size_t ahead =
        block->ends_text || vocabulary->tokens == SPEC_TOKENS_BYTES ? 1 : SPEC_TEXT_UNIT_AHEAD;
    while (block->length - at >= ahead) {
        size_t n = 0;
        while (n < CHUNK && block->length - at >= ahead) {
            const unsigned char *text = block->text + at;
            const size_t length =
                spec_text_unit_length(vocabulary->tokens, text, block->length - at);
            SPEC_TRY(spec_vocabulary_add(&token[n++], vocabulary, text, length, error));
            at += length;
        }
        SPEC_TRY((words ? store_tokens : count_tokens)(learning, token, n, error));
    }
    if (block->ends_text && words) SPEC_TRY(store_tokens(learning, &(int){BOUNDARY}, 1, error));
    if (block->ends_text && !words) count_boundary(learning);
    *ret_unread = block->length - at;
done:
    return status;
}

/* Returns the length of a block to tokenize if the text goes on, since the last tokens depend on
 * what follows. Cuts after a line or else before a blank, if there is one in the second half of the
 * block. */
static size_t cut_of(const spec_block *block)
{
    if (block->ends_text) return block->length;
    for (size_t i = block->length; i > block->length / 2; i--)
        if (block->text[i - 1] == '\n') return i;
    for (size_t i = block->length; i > block->length / 2; i--)
        if (block->text[i - 1] == ' ') return i - 1;
    return block->length;
}

/* Does the same with the target's tokenizer. */
static int learn_block_as_target(learner *learning, size_t *ret_unread, const spec_block *block,
                                 spec_error *error)
{
    const spec_model *target = learning->model->opt_tokenizer;
    const size_t length = cut_of(block);
    if (length + 1 > learning->block_capacity) {
        const size_t capacity =
            length + 1; /* every token has a byte, except a blank put before the text */
        int *token = realloc(learning->block_token, capacity * sizeof *token);
        if (token == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for a block of text");
        learning->block_token = token;
        learning->block_capacity = capacity;
    }
    const size_t has = target->kind->tokenize(target, (const char *)block->text, length,
                                              learning->block_token, learning->block_capacity);
    if (has == SPEC_TOKENS_LOST)
        return spec_fail(error, GSL_ENOMEM, "out of memory for a block of text");
    const size_t n = has < learning->block_capacity ? has : learning->block_capacity;
    *ret_unread = block->length - length;
    const int status = count_tokens(learning, learning->block_token, n, error);
    if (block->ends_text) count_boundary(learning);
    return status;
}

/* Cuts the vocabulary of words to its size, and counts the stored text by the new numbers. */
static int count_stream(learner *learning, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_vocabulary *vocabulary = &learning->model->vocabulary;
    int *renumber = malloc((size_t)vocabulary->size * sizeof *renumber);
    if (renumber == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for the vocabulary"));
    SPEC_TRY(spec_vocabulary_keep(vocabulary, learning->max_vocab, renumber, error));
    SPEC_TRY(spec_ngram_counts_init(&learning->counts, learning->order, vocabulary->size, error));
    for (size_t i = 0; i < learning->n_stream; i++) {
        int *token = learning->stream + i;
        const size_t begin = i;
        while (i < learning->n_stream && i - begin < CHUNK && learning->stream[i] != BOUNDARY) {
            learning->stream[i] = renumber[learning->stream[i]];
            i++;
        }
        SPEC_TRY(count_tokens(learning, token, i - begin, error));
        if (i == learning->n_stream) break;
        if (learning->stream[i] == BOUNDARY) count_boundary(learning);
        else i--;
    }
done:
    free(renumber);
    return status;
}

static int learn(learner *learning, spec_tokens tokens, const char *path, const char *opt_share,
                 uint64_t limit, spec_error *error)
{
    int status = GSL_SUCCESS;
    ngram *model = learning->model;
    const spec_model *target = model->opt_tokenizer;
    if (target == NULL) SPEC_TRY(spec_vocabulary_init(&model->vocabulary, tokens, error));
    spec_prompts_init(&model->prompts);
    if (tokens != SPEC_TOKENS_WORDS) {
        SPEC_TRY(spec_ngram_counts_init(&learning->counts, learning->order,
                                        target != NULL ? target->vocab : model->vocabulary.limit,
                                        error));
    }
    SPEC_TRY(spec_corpus_init(&learning->corpus, path, opt_share, limit, error));
    spec_block block;
    size_t unread = 0;
    do {
        SPEC_TRY(spec_corpus_next(&block, &learning->corpus, unread, error));
        if (block.text != NULL)
            SPEC_TRY((target != NULL ? learn_block_as_target : learn_block)(learning, &unread,
                                                                            &block, error));
    } while (block.text != NULL);
    if (tokens == SPEC_TOKENS_WORDS) SPEC_TRY(count_stream(learning, error));
    free(learning->stream);
    learning->stream = NULL;
    SPEC_TRY(spec_kneser_ney_init(&model->law, &learning->counts,
                                  target != NULL ? target->vocab : model->vocabulary.size, error));
done:
    spec_corpus_free(&learning->corpus);
    spec_ngram_counts_free(&learning->counts);
    free(learning->stream);
    free(learning->block_token);
    return status;
}

static void ngram_close(spec_model *model)
{
    ngram *self = (ngram *)model;
    spec_kneser_ney_free(&self->law);
    spec_vocabulary_free(&self->vocabulary);
    free(self);
}

static int ngram_open(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                      spec_context *opt_context, spec_error *error)
{
    int status = GSL_SUCCESS;
    int order, tokens, vocab;
    uint64_t limit;
    ngram *model = NULL;
    *ret_model = NULL;
    SPEC_TRY(spec_settings_int(&order, settings, "order", 4, 1, SPEC_NGRAM_ORDER_MAX, error));
    SPEC_TRY(spec_settings_choice(&tokens, settings, "tokens", SPEC_TOKENS_BYTES, spec_tokens_names,
                                  error));
    SPEC_TRY(spec_settings_int(&vocab, settings, "V", 0, 0, SPEC_VOCABULARY_WORDS_MAX, error));
    SPEC_TRY(spec_settings_u64(&limit, settings, "limit", 0, error));
    if (settings->path[0] == '\0') {
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "ngram: no text to learn from; name a file, as in ngram:a.txt?order=4"));
    }
    if (vocab != 0 && tokens != SPEC_TOKENS_WORDS) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "V=%d: only tokens=words has a vocabulary to be cut",
                           vocab));
    }
    if (vocab == 1)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "V=1: the vocabulary needs a word besides <unk>, so V >= "
                           "2"));

    if (tokens == SPEC_TOKENS_TARGET && (opt_target == NULL || opt_target->kind->tokenize == NULL))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "tokens=target: %s",
                           opt_target == NULL ? "only a draft has a target"
                                              : "the target has no tokenizer"));
    if (tokens == SPEC_TOKENS_TARGET && opt_target->vocab > VOCAB_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "tokens=target: its vocabulary of %d is too large, of more than %d",
                           opt_target->vocab, VOCAB_MAX));

    model = calloc(1, sizeof *model);
    if (model == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "ngram: out of memory"));
    if (tokens == SPEC_TOKENS_TARGET) model->opt_tokenizer = opt_target;
    learner learning = {.model = model,
                        .order = order,
                        .max_vocab = vocab == 0 ? SPEC_VOCABULARY_WORDS_DEFAULT : vocab};
    learning.corpus.descriptor = -1;
    SPEC_TRY(learn(&learning, (spec_tokens)tokens, settings->path, spec_context_share(opt_context),
                   limit, error));
    model->head = (spec_model){
        .kind = &spec_model_ngram, .vocab = model->vocabulary.size, .order = order - 1};
    if (tokens == SPEC_TOKENS_TARGET) {
        model->head.vocab = opt_target->vocab;
        model->head.ends = opt_target->ends;
    }
    *ret_model = &model->head;
    model = NULL;
done:
    if (model != NULL) ngram_close(&model->head);
    return status;
}

static const double *ngram_row(const spec_model *model, void *session, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    (void)session;
    (void)error;
    return spec_kneser_ney_row(&((const ngram *)model)->law, context, n, scratch);
}

static size_t ngram_token_text(const spec_model *model, int token, char *buffer, size_t size)
{
    const spec_model *target = ((const ngram *)model)->opt_tokenizer;
    if (target != NULL) return target->kind->token_text(target, token, buffer, size);
    return spec_vocabulary_text(&((const ngram *)model)->vocabulary, token, buffer, size);
}

static size_t ngram_tokenize(const spec_model *model, const char *text, size_t length, int *token,
                             size_t capacity)
{
    const spec_model *target = ((const ngram *)model)->opt_tokenizer;
    if (target != NULL) return target->kind->tokenize(target, text, length, token, capacity);
    return spec_vocabulary_tokenize(&((const ngram *)model)->vocabulary, text, length, token,
                                    capacity);
}

static size_t ngram_prompt(const spec_model *model, uint64_t index, int *token,
                           size_t capacity)
{
    return spec_prompts_draw(&((const ngram *)model)->prompts, index, token, capacity);
}

const spec_model_kind spec_model_ngram = {
    .name = "ngram",
    .usage = "ngram:PATH?order=4&tokens=bytes&V=0&limit=0",
    .summary = "n-grams of real text (order 1..6; bytes, chars, words or the target's tokens), "
               "interpolated Kneser-Ney",
    .reference = "KneserNey95",
    .open = ngram_open,
    .close = ngram_close,
    .row = ngram_row,
    .token_text = ngram_token_text,
    .tokenize = ngram_tokenize,
    .prompt = ngram_prompt,
};
