/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/dialects.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far rounding may take a sum of probabilities above 1. */
static const double slightly = 1e-3;

static int bad(spec_error *error, const char *what)
{
    return spec_fail(error, GSL_EINVAL, "the answer has no valid %s", what);
}

/* ---- requests -------------------------------------------------------------------------------- */

void spec_live_ask(spec_http_request *ret, const spec_live_server *server, const char *path,
                   json_t *opt_body)
{
    snprintf(ret->url, sizeof ret->url, "%s%s", server->url, path);
    ret->opt_key = server->opt_key;
    ret->body = opt_body;
}

static json_t *list_of(const int32_t *token, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_integer(token[i]));
    return list;
}

json_t *spec_live_seed(uint64_t seed)
{
    return json_integer((json_int_t)(seed & 0x7fffffff));
}

json_t *spec_live_joined(json_t *object, json_t *more)
{
    json_object_update(object, more);
    json_decref(more);
    return object;
}

/* ---- answers --------------------------------------------------------------------------------- */

void spec_live_tokens_free(spec_live_tokens *tokens)
{
    free(tokens->token);
    *tokens = (spec_live_tokens){.token = NULL};
}

static bool is_id(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= INT32_MAX;
}

static int read_ids(spec_live_tokens *ret, const json_t *list, const char *what, spec_error *error)
{
    const size_t n = json_array_size(list);
    *ret = (spec_live_tokens){.token = NULL};
    if (!json_is_array(list) || n > SPEC_LIVE_TOKENS) return bad(error, what);
    for (size_t i = 0; i < n; i++)
        if (!is_id(json_array_get(list, i))) return bad(error, what);
    if ((ret->token = malloc((n + 1) * sizeof *ret->token)) == NULL) return spec_no_memory(error);
    ret->n = (int)n;
    for (size_t i = 0; i < n; i++)
        ret->token[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return GSL_SUCCESS;
}

static int compare_logs(const void *a, const void *b)
{
    const spec_live_candidate *x = a, *y = b;
    if (x->log != y->log) return x->log < y->log ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static int add_candidate(spec_live_place *place, const json_t *id, const json_t *log,
                         spec_error *error)
{
    const double x = json_is_null(log) ? SPEC_LIVE_LEAST_LOG : json_number_value(log);
    if (place->n == SPEC_LIVE_TOP || !is_id(id) || !(json_is_number(log) || json_is_null(log)) ||
        !(x <= slightly))
        return bad(error, "log-probabilities");
    place->top[place->n++] = (spec_live_candidate){(int32_t)json_integer_value(id),
                                                   fmin(fmax(x, SPEC_LIVE_LEAST_LOG), 0.0)};
    return GSL_SUCCESS;
}

/* Orders the candidates, and keeps the `top` most probable: some servers add the token of the text.
 * No token may occur twice, and the probabilities may sum to at most 1. */
static int close_place(spec_live_place *place, int top, spec_error *error)
{
    double sum = 0.0;
    if (place->n == 0) return bad(error, "list of the most probable tokens");
    qsort(place->top, (size_t)place->n, sizeof *place->top, compare_logs);
    if (place->n > top) place->n = top;
    place->unlisted = 0.0;
    for (int i = 0; i < place->n; i++) {
        sum += exp(place->top[i].log);
        for (int k = 0; k < i; k++)
            if (place->top[k].id == place->top[i].id)
                return bad(error, "list: a token occurs twice in it");
    }
    return sum <= 1.0 + slightly ? GSL_SUCCESS
                                 : bad(error, "list: its probabilities sum to more than 1");
}

/* ---- llama-server ---------------------------------------------------------------------------- */

static void llama_ask_tokens(spec_http_request *ret, const spec_live_server *server,
                             const char *prompt)
{
    spec_live_ask(ret, server, "/tokenize",
                  json_pack("{s:s, s:b}", "content", prompt, "add_special", 1));
}

json_t *spec_live_chat(const json_t *chat)
{
    static const char *const keys[] = {"prompt", "messages", "tools", "chat_template_kwargs", NULL};
    json_t *body = json_object();
    for (int i = 0; keys[i] != NULL; i++)
        if (json_object_get(chat, keys[i]) != NULL)
            json_object_set(body, keys[i], json_object_get(chat, keys[i]));
    return body;
}

static void llama_ask_chat(spec_http_request *ret, const spec_live_server *server,
                           const json_t *chat)
{
    spec_live_ask(ret, server, "/apply-template", spec_live_chat(chat));
}

static int llama_read_tokens(spec_live_tokens *ret, const json_t *answer, spec_error *error)
{
    return read_ids(ret, json_object_get(answer, "tokens"), "\"tokens\"", error);
}

enum { PENALTY_LAST = 64 }; /* the server's default */

static json_t *llama_sampling(const spec_live_sampling *sampling, uint64_t seed)
{
    const spec_transform *t = &sampling->transform;
    json_t *keys = json_pack("{s:i, s:f, s:i, s:f, s:f, s:[s,s,s,s], s:o}", "n_predict",
                             sampling->tokens, "temperature", t->temperature, "top_k", t->top_k,
                             "top_p", t->top_p, "min_p", t->min_p, "samplers", "top_k", "top_p",
                             "min_p", "temperature", "seed", spec_live_seed(seed));
    if (sampling->presence == 0.0 && sampling->frequency == 0.0) return keys;
    json_array_insert_new(json_object_get(keys, "samplers"), 0, json_string("penalties"));
    return spec_live_joined(keys,
                            json_pack("{s:f, s:f, s:f, s:i}", "presence_penalty",
                                      sampling->presence, "frequency_penalty", sampling->frequency,
                                      "repeat_penalty", 1.0, "repeat_last_n", PENALTY_LAST));
}

static void llama_ask_text(spec_http_request *ret, const spec_live_server *server,
                           const spec_live_tokens *prompt, const spec_live_sampling *sampling,
                           uint64_t seed)
{
    spec_live_ask(
        ret, server, "/completion",
        spec_live_joined(json_pack("{s:o, s:b, s:b, s:[s,s]}", "prompt",
                                   list_of(prompt->token, prompt->n), "return_tokens", 1,
                                   "cache_prompt", 1, "response_fields", "tokens", "stop_type"),
                         llama_sampling(sampling, seed)));
}

static int llama_read_text(spec_live_tokens *ret, const json_t *answer, spec_error *error)
{
    return read_ids(ret, json_object_get(answer, "tokens"), "\"tokens\"", error);
}

/* The next token is drawn and ignored. The server chooses the slot whose cache holds most of the
 * prefix. We do not choose one with id_slot, because requests that run at the same time would then
 * get wrong texts. */
static void llama_ask_scores(spec_http_request *ret, const spec_live_server *server,
                             const spec_live_tokens *tokens, int n_text, int top)
{
    (void)n_text;
    spec_live_ask(ret, server, "/completion",
                  json_pack("{s:o, s:i, s:i, s:b, s:i, s:[s], s:[s]}", "prompt",
                            list_of(tokens->token, tokens->n), "n_predict", 1, "n_probs", top,
                            "cache_prompt", 1, "seed", 1, "samplers", "temperature",
                            "response_fields", "completion_probabilities"));
}

static int llama_read_scores(spec_live_place *ret, int n_text, int top, const json_t *answer,
                             spec_error *error)
{
    const json_t *places = json_object_get(answer, "completion_probabilities"),
                 *list = json_object_get(json_array_get(places, 0), "top_logprobs");
    int status = GSL_SUCCESS;
    (void)n_text;
    ret->n = 0;
    if (!json_is_array(list) || (int)json_array_size(list) > top)
        return bad(error, "\"completion_probabilities\"");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        SPEC_TRY(add_candidate(ret, json_object_get(entry, "id"), json_object_get(entry, "logprob"),
                               error));
    }
    SPEC_TRY(close_place(ret, top, error));
done:
    return status;
}

/* ---- vLLM ------------------------------------------------------------------------------------ */

static void vllm_ask_tokens(spec_http_request *ret, const spec_live_server *server,
                            const char *prompt)
{
    spec_live_ask(ret, server, "/tokenize",
                  json_pack("{s:s, s:s}", "model", server->model, "prompt", prompt));
}

static void vllm_ask_chat(spec_http_request *ret, const spec_live_server *server,
                          const json_t *chat)
{
    spec_live_ask(
        ret, server, "/tokenize",
        spec_live_joined(json_pack("{s:s}", "model", server->model), spec_live_chat(chat)));
}

/* Serves vLLM and SGLang, which name two of the parameters differently. */
static json_t *sampling_of(const spec_live_sampling *sampling, const char *tokens_name,
                           const char *seed_name, uint64_t seed)
{
    const spec_transform *t = &sampling->transform;
    return json_pack("{s:i, s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:o}", tokens_name, sampling->tokens,
                     "temperature", t->temperature, "top_k", t->top_k > 0 ? t->top_k : -1, "top_p",
                     t->top_p, "min_p", t->min_p, "repetition_penalty", 1.0, "presence_penalty",
                     sampling->presence, "frequency_penalty", sampling->frequency, seed_name,
                     spec_live_seed(seed));
}

static json_t *vllm_sampling(const spec_live_sampling *sampling, uint64_t seed)
{
    return sampling_of(sampling, "max_tokens", "seed", seed);
}

static void vllm_ask_text(spec_http_request *ret, const spec_live_server *server,
                          const spec_live_tokens *prompt, const spec_live_sampling *sampling,
                          uint64_t seed)
{
    spec_live_ask(ret, server, "/v1/completions",
                  spec_live_joined(json_pack("{s:s, s:o, s:b, s:b}", "model", server->model,
                                             "prompt", list_of(prompt->token, prompt->n),
                                             "ignore_eos", 1, "return_token_ids", 1),
                                   vllm_sampling(sampling, seed)));
}

static int vllm_read_text(spec_live_tokens *ret, const json_t *answer, spec_error *error)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);
    return read_ids(ret, json_object_get(choice, "token_ids"),
                    "\"token_ids\": vLLM returns them since version 0.10.2", error);
}

