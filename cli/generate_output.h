/* generate_output: what `speclab generate` writes: the texts as they come, or one JSON object at the end; and the
 * closing line. Borrows arguments, models and file. */
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
    const char *name;       /* of the file, for errors */
    bool speaks;            /* the model has words */
    spec_text_stream stream;
    char *word;             /* a token's text; grown as needed */
    size_t word_size;
    char *text;             /* JSON: of this text */
    size_t n_text, text_size;
    uint64_t tokens;        /* of this text, the end of text not counted */
    json_t *json_texts, *json_tokens; /* NULL without JSON */
} spec_generate_output;

int spec_generate_output_init(spec_generate_output *output, const spec_generate_args *args, const spec_model *target,
                              FILE *out, spec_error *error);
void spec_generate_output_free(spec_generate_output *output);

/* A spec_generation_plan.hear with the output as self: fails where the file cannot be written to. */
int spec_generate_output_hear(void *self, const int *token, const spec_origin *origin, int n, spec_error *error);

/* A text begins, and ends; and all are there. */
int spec_generate_output_begin(spec_generate_output *output, uint64_t text, spec_error *error);
int spec_generate_output_end(spec_generate_output *output, spec_ending ending, spec_error *error);
int spec_generate_output_close(spec_generate_output *output, const spec_generation *generation, spec_error *error);

/* What the colours mean, and the closing line, on standard error. */
void spec_generate_output_legend(const spec_generate_args *args);
void spec_generate_output_summary(const spec_generation *generation, spec_ending ending);

#endif
