/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_unit: finds where the next token of a text ends, if tokens are bytes, characters or words.
 * Units cover the text: concatenated, they are its bytes. A unit is at most SPEC_TEXT_UNIT_MAX
 * bytes; finding its end needs at most SPEC_TEXT_UNIT_AHEAD bytes of text. */
#ifndef SPECLAB_TEXT_UNIT_H
#define SPECLAB_TEXT_UNIT_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    SPEC_TOKENS_BYTES,
    SPEC_TOKENS_CHARS,
    SPEC_TOKENS_WORDS,
    SPEC_TOKENS_TARGET /* tokens of another model's tokenizer, see models/ngram/ngram.h */
} spec_tokens;

extern const char *const spec_tokens_names[]; /* "bytes", "chars", "words", "target", NULL */

enum { SPEC_TEXT_UNIT_MAX = 64, SPEC_TEXT_UNIT_AHEAD = SPEC_TEXT_UNIT_MAX + 8 };

/* Returns the number of bytes of the first token of `text` (length >= 1). If `text` is shorter than
 * SPEC_TEXT_UNIT_AHEAD bytes, the text ends with it.
 *
 *   bytes  one byte
 *   chars  one UTF-8 character, or one invalid byte
 *   words  a word, or any other single character, each with one space before it if there is one
 *
 * A word is a run of letters and digits, with apostrophes between them ("don't" is one word,
 * 'quoted' is three), cut at SPEC_TEXT_UNIT_MAX bytes. Letters are the ASCII letters and all
 * characters from U+00C0 on that are not in a block of punctuation, symbols or emoji. Each white
 * space character is a token. Case is kept. An invalid byte is a token. */
size_t spec_text_unit_length(spec_tokens tokens, const unsigned char *text, size_t length);

#endif
