/* SPDX-License-Identifier: GPL-3.0-or-later */
/* generate_args: the command line of `speclab generate`: options, model specs and prompt.
 * Bad usage prints one line that names the option, and exits 2. The arguments own the specs and the
 * prompt. */
#ifndef SPECLAB_GENERATE_ARGS_H
#define SPECLAB_GENERATE_ARGS_H

#include "cli/options.h"
#include "cli/pair_options.h"
#include "models/model.h"

enum { SPEC_GENERATE_PROMPT_MAX = 1 << 26 };

typedef struct {
    spec_options common;
    spec_pair_options pair;
    int K;
    uint64_t tokens, texts;
    bool plain, baseline, json, K_given;
    bool shown, coloured; /* the output is a terminal, so colours are used */
    const char *opt_prompt, *opt_prompt_file, *colour;
    char *prompt;           /* n_prompt bytes */
    size_t n_prompt;
} spec_generate_args;

void spec_generate_args_parse(spec_generate_args *args, spec_context *context, int argc,
                              char **argv);
void spec_generate_args_free(spec_generate_args *args);

/* Returns the tokens that the prompt has for this model, which the caller frees. If the model has
 * no tokenizer, the prompt has token numbers between blanks. */
int *spec_generate_args_tokens(size_t *ret_n, const spec_generate_args *args,
                               const spec_model *model, const char *verb);

#endif
