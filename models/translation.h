/* SPDX-License-Identifier: GPL-3.0-or-later */
/* translation: translates the target's text into the tokens of a draft with another vocabulary.
 * Of a text that begins like the last one, only the rest is translated again. The translation owns
 * its arrays. */
#ifndef SPECLAB_TRANSLATION_H
#define SPECLAB_TRANSLATION_H

#include "models/token_partners.h"

typedef struct {
    int *text; /* (capacity) the target's tokens that are translated */
    size_t n_text, capacity;
    size_t *end;     /* (capacity) where the translation of each token ends */
    int *translated; /* (room) the draft's tokens, followed by those that _append wrote */
    size_t room;
} spec_translation;

void spec_translation_free(spec_translation *translation); /* may be zeroed */

/* Translates n tokens; the translation has *ret_n tokens. May return GSL_ENOMEM. */
int spec_translation_follow(size_t *ret_n, spec_translation *translation,
                            const spec_token_partners *partners, const int *text, size_t n,
                            spec_error *error);

/* Writes the translation of a token after the first *n tokens, and moves *n past it; *n must be at
 * least what the last _follow returned. */
int spec_translation_append(spec_translation *translation, size_t *n,
                            const spec_token_partners *partners, int token, spec_error *error);

#endif
