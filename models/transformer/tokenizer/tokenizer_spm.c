/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/tokenizer/tokenizer_parts.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char escape[] = "\xE2\x96\x81"; /* U+2581, SentencePiece's character for a blank */

enum { ESCAPE = sizeof escape - 1 };

static bool escaped(const char *text, size_t length)
{
    return length >= ESCAPE && memcmp(text, escape, ESCAPE) == 0;
}

static size_t character(const char *text, size_t length)
{
    uint32_t code;
    return spec_utf8_decode(&code, (const unsigned char *)text, length);
}

size_t spec_tokenizer_spm_decode(char *bytes, spec_piece spelling)
{
    size_t n = 0;
    for (size_t i = 0; i < spelling.length; n++) {
        if (escaped(spelling.bytes + i, spelling.length - i)) {
            bytes[n] = ' ';
            i += ESCAPE;
        } else {
            bytes[n] = spelling.bytes[i++];
        }
    }
    return n;
}

/* Compares by score. A rank is a position in this order; equal scores have equal ranks, so that the
 * leftmost pair goes first. */
static int by_score(const void *left, const void *right, void *scores)
{
    const float *score = scores;
    const float l = score[*(const int *)left], r = score[*(const int *)right];
    return l > r ? -1 : l < r;
}

static int rank_pieces(uint32_t **ret_rank, const spec_tokenizer *t,
                       const spec_tokenizer_data *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t n = (size_t)t->vocab;
    uint32_t *rank = calloc(n, sizeof *rank);
    int *order = malloc(n * sizeof *order);
    if (rank == NULL || order == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer"));
    if (data->opt_score != NULL) {
        for (int i = 0; i < t->vocab; i++) order[i] = i;
        qsort_r(order, n, sizeof *order, by_score, (void *)(uintptr_t)data->opt_score);
        for (size_t i = 1; i < n; i++) {
            rank[order[i]] =
                rank[order[i - 1]] + (data->opt_score[order[i]] < data->opt_score[order[i - 1]]);
        }
    }
done:
    free(order);
    if (status != GSL_SUCCESS) {
        free(rank);
        rank = NULL;
    }
    *ret_rank = rank;
    return status;
}

/* Adds a symbol for a character of a piece, if the character is not a piece itself. */
static int add_lone(spec_tokenizer *t, spec_piece piece, spec_error *error)
{
    if (spec_token_table_find(&t->table, piece) >= 0) return GSL_SUCCESS;
    if (t->n_lone == t->lone_capacity) {
        const int capacity = 2 * t->lone_capacity + 64;
        spec_piece *lone = realloc(t->lone, (size_t)capacity * sizeof *lone);
        if (lone == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer");
        t->lone = lone;
        t->lone_capacity = capacity;
    }
    t->lone[t->n_lone] = piece;
    return spec_token_table_add(&t->table, piece, t->vocab + t->n_lone++, error);
}

/* Adds every split of a piece into two symbols. */
static int add_merges(spec_tokenizer *t, int token, uint32_t rank, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_piece piece = t->piece[token];
    const uint64_t hash = spec_token_table_hash(piece);
    uint64_t before = 0, power = 1, inverse = 1;
    size_t next = character(piece.bytes, piece.length);
    for (size_t at = 0; next < piece.length;
         next += character(piece.bytes + at, piece.length - at)) {
        for (; at < next;
             at++, power *= SPEC_TOKEN_TABLE_BASE, inverse *= SPEC_TOKEN_TABLE_INVERSE) {
            before += ((uint64_t)(unsigned char)piece.bytes[at] + 1) * power;
        }
        const spec_piece head = {piece.bytes, at}, tail = {piece.bytes + at, piece.length - at};
        const int left = spec_token_table_find_hashed(&t->table, head, before);
        if (left < 0) continue;
        const int right = spec_token_table_find_hashed(&t->table, tail, (hash - before) * inverse);
        if (right < 0) continue;
        SPEC_TRY(spec_merge_table_add(&t->merges, (spec_merge){left, right, token, rank}, error));
    }
done:
    return status;
}

int spec_tokenizer_spm_open(spec_tokenizer *t, const spec_tokenizer_data *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    uint32_t *rank = NULL;
    t->adds_space = data->adds_space;
    t->blank_begins = true;
    SPEC_TRY(rank_pieces(&rank, t, data, error));
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < t->vocab; i++) {
            const spec_piece piece = t->piece[i];
            const bool merges = t->type[i] == SPEC_PIECE_NORMAL ||
                                t->type[i] == SPEC_PIECE_UNUSED || t->type[i] == SPEC_PIECE_USER;
            if (!merges || piece.length == 0 || spec_token_table_find(&t->table, piece) != i)
                continue;
            if (pass == 1) {
                SPEC_TRY(add_merges(t, i, rank[i], error));
                continue;
            }
            for (size_t at = 0, n; at < piece.length; at += n) {
                n = character(piece.bytes + at, piece.length - at);
                SPEC_TRY(add_lone(t, (spec_piece){piece.bytes + at, n}, error));
                if (at > 0 && piece.bytes[at] == ' ' && piece.bytes[at - 1] != ' ')
                    t->blank_begins = false;
            }
        }
    }
    for (int i = 0; i < 128; i++) {
        const char byte = (char)i;
        t->ascii[i] = spec_token_table_find(&t->table, (spec_piece){&byte, 1});
    }
done:
    free(rank);
    return status;
}

static void encode_character(spec_encoder *encoder, spec_piece piece)
{
    const unsigned char first = (unsigned char)piece.bytes[0];
    const spec_tokenizer *t = encoder->tokenizer;
    const int symbol = first < 128 ? t->ascii[first] : spec_token_table_find(&t->table, piece);
    if (symbol >= 0) {
        spec_tokenizer_push(encoder, symbol);
    } else {
        spec_tokenizer_flush(encoder);
        spec_tokenizer_emit_bytes(encoder, piece);
    }
}

void spec_tokenizer_spm_encode(spec_encoder *encoder, const char *text, size_t length)
{
    const spec_tokenizer *t = encoder->tokenizer;
    char *normal = malloc(length + 2);
    if (normal == NULL) {
        encoder->failed = true;
        return;
    }
    size_t n = 0;
    if (t->adds_space && length > 0) normal[n++] = ' ';
    for (size_t i = 0; i < length; n++) {
        const bool blank = t->escapes && escaped(text + i, length - i);
        normal[n] = blank ? ' ' : text[i];
        i += blank ? ESCAPE : 1;
    }
    for (size_t at = 0, next; at < n; at = next) {
        const int user = spec_tokenizer_user(t, normal + at, n - at);
        if (user >= 0) {
            spec_tokenizer_flush(encoder);
            spec_tokenizer_emit(encoder, user);
            next = at + t->piece[user].length;
            continue;
        }
        if (t->blank_begins && normal[at] == ' ' && at > 0 && normal[at - 1] != ' ')
            spec_tokenizer_flush(encoder);
        next = at + character(normal + at, n - at);
        encode_character(encoder, (spec_piece){normal + at, next - at});
    }
    spec_tokenizer_flush(encoder);
    free(normal);
}
