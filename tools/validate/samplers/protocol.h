/* SPDX-License-Identifier: GPL-3.0-or-later */
/* protocol: encodes and decodes the messages between speclab and a sampler process.
 * There is a hello line, then frames or lines of JSON. No function does I/O, so fuzzers can call
 * them. Bytes from the process are hostile: lengths are checked before use.
 * docs/conformance.md#processes specifies the protocol. */
#ifndef SPECLAB_PROTOCOL_H
#define SPECLAB_PROTOCOL_H

#include "tools/validate/samplers/subject.h"

/* Types of questions and of their answers; BEGIN has no answer. */
enum { SPEC_FRAME_BEGIN = 1, SPEC_FRAME_STEPS, SPEC_FRAME_GENERATE, SPEC_FRAME_COUNTERS };

/* The longest hello line, in bytes. */
enum { SPEC_HELLO_BYTES = 1 << 16 };

/* A growing byte buffer. Zeroed is empty; the caller frees `at`. After a failed allocation,
 * spec_bytes_status fails. */
typedef struct {
    char *at;
    size_t n, capacity;
    bool failed;
} spec_bytes;

/* Appends n uninitialised bytes and returns them; NULL if out of memory. */
void *spec_bytes_more(spec_bytes *bytes, size_t n);
void spec_bytes_put(spec_bytes *bytes, const void *from, size_t n);
__attribute__((format(printf, 2, 3))) void spec_bytes_print(spec_bytes *bytes, const char *format,
                                                            ...);
int spec_bytes_status(const spec_bytes *bytes, spec_error *error);

/* The question that an answer must match. Serial numbers go up. A question asks for rounds [from,
 * from+n) of a batch, or for n tokens of a text. `most`: longest body of the answer, bytes. */
typedef struct {
    uint32_t type, serial;
    uint32_t scope;
    int from, n;
    size_t most;
} spec_question;

/* An encoding. put_* append a question. `extent` returns the length of the answer at the start of n
 * bytes, or 0 if more bytes are needed. take_* read an answer of that length. They return
 * GSL_EFAILED with one line for an invalid answer. Emitted and drafted tokens and counts go into
 * the batch unchecked, as many as fit. */
typedef struct {
    const char *name;
    int (*put_begin)(spec_bytes *out, const spec_fixture *fixture, uint32_t scope, uint32_t rows,
                     spec_error *error);
    void (*put_steps)(spec_bytes *out, const spec_question *question,
                      const spec_round_batch *batch);
    void (*put_generate)(spec_bytes *out, const spec_question *question, int start, int K,
                         uint64_t seed);
    void (*put_counters)(spec_bytes *out, const spec_question *question);
    int (*extent)(size_t *ret, const spec_question *question, const char *bytes, size_t n,
                  spec_error *error);
    int (*take_steps)(spec_round_batch *batch, const spec_question *question, const char *answer,
                      size_t n, spec_error *error);
    int (*take_text)(int32_t *token, const spec_question *question, const char *answer, size_t n,
                     spec_error *error);
    int (*take_counters)(uint64_t ret[3], const spec_question *question, const char *answer,
                         size_t n, spec_error *error);
} spec_protocol;

extern const spec_protocol spec_protocol_binary, spec_protocol_json;

/* The hello: what a process declares about itself. */
typedef struct {
    spec_sampler_about about;
    const spec_protocol *protocol;
    bool counters; /* it answers questions about its counters */
} spec_hello;

/* Reads a hello of n bytes, without its newline. */
int spec_protocol_hello(spec_hello *ret, const char *line, size_t n, spec_error *error);

/* Returns the question for rounds [from, from+n) of a batch, n tokens of a text, or 3 counters. */
spec_question spec_protocol_question(uint32_t type, uint32_t serial, uint32_t scope, int from,
                                     int n, int nodes);

/* Returns how drafts of this scope are drawn; all but FIXED have draft rows. */
uint32_t spec_protocol_drawn(const spec_fixture *fixture, uint32_t scope);

/* Copies the emitted tokens of a round (int32, unaligned), as many as fit, and its counts. Used by
 * the encodings. */
void spec_protocol_emit(spec_round_batch *batch, int i, const void *token, int n_emitted,
                        int n_accepted);

/* Returns a short excerpt of the received bytes for an error message; bytes that are not printable
 * ASCII become '.'. */
enum { SPEC_PROTOCOL_SHOWN = 41 };
const char *spec_protocol_shown(char buffer[SPEC_PROTOCOL_SHOWN], const char *bytes, size_t n);

#endif
