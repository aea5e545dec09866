/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_vocabulary.h"

#include "models/transformer/files/gguf_value.h"
#include "models/transformer/tokenizer/end_spellings.h"
#include "models/transformer/tokenizer/pre_expressions.h"

#include <stdlib.h>
#include <string.h>

/* Reads a token number; 2^32 - 1, which is -1 in the type of the field, means no token. */
static int special(int *ret_token, const spec_gguf *gguf, const char *key, int fallback, int vocab,
                   spec_error *error)
{
    const spec_gguf_value *value = spec_gguf_value_find(gguf, key);
    *ret_token = -1;
    if (value != NULL && value->length == 4 && memcmp(value->bytes, "\xff\xff\xff\xff", 4) == 0)
        return GSL_SUCCESS;
    return spec_gguf_value_integer(ret_token, gguf, key, fallback < vocab ? fallback : -1, 0,
                                   vocab - 1, error);
}

static int read_ends(spec_gguf_vocabulary *vocabulary, const spec_gguf *gguf, int vocab,
                     bool is_spm, bool begins, spec_error *error)
{
    int status = GSL_SUCCESS, end, *begin = &vocabulary->begin_of_text;
    SPEC_TRY(special(&end, gguf, "tokenizer.ggml.eos_token_id", is_spm ? 2 : -1, vocab, error));
    spec_text_ends_add(&vocabulary->ends, end);
    SPEC_TRY(special(begin, gguf, "tokenizer.ggml.bos_token_id", is_spm ? 1 : end, vocab, error));
    if (*begin < 0) *begin = 0;
    SPEC_TRY(spec_gguf_value_bool(&vocabulary->adds_begin, gguf, "tokenizer.ggml.add_bos_token",
                                  begins, error));
done:
    return status;
}

/* Reads the arrays, all of the same length. */
static int read_pieces(spec_gguf_vocabulary *vocabulary, const spec_gguf *gguf, int vocab,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_tokenizer_data *data = &vocabulary->data;
    size_t n_pieces, n_scores, n_types;
    SPEC_TRY(
        spec_gguf_value_texts(&vocabulary->piece, &n_pieces, gguf, "tokenizer.ggml.tokens", error));
    SPEC_TRY(
        spec_gguf_value_reals(&vocabulary->score, &n_scores, gguf, "tokenizer.ggml.scores", error));
    SPEC_TRY(spec_gguf_value_integers(&vocabulary->type, &n_types, gguf,
                                      "tokenizer.ggml.token_type", error));
    SPEC_TRY(spec_gguf_value_texts(&vocabulary->merge, &data->n_merges, gguf,
                                   "tokenizer.ggml.merges", error));
    const size_t n = (size_t)vocab;
    if (n_pieces != n || (n_scores != 0 && n_scores != n) || (n_types != 0 && n_types != n))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: %zu tokens, %zu scores and %zu types for an embedding of %d rows",
                         gguf->path, n_pieces, n_scores, n_types, vocab);
    data->piece = vocabulary->piece;
    data->opt_score = vocabulary->score;
    data->opt_type = vocabulary->type;
    data->merge = vocabulary->merge;
done:
    return status;
}

/* Adds the other tokens that end a text: those that two values of the file name, and those with a
 * known spelling. Adds none if the file says that its texts have no end. */
static int read_further_ends(spec_gguf_vocabulary *vocabulary, const spec_gguf *gguf, int vocab,
                             spec_error *error)
{
    static const char *const keys[] = {"tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    int status = GSL_SUCCESS, token;
    if (vocabulary->ends.n == 0 &&
        spec_gguf_value_find(gguf, "tokenizer.ggml.eos_token_id") != NULL)
        return GSL_SUCCESS;
    for (int i = 0; i < 2; i++) {
        SPEC_TRY(special(&token, gguf, keys[i], -1, vocab, error));
        spec_text_ends_add(&vocabulary->ends, token);
    }
    spec_end_spellings_find(&vocabulary->ends, &vocabulary->data);
done:
    return status;
}

int spec_gguf_vocabulary_load(spec_gguf_vocabulary *vocabulary, const spec_gguf *gguf, int vocab,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_tokenizer_data *data = &vocabulary->data;
    spec_piece model, pre;
    *vocabulary = (spec_gguf_vocabulary){0};
    SPEC_TRY(spec_gguf_value_text(&model, gguf, "tokenizer.ggml.model", "none", error));
    SPEC_TRY(spec_gguf_value_text(&pre, gguf, "tokenizer.ggml.pre", "", error));
    const bool is_spm = spec_piece_is(model, "llama"), is_bpe = spec_piece_is(model, "gpt2");
    const spec_pre_expression *expression = spec_pre_expression_find(pre);
    const bool begins = is_spm || (is_bpe && expression != NULL && expression->begins);
    SPEC_TRY(read_ends(vocabulary, gguf, vocab, is_spm, begins, error));
    if (spec_piece_is(model, "none") || spec_piece_is(model, "no_vocab")) {
        SPEC_TRY(read_further_ends(vocabulary, gguf, vocab, error));
        goto done;
    }
    if (!is_spm && !is_bpe)
        SPEC_TRY(spec_fail(
            error, GSL_EINVAL,
            "%.300s: a tokenizer of model '%.*s' is not supported; llama (SPM) and gpt2 (BPE) are",
            gguf->path, SPEC_GGUF_SHOWN(model)));
    data->kind = is_spm ? SPEC_TOKENIZER_SPM : SPEC_TOKENIZER_BPE;
    SPEC_TRY(read_pieces(vocabulary, gguf, vocab, error));
    SPEC_TRY(spec_gguf_value_bool(&data->adds_space, gguf, "tokenizer.ggml.add_space_prefix",
                                  is_spm, error));
    SPEC_TRY(special(&data->unknown, gguf, "tokenizer.ggml.unknown_token_id", is_spm ? 0 : -1,
                     vocab, error));
    vocabulary->pre = strndup(pre.bytes, pre.length);
    if (vocabulary->pre == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", gguf->path));
    data->pre = vocabulary->pre;
    data->vocab = vocab;
    SPEC_TRY(read_further_ends(vocabulary, gguf, vocab, error));
done:
    if (status != GSL_SUCCESS) spec_gguf_vocabulary_free(vocabulary);
    return status;
}

void spec_gguf_vocabulary_free(spec_gguf_vocabulary *vocabulary)
{
    free(vocabulary->piece);
    free(vocabulary->merge);
    free(vocabulary->score);
    free(vocabulary->type);
    free(vocabulary->pre);
    *vocabulary = (spec_gguf_vocabulary){0};
}
