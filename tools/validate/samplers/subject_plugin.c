/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ./FILE.so or plugin:FILE: a shared library that exports the functions of speclab/sampler.h,
 * called in a child process. Inputs are kept here and copied into the shared block; answers are
 * copied out. So a wild write by the child cannot change what the parent relies on. */
#include "tools/validate/samplers/child_process.h"
#include "tools/validate/samplers/plugin_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const places[SPEC_PLUGIN_PLACES] = {
    [SPEC_PLUGIN_LOADING] = "while it was loaded",
    [SPEC_PLUGIN_IN_ABI] = "in spec_sampler_abi",
    [SPEC_PLUGIN_IN_DESCRIBE] = "in spec_sampler_describe",
    [SPEC_PLUGIN_IN_OPEN] = "in spec_sampler_open",
    [SPEC_PLUGIN_IN_STEP] = "in spec_sampler_step",
    [SPEC_PLUGIN_IN_GENERATE] = "in spec_sampler_generate",
    [SPEC_PLUGIN_IN_COUNTERS] = "in spec_sampler_counters",
};

typedef struct {
    char *path;
    spec_child_process *child;
    uint32_t number;          /* number of the last call */
    int file;                 /* descriptor of the block; -1: none */
    spec_plugin_block *block; /* (bytes) */
    size_t bytes;
    spec_round_batch theirs;        /* the batch in the block */
    size_t batch, text;       /* their offsets in the block */
    int n;                    /* n of the last run, and the seed of the last text */
    uint64_t seed;
    void *memory;             /* memory of subject->batch */
} own;

static own *own_of(spec_subject *subject)
{
    return subject->own;
}

/* ---- the block ------------------------------------------------------------------------------- */

static int fit_block(own *o, size_t bytes, spec_error *error)
{
    if (bytes <= o->bytes) return GSL_SUCCESS;
    /* Reserve all pages now: a page that is missing later would raise a signal. */
    void *block = posix_fallocate(o->file, 0, (off_t)bytes) == 0
                      ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, o->file, 0)
                      : MAP_FAILED;
    if (block == MAP_FAILED)
        return spec_fail(error, GSL_ENOMEM, "out of memory for a shared block of %zu bytes", bytes);
    if (o->block != NULL) munmap(o->block, o->bytes);
    o->block = block;
    o->bytes = bytes;
    return GSL_SUCCESS;
}

static size_t aligned(size_t n)
{
    return (n + 63) / 64 * 64;
}

