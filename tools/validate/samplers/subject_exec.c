/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exec:COMMAND: a process in any language, over its standard input and output. /bin/sh -c runs the
 * command with the options appended. */
#include "speclab/no_memory.h"
#include "tools/validate/samplers/child_process.h"
#include "tools/validate/samplers/protocol.h"

#include <stdlib.h>
#include <string.h>

/* BURST_BYTES: questions written before their answers are read, so that small ones share a switch
 * of processes; a socket buffer holds this many bytes. READ_BYTES: bytes read at once. */
enum { BURST_BYTES = 1 << 14, READ_BYTES = 1 << 16 };

typedef struct {
    spec_child_process *child;
    spec_hello hello;
    uint32_t serial;   /* number of the next question */
    spec_bytes out;    /* questions not yet written */
    char *in;          /* (capacity) bytes read; those from `begin` to `end` are unused */
    size_t begin, end, capacity;
    void *memory;      /* memory of subject->batch */
    int chunk;         /* rounds per question */
} own;

static own *own_of(spec_subject *subject)
{
    return subject->own;
}

/* ---- the channel ----------------------------------------------------------------------------- */

/* Reads more bytes after the unused ones. */
static int read_more(own *o, spec_error *error)
{
    size_t n;
    if (o->begin > 0) memmove(o->in, o->in + o->begin, o->end - o->begin);
    o->end -= o->begin;
    o->begin = 0;
    if (o->capacity - o->end < READ_BYTES) {
        const size_t capacity = 2 * o->capacity + READ_BYTES;
        char *in = realloc(o->in, capacity);
        if (in == NULL) return spec_no_memory(error);
        o->in = in;
        o->capacity = capacity;
    }
    const int status =
        spec_child_process_read(o->child, o->in + o->end, 1, o->capacity - o->end, &n, error);
    o->end += n;
    return status;
}

/* Writes the questions, with the time-out of an answer. */
static int write_out(own *o, spec_error *error)
{
    int status = spec_bytes_status(&o->out, error);
    spec_child_process_begin(o->child);
    if (status == GSL_SUCCESS)
        status = spec_child_process_write(o->child, o->out.at, o->out.n, error);
    o->out.n = 0;
    return status;
}

/* Ends a process whose answer is invalid, for the reason `why`. */
static int give_up(own *o, const spec_error *why, spec_error *error)
{
    return spec_child_process_kill(o->child, error, why->text);
}

/* Reads the answer to a question; it is valid until the next one is read. */
static int next_answer(own *o, const spec_question *question, const char **ret, size_t *ret_n,
                       spec_error *error)
{
    spec_error why = {{0}};
    int status = GSL_SUCCESS;
    spec_child_process_begin(o->child);
    for (;;) {
        const char *bytes = o->in + o->begin;
        if (o->hello.protocol->extent(ret_n, question, bytes, o->end - o->begin, &why) !=
            GSL_SUCCESS)
            return give_up(o, &why, error);
        if (*ret_n > 0) break;
        SPEC_TRY(read_more(o, error));
    }
    *ret = o->in + o->begin;
    o->begin += *ret_n;
done:
    return status;
}

/* Sends a single question and reads its answer. */
static int exchange(own *o, const spec_question *question, const char **ret, size_t *ret_n,
                    spec_error *error)
{
    const int status = write_out(o, error);
    return status == GSL_SUCCESS ? next_answer(o, question, ret, ret_n, error) : status;
}

/* Fails if unread bytes follow the last answer. */
static int expect_silence(own *o, spec_error *error)
{
    const spec_error why = {"it sent more answers than there were questions"};
    return o->begin == o->end ? GSL_SUCCESS : give_up(o, &why, error);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int read_hello(spec_subject *subject, spec_error *error)
{
    own *o = own_of(subject);
    spec_error why = {{0}};
    const char *newline;
    int status = GSL_SUCCESS;
    while ((newline = o->end > 0 ? memchr(o->in, '\n', o->end) : NULL) == NULL &&
           o->end <= SPEC_HELLO_BYTES)
        SPEC_TRY(read_more(o, error));
    const size_t n = newline != NULL ? (size_t)(newline - o->in) : o->end;
    if (spec_protocol_hello(&o->hello, o->in, n, &why) != GSL_SUCCESS)
        SPEC_TRY(give_up(o, &why, error));
    subject->about = o->hello.about;
    o->begin = n + 1;
    SPEC_TRY(expect_silence(o, error));
done:
    return status;
}

static int open_exec(spec_subject *subject, const char *path, spec_error *error)
{
    spec_error why = {{0}};
    char *command = NULL;
    int status = GSL_SUCCESS;
    own *o = subject->own = calloc(1, sizeof *o);
    if (o == NULL) return spec_no_memory(error);
    const char *options = subject->limits.opt_options;
    if (asprintf(&command, "%s%s%s", path, options != NULL ? " " : "",
                 options != NULL ? options : "") < 0) {
        command = NULL;
        SPEC_TRY(spec_no_memory(error));
    }
    SPEC_TRY(spec_child_process_start(&o->child, "exec", command, -1, &subject->limits, error));
    if (read_hello(subject, &why) != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "at its hello: %s", why.text));
done:
    free(command);
    return status;
}

static int begin_exec(spec_subject *subject, spec_error *error)
{
    own *o = own_of(subject);
    const spec_fixture *f = subject->fixture;
    spec_error why = {{0}};
    int status = GSL_SUCCESS;
    free(o->memory);
    o->memory =
        calloc(1, spec_round_batch_bytes(subject->capacity, f->n_nodes, spec_round_batch_coins(f)));
    if (o->memory == NULL) return spec_no_memory(error);
    spec_round_batch_lay(&subject->batch, o->memory, subject->capacity, f->n_nodes,
                         spec_round_batch_coins(f));
    o->chunk = f->batch < subject->capacity ? f->batch : subject->capacity;
    if (o->hello.about.max_batch > 0 && o->chunk > o->hello.about.max_batch)
        o->chunk = o->hello.about.max_batch;
    SPEC_TRY(o->hello.protocol->put_begin(&o->out, f, subject->scope, o->hello.about.rows, error));
    if (write_out(o, &why) != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "given fixture %.40s: %s", f->kind->name, why.text));
