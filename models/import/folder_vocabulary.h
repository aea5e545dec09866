/* SPDX-License-Identifier: GPL-3.0-or-later */
/* folder_vocabulary: reads the vocabulary of a Hugging Face folder from its tokenizer.json.
 * It reads byte-level BPE with a pre-tokenizer that tokenizer.h knows, and BPE made from a
 * SentencePiece model (byte fallback). The vocabulary owns the parsed file, and pieces point into
 * it. */
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
    /* spellings made here: of merges that are pairs in the file, and of tokens without a name */
    char *text;
} spec_folder_vocabulary;

/* Reads the vocabulary for an embedding of `vocab` rows; a token without a name is called "[PAD7]".
 * Text is encoded as it is: a normalizer to Unicode's form NFC is skipped. Returns GSL_EINVAL, with
 * one line, for any other model, pre-tokenizer or normalizer, and if tokens exceed the embedding or
 * are repeated. */
int spec_folder_vocabulary_load(spec_folder_vocabulary *vocabulary, const char *folder, int vocab,
                                spec_error *error);
void spec_folder_vocabulary_free(spec_folder_vocabulary *vocabulary); /* may be zeroed */

#endif
