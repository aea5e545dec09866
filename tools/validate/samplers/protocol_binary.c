/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of little-endian arrays: a header of 16 bytes, then a body. */
#include "tools/validate/samplers/protocol.h"

#include <math.h>
#include <string.h>

/* MAGIC: "SPEC" as the first four bytes. WORD: bytes of most numbers. */
enum { MAGIC = 0x43455053, WORD = 4 };

typedef struct {
    uint32_t magic, type, length, serial;
} header;

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "frames are written as the numbers lie in memory");

/* ---- questions ------------------------------------------------------------------------------- */

static void put_header(spec_bytes *out, uint32_t type, uint32_t serial, size_t length)
{
    const header h = {.magic = MAGIC, .type = type, .length = (uint32_t)length, .serial = serial};
    spec_bytes_put(out, &h, sizeof h);
}

static void put_rows(spec_bytes *out, const spec_fixture *f, bool draft, uint32_t rows)
{
    const float *row = draft ? f->draft : f->target;
    const size_t V = (size_t)f->vocab, n = (size_t)f->n_states * V;
    float *to = spec_bytes_more(out, n * sizeof *row);
    for (size_t i = 0; i < n && to != NULL; i++)
        to[i] =
            rows == SPEC_ROWS_LOGITS ? spec_fixture_logit(f, draft, (int)(i / V), row[i]) : row[i];
}

static int put_begin(spec_bytes *out, const spec_fixture *f, uint32_t scope, uint32_t rows,
                     spec_error *error)
{
    const size_t cells = (size_t)f->n_states * (size_t)f->vocab, nodes = (size_t)f->n_nodes;
    const uint32_t drawn = spec_protocol_drawn(f, scope);
    const bool has_draft = drawn != SPEC_DRAWN_FIXED, has_next = scope == SPEC_SCOPE_STREAM;
    const int32_t word[] = {(int32_t)scope, (int32_t)drawn, f->vocab, f->n_states,
                            f->n_nodes,     has_draft,      has_next, f->sampling[0].top_k};
    const float real[] = {f->sampling[0].temperature, f->sampling[0].top_p, f->sampling[0].min_p,
                          0.0f};
    const size_t length =
        sizeof word + sizeof real + WORD * (nodes + cells * (1u + has_draft + has_next));
    if (length > UINT32_MAX)
        return spec_fail(error, GSL_EINVAL, "%d rows of %d numbers do not fit into a frame",
                         f->n_states, f->vocab);
    put_header(out, SPEC_FRAME_BEGIN, 0, length);
    spec_bytes_put(out, word, sizeof word);
    spec_bytes_put(out, real, sizeof real);
    spec_bytes_put(out, f->parent, WORD * nodes);
    put_rows(out, f, false, rows);
    if (has_draft) put_rows(out, f, true, rows);
    for (int state = 0; state < f->n_states && has_next; state++)
        for (int token = 0; token < f->vocab; token++) {
            const int32_t next = spec_fixture_next(f, state, token);
            spec_bytes_put(out, &next, sizeof next);
        }
    return spec_bytes_status(out, error);
}

static void put_steps(spec_bytes *out, const spec_question *q, const spec_round_batch *b)
{
    const size_t from = (size_t)q->from, n = (size_t)q->n, nodes = (size_t)b->nodes,
                 places = nodes + 1;
    const size_t tokens = q->scope == SPEC_SCOPE_DRAFT ? 0 : nodes,
                 coins = b->coin != NULL ? (size_t)b->n_coins : 0;
    const int32_t word[] = {q->n, (int32_t)coins};
    put_header(out, q->type, q->serial,
               sizeof word + n * (3 * sizeof(uint64_t) + WORD * (1 + places + tokens + coins)));
    spec_bytes_put(out, word, sizeof word);
    spec_bytes_put(out, b->request + from, n * sizeof *b->request);
    spec_bytes_put(out, b->seed + from, n * sizeof *b->seed);
    spec_bytes_put(out, b->offset + from, n * sizeof *b->offset);
    spec_bytes_put(out, b->n_nodes + from, n * WORD);
    spec_bytes_put(out, b->state + from * places, n * places * WORD);
    spec_bytes_put(out, b->token + from * nodes, n * tokens * WORD);
    if (coins > 0) spec_bytes_put(out, b->coin + from * coins, n * coins * WORD);
}

static void put_generate(spec_bytes *out, const spec_question *q, int start, int K, uint64_t seed)
{
    const int32_t word[] = {start, K, q->n, 0};
    put_header(out, q->type, q->serial, sizeof word + sizeof seed);
    spec_bytes_put(out, word, sizeof word);
    spec_bytes_put(out, &seed, sizeof seed);
}

