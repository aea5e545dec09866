/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line of JSON per question and per answer. */
#include "tools/validate/samplers/protocol.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* LINE_LEAST: bytes of a line that are always allowed. LINE_PER_BYTE: bytes of a line per byte of a
 * frame, since a number in JSON is longer than its four bytes in a frame. */
enum { LINE_LEAST = 4096, LINE_PER_BYTE = 8 };

/* JSON has no infinity, so this is the logit of probability 0. */
#define LOGIT_OF_ZERO "-1e30"

/* Seeds keep 53 bits, because in many languages JSON numbers are doubles. */
#define SEED_MASK ((UINT64_C(1) << 53) - 1)

/* ---- questions ------------------------------------------------------------------------------- */

static void put_text(spec_bytes *out, const char *text)
{
    spec_bytes_put(out, text, strlen(text));
}

static void put_ints(spec_bytes *out, const char *key, const int32_t *value, size_t n)
{
    if (key != NULL) spec_bytes_print(out, ",\"%s\":", key);
    put_text(out, "[");
    for (size_t i = 0; i < n; i++) spec_bytes_print(out, "%s%" PRId32, i > 0 ? "," : "", value[i]);
    put_text(out, "]");
}

static void put_longs(spec_bytes *out, const char *key, const uint64_t *value, size_t n)
{
    spec_bytes_print(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        spec_bytes_print(out, "%s%" PRIu64, i > 0 ? "," : "", value[i] & SEED_MASK);
    put_text(out, "]");
}

static void put_numbers(spec_bytes *out, const float *number, size_t n)
{
    put_text(out, "[");
    for (size_t i = 0; i < n; i++)
        spec_bytes_print(out, "%s%.9g", i > 0 ? "," : "", (double)number[i]);
    put_text(out, "]");
}

static void put_row(spec_bytes *out, const spec_fixture *f, bool draft, int state, uint32_t rows)
{
    const size_t n = (size_t)f->vocab;
    const float *row = (draft ? f->draft : f->target) + (size_t)state * n;
    if (rows != SPEC_ROWS_LOGITS) {
        put_numbers(out, row, n);
        return;
    }
    put_text(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0) put_text(out, ",");
        if (row[i] > 0.0f)
            spec_bytes_print(out, "%.9g", (double)spec_fixture_logit(f, draft, state, row[i]));
        else put_text(out, LOGIT_OF_ZERO);
    }
    put_text(out, "]");
}

static void put_rows(spec_bytes *out, const char *key, const spec_fixture *f, bool draft,
                     uint32_t rows)
{
    spec_bytes_print(out, ",\"%s\":[", key);
    for (int s = 0; s < f->n_states; s++) {
        if (s > 0) put_text(out, ",");
        put_row(out, f, draft, s, rows);
    }
    put_text(out, "]");
}

static void put_next(spec_bytes *out, const spec_fixture *f)
{
    put_text(out, ",\"next\":[");
    for (int s = 0; s < f->n_states; s++) {
        put_text(out, s > 0 ? ",[" : "[");
        for (int x = 0; x < f->vocab; x++)
            spec_bytes_print(out, "%s%d", x > 0 ? "," : "", spec_fixture_next(f, s, x));
        put_text(out, "]");
    }
    put_text(out, "]");
}

static const char *name_of_drawn(uint32_t drawn)
{
    return drawn == SPEC_DRAWN_FIXED ? "fixed" : drawn == SPEC_DRAWN_WITHOUT ? "without" : "iid";
}

static const char *name_of_scope(uint32_t scope)
{
    return scope == SPEC_SCOPE_VERIFY ? "V" : scope == SPEC_SCOPE_DRAFT ? "DV" : "S";
}

static int put_begin(spec_bytes *out, const spec_fixture *f, uint32_t scope, uint32_t rows,
                     spec_error *error)
{
    const uint32_t drawn = spec_protocol_drawn(f, scope);
    int32_t parent[SPEC_FIXTURE_NODES_MAX];
    for (int i = 0; i < f->n_nodes; i++) parent[i] = f->parent[i];
    spec_bytes_print(out, "{\"type\":\"begin\",\"scope\":\"%s\",\"drawn\":\"%s\"",
                     name_of_scope(scope), name_of_drawn(drawn));
    spec_bytes_print(out, ",\"vocab\":%d,\"n_states\":%d,\"n_nodes\":%d", f->vocab, f->n_states,
                     f->n_nodes);
    put_ints(out, "parent", parent, (size_t)f->n_nodes);
    spec_bytes_print(out,
                     ",\"temperature\":%.9g,\"top_k\":%" PRId32 ",\"top_p\":%.9g,\"min_p\":%.9g",
                     (double)f->sampling[0].temperature, f->sampling[0].top_k,
                     (double)f->sampling[0].top_p, (double)f->sampling[0].min_p);
    put_rows(out, "target", f, false, rows);
    if (drawn != SPEC_DRAWN_FIXED) put_rows(out, "draft", f, true, rows);
    if (scope == SPEC_SCOPE_STREAM) put_next(out, f);
    put_text(out, "}\n");
    return spec_bytes_status(out, error);
}

