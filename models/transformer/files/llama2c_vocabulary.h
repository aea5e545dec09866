/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llama2c_vocabulary: reads the vocabulary of a llama2.c model from its tokenizer.bin.
 * The file: int32 length of the longest piece; then for each token float score, int32 length,
 * bytes. Blanks are spelled as blanks, bytes as, for example, <0x0A>. Pieces point into the mapped
 * file; the vocabulary owns the mapping and its arrays. */
#ifndef SPECLAB_LLAMA2C_VOCABULARY_H
#define SPECLAB_LLAMA2C_VOCABULARY_H

#include "base/mapping.h"
#include "models/transformer/tokenizer/tokenizer.h"

typedef struct {
    spec_tokenizer_data data; /* vocab 0: the model has none */
    char *path; /* of the file, or NULL */
    spec_mapping mapping;
    spec_piece *piece;
    float *score;
    int *type;
} spec_llama2c_vocabulary;

/* Loads the vocabulary of the model at `model_path`, with `vocab` tokens. opt_path names the file
 * ("": none); NULL: tokenizer.bin in the model's folder, if it exists. Returns GSL_EINVAL, naming
 * the file, if it is truncated, does not have `vocab` tokens, or has non-finite scores. */
int spec_llama2c_vocabulary_load(spec_llama2c_vocabulary *vocabulary, const char *model_path,
                                 const char *opt_path, int vocab, spec_error *error);
void spec_llama2c_vocabulary_free(spec_llama2c_vocabulary *vocabulary);

#endif
