/* SPDX-License-Identifier: GPL-3.0-or-later */
/* generate_output: the output of `speclab generate`: text or a JSON object, and the last line.
 * Text is written as it is generated. Borrows arguments, models and file. */
#ifndef SPECLAB_GENERATE_OUTPUT_H
#define SPECLAB_GENERATE_OUTPUT_H

#include "cli/generate_args.h"
#include "cli/text_stream.h"
#include "experiments/generation.h"

#include <jansson.h>

typedef struct {
    const spec_generate_args *args;
    const spec_model *target;
    FILE *out;
    const char *name; /* name of the file, for error messages */
    bool speaks;      /* the model has a tokenizer, so tokens have texts */
    spec_text_stream stream;
    char *word; /* a token's text; grows as needed */
    size_t word_size;
    char *text;             /* JSON: bytes of this text */
    size_t n_text, text_size;
    uint64_t heard;     /* number of tokens in all texts so far */
    uint64_t tokens;    /* tokens of this text, without the end-of-text token */
    json_t *json_texts, *json_tokens; /* NULL without JSON */
    spec_block_interval speedup;      /* after the last text; NaN without a baseline */
    spec_ratio_verdict verdict;
    spec_timing_trust trust;
} spec_generate_output;

int spec_generate_output_init(spec_generate_output *output, const spec_generate_args *args,
                              const spec_model *target, FILE *out, spec_error *error);
void spec_generate_output_free(spec_generate_output *output);

/* Writes tokens. This is a spec_generation_plan.hear, and the output is its self. Fails if the file
 * cannot be written. */
int spec_generate_output_hear(void *self, const int *token, const spec_origin *origin, int n,
                              spec_error *error);

/* Write the beginning of a text, its end, and the end of all texts. */
int spec_generate_output_begin(spec_generate_output *output, uint64_t text, spec_error *error);
int spec_generate_output_end(spec_generate_output *output, spec_ending ending, spec_error *error);
int spec_generate_output_close(spec_generate_output *output, const spec_generation *generation,
                               spec_error *error);

/* Print on standard error: the legend of the colours; the last line, with a warning if the times
 * are not reliable. */
void spec_generate_output_legend(const spec_generate_args *args);
void spec_generate_output_summary(const spec_generate_output *output,
                                  const spec_generation *generation, spec_ending ending,
                                  const char *verb);

#endif
