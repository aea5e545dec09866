/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prompts: passages from all over the training text, with which generation can start.
 * They are chosen in constant memory while the tokens stream by: the text is divided into stretches
 * of equal length, and in each one a passage begins at a hashed position. When the array is full,
 * every second passage is dropped and stretches become twice as long. A flat struct that owns
 * nothing. */
#ifndef SPECLAB_PROMPTS_H
#define SPECLAB_PROMPTS_H

#include <stddef.h>
#include <stdint.h>

enum { SPEC_PROMPTS_MAX = 128, SPEC_PROMPT_TOKENS = 32 };

typedef struct {
    int n;                                             /* passages begun */
    int length[SPEC_PROMPTS_MAX]; /* tokens of each passage; fewer at the end of a text */
    int token[SPEC_PROMPTS_MAX][SPEC_PROMPT_TOKENS];
    /* one passage begins in every stretch of this many tokens */
    uint64_t stretch;
    uint64_t tokens;                                   /* tokens read so far */
    uint64_t begin;                                    /* where the next passage begins */
    int open;                                          /* the passage being filled, or -1 */
} spec_prompts;

void spec_prompts_init(spec_prompts *prompts);

/* Read n more tokens, and end the text. */
void spec_prompts_push(spec_prompts *prompts, const int *token, size_t n);
void spec_prompts_boundary(spec_prompts *prompts);

/* Copies the first `capacity` tokens of the passage for draw number `index`, chosen by a hash;
 * returns their number. */
size_t spec_prompts_draw(const spec_prompts *prompts, uint64_t index, int *token,
                         size_t capacity);

#endif
