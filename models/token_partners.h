/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_partners: the tokens of a target and a draft that have one text, and the others spelt.
 * Of several tokens of one text the lowest counts, and an empty text has no partner. Tokens that
 * end a text are partners of such tokens alone: by their texts, and then the first one left on each
 * side. The draft's tokens of a text come from its tokenizer if they spell it, else the longest
 * tokens from the left. The partners own their arrays. */
#ifndef SPECLAB_TOKEN_PARTNERS_H
#define SPECLAB_TOKEN_PARTNERS_H

#include "models/model.h"

typedef struct {
    int n;          /* pairs */
    int *of_target; /* (target's V) the draft's token, or -1 */
    int *of_draft;  /* (draft's V) the target's token, or -1 */
    /* (target's V + 1) the draft's tokens of the text of t are piece[start[t]..start[t+1]-1]: its
     * partner, or tokens that spell it, or none */
    size_t *start;
    int *piece;
} spec_token_partners;

/* Both must have texts. Time O(V log V). GSL_ENOMEM. */
int spec_token_partners_init(spec_token_partners *partners, const spec_model *target,
                             const spec_model *draft, spec_error *error);
void spec_token_partners_free(spec_token_partners *partners); /* may be zeroed */

#endif
