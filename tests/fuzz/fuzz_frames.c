/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz a sampler process's output: the first byte chooses hello, frames or lines, and the request.
 * Any bytes after it must be read, waited for, or refused in a one-line error. No byte may be
 * written outside the batch. */
#include "tools/validate/samplers/protocol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROUNDS = 3, NODES = 4, TOKENS = 5 };

static void read_hello(const char *bytes, size_t n)
{
    spec_hello hello;
    spec_error error = {{0}};
    if (spec_protocol_hello(&hello, bytes, n, &error) == GSL_SUCCESS) {
        assert(spec_subject_check_about(&hello.about, &error) == GSL_SUCCESS);
        assert(hello.protocol == &spec_protocol_binary || hello.protocol == &spec_protocol_json);
    } else {
        assert(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
    }
}

static int read_rounds(const spec_protocol *protocol, const spec_question *question,
                       const char *answer, size_t n, spec_error *error)
{
    spec_round_batch batch;
    const size_t bytes = spec_round_batch_bytes(ROUNDS, NODES, 0);
    void *memory = calloc(1, bytes); /* a block of its own, so that a write past it is detected */
    assert(memory != NULL);
    spec_round_batch_lay(&batch, memory, ROUNDS, NODES, 0);
    for (int i = 0; i < ROUNDS; i++) batch.n_nodes[i] = NODES - i;
    const int status = protocol->take_steps(&batch, question, answer, n, error);
    for (int i = 0; i < ROUNDS; i++) assert(batch.n_nodes[i] == NODES - i);
    for (int k = 0; k < NODES + 1; k++)
        assert(batch.emitted[k] == 0); /* of a round that was not requested */
    free(memory);
    return status;
}

static void read_answers(const spec_protocol *protocol, const spec_question *question,
                         const char *bytes, size_t n)
{
    int32_t token[TOKENS];
    uint64_t counters[3];
    spec_error error = {{0}};
    size_t length;
    int status = protocol->extent(&length, question, bytes, n, &error);
    assert(length <= n);
    if (status == GSL_SUCCESS && length == 0) return;
    if (status == GSL_SUCCESS) {
        char *answer = malloc(length); /* exactly as long, so that a read past it is detected */
        assert(answer != NULL);
        memcpy(answer, bytes, length);
        if (question->type == SPEC_FRAME_STEPS)
            status = read_rounds(protocol, question, answer, length, &error);
        else if (question->type == SPEC_FRAME_GENERATE)
            status = protocol->take_text(token, question, answer, length, &error);
        else status = protocol->take_counters(counters, question, answer, length, &error);
        free(answer);
    }
    if (status != GSL_SUCCESS) assert(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;
    if (size == 0) return 0;
    const spec_protocol *protocol = data[0] & 1 ? &spec_protocol_json : &spec_protocol_binary;
    switch (data[0] >> 1 & 7) {
    case 0: read_hello(bytes, size - 1); return 0;
    case 1:
    case 2: {
        const uint32_t scope = (data[0] >> 1 & 7) == 1 ? SPEC_SCOPE_VERIFY : SPEC_SCOPE_DRAFT;
        const spec_question steps =
            spec_protocol_question(SPEC_FRAME_STEPS, 7, scope, 1, ROUNDS - 1, NODES);
        read_answers(protocol, &steps, bytes, size - 1);
        return 0;
    }
    case 3: {
        const spec_question text =
            spec_protocol_question(SPEC_FRAME_GENERATE, 7, SPEC_SCOPE_STREAM, 0, TOKENS, 0);
        read_answers(protocol, &text, bytes, size - 1);
        return 0;
    }
    default: {
        const spec_question counters = spec_protocol_question(SPEC_FRAME_COUNTERS, 7, 0, 0, 3, 0);
        read_answers(protocol, &counters, bytes, size - 1);
        return 0;
    }
    }
}
