/* SPDX-License-Identifier: GPL-3.0-or-later */
/* end_spellings: the tokens of a vocabulary that end a text, by their spelling.
 * Files name one token or two; a chat model emits others, too. llama.cpp finds them by spelling,
 * and so that texts end where its do, so does this. */
#ifndef SPECLAB_END_SPELLINGS_H
#define SPECLAB_END_SPELLINGS_H

#include "models/text_ends.h"
#include "models/transformer/tokenizer/tokenizer.h"

/* Add the control tokens of a vocabulary whose spelling says that a text, a turn or a file ends.
 * Where gpt-oss's <|return|> and <|call|> exist, <|end|> ends a part of a text only. Tokens of
 * other types stay out, whatever their spelling: Gemma has </s> as a tag of HTML. */
void spec_end_spellings_find(spec_text_ends *ends, const spec_tokenizer_data *data);

#endif