static void vllm_ask_scores(spec_http_request *ret, const spec_live_server *server,
                            const spec_live_tokens *tokens, int n_text, int top)
{
    (void)n_text;
    spec_live_ask(ret, server, "/v1/completions",
                  json_pack("{s:s, s:o, s:i, s:f, s:i}", "model", server->model, "prompt",
                            list_of(tokens->token, tokens->n), "max_tokens", 1, "temperature", 0.0,
                            "prompt_logprobs", top));
}

/* {"token id": {"logprob": ..., "rank": ..., "decoded_token": ...}, ...} */
static int vllm_read_place(spec_live_place *ret, int top, const json_t *object, spec_error *error)
{
    const char *key;
    json_t *value;
    int status = GSL_SUCCESS;
    ret->n = 0;
    if (!json_is_object(object) || json_object_size(object) > (size_t)top + 1)
        return bad(error, "\"prompt_logprobs\"");
    json_object_foreach((json_t *)object, key, value)
    {
        char *end;
        const long id = strtol(key, &end, 10);
        json_t *number = *end == '\0' && end > key ? json_integer(id) : NULL;
        status = add_candidate(ret, number, json_object_get(value, "logprob"), error);
        json_decref(number);
        SPEC_TRY(status);
    }
    SPEC_TRY(close_place(ret, top, error));
done:
    return status;
}

