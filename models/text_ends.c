/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/text_ends.h"

void spec_text_ends_add(spec_text_ends *ends, int token)
{
    if (token >= 0 && ends->n < SPEC_TEXT_ENDS_MAX && !spec_text_ends_has(ends, token))
        ends->token[ends->n++] = token;
}

spec_text_ends spec_text_ends_one(int token)
{
    spec_text_ends ends = {0};
    spec_text_ends_add(&ends, token);
    return ends;
}
