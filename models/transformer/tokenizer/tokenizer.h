/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tokenizer: turns text into tokens and back, with the vocabulary of a checkpoint.
 * SPM merges the best-scored pair first (SentencePiece's BPE [Kudo18], llama). BPE merges by rank
 * within the pieces of a regular expression (GPT-2, Llama 3, Qwen). Any bytes can be encoded.
 * Immutable, shared by threads; owns its strings. */
#ifndef SPECLAB_TOKENIZER_H
#define SPECLAB_TOKENIZER_H

#include "models/transformer/tokenizer/piece.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum { SPEC_TOKENIZER_SPM, SPEC_TOKENIZER_BPE } spec_tokenizer_kind;

/* The type of a token, numbered as in GGUF. */
typedef enum {
    SPEC_PIECE_NORMAL = 1,
    SPEC_PIECE_UNKNOWN = 2,
    SPEC_PIECE_CONTROL = 3,
    SPEC_PIECE_USER = 4,
    SPEC_PIECE_UNUSED = 5,
    SPEC_PIECE_BYTE = 6
} spec_piece_type;

/* The vocabulary as it is in the file, borrowed. We trust only the lengths of its arrays. */
typedef struct {
    spec_tokenizer_kind kind;
    int vocab;
    const spec_piece
        *piece; /* (vocab) as spelled in the file. SPM: U+2581 (or a blank) for the blank, <0x0A>
                   for bytes. BPE: GPT-2's printable alphabet of bytes */
    const float *opt_score;    /* (vocab) SPM: higher merges first; NULL: all 0 */
    const int *opt_type;       /* (vocab) spec_piece_type; NULL: guessed from the spelling */
    const spec_piece *merge;   /* (n_merges) BPE: "left right", the best first */
    size_t n_merges;
    const char
        *pre; /* BPE: the regular expression, by GGUF's tokenizer.ggml.pre; "", "default":
                 GPT-2's */
    bool adds_space;           /* SPM: a text is encoded as if it began with a blank */
    int unknown;               /* the unknown token, or -1 */
} spec_tokenizer_data;

typedef struct spec_tokenizer spec_tokenizer;

/* Returns GSL_EINVAL, with one line, for an invalid vocabulary: if pieces that matter are empty or
 * occur twice, if merges have unknown pieces, if pre_expressions.h lacks `pre`, or if scores are
 * not finite. */
int spec_tokenizer_init(spec_tokenizer **ret_tokenizer, const spec_tokenizer_data *data,
                        spec_error *error);
void spec_tokenizer_free(spec_tokenizer *tokenizer); /* accepts NULL */

/* Tokenizes a text into at most `capacity` tokens; returns the number of tokens of the whole text.
 * No begin or end of text is added, and the text is not searched for control tokens. User-defined
 * pieces are found first, from the left, the longest one at each position.
 *
 * SPM: encodes as SentencePiece and llama.cpp do. llama2.c's encoder differs: it never merges a
 * piece that contains a character that is not a piece. A character without a piece becomes its
 * bytes' tokens, or else the unknown token, or nothing if there is none. If pieces spell the blank
 * as U+2581, that character decodes as a blank.
 *
 * BPE: each invalid UTF-8 byte is a separate piece; Unicode defines the letters, by the tables of
 * PCRE2. Takes time O(length log length). Returns SIZE_MAX if out of memory. */
size_t spec_tokenizer_encode(const spec_tokenizer *tokenizer, const char *text, size_t length,
                             int *token, size_t capacity);

/* Writes the bytes of a token into `buffer` (NUL-terminated, cut at `size`); returns their number.
 * Control tokens keep their spelling in the file. */
size_t spec_tokenizer_text(const spec_tokenizer *tokenizer, int token, char *buffer, size_t size);

#endif
