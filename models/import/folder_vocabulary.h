/* SPDX-License-Identifier: GPL-3.0-or-later */
/* folder_vocabulary: the vocabulary of a Hugging Face folder, from its tokenizer.json.
 * Read are byte-level BPE with a pre-tokenizer that tokenizer.h knows, and the BPE that was made
 * from a SentencePiece model (byte fallback). Pieces point into the parsed file, which the
 * vocabulary owns. */
#ifndef SPECLAB_FOLDER_VOCABULARY_H
#define SPECLAB_FOLDER_VOCABULARY_H

#include "models/transformer/tokenizer/tokenizer.h"

#include <jansson.h>

typedef struct {
    spec_tokenizer_data data;       /* vocab 0: the folder has no tokenizer.json */
    int begin_of_text, end_of_text; /* -1: tokenizer_config.json names none */
    bool adds_begin;                /* texts begin with begin_of_text */
    json_t *root, *config;
    spec_piece *piece, *merge;
    float *score;
    int *type;
    char *text; /* of merges that are pairs in the file, and of tokens without a name */
} spec_folder_vocabulary;

/* Read the vocabulary for an embedding of `vocab` rows; tokens without a name are "[PAD7]". A text
 * is encoded as it is: a normalizer of Unicode's form NFC is left out. GSL_EINVAL with one line for
 * another model, pre-tokenizer or normalizer, and for tokens beyond the embedding or given twice.
 */
int spec_folder_vocabulary_load(spec_folder_vocabulary *vocabulary, const char *folder, int vocab,
                                spec_error *error);
void spec_folder_vocabulary_free(spec_folder_vocabulary *vocabulary); /* may be zeroed */

#endif