static int vllm_read_scores(spec_live_place *ret, int n_text, int top, const json_t *answer,
                            spec_error *error)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0),
                 *list = json_object_get(choice, "prompt_logprobs");
    const size_t n = json_array_size(list), first = n - (size_t)n_text;
    int status = GSL_SUCCESS;
    if (n < (size_t)n_text) return bad(error, "\"prompt_logprobs\" for each token");
    for (int i = 0; i < n_text; i++)
        SPEC_TRY(vllm_read_place(&ret[i], top, json_array_get(list, first + (size_t)i), error));
done:
    return status;
}

/* ---- SGLang ---------------------------------------------------------------------------------- */

/* Asks for the scores of the prompt, because they contain its tokens. */
static void sglang_ask_tokens(spec_http_request *ret, const spec_live_server *server,
                              const char *prompt)
{
    spec_live_ask(ret, server, "/generate",
                  json_pack("{s:s, s:{s:i, s:f}, s:b, s:i}", "text", prompt, "sampling_params",
                            "max_new_tokens", 1, "temperature", 0.0, "return_logprob", 1,
                            "logprob_start_len", 0));
}

/* [[log-probability, token id, text or null], ...] */
static int sglang_read_triples(spec_live_tokens *ret, const json_t *answer, const char *key,
                               spec_error *error)
{
    const json_t *list = json_object_get(json_object_get(answer, "meta_info"), key);
    json_t *ids = json_array();
    *ret = (spec_live_tokens){.token = NULL};
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append(ids, json_array_get(json_array_get(list, i), 1));
    const bool whole = json_is_array(list) && json_array_size(ids) == json_array_size(list);
    const int status = whole ? read_ids(ret, ids, key, error) : bad(error, key);
    json_decref(ids);
    return status;
}

