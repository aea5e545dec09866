/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/vocabularies.h"

#include <string.h>

enum { SIZE = SPEC_VOCABULARIES_BYTES + 1 };

static const char hint[] = ", or the draft takes vocabulary=target";

/* Returns a token's text for a message: non-printable bytes as \xNN, cut at the size. */
static const char *spell(char spelt[SIZE], const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length && i < SIZE - 1 && n + 5 < SIZE && n < 64; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool plain = c >= 0x20 && c < 0x7f;
        n += (size_t)snprintf(spelt + n, SIZE - n, plain ? "%c" : "\\x%02x", c);
    }
    spelt[n] = '\0';
    return spelt;
}

bool spec_vocabularies_speaks(const spec_model *model)
{
    int token;
    return model->kind->token_text != NULL && model->kind->tokenize != NULL &&
           model->kind->tokenize(model, "a", 1, &token, 1) > 0;
}

int spec_vocabularies_check(const spec_model *target, const spec_model *draft, spec_error *error)
{
    const bool speak = spec_vocabularies_speaks(target) && spec_vocabularies_speaks(draft);
    if (draft->vocab != target->vocab)
        return spec_fail(
            error, GSL_EINVAL,
            "the draft has %d tokens and the target %d: they must share one vocabulary%s",
            draft->vocab, target->vocab, speak ? hint : "");
    if (!speak) return GSL_SUCCESS;
    for (int i = 0; i < target->vocab; i++) {
        char ours[SIZE], theirs[SIZE], spelt[SIZE], other[SIZE];
        const size_t n = target->kind->token_text(target, i, ours, SIZE);
        const size_t m = draft->kind->token_text(draft, i, theirs, SIZE);
        if (n == m && memcmp(ours, theirs, n < SIZE ? n : SIZE - 1) == 0) continue;
        return spec_fail(error, GSL_EINVAL,
                         "token %d is '%s' to the draft and '%s' to the target: they must share "
                         "one vocabulary%s",
                         i, spell(other, theirs, m), spell(spelt, ours, n), hint);
    }
    return GSL_SUCCESS;
}