done:
    return status;
}

/* ---- rounds and texts ------------------------------------------------------------------------ */

static int blame_round(const spec_subject *subject, int i, const spec_error *why, spec_error *error)
{
    const spec_round_batch *batch = &subject->batch;
    return spec_fail(
        error, GSL_EFAILED, "fixture %.40s, scope %s, rounds from seed %llu, offset %llu on: %s",
        subject->fixture->kind->name, subject->scope == SPEC_SCOPE_DRAFT ? "DV" : "V",
        (unsigned long long)batch->seed[i], (unsigned long long)batch->offset[i], why->text);
}

/* Returns the question for the rounds from `from` on, among the first n of the batch. */
static spec_question question_for(const spec_subject *subject, int from, int n, uint32_t serial)
{
    const own *o = subject->own;
    const int m = n - from < o->chunk ? n - from : o->chunk;
    return spec_protocol_question(SPEC_FRAME_STEPS, serial, subject->scope, from, m,
                                  subject->batch.nodes);
}

static int answer_rounds(spec_subject *subject, const spec_question *question, spec_error *error)
{
    own *o = own_of(subject);
    spec_error why = {{0}};
    const char *answer;
    size_t length;
    const int status = next_answer(o, question, &answer, &length, error);
    if (status != GSL_SUCCESS) return status;
    if (o->hello.protocol->take_steps(&subject->batch, question, answer, length, &why) ==
        GSL_SUCCESS)
        return status;
    return give_up(o, &why, error);
}

static int run_exec(spec_subject *subject, int n, spec_error *error)
{
    own *o = own_of(subject);
    spec_error why = {{0}};
    int asked = 0, answered = 0, status = GSL_SUCCESS;
    while (answered < n) {
        uint32_t serial = o->serial;
        for (size_t last = 0; asked < n && o->out.n + last <= BURST_BYTES;) {
            const spec_question question = question_for(subject, asked, n, o->serial++);
            last = o->out.n;
            o->hello.protocol->put_steps(&o->out, &question, &subject->batch);
            last = o->out.n - last;
            asked += question.n;
        }
        SPEC_TRY(write_out(o, &why));
        while (answered < asked) {
            const spec_question question = question_for(subject, answered, n, serial++);
            SPEC_TRY(answer_rounds(subject, &question, &why));
            answered += question.n;
        }
    }
    SPEC_TRY(expect_silence(o, &why));
done:
    return status == GSL_SUCCESS
               ? status
               : blame_round(subject, answered < n ? answered : n - 1, &why, error);
}

static int generate_exec(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                         int64_t n_tokens, spec_error *error)
{
    own *o = own_of(subject);
    const spec_question question = spec_protocol_question(SPEC_FRAME_GENERATE, o->serial++,
                                                          subject->scope, 0, (int)n_tokens, 0);
    spec_error why = {{0}}, nonsense = {{0}};
    const char *answer;
    size_t length;
    int status = GSL_SUCCESS;
    o->hello.protocol->put_generate(&o->out, &question, start, K, seed);
    SPEC_TRY(exchange(o, &question, &answer, &length, &why));
    if (o->hello.protocol->take_text(ret_token, &question, answer, length, &nonsense) !=
        GSL_SUCCESS)
        SPEC_TRY(give_up(o, &nonsense, &why));
    SPEC_TRY(expect_silence(o, &why));
done:
    return status == GSL_SUCCESS
               ? status
               : spec_fail(error, GSL_EFAILED, "fixture %.40s, scope S, seed %llu: %s",
                           subject->fixture->kind->name, (unsigned long long)seed, why.text);
}

static int counters_exec(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error)
{
    own *o = own_of(subject);
    spec_error why = {{0}}, nonsense = {{0}};
    const char *answer;
    size_t length;
    int status = GSL_SUCCESS;
    *ret_known = o->hello.counters;
    if (!*ret_known) return status;
    const spec_question question =
        spec_protocol_question(SPEC_FRAME_COUNTERS, o->serial++, 0, 0, 3, 0);
    o->hello.protocol->put_counters(&o->out, &question);
    SPEC_TRY(exchange(o, &question, &answer, &length, &why));
    if (o->hello.protocol->take_counters(ret, &question, answer, length, &nonsense) != GSL_SUCCESS)
        SPEC_TRY(give_up(o, &nonsense, &why));
done:
    return status == GSL_SUCCESS
               ? status
               : spec_fail(error, GSL_EFAILED, "asked for its counters: %s", why.text);
}

static void close_exec(spec_subject *subject)
{
    own *o = own_of(subject);
    if (o == NULL) return;
    spec_child_process_end(o->child);
    free(o->out.at);
    free(o->in);
    free(o->memory);
    free(o);
    subject->own = NULL;
}

static bool is_late_exec(const spec_subject *subject)
{
    const own *o = subject->own;
    return o != NULL && spec_child_process_is_late(o->child);
}

const spec_subject_kind spec_subject_exec = {
    .name = "exec",
    .usage = "exec:COMMAND",
    .summary = "a process in any language, over its standard input and output",
    .foreign = true,
    .open = open_exec,
    .begin = begin_exec,
    .run = run_exec,
    .generate = generate_exec,
    .counters = counters_exec,
    .close = close_exec,
    .late = is_late_exec,
};