static void *at(const own *o, size_t offset)
{
    return (char *)o->block + offset;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Reports where the child ended: the function, the fixture, and the first round of the call that
 * did not return. */
static int blame(const spec_subject *subject, uint32_t verb, const char *why, spec_error *error)
{
    const own *o = subject->own;
    const spec_round_batch *batch = &subject->batch;
    const uint32_t place = (uint32_t)o->block->place;
    char where[160] = "";
    if (verb == SPEC_PLUGIN_RUN) {
        int i = 0;
        while (i < o->n && !(o->theirs.fault[i] & SPEC_FAULT_RUNNING)) i++;
        if (i < o->n)
            snprintf(where, sizeof where,
                     ", fixture %.40s, scope %s, rounds from seed %llu, offset %llu on",
                     subject->fixture->kind->name, subject->scope == SPEC_SCOPE_DRAFT ? "DV" : "V",
                     (unsigned long long)batch->seed[i], (unsigned long long)batch->offset[i]);
    } else if (verb == SPEC_PLUGIN_GENERATE) {
        snprintf(where, sizeof where, ", fixture %.40s, seed %llu", subject->fixture->kind->name,
                 (unsigned long long)o->seed);
    }
    return spec_fail(error, GSL_EFAILED, "%s%s: %s",
                     place < SPEC_PLUGIN_PLACES ? places[place] : "in a call", where, why);
}

static int call(spec_subject *subject, uint32_t verb, spec_error *error)
{
    own *o = own_of(subject);
    const spec_plugin_command command = {.number = ++o->number, .verb = verb, .bytes = o->bytes};
    spec_plugin_answer answer = {.status = 0};
    spec_error why = {{0}};
    int status = GSL_SUCCESS;
    spec_child_process_begin(o->child);
    SPEC_TRY(spec_child_process_write(o->child, &command, sizeof command, &why));
    SPEC_TRY(spec_child_process_read(o->child, &answer, sizeof answer, sizeof answer, NULL, &why));
    if (answer.number != command.number)
        SPEC_TRY(spec_child_process_kill(o->child, &why,
                                         "it overwrote the memory that it shares "
                                         "with speclab"));
    if (answer.status != GSL_SUCCESS) {
        char text[sizeof o->block->error];
        memcpy(text, o->block->error, sizeof text);
        text[sizeof text - 1] = '\0';
        SPEC_TRY(spec_child_process_kill(o->child, &why, text));
    }
done:
    return status == GSL_SUCCESS ? status : blame(subject, verb, why.text, error);
}

/* ---- the subject ----------------------------------------------------------------------------- */

static int open_plugin(spec_subject *subject, const char *path, spec_error *error)
{
    const char *options = subject->limits.opt_options;
    const size_t room = options != NULL ? strlen(options) + 1 : 0,
                 head = aligned(sizeof(spec_plugin_block));
    int status = GSL_SUCCESS;
    own *o = subject->own = calloc(1, sizeof *o);
    if (o == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    o->file = -1;
    o->path = realpath(path, NULL);
    if (o->path == NULL) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s", strerror(errno)));
    o->file = memfd_create("speclab", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* Seal the size: if the child shrank the block, an access would raise a signal. */
    if (o->file < 0 || fcntl(o->file, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "no memory can be shared: %s", strerror(errno)));
    SPEC_TRY(fit_block(o, head + room, error));
    if (options != NULL) memcpy(at(o, head), options, room);
    o->block->options = options != NULL ? head : 0;
    SPEC_TRY(
        spec_child_process_start(&o->child, "plugin", o->path, o->file, &subject->limits, error));
    SPEC_TRY(call(subject, SPEC_PLUGIN_OPEN, error));
    subject->about = o->block->about;
    SPEC_TRY(spec_subject_check_about(&subject->about, error));
done:
    return status;
}

static int begin_plugin(spec_subject *subject, spec_error *error)
{
    own *o = own_of(subject);
    const spec_fixture *f = subject->fixture;
    const size_t cells = (size_t)f->n_states * (size_t)f->vocab, rows = cells * sizeof *f->target;
    const int coins = spec_round_batch_coins(f);
    const size_t batch_bytes = spec_round_batch_bytes(subject->capacity, f->n_nodes, coins);
    spec_plugin_block head = {.fixture = *f, .scope = subject->scope, .capacity = subject->capacity,
                              .n_coins = coins};
    int status = GSL_SUCCESS;
    head.target = aligned(sizeof head);
    head.draft = head.target + aligned(rows);
    head.next = head.draft + aligned(rows);
    head.batch = head.next + aligned(cells * sizeof *f->next);
    head.text = head.batch + aligned(batch_bytes);
    free(o->memory);
    o->memory = calloc(1, batch_bytes);
    if (o->memory == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    spec_round_batch_lay(&subject->batch, o->memory, subject->capacity, f->n_nodes, coins);
    SPEC_TRY(fit_block(o, head.text, error));
    o->batch = head.batch;
    o->text = head.text;
    *o->block = head;
    memcpy(at(o, head.target), f->target, rows);
    memcpy(at(o, head.draft), f->draft, rows);
    memcpy(at(o, head.next), f->next, cells * sizeof *f->next);
    spec_round_batch_lay(&o->theirs, at(o, head.batch), subject->capacity, f->n_nodes, coins);
    SPEC_TRY(call(subject, SPEC_PLUGIN_BEGIN, error));
done:
    return status;
}

/* In a batch's block, inputs go from n_nodes up to emitted, and outputs from there to the end of
 * fault. */
static int run_plugin(spec_subject *subject, int n, spec_error *error)
{
    own *o = own_of(subject);
    spec_round_batch *batch = &subject->batch;
    const size_t input = (size_t)((char *)batch->emitted - (char *)batch->n_nodes);
    const size_t output =
        (size_t)((char *)(batch->fault + batch->capacity) - (char *)batch->emitted);
    int status = GSL_SUCCESS;
    memcpy(o->theirs.n_nodes, batch->n_nodes, input);
    o->block->n = o->n = n;
    SPEC_TRY(call(subject, SPEC_PLUGIN_RUN, error));
    memcpy(batch->emitted, o->theirs.emitted, output);
    if (subject->scope == SPEC_SCOPE_DRAFT)
        memcpy(batch->token, o->theirs.token,
               (size_t)n * (size_t)batch->nodes * sizeof *batch->token);
done:
    return status;
}

static int generate_plugin(spec_subject *subject, int start, int K, uint64_t seed,
                           int32_t *ret_token, int64_t n_tokens, spec_error *error)
{
    own *o = own_of(subject);
    const size_t bytes = (size_t)n_tokens * sizeof *ret_token;
    int status = GSL_SUCCESS;
    SPEC_TRY(fit_block(o, o->text + bytes, error));
    spec_round_batch_lay(&o->theirs, at(o, o->batch), subject->capacity, subject->fixture->n_nodes,
                   spec_round_batch_coins(subject->fixture));
    o->block->start = start;
    o->block->K = K;
    o->block->seed = o->seed = seed;
    o->block->n_tokens = n_tokens;
    SPEC_TRY(call(subject, SPEC_PLUGIN_GENERATE, error));
    memcpy(ret_token, at(o, o->text), bytes);
done:
    return status;
}

static int counters_plugin(spec_subject *subject, uint64_t ret[3], bool *ret_known,
                           spec_error *error)
{
    const own *o = own_of(subject);
    const int status = call(subject, SPEC_PLUGIN_COUNTERS, error);
    if (status != GSL_SUCCESS) return status;
    *ret_known = o->block->counts != 0;
    memcpy(ret, o->block->counters, sizeof o->block->counters);
    return status;
}

static void close_plugin(spec_subject *subject)
{
    own *o = own_of(subject);
    if (o == NULL) return;
    spec_child_process_end(o->child);
    if (o->block != NULL) munmap(o->block, o->bytes);
    if (o->file >= 0) close(o->file);
    free(o->memory);
    free(o->path);
    free(o);
    subject->own = NULL;
}

static bool is_late_plugin(const spec_subject *subject)
{
    const own *o = subject->own;
    return o != NULL && spec_child_process_is_late(o->child);
}

const spec_subject_kind spec_subject_plugin = {
    .name = "plugin",
    .usage = "./FILE.so",
    .summary = "a shared library that exports the functions of speclab/sampler.h",
    .foreign = true,
    .open = open_plugin,
    .begin = begin_plugin,
    .run = run_plugin,
    .generate = generate_plugin,
    .counters = counters_plugin,
    .close = close_plugin,
    .late = is_late_plugin,
};
