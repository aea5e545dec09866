/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_responses: the tokens of a server's responses, as records of a trace.
 * A line is a chat or a completion of an OpenAI-compatible server, or a chunk of one, with
 * log-probabilities of the most probable tokens. Tokens have no ids, so they are identified by
 * their text. docs/conformance.md#responses. */
#ifndef SPECLAB_TRACE_RESPONSES_H
#define SPECLAB_TRACE_RESPONSES_H

#include "tools/validate/traces/trace_line.h"
#include "tools/validate/traces/trace_record.h"

enum { SPEC_TRACE_RESPONSE_TOP_MAX = 1024 }; /* maximum tokens in a list of probable ones */

/* A token of such a list, or the emitted one. */
typedef struct {
    uint64_t key; /* hash of its text and bytes */
    double log;   /* its log-probability */
} spec_trace_candidate;

/* Zero it and set `in` before use. */
typedef struct {
    const spec_trace_line *in; /* borrowed */
    double temperature;        /* the tokens were drawn at this temperature; the log-probabilities
                                * are for 1 */
    json_t *root;              /* the current line, or NULL */
    size_t choice, token;      /* the next token in it */
    bool ends;                 /* the last token read ends its text */
    int n_rank;                /* entries that every list has; 0: no list so far */
    spec_trace_candidate top[SPEC_TRACE_RESPONSE_TOP_MAX];
    int32_t id[SPEC_TRACE_RESPONSE_TOP_MAX + 1];
    double chance[SPEC_TRACE_RESPONSE_TOP_MAX + 1];
} spec_trace_responses;

/* Returns whether the object, a first line, is a response. */
bool spec_trace_responses_are(const json_t *root);

/* Reads a parsed line. Returns GSL_EINVAL, with file and line, if it has no log-probabilities, or
 * if a text ended at a token that is not listed. */
int spec_trace_responses_begin(spec_trace_responses *responses, json_t *root, spec_error *error);
void spec_trace_responses_free(spec_trace_responses *responses);

/* Reads the next token of the line. *ret_text is the key of its text; *ret_end is true if there are
 * no more tokens. Returns GSL_EINVAL if it is malformed. */
int spec_trace_responses_next(spec_trace_responses *responses, spec_trace_record *ret,
                              uint64_t *ret_text, bool *ret_end, spec_error *error);

#endif
