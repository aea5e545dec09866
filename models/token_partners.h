/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_partners: pairs target and draft tokens with the same text, and spells the other tokens.
 * If several tokens have the same text, we take the lowest; an empty text has no partner. Tokens
 * that end a text are paired only with each other: first those with the same text, then the first
 * one left on each side. To spell a text in the tokens of the draft, we use the draft's tokenizer,
 * or if the result spells something else, take the longest token that fits, again and again from
 * the left. The partners own their arrays. */
#ifndef SPECLAB_TOKEN_PARTNERS_H
#define SPECLAB_TOKEN_PARTNERS_H

#include "models/model.h"

typedef struct {
    int n;          /* pairs */
    int *of_target; /* (target's V) the draft's token, or -1 */
    int *of_draft;  /* (draft's V) the target's token, or -1 */
    /* (target's V + 1) the draft's tokens for the text of t are piece[start[t]..start[t+1]-1]: its
     * partner, or tokens that spell it, or none */
    size_t *start;
    int *piece;
} spec_token_partners;

/* Both models must have texts. Takes time O(V log V). May return GSL_ENOMEM. */
int spec_token_partners_init(spec_token_partners *partners, const spec_model *target,
                             const spec_model *draft, spec_error *error);
void spec_token_partners_free(spec_token_partners *partners); /* may be zeroed */

#endif
