/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_responses.h"

#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_MAX = SPEC_TRACE_RESPONSE_TOP_MAX };

/* Servers write this log-probability, or a smaller one, for a token that is improbable or
 * impossible, so its value is unknown. sum_off: how much the probabilities of a list may exceed 1
 * in total. */
static const double unknown_log = -9999.0, sum_off = 1e-3;

/* For functions with responses `s` and an error. */
#define BAD(...) spec_text_lines_bad(&s->in->text, error, __VA_ARGS__)

/* ---- forms of a response --------------------------------------------------------------------- */

/* The parts of a choice with its text and the lists of its tokens. */
typedef struct {
    const json_t *content;               /* chat: one object per token */
    const json_t *tokens, *logs, *lists; /* completions: three lists with one value per token */
} choice_tokens;

static const json_t *body_of(const json_t *root)
{
    const json_t *body = json_object_get(json_object_get(root, "response"), "body");
    return body != NULL ? body : root; /* a line of a batch wraps the response */
}

bool spec_trace_responses_are(const json_t *root)
{
    return json_is_array(json_object_get(body_of(root), "choices"));
}

static const json_t *choice_of(const spec_trace_responses *s, size_t i)
{
    return json_array_get(json_object_get(body_of(s->root), "choices"), i);
}

static choice_tokens tokens_of(const json_t *choice)
{
    const json_t *logprobs = json_object_get(choice, "logprobs");
    return (choice_tokens){.content = json_object_get(logprobs, "content"),
                           .tokens = json_object_get(logprobs, "tokens"),
                           .logs = json_object_get(logprobs, "token_logprobs"),
                           .lists = json_object_get(logprobs, "top_logprobs")};
}

static size_t count_of(const choice_tokens *t)
{
    return json_array_size(json_is_array(t->content) ? t->content : t->tokens);
}

/* Returns the text of a choice: of a completion, a chat, or a chunk of either; or NULL. */
static const char *text_of(const json_t *choice)
{
    static const char *const parts[] = {"message", "delta"};
    const json_t *text = json_object_get(choice, "text");
    for (int i = 0; i < 2 && text == NULL; i++)
        text = json_object_get(json_object_get(choice, parts[i]), "content");
    return json_string_value(text);
}

