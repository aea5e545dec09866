/* llama2c_vocabulary: the vocabulary of a llama2.c model, from the tokenizer.bin that lies beside it.
 * The file: int32 length of the longest piece; then for each token float score, int32 length, bytes. A blank stands for
 * itself, <0x0A> for a byte. The pieces lie in the mapped file, which the vocabulary owns with its arrays. */
#ifndef SPECLAB_LLAMA2C_VOCABULARY_H
#define SPECLAB_LLAMA2C_VOCABULARY_H

#include "base/mapping.h"
#include "models/transformer/tokenizer/tokenizer.h"

typedef struct {
    spec_tokenizer_data data; /* vocab 0: there is none */
    char *path; /* of the file, NULL where there is none */
    spec_mapping mapping;
    spec_piece *piece;
    float *score;
    int *type;
} spec_llama2c_vocabulary;

/* The vocabulary of the model at `model_path`, of `vocab` tokens: from the file opt_path ("": none), or where that is
 * NULL from tokenizer.bin beside the model, where there is one. GSL_EINVAL, naming the file, for what is truncated, has
 * more or fewer tokens, or scores that are not finite. */
int spec_llama2c_vocabulary_load(spec_llama2c_vocabulary *vocabulary, const char *model_path, const char *opt_path,
                                 int vocab, spec_error *error);
void spec_llama2c_vocabulary_free(spec_llama2c_vocabulary *vocabulary);

#endif
