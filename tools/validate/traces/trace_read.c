/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_read.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/validate/traces/trace_responses.h"
#include "tools/validate/traces/trace_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TEXTS = 1 << 10 }; /* texts allocated at first */

/* Fields that an engine may log for accepted tokens but not for corrections. */
enum { THING_TARGET_LOG, THING_DRAFT, THING_ROW, THINGS };

/* A form of a file, recognised by its first line. */
typedef struct {
    bool (*is)(const json_t *first);
    int (*begin)(spec_trace_reader *reader, json_t *first, spec_error *error); /* owns `first` */
    int (*next)(spec_trace_reader *reader, spec_trace_record *ret, bool *ret_end,
                spec_error *error);
} trace_format;

struct spec_trace_reader {
    spec_trace_line in;
    const trace_format *format;
    spec_trace_responses responses;
    spec_trace_head head;
    spec_trace_rows rows;
    spec_trace_text *text;      /* (text_places) hash table; key 0: free */
    size_t text_places, n_texts;
    uint64_t judged[2],
        /* numbers of corrections and of accepted tokens; how many of these have each field */
        there[2][THINGS];
};

/* For functions with a reader r and an error. */
#define BAD(...) spec_text_lines_bad(&r->in.text, error, __VA_ARGS__)

/* Returns the index of a key in its list, or -1. */
static int key_of(const char *key, const char *const *keys)
{
    for (int i = 0; keys[i] != NULL; i++)
        if (strcmp(key, keys[i]) == 0) return i;
    return -1;
}

/* ---- the head -------------------------------------------------------------------------------- */

enum {
    HEAD_TRACE,
    HEAD_ENGINE,
    HEAD_VOCAB,
    HEAD_ROWS,
    HEAD_TEMPERATURE,
    HEAD_TOP_K,
    HEAD_TOP_P,
    HEAD_MIN_P,
    HEAD_FILTERS,
    HEAD_PRECISION,
    HEAD_SAMPLED,
    HEAD_LOSSY
};
static const char *const head_keys[] = {
    "speclab_trace", "engine",  "vocab",     "rows",    "temperature", "top_k", "top_p",
    "min_p",         "filters", "precision", "sampled", "lossy",       NULL};

static int read_head_value(spec_trace_reader *r, const char *key, const json_t *value,
                           spec_error *error)
{
    spec_trace_head *head = &r->head;
    spec_transform *transform = &head->transform;
    const char *text = json_string_value(value);
    int64_t whole = 0;
    spec_error why;
    int status = GSL_SUCCESS;
    switch (key_of(key, head_keys)) {
    case HEAD_TRACE: status = spec_trace_line_whole(&whole, &r->in, key, value, 1, 1, error); break;
    case HEAD_ENGINE:
        if (text == NULL) return BAD("\"engine\" is not a text");
        snprintf(head->name, sizeof head->name, "%s", text);
        break;
    case HEAD_VOCAB:
        status = spec_trace_line_whole(&whole, &r->in, key, value, 1, SPEC_TRACE_VOCAB_MAX, error);
        head->vocab = (int)whole;
        break;
    case HEAD_ROWS:
        head->logprobs = text != NULL && strcmp(text, "logprobs") == 0;
        if (text == NULL || (!head->logprobs && strcmp(text, "probabilities") != 0))
            return BAD("\"rows\" must be \"probabilities\" or \"logprobs\"");
        break;
    case HEAD_TEMPERATURE:
        status = spec_trace_line_real(&transform->temperature, &r->in, key, value, 0.0, 1e9, error);
        break;
    case HEAD_TOP_K:
        status = spec_trace_line_whole(&whole, &r->in, key, value, 0, SPEC_TRACE_VOCAB_MAX, error);
        transform->top_k = (int)whole;
        break;
    case HEAD_TOP_P:
        status = spec_trace_line_real(&transform->top_p, &r->in, key, value, 0.0, 1.0, error);
        break;
    case HEAD_MIN_P:
        status = spec_trace_line_real(&transform->min_p, &r->in, key, value, 0.0, 1.0, error);
        break;
    case HEAD_FILTERS:
        if (text == NULL)
            return BAD("\"filters\" must be an order such as \"temperature,top_k,top_p,min_p\"");
        if (spec_filter_order_parse(&head->filters, text, &why) != GSL_SUCCESS)
            return BAD("%s", why.text);
        head->orders = true;
        break;
    case HEAD_PRECISION:
        status = spec_trace_line_real(&head->precision, &r->in, key, value, 0.0, 0.1, error);
        break;
    case HEAD_SAMPLED:
        status = spec_trace_line_bool(&head->sampled, &r->in, key, value, error);
        break;
    case HEAD_LOSSY: status = spec_trace_line_bool(&head->lossy, &r->in, key, value, error); break;
    default: status = spec_trace_line_unknown(&r->in, key, head_keys, error);
    }
    return status;
}