static const char *token_text(const choice_tokens *t, size_t i)
{
    return json_string_value(json_is_array(t->content)
                                 ? json_object_get(json_array_get(t->content, i), "token")
                                 : json_array_get(t->tokens, i));
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* A text that ended by itself must list the token that ended it. Otherwise the tokens listed are
 * those that did not end it, and have another law. An end token is listed if the text does not end
 * with the text of its last token. A stop string ends with a token that is listed. */
static int check_end(const spec_trace_responses *s, const json_t *choice, const choice_tokens *t,
                     spec_error *error)
{
    const char *why = json_string_value(json_object_get(choice, "finish_reason"));
    const char *text = text_of(choice), *last;
    const size_t n = count_of(t);
    if (why == NULL || strcmp(why, "stop") != 0) return GSL_SUCCESS;
    if (json_is_string(json_object_get(choice, "stop_reason"))) return GSL_SUCCESS;
    last = n > 0 ? token_text(t, n - 1) : "";
    if (text == NULL) text = "";
    const size_t size = strlen(text), end = last != NULL ? strlen(last) : 0;
    const bool ends = end > 0 && size >= end && strcmp(text + size - end, last) == 0;
    if (n > 0 && !ends) return GSL_SUCCESS;
    return BAD("the text ended by itself, and its last token is not listed: without it the others "
               "have a different distribution; ask with \"ignore_eos\": true");
}

/* Checks a list that may be null or missing. */
static int check_list(const spec_trace_responses *s, const char *key, const json_t *list,
                      spec_error *error)
{
    if (list == NULL || json_is_null(list) || json_is_array(list)) return GSL_SUCCESS;
    return BAD("\"%s\" is not a list", key);
}

static int check_choice(const spec_trace_responses *s, const json_t *choice, spec_error *error)
{
    const choice_tokens t = tokens_of(choice);
    const char *text = text_of(choice);
    const bool chat = json_is_array(t.content), completion = json_is_array(t.tokens);
    if (!json_is_object(choice)) return BAD("a choice is not a JSON object");
    if (!chat && !completion &&
        (text != NULL ? *text == '\0' : json_is_object(json_object_get(choice, "delta"))))
        return check_end(s, choice, &t, error); /* the first or last chunk of a stream */
    if (!chat && !completion)
        return BAD("a choice has no log-probabilities: ask a chat for \"logprobs\": true, "
                   "\"top_logprobs\": 20, and a completion for \"logprobs\": 20");
    if (!chat && json_array_size(t.logs) != json_array_size(t.tokens))
        return BAD("\"tokens\" has %zu entries, \"token_logprobs\" %zu", json_array_size(t.tokens),
                   json_array_size(t.logs));
    if (!chat && check_list(s, "top_logprobs", t.lists, error) != GSL_SUCCESS) return GSL_EINVAL;
    if (!chat && t.lists != NULL && !json_is_null(t.lists) &&
        json_array_size(t.lists) != json_array_size(t.tokens))
        return BAD("\"tokens\" has %zu entries, \"top_logprobs\" %zu", json_array_size(t.tokens),
                   json_array_size(t.lists));
    return check_end(s, choice, &t, error);
}

int spec_trace_responses_begin(spec_trace_responses *s, json_t *root, spec_error *error)
{
    const json_t *wrong = json_object_get(body_of(root), "error"),
                 *said = json_object_get(wrong, "message");
    int status = GSL_SUCCESS;
    spec_trace_responses_free(s);
    s->root = root;
    s->choice = s->token = 0;
    if (json_is_object(wrong))
        return BAD("the server answered with an error: %.200s",
                   json_is_string(said) ? json_string_value(said) : "it has no message");
    if (!spec_trace_responses_are(root)) return BAD("\"choices\" is missing, or not a list");
    for (size_t i = 0; choice_of(s, i) != NULL; i++)
        SPEC_TRY(check_choice(s, choice_of(s, i), error));
done:
    return status;
}

void spec_trace_responses_free(spec_trace_responses *s)
{
    json_decref(s->root);
    s->root = NULL;
}

/* ---- lists of the most probable tokens ------------------------------------------------------- */

static int check_bytes(const spec_trace_responses *s, const json_t *bytes, spec_error *error)
{
    if (check_list(s, "bytes", bytes, error) != GSL_SUCCESS) return GSL_EINVAL;
    for (size_t i = 0; i < json_array_size(bytes); i++) {
        const json_t *byte = json_array_get(bytes, i);
        if (!json_is_integer(byte) || json_integer_value(byte) < 0 ||
            json_integer_value(byte) > 255)
            return BAD("\"bytes\" is not a list of bytes, 0 to 255");
    }
    return GSL_SUCCESS;
}

/* Includes the bytes: tokens with different bytes may share a text, as parts of a character. */
static uint64_t key_of(const char *text, const json_t *bytes)
{
    uint64_t key = spec_rng_named_seed(0, text);
    for (size_t i = 0; i < json_array_size(bytes); i++)
        key = (key ^ (uint64_t)json_integer_value(json_array_get(bytes, i))) * 0x100000001b3u;
    return key;
}

static int read_candidate(spec_trace_candidate *ret, const spec_trace_responses *s,
                          const char *text, const json_t *bytes, const json_t *log,
                          spec_error *error)
{
    if (text == NULL) return BAD("a token has no text");
    if (json_is_null(log))
        return BAD("the token '%.40s' has no log-probability: leave out \"echo\": true, since the "
                   "tokens of a prompt were not drawn",
                   text);
    if (check_bytes(s, bytes, error) != GSL_SUCCESS) return GSL_EINVAL;
    ret->key = key_of(text, bytes);
    return spec_trace_line_log(&ret->log, s->in, "logprob", log, error);
}

/* Reads the list of likely tokens at a position; *ret_n is its length, 0 if it is not given. */
static int read_list(int *ret_n, spec_trace_responses *s, const choice_tokens *t, size_t at,
                     spec_error *error)
{
    const char *text;
    json_t *list, *log;
    int status = GSL_SUCCESS;
    *ret_n = 0;
    if (json_is_array(t->content)) {
        list = json_object_get(json_array_get(t->content, at), "top_logprobs");
        SPEC_TRY(check_list(s, "top_logprobs", list, error));
        if (json_array_size(list) > TOP_MAX)
            return BAD("a list has %zu tokens; at most %d are allowed", json_array_size(list),
                       TOP_MAX);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *entry = json_array_get(list, i);
            SPEC_TRY(read_candidate(
                &s->top[i], s, json_string_value(json_object_get(entry, "token")),
                json_object_get(entry, "bytes"), json_object_get(entry, "logprob"), error));
            *ret_n = (int)i + 1;
        }
        return status;
    }
    list = json_array_get(t->lists, at);
    if (list != NULL && !json_is_null(list) && !json_is_object(list))
        return BAD("an entry of \"top_logprobs\" is not an object");
    if (json_object_size(list) > TOP_MAX)
        return BAD("a list has %zu tokens; at most %d are allowed", json_object_size(list),
                   TOP_MAX);
    json_object_foreach(list, text, log)
        SPEC_TRY(read_candidate(&s->top[(*ret_n)++], s, text, NULL, log, error));
done:
    return status;
}

