/* prompts: pieces of the training text, spread evenly over it, to start generation from; flat, owns nothing.
 * Chosen while the tokens stream by, in flat memory: a piece begins at a hashed place in every stretch of tokens; when
 * the room is full, every second piece is dropped and the stretches double. */
#ifndef SPECLAB_PROMPTS_H
#define SPECLAB_PROMPTS_H

#include <stddef.h>
#include <stdint.h>

enum { SPEC_PROMPTS_MAX = 128, SPEC_PROMPT_TOKENS = 32 };

typedef struct {
    int n;                                             /* pieces begun */
    int length[SPEC_PROMPTS_MAX];                      /* tokens of each, fewer than all at the end of a text */
    int token[SPEC_PROMPTS_MAX][SPEC_PROMPT_TOKENS];
    uint64_t stretch;                                  /* one piece begins in so many tokens */
    uint64_t tokens;                                   /* seen in all */
    uint64_t begin;                                    /* where the next piece begins */
    int open;                                          /* the piece being filled, or -1 */
} spec_prompts;

void spec_prompts_init(spec_prompts *prompts);

/* Read n more tokens; the text ends. */
void spec_prompts_push(spec_prompts *prompts, const int *token, size_t n);
void spec_prompts_boundary(spec_prompts *prompts);

/* Copy the piece that draw number `index` gives, the first `capacity` tokens of it; returns how many. A hash of
 * `index` chooses. */
size_t spec_prompts_draw(const spec_prompts *prompts, unsigned long index, int *token, size_t capacity);

#endif
