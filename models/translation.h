/* SPDX-License-Identifier: GPL-3.0-or-later */
/* translation: a text of the target in the tokens of a draft with another vocabulary.
 * A text that continues the last one, or differs from it at the end, is translated from there. The
 * translation owns its arrays. */
#ifndef SPECLAB_TRANSLATION_H
#define SPECLAB_TRANSLATION_H

#include "models/token_partners.h"

typedef struct {
    int *text; /* (capacity) tokens of the target that are translated */
    size_t n_text, capacity;
    size_t *end;     /* (capacity) of the translation of each token */
    int *translated; /* (room) the tokens of the draft, and those appended behind them */
    size_t room;
} spec_translation;

void spec_translation_free(spec_translation *translation); /* may be zeroed */

/* Translate n tokens; their translation has *ret_n tokens. GSL_ENOMEM. */
int spec_translation_follow(size_t *ret_n, spec_translation *translation,
                            const spec_token_partners *partners, const int *text, size_t n,
                            spec_error *error);

/* Write the translation of a token behind the first *n tokens, and move *n past it; *n is at least
 * that of the last _follow. */
int spec_translation_append(spec_translation *translation, size_t *n,
                            const spec_token_partners *partners, int token, spec_error *error);

#endif
