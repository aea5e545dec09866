/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/byte_vocabulary.h"

#include <stdio.h>
#include <string.h>

enum { SPECIALS = SPEC_BYTE_TOKENS - 256 };

void spec_byte_vocabulary_fill(spec_byte_vocabulary *bytes)
{
    static const char *const special[SPECIALS] = {"<unk>", "<s>", "</s>"};
    static const int types[SPECIALS] = {SPEC_PIECE_UNKNOWN, SPEC_PIECE_CONTROL, SPEC_PIECE_CONTROL};
    for (int i = 0; i < SPEC_BYTE_TOKENS; i++) {
        char *text = bytes->text[i];
        if (i < SPECIALS)
            snprintf(text, sizeof bytes->text[i], "%s", special[i]);
        else
            snprintf(text, sizeof bytes->text[i], "<0x%02X>", (unsigned)(i - SPECIALS) & 0xff);
        bytes->piece[i] = (spec_piece){text, strlen(text)};
        bytes->score[i] = 0.0f;
        bytes->type[i] = i < SPECIALS ? types[i] : SPEC_PIECE_BYTE;
    }
    bytes->data = (spec_tokenizer_data){.kind = SPEC_TOKENIZER_SPM,
                                        .vocab = SPEC_BYTE_TOKENS,
                                        .piece = bytes->piece,
                                        .opt_score = bytes->score,
                                        .opt_type = bytes->type,
                                        .pre = ""};
}
