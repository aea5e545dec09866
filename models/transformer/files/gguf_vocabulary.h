/* gguf_vocabulary: the vocabulary that a GGUF file carries, and how its texts begin and end.
 * Pieces and `pre` point into the container, which must live as long; the arrays are the vocabulary's own. */
#ifndef SPECLAB_GGUF_VOCABULARY_H
#define SPECLAB_GGUF_VOCABULARY_H

#include "models/transformer/files/gguf.h"

typedef struct {
    spec_tokenizer_data data; /* vocab 0: there is none */
    spec_piece *piece, *merge;
    float *score;
    int *type;
    char *pre;
    int begin_of_text; /* 0..vocab-1: something must stand before the first token of a text */
    bool adds_begin;
    int end_of_text;   /* or -1 */
} spec_gguf_vocabulary;

/* The vocabulary for an embedding of `vocab` rows. What a file does not say is as llama.cpp takes it: a text of SPM, or
 * of Llama 3's BPE, begins with its token; SPM's are 1 and 2, its unknown token 0. A token that stands as -1 is none.
 * GSL_EINVAL for other tokenizers, and for arrays of another length. */
int spec_gguf_vocabulary_load(spec_gguf_vocabulary *vocabulary, const spec_gguf *gguf, int vocab, spec_error *error);
void spec_gguf_vocabulary_free(spec_gguf_vocabulary *vocabulary);

#endif
