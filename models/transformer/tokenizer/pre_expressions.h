/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pre_expressions: finds by its name in GGUF the regular expression that splits a text before BPE.
 * Expressions are written for PCRE2 with Unicode properties, match at every character of a text,
 * and take linear time. Several names share an expression. */
#ifndef SPECLAB_PRE_EXPRESSIONS_H
#define SPECLAB_PRE_EXPRESSIONS_H

#include "models/transformer/tokenizer/piece.h"

typedef struct {
    const char *name, *expression;
    bool whole_first; /* if the expression splits off a piece that is a token, it stays whole */
    bool begins;      /* texts begin with a token, unless the file says otherwise */
} spec_pre_expression;

/* Returns the expression for a value of tokenizer.ggml.pre, or NULL; "" means GPT-2's. */
const spec_pre_expression *spec_pre_expression_find(spec_piece name);

/* The names of the distinct expressions, as a list for error lines. */
extern const char spec_pre_expression_names[];

#endif
