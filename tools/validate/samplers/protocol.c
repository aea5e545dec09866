/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/protocol.h"

#include "base/json_memory.h"
#include "base/names.h"
#include "speclab/no_memory.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

void *spec_bytes_more(spec_bytes *bytes, size_t n)
{
    if (n > bytes->capacity - bytes->n) {
        const size_t capacity = 2 * (bytes->n + n);
        char *at = realloc(bytes->at, capacity);
        bytes->failed = bytes->failed || at == NULL;
        if (at == NULL) return NULL;
        bytes->at = at;
        bytes->capacity = capacity;
    }
    bytes->n += n;
    return bytes->at + bytes->n - n;
}

void spec_bytes_put(spec_bytes *bytes, const void *from, size_t n)
{
    void *to = n > 0 ? spec_bytes_more(bytes, n) : NULL;
    if (to != NULL) memcpy(to, from, n);
}

void spec_bytes_print(spec_bytes *bytes, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    spec_bytes_put(bytes, text, (size_t)n);
}

int spec_bytes_status(const spec_bytes *bytes, spec_error *error)
{
    return bytes->failed
               ? spec_fail(error, GSL_ENOMEM, "out of memory for %zu bytes to a process", bytes->n)
               : GSL_SUCCESS;
}

const char *spec_protocol_shown(char buffer[SPEC_PROTOCOL_SHOWN], const char *bytes, size_t n)
{
    if (n > SPEC_PROTOCOL_SHOWN - 1) n = SPEC_PROTOCOL_SHOWN - 1;
    for (size_t i = 0; i < n; i++) buffer[i] = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.';
    buffer[n] = '\0';
    return buffer;
}

/* ---- questions ------------------------------------------------------------------------------- */

spec_question spec_protocol_question(uint32_t type, uint32_t serial, uint32_t scope, int from,
                                     int n, int nodes)
{
    spec_question question = {.type = type, .serial = serial, .scope = scope, .from = from, .n = n};
    const size_t rounds = (size_t)n, places = (size_t)nodes + 1;
    if (type == SPEC_FRAME_GENERATE) question.most = rounds * sizeof(int32_t);
    else if (type == SPEC_FRAME_COUNTERS) question.most = rounds * sizeof(uint64_t);
    else
        question.most = rounds * (2 + 5 * places) *
                        sizeof(int32_t); /* reads surplus tokens too, to be judged later */
    return question;
}

uint32_t spec_protocol_drawn(const spec_fixture *fixture, uint32_t scope)
{
    return scope == SPEC_SCOPE_VERIFY ? fixture->drawn : SPEC_DRAWN_IID;
}

void spec_protocol_emit(spec_round_batch *batch, int i, const void *token, int n_emitted,
                        int n_accepted)
{
    const int places = batch->nodes + 1, n = n_emitted < places ? n_emitted : places;
    if (n > 0)
        memcpy(batch->emitted + (size_t)i * (size_t)places, token,
               (size_t)n * sizeof *batch->emitted);
    batch->n_emitted[i] = n_emitted;
    batch->n_accepted[i] = n_accepted;
    batch->fault[i] = 0;
}

/* ---- hello ----------------------------------------------------------------------------------- */

/* Words of a list, and the bits they set. */
typedef struct {
    const char *word;
    uint32_t bit;
} word;

static const word scope_words[] = {
    {"V", SPEC_SCOPE_VERIFY}, {"DV", SPEC_SCOPE_DRAFT}, {"S", SPEC_SCOPE_STREAM}, {NULL, 0}};
static const word chain_words[] = {{"fixed", SPEC_DRAWN_FIXED}, {"iid", SPEC_DRAWN_IID}, {NULL, 0}};
static const word tree_words[] = {{"fixed", SPEC_DRAWN_FIXED}, {"iid", SPEC_DRAWN_IID},
                                  {"without", SPEC_DRAWN_WITHOUT}, {NULL, 0}};

static int refuse(spec_error *error, const char *key, const char *wanted)
{
    return spec_fail(error, GSL_EFAILED, "its hello is wrong: '%s' must be %s", key, wanted);
}

static uint32_t bit_of(const word *words, const json_t *item)
{
    for (; json_is_string(item) && words->word != NULL; words++)
        if (strcmp(words->word, json_string_value(item)) == 0) return words->bit;
    return 0;
}

static int read_list(uint32_t *ret, const json_t *hello, const char *key, const word *words,
                     const char *wanted, spec_error *error)
{
    const json_t *list = json_object_get(hello, key);
    const size_t n = json_array_size(list);
    if (list == NULL) return GSL_SUCCESS;
    if (!json_is_array(list) || (n == 0 && words != tree_words)) return refuse(error, key, wanted);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bit = bit_of(words, json_array_get(list, i));
        if (bit == 0) return refuse(error, key, wanted);
        *ret |= bit;
    }
    return GSL_SUCCESS;
}

static int read_flag(int32_t *ret, const json_t *hello, const char *key, spec_error *error)
{
    const json_t *value = json_object_get(hello, key);
    if (value != NULL && !json_is_boolean(value)) return refuse(error, key, "true or false");
    *ret = json_is_true(value);
    return GSL_SUCCESS;
}

static int read_most(int32_t *ret, const json_t *hello, const char *key, spec_error *error)
{
    const json_t *value = json_object_get(hello, key);
    if (value == NULL) return GSL_SUCCESS;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT32_MAX)
        return refuse(error, key, "a whole number from 0, any, to 2147483647");
    *ret = (int32_t)json_integer_value(value);
    return GSL_SUCCESS;
}

