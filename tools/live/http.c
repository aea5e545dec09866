/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/http.h"

#include "base/clock.h"
#include "base/json_memory.h"
#include "base/stop_flag.h"
#include "base/utf8.h"
#include "speclab/no_memory.h"
#include "tools/live/curl_functions.h"
#include "tools/live/events.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
#define NUMBER(name, number) name = number,
    SPEC_CURL_NUMBERS(NUMBER)
#undef NUMBER
};

/* An answer takes at most this much, and its values this much memory. */
enum { ANSWER_BYTES = 1 << 26, ANSWER_MEMORY = 1 << 29, POLL_MS = 100, CONNECT_S = 20 };
static const size_t stream_bytes = (size_t)1 << 30;
static const double longest_pause = 30.0;

typedef struct {
    void *easy;
    spec_curl_list *headers;
    spec_http_request request;
    char *sent; /* the body, as text */
    char *bytes;
    size_t n, capacity;
    bool busy, over, too_long, no_memory;
    int tries;
    double not_before; /* monotonic seconds of the next try; 0: none is due */
    char why[CURL_ERROR_SIZE];
    /* of a stream: time of the last event, and what is wrong with it */
    spec_events events;
    size_t streamed;
    double heard;
    int status;
    spec_error wrong;
    struct client *client;
} lane;

typedef struct client {
    const spec_http_work *work;
    spec_curl curl;
    void *multi;
    lane *lane; /* (lanes) */
} client;

