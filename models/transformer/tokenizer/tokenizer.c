/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/tokenizer.h"

#include "models/transformer/tokenizer/tokenizer_parts.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer");
}

/* Returns the type of a piece if the file does not say. */
static spec_piece_type looks(const spec_tokenizer_data *data, int token)
{
    static const char *const control[] = {"<s>", "</s>", "\n<s>\n", "\n</s>\n", "<pad>", NULL};
    if (token == data->unknown) return SPEC_PIECE_UNKNOWN;
    if (data->kind == SPEC_TOKENIZER_BPE) return SPEC_PIECE_NORMAL;
    for (int i = 0; control[i] != NULL; i++) {
        if (spec_piece_is(data->piece[token], control[i])) return SPEC_PIECE_CONTROL;
    }
    return spec_piece_byte(data->piece[token]) >= 0 ? SPEC_PIECE_BYTE : SPEC_PIECE_NORMAL;
}

static int check(const spec_tokenizer_data *data, size_t *ret_bytes, spec_error *error)
{
    assert(data->vocab >= 1 && data->unknown < data->vocab);
    size_t bytes = 0;
    for (int i = 0; i < data->vocab; i++) {
        if (data->piece[i].length > (size_t)INT_MAX / 2 - bytes) {
            return spec_fail(error, GSL_EINVAL, "tokenizer: its pieces have more than 1 GiB");
        }
        bytes += data->piece[i].length;
        if (data->opt_score != NULL && !isfinite(data->opt_score[i])) {
            return spec_fail(error, GSL_EINVAL, "tokenizer: the score of token %d is not finite",
                             i);
        }
        if (data->opt_type != NULL &&
            (data->opt_type[i] < SPEC_PIECE_NORMAL || data->opt_type[i] > SPEC_PIECE_BYTE)) {
            return spec_fail(error, GSL_EINVAL, "tokenizer: token %d has the unknown type %d", i,
                             data->opt_type[i]);
        }
    }
    *ret_bytes = bytes;
    return GSL_SUCCESS;
}

/* Sets types, and the bytes of tokens. Control and user-defined tokens keep their spelling, but in
 * SPM, U+2581 in user-defined tokens becomes a blank. */
static int read_pieces(spec_tokenizer *t, const spec_tokenizer_data *data, size_t bytes,
                       spec_error *error)
{
    t->store = malloc(bytes + 1);
    t->piece = malloc((size_t)t->vocab * sizeof *t->piece);
    t->type = malloc((size_t)t->vocab * sizeof *t->type);
    t->user = malloc((size_t)t->vocab * sizeof *t->user);
    if (t->store == NULL || t->piece == NULL || t->type == NULL || t->user == NULL)
        return out_of_memory(error);
    char *to = t->store;
    for (int i = 0; i < t->vocab; i++) {
        const spec_piece spelling = data->piece[i];
        spec_piece_type type =
            data->opt_type != NULL ? (spec_piece_type)data->opt_type[i] : looks(data, i);
        size_t length = SIZE_MAX;
        if (type == SPEC_PIECE_BYTE) {
            const int byte = spec_piece_byte(spelling);
            if (byte < 0)
                return spec_fail(error, GSL_EINVAL,
                                 "tokenizer: byte token %d is not spelled <0x0A>", i);
            *to = (char)byte;
            length = 1;
            if (data->kind == SPEC_TOKENIZER_SPM && t->byte_token[byte] < 0)
                t->byte_token[byte] = i;
        } else if (data->kind == SPEC_TOKENIZER_SPM && type != SPEC_PIECE_CONTROL &&
                   type != SPEC_PIECE_UNKNOWN) {
            length = spec_tokenizer_spm_decode(to, spelling);
            t->escapes |= length < spelling.length;
        } else if (type == SPEC_PIECE_NORMAL || type == SPEC_PIECE_UNUSED) {
            length = spec_tokenizer_bpe_decode(to, spelling);
            if (length == SIZE_MAX) type = SPEC_PIECE_CONTROL; /* no text can be merged into it */
        }
        if (length == SIZE_MAX && (length = spelling.length) > 0)
            memcpy(to, spelling.bytes, length);
        t->piece[i] = (spec_piece){to, length};
        t->type[i] = type;
        to += length;
    }
    return GSL_SUCCESS;
}

