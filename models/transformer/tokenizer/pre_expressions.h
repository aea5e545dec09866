/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pre_expressions: the regular expressions that split a text before BPE, by GGUF's names of them.
 * They are written for PCRE2 with Unicode's properties, match at every character of a text, and
 * take linear time. Several names share an expression. */
#ifndef SPECLAB_PRE_EXPRESSIONS_H
#define SPECLAB_PRE_EXPRESSIONS_H

#include "models/transformer/tokenizer/piece.h"

typedef struct {
    const char *name, *expression;
    bool whole_first; /* a piece of the expression that is a token stays whole */
    bool begins;      /* texts begin with a token, if the file does not say */
} spec_pre_expression;

/* The expression of a value of tokenizer.ggml.pre, or NULL; "" is GPT-2's. */
const spec_pre_expression *spec_pre_expression_find(spec_piece name);

/* The names of expressions that differ, as a list for error lines. */
extern const char spec_pre_expression_names[];

#endif
