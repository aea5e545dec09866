/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the tokenizers with any vocabulary, merges and text. Tokens stay in the vocabulary and in
 * the buffer, and a vocabulary with all bytes reproduces the text. The first byte chooses the kind,
 * the second the predefined vocabulary. Pieces, merges and the text follow, each after its
 * length. */
#include "models/transformer/tokenizer/tokenizer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

enum { PIECES = 64, MERGES = 64, BYTES = 256, SPELLING = 32 };

typedef struct {
    const uint8_t *data;
    size_t size;
} input;

static unsigned next(input *in)
{
    if (in->size == 0) return 0;
    in->size--;
    return *in->data++;
}

static spec_piece next_piece(input *in, size_t most)
{
    size_t length = next(in) % (most + 1);
    if (length > in->size) length = in->size;
    const spec_piece piece = {(const char *)in->data, length};
    in->data += length;
    in->size -= length;
    return piece;
}

/* Writes a byte in GPT-2's alphabet. */
static size_t spell(char *to, unsigned byte)
{
    const unsigned code = byte <= 0x20                   ? 0x100 + byte
                          : byte >= 0x7F && byte <= 0xA0 ? 0x121 + byte - 0x7F
                          : byte == 0xAD                 ? 0x143
                                                         : byte;
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    to[0] = (char)(0xC0 | code >> 6);
    to[1] = (char)(0x80 | (code & 0x3F));
    return 2;
}

typedef struct {
    spec_piece piece[BYTES + PIECES], merge[MERGES];
    float score[BYTES + PIECES];
    int type[BYTES + PIECES];
    char byte[BYTES][8], spelling[MERGES][2 * SPELLING + 1];
    spec_tokenizer_data data;
} vocabulary;

/* Adds all bytes, as the kind spells them, after the input's pieces, which may contain them too. */
static void add_bytes(vocabulary *v)
{
    for (unsigned byte = 0; byte < BYTES; byte++) {
        const int token = v->data.vocab++;
        size_t n;
        if (v->data.kind == SPEC_TOKENIZER_SPM)
            n = (size_t)snprintf(v->byte[byte], 8, "<0x%02X>", byte);
        else n = spell(v->byte[byte], byte);
        v->piece[token] = (spec_piece){v->byte[byte], n};
        v->score[token] = 0.0f;
        v->type[token] = v->data.kind == SPEC_TOKENIZER_SPM ? SPEC_PIECE_BYTE : SPEC_PIECE_NORMAL;
    }
}

static void read_vocabulary(vocabulary *v, input *in)
{
    static const char *const pre[] = {"", "gpt-2", "llama-bpe", "qwen2", "smollm", "none"};
    const unsigned kind = next(in), given = next(in);
    v->data = (spec_tokenizer_data){.kind = kind % 2 ? SPEC_TOKENIZER_BPE : SPEC_TOKENIZER_SPM,
                                    .piece = v->piece,
                                    .opt_score = given & 1 ? NULL : v->score,
                                    .opt_type = given & 2 ? NULL : v->type,
                                    .merge = v->merge,
                                    .pre = pre[kind / 2 % 6],
                                    .adds_space = (given & 4) != 0};
    for (unsigned n = next(in) % PIECES; n > 0; n--) {
        const int token = v->data.vocab++;
        const unsigned type = next(in);
        v->type[token] = (int)(type % 8);
        const unsigned score = next(in);
        memcpy(&v->score[token], (const uint32_t[]){score << 24 | score << 15}, sizeof(float));
        v->piece[token] = next_piece(in, SPELLING);
    }
    if (given & 8 || v->data.vocab == 0) add_bytes(v);
    for (unsigned n = next(in) % MERGES; n > 0; n--) {
        const unsigned left = next(in), right = next(in);
        const spec_piece l = v->piece[left % (unsigned)v->data.vocab],
                         r = v->piece[right % (unsigned)v->data.vocab];
        char *to = v->spelling[v->data.n_merges];
        if (left == right) {
            v->merge[v->data.n_merges++] = next_piece(in, SPELLING);
            continue;
        }
        memcpy(to, l.bytes, l.length);
        to[l.length] = ' ';
        memcpy(to + l.length + 1, r.bytes, r.length);
        v->merge[v->data.n_merges++] = (spec_piece){to, l.length + 1 + r.length};
    }
    v->data.unknown = (int)(next(in) % (unsigned)(v->data.vocab + 1)) - 1;
}

static bool has_all_bytes(const spec_tokenizer *t, const vocabulary *v)
{
    const int first = v->data.vocab - BYTES;
    char text[2];
    for (int i = 0; i < BYTES; i++) {
        if (first < 0 || spec_tokenizer_text(t, first + i, text, 2) != 1 ||
            (unsigned char)text[0] != i)
            return false;
        if (first + i == v->data.unknown) return false;
    }
    return true;
}

static bool escapes(const vocabulary *v)
{
    for (int i = 0; i < v->data.vocab; i++) {
        if (memmem(v->piece[i].bytes, v->piece[i].length, "\xE2\x96\x81", 3) != NULL) return true;
    }
    return false;
}

static void encode(const spec_tokenizer *t, const vocabulary *v, const char *text, size_t length)
{
    int *token = malloc((length + 2) * sizeof *token);
    char *back = malloc((length + 2) * SPELLING + 1);
    REQUIRE(token != NULL && back != NULL);
    for (size_t i = 0; i < length + 2; i++) token[i] = -1;
    const size_t n = spec_tokenizer_encode(t, text, length, token, length / 2);
    REQUIRE(n <= length + 1);
    for (size_t i = length / 2; i < length + 2; i++) REQUIRE(token[i] == -1);
    REQUIRE(spec_tokenizer_encode(t, text, length, token, length + 2) == n);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        REQUIRE(token[i] >= 0 && token[i] < v->data.vocab);
        at += spec_tokenizer_text(t, token[i], back + at, SPELLING + 1);
    }
    const size_t blank = v->data.kind == SPEC_TOKENIZER_SPM && v->data.adds_space && length > 0;
    if (has_all_bytes(t, v) && (v->data.kind == SPEC_TOKENIZER_BPE || !escapes(v))) {
        REQUIRE(at == blank + length && memcmp(back + blank, text, length) == 0);
    }
    free(token);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    vocabulary *v = calloc(1, sizeof *v);
    REQUIRE(v != NULL);
    read_vocabulary(v, &in);
    spec_tokenizer *tokenizer;
    spec_error error = {""};
    if (spec_tokenizer_init(&tokenizer, &v->data, &error) == GSL_SUCCESS) {
        encode(tokenizer, v, (const char *)in.data, in.size);
        spec_tokenizer_free(tokenizer);
    } else {
        REQUIRE(tokenizer == NULL && error.text[0] != '\0');
    }
    free(v);
    return 0;
}