/* Writes a list of lists, one for each round: list i has length[i] + more numbers and begins at
 * value[i * stride]. */
static void put_lists(spec_bytes *out, const char *key, const int32_t *value, const int32_t *length,
                      int more, size_t stride, size_t n)
{
    spec_bytes_print(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i > 0) put_text(out, ",");
        put_ints(out, NULL, value + i * stride, (size_t)(length[i] + more));
    }
    put_text(out, "]");
}

static void put_steps(spec_bytes *out, const spec_question *q, const spec_round_batch *b)
{
    const size_t from = (size_t)q->from, n = (size_t)q->n, nodes = (size_t)b->nodes;
    const int32_t *length = b->n_nodes + from;
    spec_bytes_print(out, "{\"type\":\"steps\",\"serial\":%" PRIu32, q->serial);
    put_ints(out, "n_nodes", length, n);
    put_lists(out, "state", b->state + from * (nodes + 1), length, 1, nodes + 1, n);
    if (q->scope != SPEC_SCOPE_DRAFT)
        put_lists(out, "token", b->token + from * nodes, length, 0, nodes, n);
    put_longs(out, "request", b->request + from, n);
    put_longs(out, "seed", b->seed + from, n);
    put_longs(out, "offset", b->offset + from, n);
    if (b->coin != NULL) {
        const size_t coins = (size_t)b->n_coins;
        put_text(out, ",\"coin\":[");
        for (size_t i = 0; i < n; i++) {
            if (i > 0) put_text(out, ",");
            put_numbers(out, b->coin + (from + i) * coins, coins);
        }
        put_text(out, "]");
    }
    put_text(out, "}\n");
}

static void put_generate(spec_bytes *out, const spec_question *q, int start, int K, uint64_t seed)
{
    spec_bytes_print(out, "{\"type\":\"generate\",\"serial\":%" PRIu32 ",\"start\":%d,\"K\":%d",
                     q->serial, start, K);
    spec_bytes_print(out, ",\"n_tokens\":%d,\"seed\":%" PRIu64 "}\n", q->n, seed & SEED_MASK);
}