static int sglang_read_tokens(spec_live_tokens *ret, const json_t *answer, spec_error *error)
{
    return sglang_read_triples(ret, answer, "input_token_logprobs", error);
}

static json_t *sglang_sampling(const spec_live_sampling *sampling, uint64_t seed)
{
    return sampling_of(sampling, "max_new_tokens", "sampling_seed", seed);
}

static void sglang_ask_text(spec_http_request *ret, const spec_live_server *server,
                            const spec_live_tokens *prompt, const spec_live_sampling *sampling,
                            uint64_t seed)
{
    json_t *params =
        spec_live_joined(sglang_sampling(sampling, seed), json_pack("{s:b}", "ignore_eos", 1));
    spec_live_ask(ret, server, "/generate",
                  json_pack("{s:o, s:o, s:b}", "input_ids", list_of(prompt->token, prompt->n),
                            "sampling_params", params, "return_logprob", 1));
}

static int sglang_read_text(spec_live_tokens *ret, const json_t *answer, spec_error *error)
{
    return sglang_read_triples(ret, answer, "output_token_logprobs", error);
}

static void sglang_ask_scores(spec_http_request *ret, const spec_live_server *server,
                              const spec_live_tokens *tokens, int n_text, int top)
{
    const int before = tokens->n - n_text > 0 ? tokens->n - n_text - 1 : 0;
    spec_live_ask(ret, server, "/generate",
                  json_pack("{s:o, s:{s:i, s:f}, s:b, s:i, s:i}", "input_ids",
                            list_of(tokens->token, tokens->n), "sampling_params", "max_new_tokens",
                            1, "temperature", 0.0, "return_logprob", 1, "logprob_start_len", before,
                            "top_logprobs_num", top));
}

