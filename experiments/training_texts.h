/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_texts: the token sequences that a model is trained on, and the held-out ones.
 * They come from a text file, whose last tenth is held out, or are sampled from the target itself.
 * A window is what the model reads, with the token that follows each position. Owns its tokens. */
#ifndef SPECLAB_TRAINING_TEXTS_H
#define SPECLAB_TRAINING_TEXTS_H

#include "base/thread_pool.h"
#include "models/model.h"
#include "models/transformer/tokenizer/tokenizer.h"

#include <stdint.h>

typedef struct {
    int *token;
    size_t n;          /* tokens */
    size_t n_training; /* windows for training end here */
    /* windows begin at its multiples: 1 in a file, the length of a text for sampled texts */
    size_t stride;
    size_t *start;     /* in a text: the windows without unknown tokens, ascending; else NULL */
    size_t n_starts, n_training_starts;
    size_t n_unknown;  /* tokens for characters outside the vocabulary */
    long unknown_line; /* line of the first of them */
    int places;        /* positions of a window */
    int begin;         /* the token before each window, or -1: none */
} spec_training_texts;

/* Tokenizes a file; `begin` is -1 for models without a begin token. Windows with characters outside
 * the vocabulary are left out. Returns GSL_EINVAL, with the file, if it cannot be read, has more
 * than SPEC_CORPUS_BYTES_MAX bytes or is too short: its training part and its held-out part each
 * need one window. */
int spec_training_texts_load(spec_training_texts *texts, const char *path,
                             const spec_tokenizer *tokenizer, int begin, int places,
                             spec_error *error);

/* How texts are sampled from a model. */
typedef struct {
    const spec_model *model;
    int begin, places;
    size_t count;  /* texts */
    int prompt;    /* tokens that each text takes from the prompts, < places */
    bool greedy;   /* temperature 0 instead of 1 */
    uint64_t seed; /* text i uses random stream i of this seed */
} spec_training_sampling;

/* Samples texts. They begin with held-out windows of opt_prompts, or with its texts if it was
 * sampled. No text ends early: the end-of-text token is a token like any other. */
int spec_training_texts_sample(spec_training_texts *texts, const spec_training_texts *opt_prompts,
                               const spec_training_sampling *how, spec_thread_pool *opt_pool,
                               spec_error *error);
void spec_training_texts_free(spec_training_texts *texts); /* may be zeroed */

/* Fills windows 0..count-1 of a step, drawn with replacement: what the model reads, and the token
 * after each position. Both (count, places). */
void spec_training_texts_batch(int *ret_token, int *ret_next, const spec_training_texts *texts,
                               int count, uint64_t seed, long step);

/* Fills the i-th of `count` held-out windows, evenly spread; for sampled texts, text i. Both
 * (places). */
void spec_training_texts_held_out(int *ret_token, int *ret_next, const spec_training_texts *texts,
                                  int i, int count);

/* Fills n held-out windows from number `first` on: (n, places). */
void spec_training_texts_held_out_batch(int *ret_token, int *ret_next,
                                        const spec_training_texts *texts, int first, int n,
                                        int count);

#endif
