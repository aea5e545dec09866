/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/dialects.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- requests -------------------------------------------------------------------------------- */

int spec_openai_prompt(spec_live_tokens *ret, const json_t *line, spec_error *error)
{
    json_t *kept = spec_live_chat(line);
    char *text = json_dumps(kept, JSON_COMPACT | JSON_SORT_KEYS);
    const size_t n = text != NULL ? strlen(text) : 0;
    int status = GSL_SUCCESS;
    *ret = (spec_live_tokens){.token = NULL};
    if (text == NULL || (ret->token = malloc((n + 1) * sizeof *ret->token)) == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (size_t i = 0; i < n; i++) ret->token[i] = (unsigned char)text[i];
    ret->n = (int)n;
done:
    free(text);
    json_decref(kept);
    return status;
}

/* Returns the object of spec_openai_prompt; NULL if out of memory. */
static json_t *object_of(const spec_live_tokens *prompt)
{
    char *text = malloc((size_t)prompt->n + 1);
    for (int i = 0; text != NULL && i < prompt->n; i++) text[i] = (char)prompt->token[i];
    json_t *object = text != NULL ? json_loadb(text, (size_t)prompt->n, 0, NULL) : NULL;
    free(text);
    return object;
}

static json_t *sampling_of(const spec_live_sampling *sampling, uint64_t seed)
{
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:o}", "max_tokens", sampling->tokens,
                     "temperature", sampling->transform.temperature, "top_p",
                     sampling->transform.top_p, "presence_penalty", sampling->presence,
                     "frequency_penalty", sampling->frequency, "seed", spec_live_seed(seed));
}

static void ask_text(spec_http_request *ret, const spec_live_server *server,
                     const spec_live_tokens *prompt, const spec_live_sampling *sampling,
                     uint64_t seed)
{
    json_t *body = object_of(prompt);
    const bool chat = json_object_get(body, "messages") != NULL;
    json_object_set_new(body, "model", json_string(server->model));
    spec_live_ask(ret, server, chat ? "/v1/chat/completions" : "/v1/completions",
                  spec_live_joined(body, sampling_of(sampling, seed)));
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Returns the bytes of the first word of a text that is not empty. */
static size_t word_of(const char *text)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const size_t white = strspn(text, " \t\r\n"), n = strspn(text + white, letters);
    size_t end = white + n;
    if (n > 0 || text[end] == '\0') return end;
    for (end++; ((unsigned char)text[end] & 0xc0) == 0x80; end++) continue;
    return end;
}

static int32_t id_of(const char *word, size_t n)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)word[i]) * 16777619u;
    return (int32_t)(hash & 0x7fffffff);
}

/* A chat's answer may begin with a part that has another name. A text without an answer has no
 * words. Words beyond those that are compared are left out. */
static int read_text(spec_live_tokens *ret, const json_t *answer, spec_error *error)
{
    const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0),
                 *message = json_object_get(choice, "message");
    const json_t *part[] = {json_object_get(choice, "text"),
                            json_object_get(message, "reasoning_content"),
                            json_object_get(message, "content")};
    *ret = (spec_live_tokens){.token = NULL};
    if (!json_is_string(part[0]) && !json_is_object(message))
        return spec_fail(error, GSL_EINVAL, "the answer has no valid \"text\" or \"message\"");
    if ((ret->token = malloc(SPEC_OPENAI_WORDS * sizeof *ret->token)) == NULL)
        return spec_no_memory(error);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const char *text = json_is_string(part[i]) ? json_string_value(part[i]) : "";
        while (*text != '\0' && ret->n < SPEC_OPENAI_WORDS) {
            const size_t n = word_of(text);
            ret->token[ret->n++] = id_of(text, n);
            text += n;
        }
    }
    return GSL_SUCCESS;
}

const spec_dialect spec_openai_dialect = {.name = "OpenAI",
                                          .filters = "temperature,top_p",
                                          .sampling = sampling_of,
                                          .ask_text = ask_text,
                                          .read_text = read_text};