static int compare_logs(const void *a, const void *b)
{
    const spec_trace_candidate *x = a, *y = b;
    return (x->log < y->log) - (x->log > y->log);
}

static int compare_keys(const void *a, const void *b)
{
    const spec_trace_candidate *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Returns the number of candidates whose probability is known whatever token was emitted, in order
 * of their keys; *ret_least is a bound below all of them. Servers differ in what they do with an
 * emitted token that is not among the k most probable: they append it, or it replaces the last one.
 * So if the least probable token of a list is the emitted one, it tells nothing. Among equal tokens
 * the choice is the server's, so only those above the last known value count. */
static int known_candidates(double *ret_least, spec_trace_responses *s, int n, double emitted,
                            spec_error *error)
{
    qsort(s->top, (size_t)n, sizeof *s->top, compare_logs);
    const int rank = n > 0 && !(emitted > s->top[n - 1].log) ? n - 1 : n;
    int known = 0;
    *ret_least = INFINITY;
    if (n == 0 && s->n_rank == 0) return 0;
    if (s->n_rank == 0) { /* the first list only says how long they are */
        s->n_rank = rank - 1;
        return 0;
    }
    if (rank < s->n_rank) {
        BAD("a list has %d tokens, and those before had %d: always ask for the same number", n,
            s->n_rank + 1);
        return -1;
    }
    if (s->n_rank < 1) return 0;
    *ret_least = s->top[s->n_rank - 1].log;
    while (known < s->n_rank && s->top[known].log > *ret_least) known++;
    qsort(s->top, (size_t)known, sizeof *s->top, compare_keys);
    return known;
}

/* Makes the cells of the candidates, one for equal keys. Returns their number, and their sum. */
static int make_cells(double *ret_sum, spec_trace_responses *s, int known, uint64_t emitted,
                      int *ret_cell)
{
    double shift = -INFINITY;
    int n = 0;
    *ret_sum = 0.0;
    for (int i = 0; i < known; i++) shift = fmax(shift, s->top[i].log);
    if (s->temperature == 1.0) shift = 0.0; /* otherwise only ratios count, and none may overflow */
    *ret_cell = -1;
    for (int i = 0; i < known; i++) {
        const double chance = exp((s->top[i].log - shift) / s->temperature);
        *ret_sum += chance;
        if (i > 0 && s->top[i].key == s->top[i - 1].key) {
            s->chance[n - 1] += chance;
            continue;
        }
        if (s->top[i].key == emitted) *ret_cell = n;
        s->id[n] = n;
        s->chance[n++] = chance;
    }
    return n;
}

/* At another temperature, only the law among the cells is known. Tokens outside them do not count:
 * whether a token is in a cell depends on the token, but given that it is, its law is that of the
 * cells. */
static int use_cells(spec_trace_responses *s, spec_trace_record *ret, int n, int cell, double sum,
                     double least, spec_error *error)
{
    const bool drawn_at_1 = s->temperature == 1.0;
    if (drawn_at_1) {
        if (!(sum <= 1.0 + sum_off)) return BAD("a list sums to %g, more than 1", sum);
        if (1.0 - sum > exp(least) * SPEC_TRACE_VOCAB_MAX + sum_off)
            return BAD("a list sums to %g, and no other token may have more than %g: these are not "
                       "the most probable ones",
                       sum, exp(least));
        if (cell < 0) cell = n;
        const double rest = fmax(1.0 - sum, 1e-6), logged = exp(ret->target_log);
        if (cell == n && logged > rest + sum_off)
            return BAD("the token has a chance of %.4g, and those outside its list %.4g", logged,
                       rest);
        s->id[n] = -1;
        s->chance[n++] = rest;
        sum += rest;
    }
    if (cell < 0 || n < 2 || !(sum > 0.0)) return GSL_SUCCESS;
    for (int i = 0; i < n; i++) s->chance[i] /= sum;
    ret->n_cells = n;
    ret->id = s->id;
    ret->target = s->chance;
    ret->cell = ret->token = cell;
    return GSL_SUCCESS;
}

static int read_token(spec_trace_responses *s, spec_trace_record *ret, const choice_tokens *t,
                      size_t at, spec_error *error)
{
    const json_t *entry = json_array_get(t->content, at);
    const bool chat = json_is_array(t->content);
    spec_trace_candidate emitted;
    int n, known, cell, status = GSL_SUCCESS;
    double least, sum;
    SPEC_TRY(read_candidate(&emitted, s, token_text(t, at), json_object_get(entry, "bytes"),
                            chat ? json_object_get(entry, "logprob") : json_array_get(t->logs, at),
                            error));
    if (!(emitted.log > unknown_log)) emitted.log = -INFINITY;
    if (s->temperature == 1.0 && !isinf(emitted.log)) ret->target_log = emitted.log;
    SPEC_TRY(read_list(&n, s, t, at, error));
    if ((known = known_candidates(&least, s, n, emitted.log, error)) < 0) return GSL_EINVAL;
    if (known == 0) return status;
    const bool among = emitted.log > least;
    n = make_cells(&sum, s, known, emitted.key, &cell);
    if (among && cell < 0)
        return BAD("the token '%.40s' is more probable than the last ones of its list, which does "
                   "not contain it",
                   token_text(t, at));
    SPEC_TRY(use_cells(s, ret, n, among ? cell : -1, sum, least, error));
done:
    return status;
}

int spec_trace_responses_next(spec_trace_responses *s, spec_trace_record *ret, uint64_t *ret_text,
                              bool *ret_end, spec_error *error)
{
    char line[24];
    const json_t *choice, *id = json_object_get(body_of(s->root), "id");
    choice_tokens t;
    for (;; s->choice++, s->token = 0) {
        choice = choice_of(s, s->choice);
        *ret_end = choice == NULL;
        if (*ret_end) return GSL_SUCCESS;
        t = tokens_of(choice);
        if (s->token < count_of(&t)) break;
    }
    snprintf(line, sizeof line, "%llu", (unsigned long long)s->in->text.number);
    *ret_text =
        spec_rng_named_seed(s->choice, json_is_string(id) ? json_string_value(id) : line) | 1;
    const size_t at = s->token++;
    s->ends = s->token == count_of(&t) && json_is_string(json_object_get(choice, "finish_reason"));
    return read_token(s, ret, &t, at, error);
}
