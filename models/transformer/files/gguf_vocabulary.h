/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_vocabulary: reads the vocabulary of a GGUF file, with its begin and end of text.
 * Pieces and `pre` point into the container, which must outlive the vocabulary; it owns the arrays.
 */
#ifndef SPECLAB_GGUF_VOCABULARY_H
#define SPECLAB_GGUF_VOCABULARY_H

#include "models/text_ends.h"
#include "models/transformer/files/gguf_types.h"
#include "models/transformer/tokenizer/tokenizer.h"

typedef struct {
    spec_tokenizer_data data; /* vocab 0: the file has none */
    spec_piece *piece, *merge;
    float *score;
    int *type;
    char *pre;
    int begin_of_text; /* 0..vocab-1, since the first token of a text needs a token before it */
    bool adds_begin;
    spec_text_ends ends; /* ends of text, of turn and of message, and tokens found by their
                            spelling */
} spec_gguf_vocabulary;

/* Reads the vocabulary for an embedding of `vocab` rows. Defaults are llama.cpp's: a text of SPM,
 * or of Llama 3's BPE, begins with its begin-of-text token; SPM's begin and end are 1 and 2, its
 * unknown token 0. A token given as -1 does not exist; if the end of text is -1, texts have no end.
 * Returns GSL_EINVAL for other tokenizers, and for arrays of another length. */
int spec_gguf_vocabulary_load(spec_gguf_vocabulary *vocabulary, const spec_gguf *gguf, int vocab,
                              spec_error *error);
void spec_gguf_vocabulary_free(spec_gguf_vocabulary *vocabulary);

#endif
