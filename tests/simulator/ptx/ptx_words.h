/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_words: a tokenizer of PTX.
 * Words are names with their dots and modifiers ("ld.global.nc", "%rd1", "$L__BB0_1"), numbers,
 * quoted strings and single characters; comments are skipped. A word points into the text. A syntax
 * error ends the process with file and line, exit code 3. */
#ifndef SPECLAB_PTX_WORDS_H
#define SPECLAB_PTX_WORDS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *at;
    int n, line; /* n 0: end of the text */
} ptx_word;

typedef struct {
    const char *at, *file; /* the rest of the text */
    int line;
} ptx_reader;

ptx_word ptx_next(ptx_reader *reader);
ptx_word ptx_peek(const ptx_reader *reader);

bool ptx_is(ptx_word word, const char *text);
bool ptx_begins(ptx_word word, const char *text);

/* Takes the next word if it is `text`; _need fails otherwise. */
bool ptx_take(ptx_reader *reader, const char *text);
void ptx_need(ptx_reader *reader, const char *text);

/* Returns whether the word is a number, and its value; floats (0f3F800000, 0d...) as their bits. */
bool ptx_number(uint64_t *ret_value, ptx_word word);

/* "simulator: kernels_norm.ptx:41: `div.full.f32` is not known here" */
__attribute__((noreturn)) void ptx_unknown(const ptx_reader *reader, ptx_word word,
                                           const char *what);

#endif