/* Loads libcurl; it stays loaded. */
static int load(spec_curl *ret, spec_error *error)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (int i = 0; i < 2 && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return spec_fail(error, GSL_EUNSUP,
                         "libcurl.so.4 cannot be loaded; Debian and Ubuntu call it libcurl4");
#define FUNCTION(result, name, parameters)                                                         \
    *(void **)&ret->name = dlsym(library, "curl_" #name);                                          \
    if (ret->name == NULL)                                                                         \
        return spec_fail(error, GSL_EUNSUP, "libcurl is too old: it has no curl_" #name);
    SPEC_CURL_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return GSL_SUCCESS;
}

/* ---- what arrives ---------------------------------------------------------------------------- */

/* Replaces bytes that are not valid UTF-8 by question marks. Returns whether there were any. */
static bool make_valid(char *text, size_t n)
{
    bool changed = false;
    for (size_t i = 0; i < n;) {
        uint32_t code;
        const size_t length = spec_utf8_decode(&code, (const unsigned char *)text + i, n - i);
        if (code == SPEC_UTF8_INVALID) {
            memset(text + i, '?', length);
            changed = true;
        }
        i += length;
    }
    return changed;
}

/* A token may be a zero byte. */
static const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;

/* Parses the data of an event, which ends with a zero byte. */
static json_t *parse_event(const char *data, size_t n, json_error_t *why)
{
    json_t *event = spec_json_load_within(ANSWER_MEMORY, data, n, flags, why);
    if (event != NULL || spec_json_lost()) return event;
    char *valid = malloc(n + 1);
    if (valid == NULL) return NULL;
    memcpy(valid, data, n);
    if (make_valid(valid, n)) event = spec_json_load_within(ANSWER_MEMORY, valid, n, flags, why);
    free(valid);
    return event;
}

static int take_event(void *self, const char *data, size_t n, spec_error *error)
{
    lane *l = self;
    client *c = l->client;
    const int i = (int)(l - c->lane);
    json_error_t why = {.text = ""};
    l->heard = spec_clock_monotonic();
    if (strcmp(data, "[DONE]") == 0) return c->work->event(c->work->self, i, NULL, l->heard, error);
    json_t *event = parse_event(data, n, &why);
    if (event == NULL && spec_json_lost()) return spec_no_memory(error);
    if (event == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: an event of the stream is not valid JSON: %.120s, byte %d",
                         l->request.url, n == 0 ? "it is empty" : why.text, why.position);
    const int status = c->work->event(c->work->self, i, event, l->heard, error);
    json_decref(event);
    return status;
}

static size_t keep_events(lane *l, const char *bytes, size_t n)
{
    l->streamed += n;
    if (l->streamed > stream_bytes)
        l->status = spec_fail(&l->wrong, GSL_EINVAL, "%.200s: the stream is longer than %zu MiB",
                              l->request.url, stream_bytes >> 20);
    else
        l->status = spec_events_add(&l->events, bytes, n, take_event, l, &l->wrong);
    if (l->status == GSL_EINVAL && strncmp(l->wrong.text, "http", 4) != 0) {
        const spec_error said = l->wrong;
        spec_fail(&l->wrong, l->status, "%.200s: %.290s", l->request.url, said.text);
    }
    return l->status == GSL_SUCCESS ? n : 0;
}

static size_t keep_bytes(char *bytes, size_t size, size_t n, void *self)
{
    lane *l = self;
    const size_t more = size * n;
    long code = 0;
    if (l->request.stream) l->client->curl.easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &code);
    if (code == 200) return keep_events(l, bytes, more);
    if (l->n + more > ANSWER_BYTES) {
        l->too_long = true;
        return 0;
    }
    if (l->n + more + 1 > l->capacity) {
        const size_t capacity = 2 * (l->n + more + 1);
        char *grown = realloc(l->bytes, capacity);
        if (grown == NULL) {
            l->no_memory = true;
            return 0;
        }
        l->bytes = grown;
        l->capacity = capacity;
    }
    memcpy(l->bytes + l->n, bytes, more);
    l->n += more;
    return more;
}

static void release_request(lane *l)
{
    if (l->headers != NULL) l->client->curl.slist_free_all(l->headers);
    json_decref(l->request.body);
    free(l->sent);
    l->headers = NULL;
    l->request.body = NULL;
    l->sent = NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int add_header(lane *l, const char *header, spec_error *error)
{
    spec_curl_list *more = l->client->curl.slist_append(l->headers, header);
    if (more == NULL) return spec_no_memory(error);
    l->headers = more;
    return GSL_SUCCESS;
}

static int add_headers(lane *l, spec_error *error)
{
    const char *key = l->request.opt_key;
    int status = GSL_SUCCESS;
    SPEC_TRY(add_header(l,
                        l->request.stream ? "Accept: text/event-stream"
                        : l->request.text ? "Accept: text/plain"
                                          : "Accept: application/json",
                        error));
    if (l->sent != NULL) SPEC_TRY(add_header(l, "Content-Type: application/json", error));
    if (key == NULL) return status;
    char *line = malloc(strlen(key) + sizeof "Authorization: Bearer ");
    if (line == NULL) return spec_no_memory(error);
    stpcpy(stpcpy(line, "Authorization: Bearer "), key);
    status = add_header(l, line, error);
    free(line);
done:
    return status;
}

static int start(client *c, lane *l, spec_error *error)
{
    const spec_http_work *work = c->work;
    const spec_curl *curl = &c->curl;
    void *easy = l->easy;
    l->n = 0;
    l->too_long = l->no_memory = false;
    l->not_before = 0.0;
    *l->why = '\0';
    spec_events_reset(&l->events);
    l->streamed = 0;
    l->status = GSL_SUCCESS;
    l->heard = spec_clock_monotonic();
    curl->easy_reset(easy); /* keeps the connection */
    curl->easy_setopt(easy, CURLOPT_URL, l->request.url);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, l->why);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_bytes);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, l);
    curl->easy_setopt(easy, CURLOPT_PRIVATE, l);
    curl->easy_setopt(easy, CURLOPT_HTTPHEADER, l->headers);
    if (!l->request.stream)
        curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, lround(1000.0 * work->timeout));
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    if (l->sent != NULL) {
        curl->easy_setopt(easy, CURLOPT_POST, 1L);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDS, l->sent);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (int64_t)strlen(l->sent));
    }
    if (curl->multi_add_handle(c->multi, easy) != CURLM_OK) return spec_no_memory(error);
    l->busy = true;
    if (l->request.stream)
        work->sent(work->self, (int)(l - c->lane), spec_clock_monotonic(), l->tries > 0);
    return GSL_SUCCESS;
}

static int start_next(client *c, int i, spec_error *error)
{
    lane *l = &c->lane[i];
    int status = GSL_SUCCESS;
    release_request(l);
    l->request = (spec_http_request){.body = NULL};
    l->tries = 0;
    l->over = !c->work->next(c->work->self, i, &l->request);
    if (l->over) return status;
    if (l->request.body != NULL && (l->sent = json_dumps(l->request.body, JSON_COMPACT)) == NULL)
        return spec_no_memory(error);
    SPEC_TRY(add_headers(l, error));
    SPEC_TRY(start(c, l, error));
done:
    return status;
}

/* ---- an answer ------------------------------------------------------------------------------- */

/* Decides whether another try may help, and when it is due. A busy server may say how long to
 * wait. */
