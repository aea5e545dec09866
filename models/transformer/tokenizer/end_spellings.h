/* SPDX-License-Identifier: GPL-3.0-or-later */
/* end_spellings: finds by their spelling the tokens of a vocabulary that end a text.
 * Files name one or two tokens, but a chat model also emits others. llama.cpp finds them by
 * spelling, and so does this module, so that texts end where they do in llama.cpp. */
#ifndef SPECLAB_END_SPELLINGS_H
#define SPECLAB_END_SPELLINGS_H

#include "models/text_ends.h"
#include "models/transformer/tokenizer/tokenizer.h"

/* Adds the control tokens of a vocabulary that are spelled like the end of a text, a turn or a
 * file. If gpt-oss's <|return|> and <|call|> exist, <|end|> only ends a part of a text. Tokens of
 * other types are never added, whatever their spelling: in Gemma, </s> is an HTML tag. */
void spec_end_spellings_find(spec_text_ends *ends, const spec_tokenizer_data *data);

#endif
