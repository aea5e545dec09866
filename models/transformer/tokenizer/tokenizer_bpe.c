/* SPDX-License-Identifier: GPL-3.0-or-later */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/transformer/tokenizer/tokenizer_parts.h"

#include "base/utf8.h"
#include "models/transformer/tokenizer/pre_expressions.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* GPT-2's alphabet of bytes: printable Latin-1 characters represent themselves; the other bytes, in
 * order, start at U+0100. */
static bool printable(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

static int byte_of(uint32_t code)
{
    if (code < 0x100) return printable((int)code) ? (int)code : -1;
    if (code <= 0x120) return (int)code - 0x100;        /* 00 .. 20 */
    if (code <= 0x142) return (int)code - 0x121 + 0x7F; /* 7F .. A0 */
    return code == 0x143 ? 0xAD : -1;
}

size_t spec_tokenizer_bpe_decode(char *bytes, spec_piece spelling)
{
    size_t n = 0;
    for (size_t i = 0; i < spelling.length; n++) {
        uint32_t code;
        i +=
            spec_utf8_decode(&code, (const unsigned char *)spelling.bytes + i, spelling.length - i);
        const int byte = byte_of(code);
        if (byte < 0) return SIZE_MAX;
        bytes[n] = (char)byte;
    }
    return n;
}

/* Returns the token with the spelling of one half of a merge, or -1. */
static int token_of(const spec_tokenizer *t, char *bytes, spec_piece spelling)
{
    const size_t length = spec_tokenizer_bpe_decode(bytes, spelling);
    return length == SIZE_MAX ? -1 : spec_token_table_find(&t->table, (spec_piece){bytes, length});
}

static int read_merges(spec_tokenizer *t, const spec_tokenizer_data *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t longest = 0;
    char *bytes = NULL;
    if (data->n_merges >= UINT32_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "tokenizer: more than 2^32 merges"));
    for (size_t i = 0; i < data->n_merges; i++) {
        if (data->merge[i].length > longest) longest = data->merge[i].length;
    }
    bytes = malloc(longest + 1);
    if (bytes == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer"));
    for (size_t i = 0; i < data->n_merges; i++) {
        const spec_piece merge = data->merge[i];
        const char *blank = merge.length == 0 ? NULL : memchr(merge.bytes, ' ', merge.length);
        int left = -1, right = -1, symbol = -1;
        if (blank != NULL) {
            const size_t head = (size_t)(blank - merge.bytes);
            right = token_of(t, bytes, (spec_piece){blank + 1, merge.length - head - 1});
            left = token_of(t, bytes, (spec_piece){merge.bytes, head});
        }
        if (left >= 0 && right >= 0) {
            memcpy(bytes, t->piece[left].bytes, t->piece[left].length);
            memcpy(bytes + t->piece[left].length, t->piece[right].bytes, t->piece[right].length);
            symbol = spec_token_table_find(
                &t->table, (spec_piece){bytes, t->piece[left].length + t->piece[right].length});
        }
        if (symbol < 0) {
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "tokenizer: merge %zu, \"%.*s\", is not of two tokens into a third",
                               i, merge.length < 80 ? (int)merge.length : 80, merge.bytes));
        }
        SPEC_TRY(spec_merge_table_add(&t->merges, (spec_merge){left, right, symbol, (uint32_t)i},
                                      error));
    }
done:
    free(bytes);
    return status;
}

static int compile(spec_tokenizer *t, const char *pre, spec_error *error)
{
    int code;
    size_t at;
    const spec_pre_expression *found = spec_pre_expression_find((spec_piece){pre, strlen(pre)});
    if (found == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "tokenizer: unknown pre-tokenizer '%.60s'; known are %s", pre,
                         spec_pre_expression_names);
    t->whole_first = found->whole_first;
    t->limits = pcre2_match_context_create(NULL);
    t->expression = pcre2_compile((PCRE2_SPTR)found->expression, PCRE2_ZERO_TERMINATED,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &code, &at, NULL);
    if (t->limits == NULL || t->expression == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for the tokenizer");
    pcre2_set_match_limit(t->limits, UINT32_MAX); /* backtracking over a long run of blanks takes
                                                     many steps, but linear time */
    pcre2_jit_compile(t->expression,
                      PCRE2_JIT_COMPLETE); /* if there is no JIT, PCRE2 interprets the expression */
    return GSL_SUCCESS;
}

int spec_tokenizer_bpe_open(spec_tokenizer *t, const spec_tokenizer_data *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < 256; i++) {
        const char byte = (char)i;
        t->byte_token[i] = spec_token_table_find(&t->table, (spec_piece){&byte, 1});
    }
    SPEC_TRY(read_merges(t, data, error));
    SPEC_TRY(compile(t, data->pre, error));
done:
    return status;
}

void spec_tokenizer_bpe_close(spec_tokenizer *tokenizer)
{
    pcre2_code_free(tokenizer->expression);
    pcre2_match_context_free(tokenizer->limits);
}

/* Adds a piece of the expression, or an invalid byte. */
static void encode_piece(spec_encoder *encoder, spec_piece piece)
{
    const spec_tokenizer *t = encoder->tokenizer;
    const int whole = t->whole_first ? spec_token_table_find(&t->table, piece) : -1;
    if (whole >= 0) {
        spec_tokenizer_emit(encoder, whole);
        return;
    }
    for (size_t i = 0; i < piece.length; i++) {
        const int token = t->byte_token[(unsigned char)piece.bytes[i]];
        if (token >= 0) {
            spec_tokenizer_push(encoder, token);
        } else {
            spec_tokenizer_flush(encoder);
            spec_tokenizer_emit_bytes(encoder, (spec_piece){piece.bytes + i, 1});
        }
    }
    spec_tokenizer_flush(encoder);
}

/* Encodes a run of valid characters. An expression matches at least one, if memory suffices. */
static void encode_run(spec_encoder *encoder, const char *text, size_t length,
                       pcre2_match_data *match)
{
    const spec_tokenizer *t = encoder->tokenizer;
    const size_t *const end = pcre2_get_ovector_pointer(match) + 1;
    for (size_t at = 0; at < length && !encoder->failed; at = *end) {
        encoder->failed = pcre2_match(t->expression, (PCRE2_SPTR)text, length, at,
                                      PCRE2_NO_UTF_CHECK, match, t->limits) < 0;
        if (!encoder->failed) encode_piece(encoder, (spec_piece){text + at, *end - at});
    }
}

void spec_tokenizer_bpe_encode(spec_encoder *encoder, const char *text, size_t length)
{
    const spec_tokenizer *t = encoder->tokenizer;
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    if (match == NULL) {
        encoder->failed = true;
        return;
    }
    size_t run = 0; /* start of the characters not encoded yet */
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t n = spec_utf8_decode(&code, (const unsigned char *)text + at, length - at);
        const int user = spec_tokenizer_user(t, text + at, length - at);
        if (user < 0 && code != SPEC_UTF8_INVALID) {
            at += n;
            continue;
        }
        encode_run(encoder, text + run, at - run, match);
        if (user >= 0) {
            spec_tokenizer_emit(encoder, user);
            n = t->piece[user].length;
        } else {
            encode_piece(encoder, (spec_piece){text + at, 1});
        }
        run = at += n;
    }
    encode_run(encoder, text + run, length - run, match);
    pcre2_match_data_free(match);
}