/* The lists begin at or before the text, and end with it. */
static int sglang_read_scores(spec_live_place *ret, int n_text, int top, const json_t *answer,
                              spec_error *error)
{
    const json_t *list =
        json_object_get(json_object_get(answer, "meta_info"), "input_top_logprobs");
    const size_t n = json_array_size(list), first = n - (size_t)n_text;
    int status = GSL_SUCCESS;
    if (n < (size_t)n_text) return bad(error, "\"input_top_logprobs\" for each token");
    for (int i = 0; i < n_text; i++) {
        const json_t *place = json_array_get(list, first + (size_t)i);
        ret[i].n = 0;
        if ((int)json_array_size(place) > top) return bad(error, "\"input_top_logprobs\"");
        for (size_t k = 0; k < json_array_size(place); k++) {
            const json_t *triple = json_array_get(place, k);
            SPEC_TRY(add_candidate(&ret[i], json_array_get(triple, 1), json_array_get(triple, 0),
                                   error));
        }
        SPEC_TRY(close_place(&ret[i], top, error));
    }
done:
    return status;
}

const spec_dialect spec_dialects[] = {
    {"llama-server", "llamacpp", "top_k,top_p,min_p,temperature", PENALTY_LAST, true, true,
     llama_sampling, llama_ask_tokens, llama_ask_text, llama_ask_scores, llama_read_tokens,
     llama_read_text, llama_read_scores, llama_ask_chat, NULL},
    {"vLLM", "vllm", "temperature,min_p,top_k,top_p", 0, false, false, vllm_sampling,
     vllm_ask_tokens, vllm_ask_text, vllm_ask_scores, llama_read_tokens, vllm_read_text,
     vllm_read_scores, vllm_ask_chat, llama_read_tokens},
    {"SGLang", "sglang", "temperature,top_k+top_p+min_p", 0, false, false, sglang_sampling,
     sglang_ask_tokens, sglang_ask_text, sglang_ask_scores, sglang_read_tokens, sglang_read_text,
     sglang_read_scores, vllm_ask_chat, llama_read_tokens},
    {.name = NULL},
};

/* ---- files ----------------------------------------------------------------------------------- */

int spec_live_open_capture(FILE **ret, bool *ret_old, const char *path, bool resume, bool force,
                           spec_error *error)
{
    *ret_old = false;
    *ret = fopen(path, force ? "w+" : "r+");
    if (*ret == NULL && errno == ENOENT && !force)
        *ret = fopen(path, "w+");
    else
        *ret_old = !force && *ret != NULL;
    if (*ret == NULL) return spec_fail(error, GSL_EFAILED, "%.200s: %s", path, strerror(errno));
    if (*ret_old && !resume)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s exists: --resume continues it, --force replaces it", path);
    return GSL_SUCCESS;
}

/* ---- what a server is ------------------------------------------------------------------------ */

/* Returns the model of this name, or the first one. */
static const json_t *find_model(const json_t *list, const char *opt_name, spec_error *error)
{
    char names[200] = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *model = json_array_get(list, i);
        const char *id = json_string_value(json_object_get(model, "id"));
        const size_t n = strlen(names);
        if (id == NULL || strlen(id) >= SPEC_LIVE_NAME) continue;
        if (opt_name == NULL || strcmp(id, opt_name) == 0) return model;
        if (n + strlen(id) + 3 < sizeof names)
            snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? ", " : "", id);
    }
    if (names[0] == '\0')
        spec_fail(error, GSL_EINVAL,
                  "this is not an inference server: /v1/models lacks the model's name");
    else
        spec_fail(error, GSL_EINVAL, "it has no model '%.100s', but %s", opt_name, names);
    return NULL;
}

int spec_live_read_models(spec_live_server *ret, const json_t *answer, const char *opt_name,
                          spec_error *error)
{
    const json_t *model = find_model(json_object_get(answer, "data"), opt_name, error);
    if (model == NULL) return GSL_EINVAL;
    const char *owner = json_string_value(json_object_get(model, "owned_by"));
    const json_t *vocab = json_object_get(json_object_get(model, "meta"), "n_vocab");
    ret->dialect = spec_dialects;
    while (ret->dialect->name != NULL && (owner == NULL || strcmp(ret->dialect->owner, owner) != 0))
        ret->dialect++;
    if (ret->dialect->name == NULL) ret->dialect = &spec_openai_dialect;
    snprintf(ret->model, sizeof ret->model, "%s", json_string_value(json_object_get(model, "id")));
    ret->vocab = is_id(vocab) ? (int)json_integer_value(vocab) : 0;
    return GSL_SUCCESS;
}

