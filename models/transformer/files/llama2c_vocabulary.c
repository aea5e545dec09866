/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/llama2c_vocabulary.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEGIN_OF_TEXT = 1, END_OF_TEXT = 2, WORD_BYTES = 4, PIECE_HEAD_BYTES = 2 * WORD_BYTES };

/* Removes the line breaks that llama2.c's export, unlike all other formats, adds around the begin
 * and end of text. */
static spec_piece without_breaks(spec_piece piece)
{
    const bool has =
        piece.length >= 2 && piece.bytes[0] == '\n' && piece.bytes[piece.length - 1] == '\n';
    return has ? (spec_piece){piece.bytes + 1, piece.length - 2} : piece;
}

static spec_piece_type type_of(int token, const spec_piece *piece)
{
    if (token == 0 && spec_piece_is(*piece, "<unk>")) return SPEC_PIECE_UNKNOWN;
    if (token == BEGIN_OF_TEXT && spec_piece_is(*piece, "<s>")) return SPEC_PIECE_CONTROL;
    if (token == END_OF_TEXT && spec_piece_is(*piece, "</s>")) return SPEC_PIECE_CONTROL;
    return spec_piece_byte(*piece) >= 0 ? SPEC_PIECE_BYTE : SPEC_PIECE_NORMAL;
}

static int read_pieces(spec_llama2c_vocabulary *vocabulary, const char *path, int vocab,
                       spec_error *error)
{
    const unsigned char *bytes = vocabulary->mapping.bytes;
    const size_t length = vocabulary->mapping.length;
    size_t at = WORD_BYTES; /* skip the longest length, which only llama2.c uses */
    for (int token = 0; token < vocab; token++) {
        int32_t n;
        if (at > length || length - at < PIECE_HEAD_BYTES)
            return spec_fail(error, GSL_EINVAL, "%.300s: ends after %d of the model's %d tokens",
                             path, token, vocab);
        memcpy(&vocabulary->score[token], bytes + at, WORD_BYTES);
        memcpy(&n, bytes + at + WORD_BYTES, WORD_BYTES);
        at += PIECE_HEAD_BYTES;
        if (n < 0 || (size_t)n > length - at)
            return spec_fail(error, GSL_EINVAL,
                             "%.300s: token %d has %d bytes where the file has %zu left", path,
                             token, n, length - at);
        if (!isfinite(vocabulary->score[token]))
            return spec_fail(error, GSL_EINVAL, "%.300s: the score of token %d is not finite", path,
                             token);
        const spec_piece piece = {(const char *)bytes + at, (size_t)n};
        const bool may_end = token == BEGIN_OF_TEXT || token == END_OF_TEXT;
        vocabulary->piece[token] = may_end ? without_breaks(piece) : piece;
        vocabulary->type[token] = (int)type_of(token, &vocabulary->piece[token]);
        at += (size_t)n;
    }
    if (at == length) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: %zu bytes follow the model's %d tokens; is it the tokenizer of "
                     "another model? (tokenizer=PATH names the right one)",
                     path, length - at, vocab);
}

static int load(spec_llama2c_vocabulary *vocabulary, const char *path, int vocab, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_mapping_init(&vocabulary->mapping, path, error));
    const size_t n = (size_t)vocab;
    if (vocabulary->mapping.length / PIECE_HEAD_BYTES < n)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: has %zu bytes, too few for the model's %d tokens", path,
                         vocabulary->mapping.length, vocab);
    vocabulary->piece = malloc(n * sizeof *vocabulary->piece);
    vocabulary->score = malloc(n * sizeof *vocabulary->score);
    vocabulary->type = malloc(n * sizeof *vocabulary->type);
    if (vocabulary->piece == NULL || vocabulary->score == NULL || vocabulary->type == NULL)
        return spec_fail(error, GSL_ENOMEM, "%.300s: out of memory for %d tokens", path, vocab);
    SPEC_TRY(read_pieces(vocabulary, path, vocab, error));
    vocabulary->data = (spec_tokenizer_data){
        .kind = SPEC_TOKENIZER_SPM,
        .vocab = vocab,
        .piece = vocabulary->piece,
        .opt_score = vocabulary->score,
        .opt_type = vocabulary->type,
        .pre = "",
        .adds_space = true,
        .unknown = vocabulary->type[0] == SPEC_PIECE_UNKNOWN ? 0 : -1,
    };
done:
    return status;
}

int spec_llama2c_vocabulary_load(spec_llama2c_vocabulary *vocabulary, const char *model_path,
                                 const char *opt_path, int vocab, spec_error *error)
{
    int status = GSL_SUCCESS;
    *vocabulary = (spec_llama2c_vocabulary){0};
    if (opt_path == NULL) {
        const char *slash = strrchr(model_path, '/');
        const int folder = slash != NULL ? (int)(slash - model_path) + 1 : 0;
        if (asprintf(&vocabulary->path, "%.*stokenizer.bin", folder, model_path) < 0)
            return spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", model_path);
        if (access(vocabulary->path, F_OK) != 0) goto done;
    } else {
        if (opt_path[0] == '\0') goto done;
        vocabulary->path = strdup(opt_path);
        if (vocabulary->path == NULL)
            return spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", model_path);
    }
    SPEC_TRY(load(vocabulary, vocabulary->path, vocab, error));
done:
    if (vocabulary->data.vocab == 0)
        spec_llama2c_vocabulary_free(vocabulary); /* it failed, or there is no vocabulary */
    return status;
}

void spec_llama2c_vocabulary_free(spec_llama2c_vocabulary *vocabulary)
{
    free(vocabulary->path);
    free(vocabulary->piece);
    free(vocabulary->score);
    free(vocabulary->type);
    spec_mapping_free(&vocabulary->mapping);
    *vocabulary = (spec_llama2c_vocabulary){0};
}
