/* SPDX-License-Identifier: GPL-3.0-or-later */
/* byte_vocabulary: a vocabulary with one token per byte, spelled as in SentencePiece.
 * It serves models that have no vocabulary.
 * Tokens: <unk>, <s> (begin of text), </s> (end of text), <0x00> to <0xFF>. The data points into
 * the vocabulary, which must not move. */
#ifndef SPECLAB_BYTE_VOCABULARY_H
#define SPECLAB_BYTE_VOCABULARY_H

#include "models/transformer/tokenizer/tokenizer.h"

enum { SPEC_BYTE_BEGIN = 1, SPEC_BYTE_END = 2, SPEC_BYTE_TOKENS = 3 + 256 };

typedef struct {
    spec_tokenizer_data data;
    spec_piece piece[SPEC_BYTE_TOKENS];
    float score[SPEC_BYTE_TOKENS];
    int type[SPEC_BYTE_TOKENS];
    char text[SPEC_BYTE_TOKENS][8];
} spec_byte_vocabulary;

void spec_byte_vocabulary_fill(spec_byte_vocabulary *bytes);

#endif
