/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_prompts: the prompts of a measurement.
 * They are the texts of a file, the model's own prompts, texts that the model writes if it has
 * words, or random tokens. Prompts own their tokens. */
#ifndef SPECLAB_TIMING_PROMPTS_H
#define SPECLAB_TIMING_PROMPTS_H

#include "models/model.h"

#include <stdint.h>

/* The maximum numbers of prompts, of tokens of a prompt, and of bytes of a file. */
enum {
    SPEC_TIMING_PROMPTS_MAX = 100000,
    SPEC_TIMING_PROMPT_TOKENS = 1 << 20,
    SPEC_TIMING_FILE_BYTES = 1 << 26
};

typedef struct {
    int n;
    int **token;     /* (n) */
    size_t *length;  /* (n) tokens of each */
    char source[64]; /* "random tokens", ... */
} spec_timing_prompts;

/* Reads the texts of a file, separated by blank lines, cut to `most` tokens. Returns GSL_EINVAL if
 * the model has no words, or if the file has no text or is larger than SPEC_TIMING_FILE_BYTES;
 * GSL_EFAILED if it cannot be read. */
int spec_timing_prompts_read(spec_timing_prompts *prompts, const char *path,
                             const spec_model *model, int most, spec_error *error);

/* Tokenizes n >= 1 texts, cut to `most` tokens; `source` says what they are. Returns GSL_EINVAL if
 * the model has no words. */
int spec_timing_prompts_of(spec_timing_prompts *prompts, const char *const *text, int n,
                           const char *source, const spec_model *model, int most,
                           spec_error *error);

/* Makes n >= 1 prompts of at most `most` tokens. Takes the model's own prompts if it has any.
 * Otherwise, if the model has words, lets it write a few from an empty context, using streams of
 * the seed; if not, makes prompts of random tokens. Fails if the model fails. */
int spec_timing_prompts_make(spec_timing_prompts *prompts, const spec_model *model, int n, int most,
                             uint64_t seed, spec_error *error);

/* Return the length of the longest prompt, and the mean length, in tokens. */
size_t spec_timing_prompts_longest(const spec_timing_prompts *prompts);
double spec_timing_prompts_mean(const spec_timing_prompts *prompts);

void spec_timing_prompts_free(spec_timing_prompts *prompts);

#endif
