/* timed_prompts: what the texts of a measurement begin with: texts of a file, the model's own prompts, texts that a
 * model with words writes, or random tokens. Prompts own their tokens. */
#ifndef SPECLAB_TIMED_PROMPTS_H
#define SPECLAB_TIMED_PROMPTS_H

#include "models/model.h"

#include <stdint.h>

/* Most prompts, most tokens of one, and most bytes of a file. */
enum { SPEC_TIMED_PROMPTS_MAX = 100000, SPEC_TIMED_PROMPT_TOKENS = 1 << 20, SPEC_TIMED_FILE_BYTES = 1 << 26 };

typedef struct {
    int n;
    int **token;      /* (n) */
    size_t *length;   /* (n) tokens of each */
    char source[64];  /* "random tokens", ... */
} spec_timed_prompts;

/* The texts of a file, between blank lines; of each the first `most` tokens. GSL_EINVAL where the model has no words,
 * where the file has no text or is larger than SPEC_TIMED_FILE_BYTES; GSL_EFAILED where it cannot be read. */
int spec_timed_prompts_read(spec_timed_prompts *prompts, const char *path, const spec_model *model, int most,
                            spec_error *error);

/* n >= 1 prompts of at most `most` tokens: the model's own; or, if it has words, a few that it writes from nothing, by
 * streams of the seed; else random tokens, just as many. Fails where the model does. */
int spec_timed_prompts_make(spec_timed_prompts *prompts, const spec_model *model, int n, int most, uint64_t seed,
                            spec_error *error);

/* Tokens of the longest, and the mean. */
size_t spec_timed_prompts_longest(const spec_timed_prompts *prompts);
double spec_timed_prompts_mean(const spec_timed_prompts *prompts);

void spec_timed_prompts_free(spec_timed_prompts *prompts);

#endif
