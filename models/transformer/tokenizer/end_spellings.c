/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/end_spellings.h"

static const char *const spellings[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<|fim_pad|>",
    "<|repo_name|>", /* of models for code: the text of a file is over */
    "<|fim_repo|>",
    "<|file_sep|>",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>", /* DeepSeek */
};
enum { SPELLINGS = sizeof spellings / sizeof *spellings };

static int control_token(const spec_tokenizer_data *data, const char *spelling)
{
    for (int i = 0; data->opt_type != NULL && i < data->vocab; i++)
        if (data->opt_type[i] == SPEC_PIECE_CONTROL && spec_piece_is(data->piece[i], spelling))
            return i;
    return -1;
}

static bool has(const spec_tokenizer_data *data, const char *spelling)
{
    return control_token(data, spelling) >= 0;
}

void spec_end_spellings_find(spec_text_ends *ends, const spec_tokenizer_data *data)
{
    const int part = (has(data, "<|return|>") && has(data, "<|call|>")) ||
                             (has(data, "<|flush|>") && has(data, "<|calls|>"))
                         ? control_token(data, "<|end|>")
                         : -1;
    for (int i = 0; i < SPELLINGS; i++) {
        const int token = control_token(data, spellings[i]);
        if (token != part) spec_text_ends_add(ends, token);
    }
}