static bool tries_again(client *c, lane *l, int result, long code)
{
    const bool busy = result == CURLE_OK && (code == 429 || code == 503);
    const bool lost = result == CURLE_GOT_NOTHING || result == CURLE_SEND_ERROR ||
                      (result == CURLE_RECV_ERROR && l->streamed == 0);
    int64_t after = 0;
    if (++l->tries >= c->work->tries || !(busy || lost)) return false;
    double pause = ldexp(c->work->pause, l->tries - 1);
    c->curl.easy_getinfo(l->easy, CURLINFO_RETRY_AFTER, &after);
    if (busy && after > 0) pause = fmax(pause, (double)after);
    l->not_before = spec_clock_monotonic() + fmin(pause, longest_pause);
    return true;
}

/* Writes what the server says about its error: {"error": {"message": ...}}, or the first bytes. */
static int fail_code(const lane *l, long code, spec_error *error)
{
    json_error_t why;
    json_t *root = spec_json_load_within(ANSWER_MEMORY, l->bytes, l->n, 0, &why);
    const json_t *wrong = json_object_get(root, "error"),
                 *said = json_is_string(wrong) ? wrong : json_object_get(wrong, "message");
    if (said == NULL) said = json_object_get(root, "message");
    const char *text = json_string_value(said);
    const int n = l->n < 160 ? (int)l->n : 160;
    const int status = spec_fail(
        error, GSL_EFAILED, "%.200s: the server answers with status %ld: %.*s%s", l->request.url,
        code, text != NULL ? 200 : n, text != NULL ? text : (l->n > 0 ? l->bytes : ""),
        code == 429 || code == 503 ? "; it stayed busy" : "");
    json_decref(root);
    return status;
}

static int fail_transfer(const client *c, const lane *l, int result, spec_error *error)
{
    if (l->no_memory) return spec_no_memory(error);
    if (l->status != GSL_SUCCESS) {
        *error = l->wrong;
        return l->status;
    }
    if (l->too_long)
        return spec_fail(error, GSL_EINVAL, "%.200s: the answer is longer than %d MiB",
                         l->request.url, ANSWER_BYTES >> 20);
    if (result == CURLE_PARTIAL_FILE)
        return spec_fail(error, GSL_EFAILED, "%.200s: the %s is truncated", l->request.url,
                         l->request.stream ? "stream" : "answer");
    if (result == CURLE_OPERATION_TIMEDOUT)
        return spec_fail(error, GSL_EFAILED, "%.200s: no answer within %g s", l->request.url,
                         c->work->timeout);
    return spec_fail(error, GSL_EFAILED, "%.200s: %.200s", l->request.url,
                     *l->why != '\0' ? l->why : c->curl.easy_strerror(result));
}

static int end_stream(client *c, int i, spec_error *error)
{
    const lane *l = &c->lane[i];
    if (spec_events_unfinished(&l->events))
        return spec_fail(error, GSL_EFAILED, "%.200s: the stream is truncated within an event",
                         l->request.url);
    return c->work->take(c->work->self, i, NULL, error);
}

static int take_answer(client *c, int i, spec_error *error)
{
    lane *l = &c->lane[i];
    json_error_t why;
    if (l->request.stream) return end_stream(c, i, error);
    json_t *answer = l->request.text
                         ? spec_json_string(l->n > 0 ? l->bytes : "", l->n)
                         : spec_json_load_within(ANSWER_MEMORY, l->bytes, l->n, flags, &why);
    if (answer == NULL && l->request.text) return spec_no_memory(error);
    if (spec_json_lost()) return spec_no_memory(error);
    if (answer == NULL)
        return spec_fail(error, GSL_EINVAL, "%.200s: the answer is not valid JSON: %.120s, byte %d",
                         l->request.url, l->n == 0 ? "it is empty" : why.text, why.position);
    const int status = c->work->take(c->work->self, i, answer, error);
    json_decref(answer);
    return status;
}

static int end_request(client *c, lane *l, int result, spec_error *error)
{
    const int i = (int)(l - c->lane);
    long code = 0;
    int status = GSL_SUCCESS;
    c->curl.multi_remove_handle(c->multi, l->easy);
    l->busy = false;
    c->curl.easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &code);
    if (tries_again(c, l, result, code)) return status;
    if (result != CURLE_OK) return fail_transfer(c, l, result, error);
    if (code != 200) return fail_code(l, code, error);
    SPEC_TRY(take_answer(c, i, error));
    SPEC_TRY(start_next(c, i, error));
done:
    return status;
}

/* ---- all lanes ------------------------------------------------------------------------------- */