/* Reads one of two words; the first is the default. */
static int read_choice(bool *ret_second, const json_t *hello, const char *key, const char *first,
                       const char *second, spec_error *error)
{
    const json_t *value = json_object_get(hello, key);
    const char *text = value != NULL ? json_string_value(value) : first;
    *ret_second = text != NULL && strcmp(text, second) == 0;
    if (*ret_second || (text != NULL && strcmp(text, first) == 0)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "its hello is wrong: '%s' must be \"%s\" or \"%s\"", key,
                     first, second);
}

static int read_filters(char filters[64], const json_t *hello, spec_error *error)
{
    const json_t *value = json_object_get(hello, "filters");
    if (value == NULL) return GSL_SUCCESS;
    if (!json_is_string(value) || json_string_length(value) > 63)
        return refuse(error, "filters", "an order such as \"temperature,top_k,top_p,min_p\"");
    snprintf(filters, 64, "%s", json_string_value(value));
    return GSL_SUCCESS;
}

static int read_name(char name[64], const json_t *hello, spec_error *error)
{
    const json_t *value = json_object_get(hello, "name");
    if (value != NULL && json_string_length(value) == 0) return refuse(error, "name", "a string");
    snprintf(name, 64, "%s", value != NULL ? json_string_value(value) : "a process");
    for (char *c = name; *c != '\0'; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return GSL_SUCCESS;
}

static int read_hello(spec_hello *ret, const json_t *hello, spec_error *error)
{
    /* Without frames, larger vocabularies are only used if the hello gives max_vocab, because JSON
     * rows would be long lines. */
    enum { JSON_VOCAB = 1024 };
    spec_sampler_about *about = &ret->about;
    bool logits = false, binary = false;
    int32_t counters = 0;
    int status = GSL_SUCCESS;
    const json_t *version = json_object_get(hello, "speclab");
    if (!json_is_integer(version)) return refuse(error, "speclab", "the protocol's version, 1");
    if (json_integer_value(version) != SPEC_SAMPLER_ABI)
        return spec_fail(error, GSL_EFAILED,
                         "it speaks version %lld of the protocol, but this speclab speaks version "
                         "%d",
                         (long long)json_integer_value(version), SPEC_SAMPLER_ABI);
    about->size = sizeof *about;
    SPEC_TRY(read_name(about->name, hello, error));
    SPEC_TRY(read_list(&about->scopes, hello, "scopes", scope_words,
                       "a list of \"V\", \"DV\", \"S\"", error));
    if (about->scopes == 0)
        SPEC_TRY(refuse(error, "scopes", "there: a list of \"V\", \"DV\", \"S\""));
    SPEC_TRY(read_list(&about->chains, hello, "chains", chain_words, "a list of \"fixed\", \"iid\"",
                       error));
    SPEC_TRY(read_list(&about->trees, hello, "trees", tree_words,
                       "a list of \"fixed\", \"iid\", \"without\"", error));
    SPEC_TRY(read_choice(&logits, hello, "rows", "probabilities", "logits", error));
    SPEC_TRY(read_choice(&binary, hello, "frames", "json", "binary", error));
    SPEC_TRY(read_flag(&about->sampling, hello, "sampling", error));
    SPEC_TRY(read_filters(about->filters, hello, error));
    SPEC_TRY(read_flag(&about->coins, hello, "coins", error));
    SPEC_TRY(read_flag(&about->padding, hello, "padding", error));
    SPEC_TRY(read_flag(&about->seeded, hello, "seeded", error));
    SPEC_TRY(read_flag(&about->lossy, hello, "lossy", error));
    about->uniform = 1; /* `begin` has the parameters */
    SPEC_TRY(read_flag(&counters, hello, "counters", error));
    SPEC_TRY(read_most(&about->max_batch, hello, "max_batch", error));
    SPEC_TRY(read_most(&about->max_nodes, hello, "max_nodes", error));
    SPEC_TRY(read_most(&about->max_vocab, hello, "max_vocab", error));
    about->rows = logits ? SPEC_ROWS_LOGITS : SPEC_ROWS_PROBABILITIES;
    ret->protocol = binary ? &spec_protocol_binary : &spec_protocol_json;
    ret->counters = counters != 0;
    if (!binary && json_object_get(hello, "max_vocab") == NULL) about->max_vocab = JSON_VOCAB;
done:
    return status;
}

int spec_protocol_hello(spec_hello *ret, const char *line, size_t n, spec_error *error)
{
    char shown[SPEC_PROTOCOL_SHOWN];
    json_error_t problem;
    *ret = (spec_hello){.protocol = NULL};
    json_t *hello = spec_json_load(line, n, JSON_REJECT_DUPLICATES, &problem);
    if (spec_json_lost()) return spec_no_memory(error);
    if (!json_is_object(hello)) {
        json_decref(hello);
        return spec_fail(error, GSL_EFAILED,
                         "its first line on standard output is not a hello, but '%s'; only the "
                         "protocol may use standard output, other text belongs on standard error",
                         spec_protocol_shown(shown, line, n));
    }
    const int status = read_hello(ret, hello, error);
    json_decref(hello);
    if (status != GSL_SUCCESS) *ret = (spec_hello){.protocol = NULL};
    return status;
}
