/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/translation.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

void spec_translation_free(spec_translation *translation)
{
    free(translation->text);
    free(translation->end);
    free(translation->translated);
    *translation = (spec_translation){0};
}

static int reserve(spec_translation *translation, size_t n, spec_error *error)
{
    if (n <= translation->capacity) return GSL_SUCCESS;
    const size_t capacity = n + n / 2;
    int *text = realloc(translation->text, capacity * sizeof *text);
    if (text == NULL) return spec_no_memory(error);
    translation->text = text;
    size_t *end = realloc(translation->end, capacity * sizeof *end);
    if (end == NULL) return spec_no_memory(error);
    translation->end = end;
    translation->capacity = capacity;
    return GSL_SUCCESS;
}

int spec_translation_append(spec_translation *translation, size_t *n,
                            const spec_token_partners *partners, int token, spec_error *error)
{
    const size_t from = partners->start[token], more = partners->start[token + 1] - from;
    if (*n + more >= translation->room) {
        const size_t room = 2 * (*n + more + 1);
        int *translated = realloc(translation->translated, room * sizeof *translated);
        if (translated == NULL) return spec_no_memory(error);
        translation->translated = translated;
        translation->room = room;
    }
    memcpy(translation->translated + *n, partners->piece + from,
           more * sizeof *translation->translated);
    *n += more;
    return GSL_SUCCESS;
}

int spec_translation_follow(size_t *ret_n, spec_translation *translation,
                            const spec_token_partners *partners, const int *text, size_t n,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t known = 0;
    SPEC_TRY(reserve(translation, n, error));
    while (known < n && known < translation->n_text && translation->text[known] == text[known])
        known++;
    size_t length = known > 0 ? translation->end[known - 1] : 0;
    for (translation->n_text = known; translation->n_text < n; translation->n_text++) {
        SPEC_TRY(spec_translation_append(translation, &length, partners, text[translation->n_text],
                                         error));
        translation->text[translation->n_text] = text[translation->n_text];
        translation->end[translation->n_text] = length;
    }
    *ret_n = length;
done:
    return status;
}
