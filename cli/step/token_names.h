/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_names: what a reader sees for a token: a given name, the tokenizer's text, or a number.
 * Blanks are made visible, and control characters and invalid bytes are written as \xNN. Owns a
 * copy of the given names; borrows the model. */
#ifndef SPECLAB_TOKEN_NAMES_H
#define SPECLAB_TOKEN_NAMES_H

#include "models/model.h"

#include <stdbool.h>

typedef struct {
    const spec_model *model;
    bool utf8;   /* false: ASCII only; other bytes are escaped, too */
    int n;       /* number of given names */
    char **name; /* (n) pieces of `copy` */
    char *copy;
} spec_token_names;

/* `opt_list` is a list such as "the,cat,sat". Returns GSL_EINVAL unless it has a name for every
 * token of the model. */
int spec_token_names_init(spec_token_names *names, const char *opt_list, const spec_model *model,
                          bool utf8, spec_error *error);
void spec_token_names_free(spec_token_names *names);

/* Returns the name of a token in `buffer`, cut to its size. */
enum { SPEC_TOKEN_NAME_SIZE = 128 };
const char *spec_token_names_of(const spec_token_names *names, int token,
                                char buffer[SPEC_TOKEN_NAME_SIZE]);

#endif