static bool merges(spec_piece_type type)
{
    return type == SPEC_PIECE_NORMAL || type == SPEC_PIECE_UNUSED;
}

/* Adds the pieces that a text may be split into: those that merge, then user-defined ones that
 * differ from them. */
static int fill_table(spec_tokenizer *t, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_token_table_init(&t->table, error));
    for (int i = 0; i < t->vocab; i++) {
        if (!merges(t->type[i]) || t->piece[i].length == 0) continue;
        const int same = spec_token_table_find(&t->table, t->piece[i]);
        if (same >= 0) {
            SPEC_TRY(spec_fail(
                error, GSL_EINVAL, "tokenizer: tokens %d and %d are the same piece \"%.*s\"", same,
                i, t->piece[i].length < 40 ? (int)t->piece[i].length : 40, t->piece[i].bytes));
        }
        SPEC_TRY(spec_token_table_add(&t->table, t->piece[i], i, error));
    }
    for (int i = 0; i < t->vocab; i++) {
        if (t->type[i] != SPEC_PIECE_USER || t->piece[i].length == 0) continue;
        t->user[t->n_user++] = i;
        t->begins_user[(unsigned char)t->piece[i].bytes[0]] = true;
        if (spec_token_table_find(&t->table, t->piece[i]) < 0) {
            SPEC_TRY(spec_token_table_add(&t->table, t->piece[i], i, error));
        }
    }
done:
    return status;
}

static int by_bytes(const void *left, const void *right, void *pieces)
{
    const int l = *(const int *)left, r = *(const int *)right;
    const spec_piece a = ((const spec_piece *)pieces)[l], b = ((const spec_piece *)pieces)[r];
    const int order = spec_piece_order(a, b);
    return order != 0 ? order : l < r ? -1 : 1;
}

int spec_tokenizer_init(spec_tokenizer **ret_tokenizer, const spec_tokenizer_data *data,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t bytes = 0;
    spec_tokenizer *t = NULL;
    *ret_tokenizer = NULL;
    SPEC_TRY(check(data, &bytes, error));
    t = calloc(1, sizeof *t);
    if (t == NULL) SPEC_TRY(out_of_memory(error));
    t->kind = data->kind;
    t->vocab = data->vocab;
    t->unknown = data->unknown;
    for (int i = 0; i < 256; i++) t->byte_token[i] = -1;
    SPEC_TRY(read_pieces(t, data, bytes, error));
    SPEC_TRY(fill_table(t, error));
    qsort_r(t->user, (size_t)t->n_user, sizeof *t->user, by_bytes, t->piece);
    SPEC_TRY(spec_merge_table_init(&t->merges, error));
    SPEC_TRY((t->kind == SPEC_TOKENIZER_SPM ? spec_tokenizer_spm_open
                                            : spec_tokenizer_bpe_open)(t, data, error));
done:
    if (status != GSL_SUCCESS) {
        spec_tokenizer_free(t);
        t = NULL;
    }
    *ret_tokenizer = t;
    return status;
}

void spec_tokenizer_free(spec_tokenizer *tokenizer)
{
    if (tokenizer == NULL) return;
    spec_tokenizer_bpe_close(tokenizer);
    spec_token_table_free(&tokenizer->table);
    spec_merge_table_free(&tokenizer->merges);
    free(tokenizer->store);
    free(tokenizer->piece);
    free(tokenizer->type);
    free(tokenizer->user);
    free(tokenizer->lone);
    free(tokenizer);
}

void spec_tokenizer_emit(spec_encoder *encoder, int token)
{
    if (encoder->n < encoder->capacity) encoder->token[encoder->n] = token;
    encoder->n++;
}