static void put_counters(spec_bytes *out, const spec_question *q)
{
    put_header(out, q->type, q->serial, 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int extent(size_t *ret, const spec_question *q, const char *bytes, size_t n,
                  spec_error *error)
{
    char shown[SPEC_PROTOCOL_SHOWN];
    header h = {.magic = MAGIC};
    *ret = 0;
    memcpy(&h, bytes, n < sizeof h ? n : sizeof h);
    /* Refuse the frame at the first wrong byte, because the rest may never arrive. */
    if (h.magic != MAGIC)
        return spec_fail(error, GSL_EFAILED,
                         "a frame must begin with 'SPEC', but '%s' came; only frames may go to "
                         "standard output, other text belongs on standard error",
                         spec_protocol_shown(shown, bytes, n));
    if (n < sizeof h) return GSL_SUCCESS;
    if (h.type != q->type)
        return spec_fail(error, GSL_EFAILED, "an answer of type %u came to a question of type %u",
                         h.type, q->type);
    if (h.serial != q->serial)
        return spec_fail(error, GSL_EFAILED, "answer %u came to question %u", h.serial, q->serial);
    if (h.length > q->most)
        return spec_fail(error, GSL_EFAILED,
                         "an answer has %u bytes, but at most %zu make sense here", h.length,
                         q->most);
    if (n >= sizeof h + h.length) *ret = sizeof h + h.length;
    return GSL_SUCCESS;
}

/* Copies the next n numbers of a body and advances; returns false if the body has fewer. */
static bool take(void *to, const char **at, size_t *left, size_t n, size_t size)
{
    if (n > *left / size) return false;
    memcpy(to, *at, n * size);
    *at += n * size;
    *left -= n * size;
    return true;
}

static int cut_short(const spec_question *q, size_t n, spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "an answer of %zu bytes is too short for %d %s", n, q->n,
                     q->type == SPEC_FRAME_STEPS ? "rounds" : "numbers");
}

static int left_over(size_t left, size_t n, spec_error *error)
{
    if (left == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "an answer of %zu bytes is too long by %zu", n, left);
}

static int take_steps(spec_round_batch *b, const spec_question *q, const char *answer, size_t n,
                      spec_error *error)
{
    const size_t rounds = (size_t)q->n, from = (size_t)q->from, length = n - sizeof(header);
    const char *at = answer + sizeof(header);
    size_t left = length;
    if (!take(b->n_emitted + from, &at, &left, rounds, WORD) ||
        !take(b->n_accepted + from, &at, &left, rounds, WORD))
        return cut_short(q, length, error);
    for (size_t i = from; i < from + rounds && q->scope == SPEC_SCOPE_DRAFT; i++)
        if (!take(b->token + i * (size_t)b->nodes, &at, &left, (size_t)b->n_nodes[i], WORD))
            return cut_short(q, length, error);
    for (int i = q->from; i < q->from + q->n; i++) {
        const int32_t n_emitted = b->n_emitted[i];
        if (n_emitted < 0)
            return spec_fail(error, GSL_EFAILED, "it says that round %d emitted %d tokens",
                             i - q->from, n_emitted);
        if ((size_t)n_emitted > left / WORD) return cut_short(q, length, error);
        spec_protocol_emit(b, i, at, n_emitted, b->n_accepted[i]);
        at += (size_t)n_emitted * WORD;
        left -= (size_t)n_emitted * WORD;
    }
    return left_over(left, length, error);
}

static int take_numbers(void *to, const spec_question *q, const char *answer, size_t n, size_t size,
                        spec_error *error)
{
    const size_t length = n - sizeof(header);
    const char *at = answer + sizeof(header);
    size_t left = length;
    if (!take(to, &at, &left, (size_t)q->n, size)) return cut_short(q, length, error);
    return left_over(left, length, error);
}

static int take_text(int32_t *token, const spec_question *q, const char *answer, size_t n,
                     spec_error *error)
{
    return take_numbers(token, q, answer, n, sizeof *token, error);
}

static int take_counters(uint64_t ret[3], const spec_question *q, const char *answer, size_t n,
                         spec_error *error)
{
    return take_numbers(ret, q, answer, n, sizeof *ret, error);
}

const spec_protocol spec_protocol_binary = {
    .name = "binary",
    .put_begin = put_begin,
    .put_steps = put_steps,
    .put_generate = put_generate,
    .put_counters = put_counters,
    .extent = extent,
    .take_steps = take_steps,
    .take_text = take_text,
    .take_counters = take_counters,
};