static void put_counters(spec_bytes *out, const spec_question *q)
{
    spec_bytes_print(out, "{\"type\":\"counters\",\"serial\":%" PRIu32 "}\n", q->serial);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int extent(size_t *ret, const spec_question *q, const char *bytes, size_t n,
                  spec_error *error)
{
    char shown[SPEC_PROTOCOL_SHOWN];
    const char *end = memchr(bytes, '\n', n);
    const size_t most = LINE_LEAST + LINE_PER_BYTE * q->most;
    *ret = end != NULL ? (size_t)(end - bytes) + 1 : 0;
    if ((end != NULL ? *ret : n) <= most) return GSL_SUCCESS;
    *ret = 0;
    return spec_fail(error, GSL_EFAILED,
                     "a line of more than %zu bytes came, longer than any answer: '%s'...", most,
                     spec_protocol_shown(shown, bytes, n));
}

/* Parses the line as the answer to the question; the caller frees it. */
static json_t *read_line(const spec_question *q, const char *answer, size_t n, spec_error *error)
{
    char shown[SPEC_PROTOCOL_SHOWN];
    json_error_t problem;
    json_t *line = spec_json_load(answer, n, JSON_REJECT_DUPLICATES, &problem);
    if (spec_json_lost()) {
        (void)spec_no_memory(error);
        return NULL;
    }
    const json_t *serial = json_object_get(line, "serial");
    if (json_is_integer(serial) && json_integer_value(serial) == (json_int_t)q->serial) return line;
    if (json_is_integer(serial))
        (void)spec_fail(error, GSL_EFAILED, "answer %lld came to question %u",
                        (long long)json_integer_value(serial), q->serial);
    else if (json_is_object(line))
        (void)spec_fail(error, GSL_EFAILED, "its answer has no \"serial\": '%s'",
                        spec_protocol_shown(shown, answer, n - 1));
    else
        (void)spec_fail(error, GSL_EFAILED,
                        "its answer is not a line of JSON, but '%s'; only answers may go to "
                        "standard output, other text belongs on standard error",
                        spec_protocol_shown(shown, answer, n - 1));
    json_decref(line);
    return NULL;
}

/* Returns the list under this key, which must have n items. */
static const json_t *list_of(const json_t *line, const char *key, int n, spec_error *error)
{
    const json_t *list = json_object_get(line, key);
    if (json_is_array(list) && json_array_size(list) == (size_t)n) return list;
    (void)spec_fail(error, GSL_EFAILED,
                    "its answer's \"%s\" must be a list of %d, one for each round", key, n);
    return NULL;
}

/* Integers beyond any token id are clamped: they stay out of range. */
static bool whole(int32_t *ret, const json_t *value)
{
    const json_int_t x = json_integer_value(value);
    *ret = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
    return json_is_integer(value);
}

/* Reads list number `round` of a list of lists: at most `most` integers into ret; *ret_n is the
 * length of the list. */
static int take_list(int32_t *ret, size_t *ret_n, const json_t *lists, const char *key, int round,
                     size_t most, spec_error *error)
{
    const json_t *list = json_array_get(lists, (size_t)round);
    const size_t n = *ret_n = json_array_size(list);
    bool good = json_is_array(list);
    int32_t value;
    for (size_t i = 0; i < n && good; i++) {
        good = whole(&value, json_array_get(list, i));
        if (i < most) ret[i] = value;
    }
    return good ? GSL_SUCCESS
                : spec_fail(error, GSL_EFAILED, "\"%s\" of round %d must be a list of tokens", key,
                            round);
}

static int take_round(spec_round_batch *b, const spec_question *q, int i, const json_t *emitted,
                      const json_t *accepted, const json_t *drafted, spec_error *error)
{
    const size_t places = (size_t)b->nodes + 1, at = (size_t)(q->from + i),
                 length = (size_t)b->n_nodes[at];
    int32_t token[SPEC_FIXTURE_NODES_MAX + 1] = {0}, n_accepted;
    size_t n;
    int status = take_list(token, &n, emitted, "emitted", i, places, error);
    if (status != GSL_SUCCESS) return status;
    n_accepted = (int32_t)n - 1;
    if (accepted != NULL && !whole(&n_accepted, json_array_get(accepted, (size_t)i)))
        return spec_fail(error, GSL_EFAILED, "\"accepted\" of round %d must be a whole number", i);
    spec_protocol_emit(b, (int)at, token, (int)n, n_accepted);
    if (drafted == NULL) return GSL_SUCCESS;
    status = take_list(b->token + at * (size_t)b->nodes, &n, drafted, "drafted", i, length, error);
    if (status == GSL_SUCCESS && n != length)
        return spec_fail(error, GSL_EFAILED,
                         "\"drafted\" of round %d has %zu tokens instead of %zu", i, n,
                         length);
    return status;
}

static int take_steps(spec_round_batch *b, const spec_question *q, const char *answer, size_t n,
                      spec_error *error)
{
    int status = GSL_EFAILED;
    const json_t *emitted, *accepted = NULL, *drafted = NULL;
    json_t *line = read_line(q, answer, n, error);
    if (line == NULL || (emitted = list_of(line, "emitted", q->n, error)) == NULL) goto done;
    if (json_object_get(line, "accepted") != NULL &&
        (accepted = list_of(line, "accepted", q->n, error)) == NULL)
        goto done;
    if (q->scope == SPEC_SCOPE_DRAFT && (drafted = list_of(line, "drafted", q->n, error)) == NULL)
        goto done;
    for (int i = 0; i < q->n; i++) SPEC_TRY(take_round(b, q, i, emitted, accepted, drafted, error));
done:
    json_decref(line);
    return status;
}

static int take_text(int32_t *token, const spec_question *q, const char *answer, size_t n,
                     spec_error *error)
{
    int status = GSL_EFAILED;
    json_t *line = read_line(q, answer, n, error);
    const json_t *list = json_object_get(line, "tokens");
    if (line == NULL) return status;
    bool good = json_array_size(list) == (size_t)q->n;
    for (int i = 0; i < q->n && good; i++) good = whole(&token[i], json_array_get(list, (size_t)i));
    status = good ? GSL_SUCCESS
                  : spec_fail(error, GSL_EFAILED,
                              "its answer's \"tokens\" must be a list of %d tokens", q->n);
    json_decref(line);
    return status;
}

static int take_counters(uint64_t ret[3], const spec_question *q, const char *answer, size_t n,
                         spec_error *error)
{
    static const char *const keys[] = {"drafted", "accepted", "emitted"};
    json_t *line = read_line(q, answer, n, error);
    bool good = line != NULL;
    if (line == NULL) return GSL_EFAILED;
    for (int i = 0; i < 3 && good; i++) {
        const json_t *value = json_object_get(line, keys[i]);
        good = json_is_integer(value) && json_integer_value(value) >= 0;
        ret[i] = good ? (uint64_t)json_integer_value(value) : 0;
    }
    json_decref(line);
    return good ? GSL_SUCCESS
                : spec_fail(error, GSL_EFAILED,
                            "its counters must be \"drafted\", \"accepted\" and \"emitted\"");
}

const spec_protocol spec_protocol_json = {
    .name = "json",
    .put_begin = put_begin,
    .put_steps = put_steps,
    .put_generate = put_generate,
    .put_counters = put_counters,
    .extent = extent,
    .take_steps = take_steps,
    .take_text = take_text,
    .take_counters = take_counters,
};
