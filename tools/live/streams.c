/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/streams.h"

#include <math.h>
#include <string.h>

static const spec_live_event nothing = {-1, false, NAN, NAN, NAN};

/* Makes the request for a stream with the keys of `body`. Takes ownership of it. */
static void ask(spec_http_request *ret, const spec_live_server *server, const char *path,
                json_t *body)
{
    spec_live_ask(ret, server, path, spec_live_joined(body, json_pack("{s:b}", "stream", 1)));
    ret->stream = true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Reads a whole number, which may be missing. */
static int read_count(double *ret, const json_t *object, const char *key, spec_error *error)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t n = json_integer_value(value);
    if (value == NULL || json_is_null(value)) return GSL_SUCCESS;
    if (!json_is_integer(value) || n < 0 || n > INT32_MAX)
        return spec_fail(error, GSL_EINVAL, "an event has no valid \"%s\"", key);
    *ret = (double)n;
    return GSL_SUCCESS;
}

static int read_tokens(int *ret, const json_t *object, const char *key, spec_error *error)
{
    double n = -1.0;
    const int status = read_count(&n, object, key, error);
    *ret = (int)n;
    return status;
}

/* Fails if the event is an error: {"error": "why"} or {"error": {"message": "why"}}. */
static int check_error(const json_t *event, spec_error *error)
{
    const json_t *wrong = json_object_get(event, "error");
    if (!json_is_object(event))
        return spec_fail(error, GSL_EINVAL, "an event is not a JSON object");
    if (wrong == NULL || json_is_null(wrong)) return GSL_SUCCESS;
    const char *why =
        json_string_value(json_is_string(wrong) ? wrong : json_object_get(wrong, "message"));
    return spec_fail(error, GSL_EFAILED, "the server ends a text with an error: %.200s",
                     why != NULL ? why : "it does not say which");
}

/* ---- llama-server ---------------------------------------------------------------------------- */

static void llama_ask(spec_http_request *ret, const spec_live_server *server, const char *prompt,
                      json_t *sampling, uint64_t seed, int K)
{
    json_t *body = json_pack("{s:s, s:b}", "prompt", prompt, "cache_prompt", 0);
    (void)seed;
    if (K >= 0) json_object_set_new(body, "speculative.n_max", json_integer(K));
    ask(ret, server, "/completion", spec_live_joined(body, sampling));
}

static int llama_read(spec_live_event *ret, const json_t *event, spec_error *error)
{
    const json_t *timings = json_object_get(event, "timings");
    int status = GSL_SUCCESS;
    *ret = nothing;
    SPEC_TRY(check_error(event, error));
    SPEC_TRY(read_tokens(&ret->tokens, event, "tokens_predicted", error));
    if (ret->tokens < 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "an event has no \"tokens_predicted\""));
    ret->ends = json_is_true(json_object_get(event, "stop"));
    if (!ret->ends) return status;
    if (!json_is_object(timings))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "the last event has no \"timings\""));
    ret->drafted = ret->accepted = 0.0; /* they are missing if nothing was drafted */
    SPEC_TRY(read_count(&ret->drafted, timings, "draft_n", error));
    SPEC_TRY(read_count(&ret->accepted, timings, "draft_n_accepted", error));
    if (ret->accepted > ret->drafted)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "\"draft_n_accepted\" is %.0f, more than \"draft_n\", %.0f",
                           ret->accepted, ret->drafted));
done:
    return status;
}

/* ---- vLLM ------------------------------------------------------------------------------------ */

/* The salt keeps prompts of earlier requests out of the prefix cache. */
static void vllm_ask(spec_http_request *ret, const spec_live_server *server, const char *prompt,
                     json_t *sampling, uint64_t seed, int K)
{
    char salt[40];
    (void)K;
    snprintf(salt, sizeof salt, "speclab %llx", (unsigned long long)seed);
    json_t *body = json_pack("{s:s, s:s, s:s, s:{s:b, s:b}}", "model", server->model, "prompt",
                             prompt, "cache_salt", salt, "stream_options", "include_usage", 1,
                             "continuous_usage_stats", 1);
    ask(ret, server, "/v1/completions", spec_live_joined(body, sampling));
}

static int vllm_read(spec_live_event *ret, const json_t *event, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = nothing;
    SPEC_TRY(check_error(event, error));
    SPEC_TRY(
        read_tokens(&ret->tokens, json_object_get(event, "usage"), "completion_tokens", error));
    if (ret->tokens < 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "an event has no \"usage\", although continuous_usage_stats asks for "
                           "it"));
done:
    return status;
}

/* ---- SGLang ---------------------------------------------------------------------------------- */

static void sglang_ask(spec_http_request *ret, const spec_live_server *server, const char *prompt,
                       json_t *sampling, uint64_t seed, int K)
{
    (void)seed;
    (void)K;
    ask(ret, server, "/generate",
        json_pack("{s:s, s:o}", "text", prompt, "sampling_params", sampling));
}

/* Each round emits a token more than it accepts, and the first token comes from the prefill. */
static int sglang_read(spec_live_event *ret, const json_t *event, spec_error *error)
{
    const json_t *about = json_object_get(event, "meta_info"),
                 *why = json_object_get(about, "finish_reason");
    int status = GSL_SUCCESS;
    *ret = nothing;
    SPEC_TRY(check_error(event, error));
    SPEC_TRY(read_tokens(&ret->tokens, about, "completion_tokens", error));
    if (ret->tokens < 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "an event has no \"completion_tokens\""));
    ret->ends = why != NULL && !json_is_null(why);
    if (!ret->ends) return status;
    ret->rounds = 0.0;
    SPEC_TRY(read_count(&ret->rounds, about, "spec_verify_ct", error));
    ret->accepted = ret->rounds > 0.0 ? fmax(ret->tokens - 1.0 - ret->rounds, 0.0) : 0.0;
done:
    return status;
}

static const spec_live_stream streams[] = {
    {"llama-server", true, true, false,
     "exec llama-server -m model.gguf -md draft.gguf --spec-type draft-simple --spec-draft-n-max K",
     llama_ask, llama_read},
    {"vLLM", false, false, true, "exec vllm serve MODEL --speculative-config '{...}'", vllm_ask,
     vllm_read},
    {"SGLang", true, false, true,
     "exec python3 -m sglang.launch_server --model MODEL --speculative-num-steps K", sglang_ask,
     sglang_read},
};

const spec_live_stream *spec_live_stream_of(const spec_live_server *server)
{
    const spec_live_stream *s = streams;
    while (strcmp(s->dialect, server->dialect->name) != 0) s++;
    return s;
}
