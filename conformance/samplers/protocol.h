/* protocol: what is said between speclab and a sampler that is a process: its hello, then frames or lines of JSON.
 * Bytes in, numbers out: nothing here reads or writes, so that it can be fuzzed. What comes from the process is
 * hostile: lengths are checked before what they measure. docs/conformance.md#processes has the protocol in full. */
#ifndef SPECLAB_PROTOCOL_H
#define SPECLAB_PROTOCOL_H

#include "conformance/samplers/subject.h"

/* Questions, and their answers; BEGIN has none. */
enum { SPEC_FRAME_BEGIN = 1, SPEC_FRAME_STEPS, SPEC_FRAME_GENERATE, SPEC_FRAME_COUNTERS };

/* Most bytes of a hello. */
enum { SPEC_HELLO_BYTES = 1 << 16 };

/* Bytes that grow. Zeroed is empty; the caller frees `at`. Where memory ran out, spec_bytes_status says so. */
typedef struct {
    char *at;
    size_t n, capacity;
    bool failed;
} spec_bytes;

/* Room for n more bytes, counted as there; NULL where there is no memory. */
void *spec_bytes_more(spec_bytes *bytes, size_t n);
void spec_bytes_put(spec_bytes *bytes, const void *from, size_t n);
__attribute__((format(printf, 2, 3))) void spec_bytes_print(spec_bytes *bytes, const char *format, ...);
int spec_bytes_status(const spec_bytes *bytes, spec_error *error);

/* What an answer must be to: serial numbers of questions count up. Rounds [from, from+n) of a batch, or n tokens of a
 * text. `most`: bytes that its body may have. */
typedef struct {
    uint32_t type, serial;
    uint32_t scope;
    int from, n;
    size_t most;
} spec_question;

/* An encoding. put_ appends a question. `extent` is the length of the answer that the n bytes begin with, 0 where more
 * of them are needed; take_ reads an answer of that length. GSL_EFAILED with one line for what makes no sense. Emitted
 * tokens and counts go into the batch unchecked, as many as fit; drafted ones as well. */
typedef struct {
    const char *name;
    int (*put_begin)(spec_bytes *out, const spec_fixture *fixture, uint32_t scope, uint32_t rows, spec_error *error);
    void (*put_steps)(spec_bytes *out, const spec_question *question, const spec_batch *batch);
    void (*put_generate)(spec_bytes *out, const spec_question *question, int start, int K, uint64_t seed);
    void (*put_counters)(spec_bytes *out, const spec_question *question);
    int (*extent)(size_t *ret, const spec_question *question, const char *bytes, size_t n, spec_error *error);
    int (*take_steps)(spec_batch *batch, const spec_question *question, const char *answer, size_t n,
                      spec_error *error);
    int (*take_text)(int32_t *token, const spec_question *question, const char *answer, size_t n, spec_error *error);
    int (*take_counters)(uint64_t ret[3], const spec_question *question, const char *answer, size_t n,
                         spec_error *error);
} spec_protocol;

extern const spec_protocol spec_protocol_binary, spec_protocol_json;

/* What a process says of itself. */
typedef struct {
    spec_sampler_about about;
    const spec_protocol *protocol;
    bool counters; /* it answers questions for its counters */
} spec_hello;

/* Read a hello of n bytes, without its newline. */
int spec_protocol_hello(spec_hello *ret, const char *line, size_t n, spec_error *error);

/* The question for rounds [from, from+n) of a batch, n tokens of a text, or counters (n = 3). */
spec_question spec_protocol_question(uint32_t type, uint32_t serial, uint32_t scope, int from, int n, int nodes);

/* How the drafts of that scope are drawn; what is not FIXED has draft rows. */
uint32_t spec_protocol_drawn(const spec_fixture *fixture, uint32_t scope);

/* Copy a round's emitted tokens (int32, of any alignment), as many as the batch has room for, and note what it said of
 * them. For encodings. */
void spec_protocol_emit(spec_batch *batch, int i, const void *token, int n_emitted, int n_accepted);

/* A short stretch of what came, for an error's line: bytes that are no printable ASCII become '.'. */
enum { SPEC_PROTOCOL_SHOWN = 41 };
const char *spec_protocol_shown(char buffer[SPEC_PROTOCOL_SHOWN], const char *bytes, size_t n);

#endif