static bool is_head(const json_t *first)
{
    return json_object_get(first, "speclab_trace") != NULL;
}

static int read_head(spec_trace_reader *r, json_t *root, spec_error *error)
{
    const char *key, *missing;
    json_t *value;
    int status = GSL_SUCCESS;
    json_object_foreach(root, key, value) SPEC_TRY(read_head_value(r, key, value, error));
    if (r->head.vocab == 0) SPEC_TRY(BAD("\"vocab\" is missing: how many tokens there are"));
    if (!spec_filter_order_covers(&r->head.filters, &r->head.transform, &missing))
        SPEC_TRY(BAD("\"%s\" is given, and \"filters\" leaves it out", missing));
    spec_trace_line_limit(&r->in, r->head.vocab, 2 * SPEC_TRACE_TOP_MAX);
done:
    json_decref(root);
    return status;
}

/* A server names its model but not the size of its vocabulary, so the largest one is a bound. */
static int begin_responses(spec_trace_reader *r, json_t *first, spec_error *error)
{
    const char *model = json_string_value(json_object_get(first, "model"));
    snprintf(r->head.name, sizeof r->head.name, "%s", model != NULL ? model : "");
    r->head.vocab = SPEC_TRACE_VOCAB_MAX;
    r->responses.in = &r->in;
    r->responses.temperature = 1.0;
    return spec_trace_responses_begin(&r->responses, first, error);
}

static int next_record(spec_trace_reader *r, spec_trace_record *ret, bool *ret_end,
                       spec_error *error);
static int next_of_response(spec_trace_reader *r, spec_trace_record *ret, bool *ret_end,
                            spec_error *error);

