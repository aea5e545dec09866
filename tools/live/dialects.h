/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dialects: what to ask a server, and how to read its answers, by the engine that it runs.
 * A text is a list of token ids, because a text that is tokenised again may become other tokens;
 * only a server without token ids (spec_openai_dialect) has words instead. Answers are not trusted;
 * an error message names what is wrong in them. */
#ifndef SPECLAB_DIALECTS_H
#define SPECLAB_DIALECTS_H

#include "models/transform.h"
#include "tools/live/http.h"

#include <stdint.h>

/* The log-probability that servers write if the real one is too small. */
#define SPEC_LIVE_LEAST_LOG (-9999.0)

enum { SPEC_LIVE_TOP = 256, SPEC_LIVE_NAME = 128, SPEC_LIVE_TOKENS = 1 << 20 };

/* A token among the most probable ones at a position, and its log-probability. */
typedef struct {
    int32_t id;
    double log;
} spec_live_candidate;

/* The most probable tokens at a position, in descending order, before temperature and filters. */
typedef struct {
    int n;
    spec_live_candidate top[SPEC_LIVE_TOP];
    double unlisted; /* with penalties, the largest value of another token; 0: no penalties */
} spec_live_place;

typedef struct {
    int32_t *token; /* (n) */
    int n;
} spec_live_tokens;

struct spec_dialect;

/* A server, once asked what it is. */
typedef struct {
    char url[512];
    const char *opt_key;
    const struct spec_dialect *dialect;
    char model[SPEC_LIVE_NAME];
    int vocab; /* 0: it does not say */
    int slots; /* texts that it keeps in its cache side by side; 0: no such limit */
} spec_live_server;

/* How texts are drawn. */
typedef struct {
    int tokens; /* maximum tokens of a text */
    spec_transform transform;
    double presence, frequency; /* penalties, >= 0 */
} spec_live_sampling;

/* The requests and answers of one kind of server. */
typedef struct spec_dialect {
    const char *name;
    const char *owner;   /* "owned_by" in /v1/models; NULL: any other */
    const char *filters; /* the order of temperature and filters, docs/conformance.md#filters */
    int penalty_last;    /* penalties count the last so many tokens; 0: the text so far */
    bool by_prefix;      /* scores the next token after a prefix, instead of a whole text */
    bool same_seed;      /* the same seed gives the same text with and without speculation */
    /* Make a request: turn a prompt into tokens; draw a text; score the last n_text tokens of a
     * list, or what follows all of them. */
    json_t *(*sampling)(const spec_live_sampling *sampling, uint64_t seed); /* returns the keys of a
                                                                             * request */
    void (*ask_tokens)(spec_http_request *ret, const spec_live_server *server, const char *prompt);
    void (*ask_text)(spec_http_request *ret, const spec_live_server *server,
                     const spec_live_tokens *prompt, const spec_live_sampling *sampling,
                     uint64_t seed);
    void (*ask_scores)(spec_http_request *ret, const spec_live_server *server,
                       const spec_live_tokens *tokens, int n_text, int top);
    /* Read an answer. Return GSL_EINVAL if it is not what was asked for; *ret is then empty. */
    int (*read_tokens)(spec_live_tokens *ret, const json_t *answer, spec_error *error);
    int (*read_text)(spec_live_tokens *ret, const json_t *answer, spec_error *error);
    int (*read_scores)(spec_live_place *ret, int n_text, int top, const json_t *answer,
                       spec_error *error);
    /* Have the server's own template turn a chat (tools/live/live_prompts.h) into tokens; without
     * read_chat, into a text, "prompt", whose tokens are asked for next. */
    void (*ask_chat)(spec_http_request *ret, const spec_live_server *server, const json_t *chat);
    int (*read_chat)(spec_live_tokens *ret, const json_t *answer, spec_error *error);
} spec_dialect;

extern const spec_dialect spec_dialects[]; /* ends with a NULL name */

/* Any other server: it has OpenAI's interface, and returns neither token ids nor scores. So there
 * is no ask_tokens and no ask_scores, a prompt is kept as spec_openai_prompt does, and a text is a
 * list of words, whose ids are hashes of their bytes. A word is a letter or digit with all that
 * follow, or one other character, in both cases with the white space before it. At most
 * SPEC_OPENAI_WORDS are read. Defined in tools/live/openai.c. */
extern const spec_dialect spec_openai_dialect;
enum { SPEC_OPENAI_WORDS = 8 };

/* Keeps a prompt as it is sent: the bytes of a JSON object with the keys of spec_live_chat. Returns
 * GSL_ENOMEM. */
int spec_openai_prompt(spec_live_tokens *ret, const json_t *line, spec_error *error);

/* Checks the syntax of an address, http://HOST[:PORT][/PATH] or https. Returns GSL_EINVAL; the
 * message does not repeat a password in it. */
int spec_live_url_check(const char *url, spec_error *error);

/* Asks the server what it is. opt_model: the model to ask for; NULL: its first one. Returns
 * GSL_EFAILED or GSL_EINVAL if it is not an inference server or lacks the model; the message begins
 * with the URL. */
int spec_live_open(spec_live_server *ret, const char *url, const char *opt_model,
                   const char *opt_key, const spec_http_work *how, spec_error *error);

/* Reads the answer of /v1/models: dialect, model and vocabulary. A server of an unknown owner has
 * spec_openai_dialect. */
int spec_live_read_models(spec_live_server *ret, const json_t *answer, const char *opt_name,
                          spec_error *error);

/* Returns GSL_EINVAL if the server's engine is unknown; the message ends with what only known
 * engines do. */
int spec_live_check_known(const spec_live_server *server, const char *what, spec_error *error);

/* Returns the seed, cut to 31 bits, which every engine accepts. */
json_t *spec_live_seed(uint64_t seed);

/* Returns the keys of a prompt's line that decide its text. */
json_t *spec_live_chat(const json_t *line);

/* Puts the URL before the message of an error, except out of memory. Returns status. */
int spec_live_blame(const spec_live_server *server, int status, spec_error *error);

/* Fills in a request to a path of the server. Takes ownership of the body. */
void spec_live_ask(spec_http_request *ret, const spec_live_server *server, const char *path,
                   json_t *opt_body);

/* Returns an object with the keys of both. Takes ownership of both. */
json_t *spec_live_joined(json_t *object, json_t *more);

/* Opens the file of --capture for reading and writing. *ret_old is whether it existed and `resume`
 * continues it; a file that exists is GSL_EINVAL without `resume` or `force`. Returns
 * GSL_EFAILED. */
int spec_live_open_capture(FILE **ret, bool *ret_old, const char *path, bool resume, bool force,
                           spec_error *error);

void spec_live_tokens_free(spec_live_tokens *tokens);

#endif
