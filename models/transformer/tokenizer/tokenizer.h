/* tokenizer: text to tokens and back, by the vocabulary that a checkpoint carries.
 * SPM merges the best-scored pair first (SentencePiece's BPE [Kudo18], llama); BPE merges by rank within the pieces of
 * a regular expression (GPT-2, Llama 3, Qwen). Any bytes can be encoded. Immutable, shared by threads; it owns its
 * strings. */
#ifndef SPECLAB_TOKENIZER_H
#define SPECLAB_TOKENIZER_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum { SPEC_TOKENIZER_SPM, SPEC_TOKENIZER_BPE } spec_tokenizer_kind;

/* What a token is; the numbers are GGUF's. */
typedef enum {
    SPEC_PIECE_NORMAL = 1,
    SPEC_PIECE_UNKNOWN = 2,
    SPEC_PIECE_CONTROL = 3,
    SPEC_PIECE_USER = 4,
    SPEC_PIECE_UNUSED = 5,
    SPEC_PIECE_BYTE = 6
} spec_piece_type;

/* A string of the file; not NUL-terminated. */
typedef struct {
    const char *bytes;
    size_t length;
} spec_piece;

/* Is it this text? And which byte is it the name of, as "<0x0A>" (-1: of none)? */
bool spec_tokenizer_piece_is(spec_piece piece, const char *text);
int spec_tokenizer_piece_byte(spec_piece piece);

/* What a file says of its vocabulary; borrowed, and hostile but for the arrays' lengths. */
typedef struct {
    spec_tokenizer_kind kind;
    int vocab;
    const spec_piece *piece;   /* (vocab) as the file spells them: SPM with U+2581 (or a blank) for the blank and <0x0A>
                                  for bytes, BPE in GPT-2's printable alphabet of bytes */
    const float *opt_score;    /* (vocab) SPM: higher merges first; NULL: all 0 */
    const int *opt_type;       /* (vocab) spec_piece_type; NULL: by their looks */
    const spec_piece *merge;   /* (n_merges) BPE: "left right", the best first */
    size_t n_merges;
    const char *pre;           /* BPE: which regular expression, GGUF's tokenizer.ggml.pre; "", "default": GPT-2's */
    bool adds_space;           /* SPM: a text begins as if a blank stood before it */
    int unknown;               /* the unknown token, or -1 */
} spec_tokenizer_data;

typedef struct spec_tokenizer spec_tokenizer;

/* GSL_EINVAL with one line for what cannot be: duplicate or empty pieces that matter, merges of unknown pieces, an
 * unknown `pre` (the known ones are listed), scores that are not finite. */
int spec_tokenizer_init(spec_tokenizer **ret_tokenizer, const spec_tokenizer_data *data, spec_error *error);
void spec_tokenizer_free(spec_tokenizer *tokenizer); /* NULL is fine */

/* Tokens of a text, at most `capacity` into token; returns how many the text has. No begin or end of text is added, and
 * control tokens are not looked for in the text; user-defined pieces are, before all else, the longest from the left.
 * SPM: as SentencePiece and llama.cpp. llama2.c's encoder differs where a piece has a character that is no piece, which
 * it never merges. A character without a piece becomes its bytes' tokens, or else the unknown token, or nothing where
 * there is none. Where pieces spell the blank as U+2581, that reads back as a blank.
 * BPE: bytes that are no UTF-8 are pieces of their own; what letters are, Unicode says, by the tables of PCRE2.
 * Time O(length log length). 0 where memory runs out. */
size_t spec_tokenizer_encode(const spec_tokenizer *tokenizer, const char *text, size_t length, int *token,
                             size_t capacity);

/* The bytes a token stands for, into `buffer` (NUL-terminated, cut at `size`); returns their number. Control tokens
 * stand for what the file spells. */
size_t spec_tokenizer_text(const spec_tokenizer *tokenizer, int token, char *buffer, size_t size);

#endif