static const trace_format formats[] = {
    {is_head, read_head, next_record},
    {spec_trace_responses_are, begin_responses, next_of_response},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static int read_first(spec_trace_reader *r, spec_error *error)
{
    json_t *first = NULL;
    bool end = false;
    int i = 0, status = GSL_SUCCESS;
    r->head = (spec_trace_head){
        .precision = 1e-6, .transform = SPEC_TRANSFORM_NONE, .filters = SPEC_FILTER_ORDER_JOINT};
    SPEC_TRY(spec_trace_line_next(&r->in, &end, error));
    if (!end) SPEC_TRY(spec_trace_line_parse(&first, &r->in, error));
    while (i < FORMATS && (end || !formats[i].is(first))) i++;
    if (i < FORMATS) {
        r->format = &formats[i];
        return r->format->begin(r, first, error);
    }
    status = BAD("a trace begins with a line like {\"speclab_trace\": 1, \"vocab\": 32000}, or is "
                 "a server's responses, {\"choices\": ...}, one per line");
done:
    json_decref(first);
    return status;
}

int spec_trace_read_temperature(spec_trace_reader *r, double temperature, spec_error *error)
{
    if (r->responses.root == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "%.150s: a temperature is for a server's responses: the head of this "
                         "trace says it",
                         r->in.text.name);
    r->responses.temperature = temperature;
    return GSL_SUCCESS;
}

int spec_trace_read_open(spec_trace_reader **ret, FILE *file, const char *name, spec_error *error)
{
    spec_trace_reader *r = *ret = calloc(1, sizeof *r);
    if (r == NULL) return spec_no_memory(error);
    r->in = spec_trace_line_of(file, name);
    r->rows.in = &r->in;
    r->rows.head = &r->head;
    r->text_places = FIRST_TEXTS;
    r->text = calloc(r->text_places, sizeof *r->text);
    const int status = r->text != NULL ? read_first(r, error) : spec_no_memory(error);
    if (status == GSL_SUCCESS) return status;
    spec_trace_read_close(r);
    *ret = NULL;
    return status;
}

void spec_trace_read_close(spec_trace_reader *r)
{
    if (r == NULL) return;
    spec_trace_line_free(&r->in);
    spec_trace_rows_free(&r->rows);
    spec_trace_responses_free(&r->responses);
    free(r->text);
    free(r);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static spec_trace_text *place_of(spec_trace_text *text, size_t places, uint64_t key)
{
    size_t i = (size_t)key & (places - 1);
    while (text[i].key != 0 && text[i].key != key) i = (i + 1) & (places - 1);
    return &text[i];
}

static int find_text(spec_trace_text **ret, spec_trace_reader *r, uint64_t key, spec_error *error)
{
    *ret = place_of(r->text, r->text_places, key);
    if ((*ret)->key == key) return GSL_SUCCESS;
    if (r->n_texts == SPEC_TRACE_REQUESTS_MAX)
        return BAD("more than %d requests: split the trace", SPEC_TRACE_REQUESTS_MAX);
    if (2 * (r->n_texts + 1) > r->text_places) {
        spec_trace_text *more = calloc(2 * r->text_places, sizeof *more);
        if (more == NULL) return spec_no_memory(error);
        for (size_t i = 0; i < r->text_places; i++)
            if (r->text[i].key != 0)
                *place_of(more, 2 * r->text_places, r->text[i].key) = r->text[i];
        free(r->text);
        r->text = more;
        r->text_places *= 2;
        *ret = place_of(r->text, r->text_places, key);
    }
    **ret = (spec_trace_text){
        .key = key, .position = -1, .pit = -1.0f, .before = -1.0f, .place = -1, .accepted = -1};
    r->n_texts++;
    return GSL_SUCCESS;
}

/* Reads a request, which is a number or a string. */
static int read_request(uint64_t *ret, const spec_trace_reader *r, const json_t *value,
                        spec_error *error)
{
    char digits[32];
    const char *text = json_string_value(value);
    if (text == NULL && !json_is_integer(value))
        return BAD("\"request\" is not a whole number or a text");
    if (text == NULL) snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
    *ret = spec_rng_named_seed(text != NULL, text != NULL ? text : digits) | 1;
    return GSL_SUCCESS;
}

static int go_on(spec_trace_reader *r, spec_trace_text *text, int64_t position, spec_error *error)
{
    const int64_t due = text->position + 1;
    if (position < 0) position = due;
    if (text->position >= 0 && position != due) {
        if (position < due)
            return BAD("position %lld comes after %lld in the same request", (long long)position,
                       (long long)text->position);
        if (!r->head.sampled)
            return BAD(
                "position %lld comes after %lld: no token may be missing, unless the head says "
                "\"sampled\": true, which means that positions were left out whatever their tokens",
                (long long)position, (long long)text->position);
        text->place = text->accepted = -1;
    }
    text->position = position;
    return GSL_SUCCESS;
}

/* ---- records --------------------------------------------------------------------------------- */

enum {
    KEY_REQUEST,
    KEY_POSITION,
    KEY_TOKEN,
    KEY_TARGET_LOG,
    KEY_DRAFT_LOG,
    KEY_TARGET,
    KEY_DRAFT,
    KEY_TARGET_TOP,
    KEY_DRAFT_TOP,
    KEY_DRAFTED,
    KEY_ACCEPTED,
    KEY_COIN
};
static const char *const record_keys[] = {
    "request",    "position",  "token",   "target_logprob", "draft_logprob", "target", "draft",
    "target_top", "draft_top", "drafted", "accepted",       "coin",          NULL};

/* Reads the value of a key; null counts as not given. */
static int read_value(spec_trace_reader *r, spec_trace_record *ret, uint64_t *request,
                      int64_t *position, const char *key, const json_t *value, spec_error *error)
{
    spec_trace_rows *rows = &r->rows;
    const int which = key_of(key, record_keys);
    int64_t whole = 0;
    bool flag = false;
    int status = GSL_SUCCESS;
    if (which < 0) return spec_trace_line_unknown(&r->in, key, record_keys, error);
    if (json_is_null(value)) return GSL_SUCCESS;
    switch (which) {
    case KEY_REQUEST: return read_request(request, r, value, error);
    case KEY_POSITION:
        return spec_trace_line_whole(position, &r->in, key, value, 0, INT64_C(1) << 53, error);
    case KEY_TOKEN: /* a token outside the vocabulary is a fault of the engine, not of the trace */
        status = spec_trace_line_whole(&whole, &r->in, key, value, INT64_MIN, INT64_MAX, error);
        ret->token = whole >= 0 && whole < r->head.vocab ? (int32_t)whole : -1;
        return status;
    case KEY_TARGET_LOG: return spec_trace_line_log(&ret->target_log, &r->in, key, value, error);
    case KEY_DRAFT_LOG: return spec_trace_line_log(&ret->draft_log, &r->in, key, value, error);
    case KEY_TARGET: return spec_trace_rows_whole(rows, &rows->target, key, value, error);
    case KEY_DRAFT: return spec_trace_rows_whole(rows, &rows->draft, key, value, error);
    case KEY_TARGET_TOP: return spec_trace_rows_top(rows, &rows->target, key, value, error);
    case KEY_DRAFT_TOP: return spec_trace_rows_top(rows, &rows->draft, key, value, error);
    case KEY_DRAFTED:
        status = spec_trace_line_whole(&whole, &r->in, key, value, 0, r->head.vocab - 1, error);
        ret->drafted = (int32_t)whole;
        return status;
    case KEY_ACCEPTED:
        status = spec_trace_line_bool(&flag, &r->in, key, value, error);
        ret->accepted = flag;
        return status;
    default: return spec_trace_line_real(&ret->coin, &r->in, key, value, 0.0, 1.0, error);
    }
}

/* If only one kind of token has a field, its presence depends on the token: its law is unknown. */
static void note_things(spec_trace_reader *r, const spec_trace_record *record)
{
    if (record->accepted < 0 || record->drafted < 0) return;
    uint64_t *there = r->there[record->accepted];
    r->judged[record->accepted]++;
    if (!isnan(record->target_log)) there[THING_TARGET_LOG]++;
    if (!isnan(record->draft_log) || record->draft != NULL) there[THING_DRAFT]++;
    if (record->n_cells > 0) there[THING_ROW]++;
}

static int check_things(const spec_trace_reader *r, spec_error *error)
{
    static const char *const names[THINGS] = {"the target's log-probability", "the draft's side",
                                              "the target's row"};
    for (int k = 0; k < THINGS; k++)
        for (int a = 0; a < 2; a++)
            if (r->judged[a] > 0 && r->there[a][k] == r->judged[a] && r->judged[1 - a] > 0 &&
                r->there[1 - a][k] == 0)
                return spec_fail(error, GSL_EINVAL,
                                 "%.150s: %s is logged for each %s, and for no %s: whether it is "
                                 "logged must not depend on the token",
                                 r->in.text.name, names[k], a ? "accepted token" : "correction",
                                 a ? "correction" : "accepted token");
    return GSL_SUCCESS;
}

static int next_of_response(spec_trace_reader *r, spec_trace_record *ret, bool *ret_end,
                            spec_error *error)
{
    spec_trace_responses *responses = &r->responses;
    uint64_t text = 0;
    json_t *root = NULL;
    bool end = true;
    int status = GSL_SUCCESS;
    *ret_end = false;
    for (;;) {
        SPEC_TRY(spec_trace_responses_next(responses, ret, &text, &end, error));
        if (!end) break;
        SPEC_TRY(spec_trace_line_next(&r->in, ret_end, error));
        if (*ret_end) return status;
        SPEC_TRY(spec_trace_line_parse(&root, &r->in, error));
        SPEC_TRY(spec_trace_responses_begin(responses, root, error));
    }
    SPEC_TRY(find_text(&ret->text, r, text, error));
    if (ret->text->ended)
        return BAD("a response occurs twice, and counts once: remove the copy, or the requests "
                   "that have the id of another");
    ret->text->ended = responses->ends;
    SPEC_TRY(go_on(r, ret->text, -1, error));
done:
    return status;
}

static int next_record(spec_trace_reader *r, spec_trace_record *ret, bool *ret_end,
                       spec_error *error)
{
    uint64_t request = 1;
    int64_t position = -1;
    const char *key;
    json_t *root = NULL, *value;
    int status = GSL_SUCCESS;
    spec_trace_rows_reset(&r->rows);
    SPEC_TRY(spec_trace_line_next(&r->in, ret_end, error));
    if (*ret_end) return check_things(r, error);
    SPEC_TRY(spec_trace_line_parse(&root, &r->in, error));
    if (!json_is_integer(json_object_get(root, "token")))
        SPEC_TRY(BAD("\"token\" is missing, or not a whole number"));
    json_object_foreach(root, key, value)
        SPEC_TRY(read_value(r, ret, &request, &position, key, value, error));
    if (ret->accepted == 1 && ret->drafted < 0) ret->drafted = ret->token;
    SPEC_TRY(spec_trace_rows_use(&r->rows, ret, error));
    note_things(r, ret);
    SPEC_TRY(find_text(&ret->text, r, request, error));
    SPEC_TRY(go_on(r, ret->text, position, error));
done:
    json_decref(root);
    return status;
}

int spec_trace_read_next(spec_trace_reader *r, spec_trace_record *ret, bool *ret_end,
                         spec_error *error)
{
    *ret = (spec_trace_record){
        .target_log = NAN, .draft_log = NAN, .drafted = -1, .accepted = -1, .coin = NAN};
    return r->format->next(r, ret, ret_end, error);
}

const spec_trace_head *spec_trace_read_head(const spec_trace_reader *r)
{
    return &r->head;
}

uint64_t spec_trace_read_line(const spec_trace_reader *r)
{
    return r->in.text.number;
}

uint64_t spec_trace_read_texts(const spec_trace_reader *r)
{
    return r->n_texts;
}