void spec_tokenizer_emit_bytes(spec_encoder *encoder, spec_piece bytes)
{
    const spec_tokenizer *t = encoder->tokenizer;
    bool all = true;
    for (size_t i = 0; i < bytes.length; i++)
        all &= t->byte_token[(unsigned char)bytes.bytes[i]] >= 0;
    if (!all) {
        if (t->unknown >= 0) spec_tokenizer_emit(encoder, t->unknown);
        return;
    }
    for (size_t i = 0; i < bytes.length; i++) {
        spec_tokenizer_emit(encoder, t->byte_token[(unsigned char)bytes.bytes[i]]);
    }
}

void spec_tokenizer_push(spec_encoder *encoder, int symbol)
{
    if (encoder->n_symbols == encoder->symbols) {
        const size_t symbols = 2 * encoder->symbols + 1024;
        int *grown =
            symbols >= UINT32_MAX / 2 ? NULL : realloc(encoder->symbol, symbols * sizeof *grown);
        if (grown == NULL) {
            encoder->failed = true;
            encoder->n_symbols = 0;
            return;
        }
        encoder->symbol = grown;
        encoder->symbols = symbols;
    }
    encoder->symbol[encoder->n_symbols++] = symbol;
}

void spec_tokenizer_flush(spec_encoder *encoder)
{
    const spec_tokenizer *t = encoder->tokenizer;
    size_t n;
    if (spec_merge_table_apply(&t->merges, encoder->symbol, encoder->n_symbols, &n,
                               &encoder->merger) != GSL_SUCCESS) {
        encoder->failed = true;
    }
    for (size_t i = 0; i < n; i++) {
        const int symbol = encoder->symbol[i];
        if (symbol < t->vocab) spec_tokenizer_emit(encoder, symbol);
        else spec_tokenizer_emit_bytes(encoder, t->lone[symbol - t->vocab]);
    }
    encoder->n_symbols = 0;
}

/* The sorted pieces that share the first `depth` bytes with the text are contiguous, and the piece
 * of just these bytes comes first. */
int spec_tokenizer_user(const spec_tokenizer *tokenizer, const char *text, size_t length)
{
    if (length == 0 || !tokenizer->begins_user[(unsigned char)text[0]]) return -1;
    const spec_piece *piece = tokenizer->piece;
    const int *user = tokenizer->user;
    int found = -1;
    int begin = 0, end = tokenizer->n_user;
    for (size_t depth = 0; begin < end; depth++) {
        if (piece[user[begin]].length == depth && depth > 0) {
            found = user[begin];
            while (begin < end && piece[user[begin]].length == depth) begin++;
        }
        if (depth == length) break;
        const unsigned char byte = (unsigned char)text[depth];
        int low = begin, high = end;
        while (low < high) {
            const int middle = low + (high - low) / 2;
            if ((unsigned char)piece[user[middle]].bytes[depth] < byte) low = middle + 1;
            else high = middle;
        }
        begin = low;
        for (high = end; low < high;) {
            const int middle = low + (high - low) / 2;
            if ((unsigned char)piece[user[middle]].bytes[depth] <= byte) low = middle + 1;
            else high = middle;
        }
        end = low;
    }
    return found;
}

size_t spec_tokenizer_encode(const spec_tokenizer *tokenizer, const char *text, size_t length,
                             int *token, size_t capacity)
{
    spec_encoder encoder = {.tokenizer = tokenizer, .token = token, .capacity = capacity};
    if (tokenizer->kind == SPEC_TOKENIZER_SPM) spec_tokenizer_spm_encode(&encoder, text, length);
    else spec_tokenizer_bpe_encode(&encoder, text, length);
    free(encoder.symbol);
    spec_merger_free(&encoder.merger);
    return encoder.failed ? SIZE_MAX : encoder.n;
}

size_t spec_tokenizer_text(const spec_tokenizer *tokenizer, int token, char *buffer, size_t size)
{
    assert(token >= 0 && token < tokenizer->vocab);
    const spec_piece piece = tokenizer->piece[token];
    if (size > 0) {
        const size_t n = piece.length < size ? piece.length : size - 1;
        if (n > 0) memcpy(buffer, piece.bytes, n);
        buffer[n] = '\0';
    }
    return piece.length;
}
