/* subject: the sampler under test, whatever it is: a rule of ours, a shared library, a process.
 * It is given batches of rounds that name states of a fixture, and fills in what it emits. A subject is one thread's; a
 * run with n threads opens n of them. Plug-ins run in a child process, so that theirs is the crash. The kinds are
 * lines of the table spec_subject_kinds. */
#ifndef SPECLAB_SUBJECT_H
#define SPECLAB_SUBJECT_H

#include "conformance/fixtures/fixture.h"

#include <signal.h>

typedef struct spec_subject spec_subject;

/* A batch, in plain arrays that may lie in shared memory; the subject owns them. Round i has its nodes at i*nodes, its
 * states and emitted tokens at i*(nodes+1). In scope DV the subject draws the tokens, and writes them. */
typedef struct {
    int capacity, nodes;     /* most rounds; nodes of a full draft */
    int32_t *n_nodes;        /* (capacity) */
    int32_t *token;          /* (capacity, nodes) drafted; -1: padding */
    int32_t *state;          /* (capacity, nodes+1) [0] the root's, [i+1] after node i */
    uint64_t *request;       /* (capacity) */
    uint64_t *seed, *offset; /* (capacity) */
    float *coin;             /* (capacity, n_coins) or NULL */
    int n_coins;

    int32_t *emitted;        /* (capacity, nodes+1) */
    int32_t *n_emitted;      /* (capacity) as the sampler said, whatever it is */
    int32_t *n_accepted;     /* (capacity) */
    uint32_t *fault;         /* (capacity) SPEC_FAULT_* */
} spec_batch;

/* What a subject did that no sampler may. */
enum {
    SPEC_FAULT_INPUT = 1,     /* it modified its input */
    SPEC_FAULT_OVERRUN = 2,   /* it wrote past its output */
    SPEC_FAULT_UNTOUCHED = 4, /* it left its output as it was */
    SPEC_FAULT_RUNNING = 8    /* it has not come back from the call with this round */
};

typedef struct {
    double timeout;          /* seconds that one call may take */
    uint64_t memory;         /* most bytes of a child; 0: no limit */
    const char *opt_options; /* for spec_sampler_open */
    const volatile sig_atomic_t *opt_stop;
} spec_subject_limits;

#define SPEC_SUBJECT_LIMITS_DEFAULT ((spec_subject_limits){.timeout = 10.0, .memory = 4ull << 30})

typedef struct {
    const char *name, *usage, *summary;
    int (*open)(spec_subject *subject, const char *path, spec_error *error);
    int (*begin)(spec_subject *subject, spec_error *error); /* make subject->batch for subject->fixture and scope */
    int (*run)(spec_subject *subject, int n, spec_error *error);
    int (*generate)(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token, int64_t n_tokens,
                    spec_error *error);
    int (*counters)(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error);
    void (*close)(spec_subject *subject);
} spec_subject_kind;

struct spec_subject {
    const spec_subject_kind *kind;
    spec_sampler_about about;
    spec_subject_limits limits;
    const spec_fixture *fixture; /* the caller's, between begin and the next */
    uint32_t scope;
    int capacity;
    spec_batch batch;
    void *own;
};

extern const spec_subject_kind *const spec_subject_kinds[]; /* NULL-terminated */
extern const spec_subject_kind spec_subject_rule, spec_subject_plugin, spec_subject_exec, spec_subject_mutant;

/* `spec` is e.g. "rule:block", "mutant:residual-from-target", "plugin:./my.so", "exec:python3 my.py"; a path ending in
 * .so alone is a plug-in. GSL_EINVAL for what there is not; GSL_EFAILED for a subject that cannot be started, with what
 * it said. */
int spec_subject_open(spec_subject *subject, const char *spec, const spec_subject_limits *limits, spec_error *error);
void spec_subject_close(spec_subject *subject);

/* How many coins a round of the fixture is given: to draw, accept and correct; or 0. For kinds. */
int spec_batch_coins(const spec_fixture *fixture);

/* A batch in one block of memory: the bytes it takes, and its arrays laid out over `memory` (16-byte aligned, zeroed by
 * the caller). For kinds. */
size_t spec_batch_bytes(int capacity, int nodes, int n_coins);
void spec_batch_lay(spec_batch *batch, void *memory, int capacity, int nodes, int n_coins);

/* What a sampler says of itself, if it makes sense; GSL_EFAILED naming the field that does not. For kinds. */
int spec_subject_check_about(const spec_sampler_about *about, spec_error *error);

/* Go over to a fixture and a scope. Afterwards subject->batch has room for `capacity` rounds. */
int spec_subject_begin(spec_subject *subject, const spec_fixture *fixture, uint32_t scope, int capacity,
                       spec_error *error);

/* Run the batch's first n rounds. GSL_EFAILED where the subject crashed, hung, ran out of memory or said that it
 * failed, with one line that says which and names the round's seed; it is then dead, and no process of it is left. What
 * it emitted is handed over unchecked. */
int spec_subject_run(spec_subject *subject, int n, spec_error *error);

/* Scope S: a text of n_tokens tokens after a start in that state. */
int spec_subject_generate(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                          int64_t n_tokens, spec_error *error);

/* drafted, accepted, emitted, as the subject counted; *ret_known false: it does not count. */
int spec_subject_counters(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error);

#endif
