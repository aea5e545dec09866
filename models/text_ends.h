/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_ends: a small set of tokens that end a text; chat models have several.
 * Tokens are numbers >= 0. A zeroed set is empty. */
#ifndef SPECLAB_TEXT_ENDS_H
#define SPECLAB_TEXT_ENDS_H

#include <stdbool.h>

enum { SPEC_TEXT_ENDS_MAX = 16 };

typedef struct {
    int n, token[SPEC_TEXT_ENDS_MAX];
} spec_text_ends;

/* Adds a token, unless it is below 0 or in the set already, or the set is full. */
void spec_text_ends_add(spec_text_ends *ends, int token);

/* Returns the set of one token; a token below 0 makes it empty. */
spec_text_ends spec_text_ends_one(int token);

static inline bool spec_text_ends_has(const spec_text_ends *ends, int token)
{
    for (int i = 0; i < ends->n; i++)
        if (ends->token[i] == token) return true;
    return false;
}

#endif
