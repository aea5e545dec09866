/* SPDX-License-Identifier: GPL-3.0-or-later */
/* subject: the sampler under test: a rule of speclab, a shared library or a process.
 * It receives batches of rounds, which refer to states of a fixture, and writes the tokens that it
 * emits. One thread uses a subject; a run with n threads opens n. Plug-ins run in a child process,
 * which may crash. Kinds are lines of the table spec_subject_kinds. */
#ifndef SPECLAB_SUBJECT_H
#define SPECLAB_SUBJECT_H

#include "base/clock.h"
#include "speclab/speclab.h"
#include "tools/validate/fixtures/fixture.h"

#include <gsl/gsl_rng.h>
#include <signal.h>

typedef struct spec_subject spec_subject;

/* A round batch: plain arrays, possibly in shared memory, owned by the subject. Round i's nodes
 * start at i*nodes, its states and emitted tokens at i*(nodes+1). In scope DV the subject draws and
 * writes `token`. */
typedef struct {
    int capacity, nodes;     /* the largest number of rounds; the nodes of a full draft */
    int32_t *n_nodes;        /* (capacity) */
    int32_t *token;          /* (capacity, nodes) drafted; -1: padding */
    int32_t *state;          /* (capacity, nodes+1) [0]: at the root; [i+1]: after node i */
    uint64_t *request;       /* (capacity) */
    uint64_t *seed, *offset; /* (capacity) */
    float *coin;             /* (capacity, n_coins) or NULL */
    int n_coins;

    int32_t *emitted;        /* (capacity, nodes+1) */
    int32_t *n_emitted;      /* (capacity) as the sampler reported it, unchecked */
    int32_t *n_accepted;     /* (capacity) */
    uint32_t *fault;         /* (capacity) SPEC_FAULT_* */
} spec_round_batch;

/* What a sampler must not do. */
enum {
    SPEC_FAULT_INPUT = 1,     /* it modified its input */
    SPEC_FAULT_OVERRUN = 2,   /* it wrote past its output */
    SPEC_FAULT_UNTOUCHED = 4, /* it did not write its output */
    SPEC_FAULT_RUNNING = 8    /* it has not returned from the call for this round */
};

typedef struct {
    double timeout;          /* time-out of one call, seconds */
    spec_clock clock;        /* measures time-outs; if it is off, we use wall-clock time */
    uint64_t memory;         /* memory limit of a child, bytes; 0: none */
    /* options for spec_sampler_open; for a process, words appended to its command */
    const char *opt_options;
    /* NAME and NAME=VALUE, for the environment of a child (child_environment.h); NULL-terminated */
    const char *const *opt_env;
    const volatile sig_atomic_t *opt_stop;
    const speclab_sampler *opt_call; /* the sampler itself, a function in this process, instead of a
                                      * spec */
    const char *supervisor; /* program whose main calls spec_supervisor_main (supervisor.h), such as
                               "/proc/self/exe"; NULL: plug-ins and processes cannot be started */
} spec_subject_limits;

#define SPEC_SUBJECT_LIMITS_DEFAULT ((spec_subject_limits){.timeout = 10.0, .memory = 4ull << 30})

typedef struct {
    const char *name, *usage, *summary;
    bool foreign; /* it runs other people's code, in a child with its own environment */
    int (*open)(spec_subject *subject, const char *path, spec_error *error);
    int (*begin)(spec_subject *subject,
                 /* allocates subject->batch for subject->fixture and subject->scope */
                 spec_error *error);
    int (*run)(spec_subject *subject, int n, spec_error *error);
    int (*generate)(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                    int64_t n_tokens, spec_error *error);
    int (*counters)(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error);
    void (*close)(spec_subject *subject);
    bool (*late)(const spec_subject *subject); /* NULL: never */
} spec_subject_kind;

struct spec_subject {
    const spec_subject_kind *kind;
    spec_sampler_about about;
    spec_subject_limits limits;
    const spec_fixture *fixture; /* the caller's; valid from one begin to the next */
    uint32_t scope;
    int capacity;
    spec_round_batch batch;
    uint64_t first_seed; /* seed of the texts of a batch, or of two that belong together */
    void *own;
};

extern const spec_subject_kind *const spec_subject_kinds[]; /* NULL-terminated */
extern const spec_subject_kind spec_subject_rule, spec_subject_plugin, spec_subject_exec,
    spec_subject_mutant, spec_subject_biased;
extern const spec_subject_kind spec_subject_call; /* calls limits.opt_call; not in the table */

/* Opens limits->opt_call, or else a sampler by its spec: "rule:block", "plugin:./my.so",
 * "mutant:residual-from-target", "exec:python3 my.py"; a path that ends in .so is a plug-in.
 * Returns GSL_EINVAL for an unknown name; GSL_EFAILED, with the sampler's message, if it cannot be
 * started. */
int spec_subject_open(spec_subject *subject, const char *spec, const spec_subject_limits *limits,
                      spec_error *error);
void spec_subject_close(spec_subject *subject);

/* Returns whether the spec is of a foreign kind. */
bool spec_subject_is_foreign(const char *spec);

/* Returns how many coins a round of the fixture gets, to draw, accept and correct; 0: none. For
 * kinds. */
int spec_round_batch_coins(const spec_fixture *fixture);

/* Return the size in bytes of a batch in one block of memory, and lay out its arrays over `memory`
 * (16-byte aligned, zeroed by the caller). For kinds. */
size_t spec_round_batch_bytes(int capacity, int nodes, int n_coins);
void spec_round_batch_lay(spec_round_batch *batch, void *memory, int capacity, int nodes,
                          int n_coins);

/* Checks a declaration. Returns GSL_EFAILED, naming the invalid field. For kinds. */
int spec_subject_check_about(const spec_sampler_about *about, spec_error *error);

/* Switches to a fixture and a scope. Afterwards subject->batch holds up to `capacity` rounds. */
int spec_subject_begin(spec_subject *subject, const spec_fixture *fixture, uint32_t scope,
                       int capacity, spec_error *error);

/* Returns whether the subject ended because a call took longer than limits.timeout. */
bool spec_subject_is_late(const spec_subject *subject);

/* Runs the first n rounds of the batch. Returns GSL_EFAILED if the subject crashed, hung, ran out
 * of memory or reported a failure, with one line that says which and gives the round's seed; all of
 * its processes have then ended. Returns GSL_ENOMEM for speclab's own samplers, which fail only
 * when memory runs out. The answers are not checked. */
int spec_subject_run(spec_subject *subject, int n, spec_error *error);

/* Scope S: generates a text of n_tokens tokens that starts in state `start`. */
int spec_subject_generate(spec_subject *subject, int start, int K, uint64_t seed,
                          int32_t *ret_token, int64_t n_tokens, spec_error *error);

/* The inputs of a text. */
typedef struct {
    int start, n; /* start: a state of level 0; n: tokens */
    uint64_t seed;
} spec_text_asked;

/* Scope S: generates text k of a batch, with the fixture's length. `rng` draws its start and seed,
 * so ask for the texts of a batch in order; ret_token holds SPEC_FIXTURE_TEXT_MAX tokens. */
int spec_subject_text(spec_text_asked *ret, int32_t *ret_token, spec_subject *subject, int k,
                      gsl_rng *rng, spec_error *error);

/* Reads the subject's own counters: drafted, accepted, emitted tokens. *ret_known says whether it
 * has any. */
int spec_subject_counters(spec_subject *subject, uint64_t ret[3], bool *ret_known,
                          spec_error *error);

#endif