int spec_live_check_known(const spec_live_server *server, const char *what, spec_error *error)
{
    if (server->dialect != &spec_openai_dialect) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.200s: it is not a llama-server, vLLM or SGLang, and only these %s",
                     server->url, what);
}

int spec_live_blame(const spec_live_server *server, int status, spec_error *error)
{
    const spec_error why = *error;
    if (status == GSL_SUCCESS || status == GSL_ENOMEM) return status;
    return spec_fail(error, status, "%.200s: %.290s", server->url, why.text);
}

static int read_slots(spec_live_server *server, const spec_http_work *how, spec_error *error)
{
    spec_http_request request = {.body = NULL};
    json_t *answer;
    spec_live_ask(&request, server, "/props", NULL);
    const int status = spec_http_ask(&answer, &request, how, error);
    const json_t *slots = json_object_get(answer, "total_slots");
    if (is_id(slots)) server->slots = (int)json_integer_value(slots);
    json_decref(answer);
    return status;
}

/* Returns whether text of n bytes is a port. */
static bool is_port(const char *text, size_t n)
{
    const bool digits = n >= 1 && n <= 5 && strspn(text, "0123456789") >= n;
    const long port = digits ? strtol(text, NULL, 10) : 0;
    return port >= 1 && port <= 65535;
}

int spec_live_url_check(const char *url, spec_error *error)
{
    const size_t scheme = strncmp(url, "http://", 7) == 0    ? 7
                          : strncmp(url, "https://", 8) == 0 ? 8
                                                             : 0;
    const char *host = url + scheme;
    const size_t n = strcspn(host, "/");
    bool good = scheme > 0 && strlen(url) < sizeof((spec_live_server *)0)->url;
    if (strchr(url, '@') != NULL)
        return spec_fail(error, GSL_EINVAL,
                         "an address has no '@', since user and password would be kept with the "
                         "results: give an API key by the option for it");
    for (const char *c = url; *c != '\0'; c++)
        good = good && (unsigned char)*c > ' ' && *c != 127 && strchr("?#\\\"<>", *c) == NULL;
    const size_t name = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    good = good && name >= 1 && name <= n && (*host != '[' || name >= 4) &&
           (name == n || (host[name] == ':' && is_port(host + name + 1, n - name - 1)));
    if (good) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "'%.200s' is not an address such as http://localhost:8000",
                     url);
}

int spec_live_open(spec_live_server *ret, const char *url, const char *opt_model,
                   const char *opt_key, const spec_http_work *how, spec_error *error)
{
    spec_http_request request = {.body = NULL};
    json_t *answer = NULL;
    size_t n = strlen(url);
    int status = GSL_SUCCESS;
    *ret = (spec_live_server){.opt_key = opt_key};
    while (n > 0 && url[n - 1] == '/') n--;
    if (n >= 3 && strncmp(url + n - 3, "/v1", 3) == 0) n -= 3;
    SPEC_PASS(spec_live_url_check(url, error));
    snprintf(ret->url, sizeof ret->url, "%.*s", (int)n, url);
    spec_live_ask(&request, ret, "/v1/models", NULL);
    SPEC_TRY(spec_http_ask(&answer, &request, how, error));
    if (answer == NULL) SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
    if ((status = spec_live_read_models(ret, answer, opt_model, error)) != GSL_SUCCESS) {
        spec_live_blame(ret, status, error);
        goto done;
    }
    if (ret->dialect->by_prefix) SPEC_TRY(read_slots(ret, how, error));
done:
    json_decref(answer);
    return status;
}
