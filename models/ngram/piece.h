/* piece: where the next token of a text ends, for texts read as bytes, as characters and as words.
 * Every cut keeps every byte: the pieces of a text, put one after the other, are the text. A piece is at most
 * SPEC_PIECE_MAX bytes, and finding its end needs at most SPEC_PIECE_AHEAD bytes of text. */
#ifndef SPECLAB_PIECE_H
#define SPECLAB_PIECE_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    SPEC_TOKENS_BYTES,
    SPEC_TOKENS_CHARS,
    SPEC_TOKENS_WORDS,
    SPEC_TOKENS_TARGET /* cut by another model's tokenizer, not here */
} spec_tokens;

extern const char *const spec_tokens_names[]; /* "bytes", "chars", "words", "target", NULL */

enum { SPEC_PIECE_MAX = 64, SPEC_PIECE_AHEAD = SPEC_PIECE_MAX + 8 };

/* What spec_piece_character reports for a byte that begins no valid UTF-8 character. */
#define SPEC_PIECE_INVALID UINT32_MAX

/* Decode the UTF-8 character at the front of `text` (length >= 1) and return its bytes, 1..4. Where there is none (a
 * stray or missing continuation byte, an over-long form, a surrogate, a code point above 10FFFF, a cut at the end) one
 * byte is used up and *ret_code is SPEC_PIECE_INVALID. */
size_t spec_piece_character(uint32_t *ret_code, const unsigned char *text, size_t length);

/* Bytes of the first token of `text` (length >= 1); fewer than SPEC_PIECE_AHEAD bytes are taken to be the end of the
 * text.
 *
 *   bytes  one byte
 *   chars  one UTF-8 character, or one invalid byte
 *   words  a word, or any other single character; either takes along the one space that stands before it. A word is a
 *          run of letters and digits, with apostrophes between them ("don't" is one word, 'quoted' is three), cut at
 *          SPEC_PIECE_MAX bytes. Letters are ASCII letters and every character from U+00C0 on, but for the blocks of
 *          punctuation, symbols and emoji. White space is a token for each character. Case is kept. An invalid byte is
 *          a token of its own. */
size_t spec_piece_length(spec_tokens tokens, const unsigned char *text, size_t length);

#endif
