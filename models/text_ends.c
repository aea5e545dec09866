/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/text_ends.h"

void spec_text_ends_add(spec_text_ends *ends, int token)
{
    if (token >= 0 && ends->n < SPEC_TEXT_ENDS_MAX && !spec_text_ends_has(ends, token))
        ends->token[ends->n++] = token;
}

bool spec_text_ends_has(const spec_text_ends *ends, int token)
{
    for (int i = 0; i < ends->n; i++)
        if (ends->token[i] == token) return true;
    return false;
}