static int end_requests(client *c, spec_error *error)
{
    spec_curl_message *message;
    int left, status = GSL_SUCCESS;
    while (status == GSL_SUCCESS && (message = c->curl.multi_info_read(c->multi, &left)) != NULL) {
        lane *l = NULL;
        if (message->message != CURLMSG_DONE) continue;
        c->curl.easy_getinfo(message->easy, CURLINFO_PRIVATE, &l);
        status = end_request(c, l, message->data.result, error);
    }
    return status;
}

/* Starts the tries that are due; *ret_left tells whether any lane has work left. */
static int start_due(client *c, bool *ret_left, spec_error *error)
{
    const double now = spec_clock_monotonic();
    int status = GSL_SUCCESS;
    *ret_left = false;
    for (int i = 0; i < c->work->lanes; i++) {
        lane *l = &c->lane[i];
        if (!l->over) *ret_left = true;
        if (!l->over && !l->busy && l->not_before > 0.0 && l->not_before <= now)
            SPEC_TRY(start(c, l, error));
    }
done:
    return status;
}

/* Fails if a stream has been silent for too long: no whole event has come. */
static int check_silence(const client *c, spec_error *error)
{
    const double now = spec_clock_monotonic();
    for (int i = 0; i < c->work->lanes; i++) {
        const lane *l = &c->lane[i];
        if (l->busy && l->request.stream && now - l->heard > c->work->timeout)
            return spec_fail(error, GSL_EFAILED, "%.200s: no event within %g s%s", l->request.url,
                             c->work->timeout,
                             l->streamed > 0 ? ", although the stream has not ended" : "");
    }
    return GSL_SUCCESS;
}

static int run(client *c, spec_error *error)
{
    bool left = true;
    int running, status = GSL_SUCCESS;
    for (int i = 0; i < c->work->lanes; i++) {
        c->lane[i].client = c;
        if ((c->lane[i].easy = c->curl.easy_init()) == NULL) return spec_no_memory(error);
        SPEC_TRY(start_next(c, i, error));
    }
    while (!spec_stop_is_set(c->work->opt_stop)) {
        SPEC_TRY(start_due(c, &left, error));
        if (!left) break;
        if (c->curl.multi_perform(c->multi, &running) != CURLM_OK) return spec_no_memory(error);
        SPEC_TRY(end_requests(c, error));
        SPEC_TRY(check_silence(c, error));
        if (running > 0 || left)
            c->curl.multi_poll(c->multi, NULL, 0, running > 0 ? POLL_MS : 20, NULL);
    }
done:
    return status;
}

int spec_http_run(const spec_http_work *work, spec_error *error)
{
    client c = {.work = work};
    int status = GSL_SUCCESS;
    SPEC_TRY(load(&c.curl, error));
    c.multi = c.curl.multi_init();
    c.lane = calloc((size_t)work->lanes, sizeof *c.lane);
    if (c.multi == NULL || c.lane == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(run(&c, error));
done:
    for (int i = 0; i < work->lanes && c.lane != NULL; i++) {
        lane *l = &c.lane[i];
        if (l->busy) c.curl.multi_remove_handle(c.multi, l->easy);
        if (l->easy != NULL) c.curl.easy_cleanup(l->easy);
        release_request(l);
        spec_events_free(&l->events);
        free(l->bytes);
    }
    if (c.multi != NULL) c.curl.multi_cleanup(c.multi);
    free(c.lane);
    return status;
}

/* ---- one request ----------------------------------------------------------------------------- */

typedef struct {
    const spec_http_request *request;
    bool asked;
    json_t *answer;
} single;

static bool next_single(void *self, int lane_number, spec_http_request *ret)
{
    single *s = self;
    (void)lane_number;
    if (s->asked) return false;
    *ret = *s->request;
    return s->asked = true;
}

static int take_single(void *self, int lane_number, const json_t *answer, spec_error *error)
{
    single *s = self;
    (void)lane_number;
    s->answer = json_deep_copy(answer);
    return s->answer != NULL ? GSL_SUCCESS : spec_fail(error, GSL_ENOMEM, "out of memory");
}

int spec_http_ask(json_t **ret_answer, const spec_http_request *request, const spec_http_work *how,
                  spec_error *error)
{
    single s = {.request = request};
    spec_http_work work = *how;
    work.lanes = 1;
    work.next = next_single;
    work.take = take_single;
    work.self = &s;
    const int status = spec_http_run(&work, error);
    *ret_answer = s.answer;
    return status;
}
