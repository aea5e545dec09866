/* caller: calls a sampler that is a table of functions in this process with a batch of a subject.
 * It gathers the rows of the batch's states (as logits, where these are wanted), lays guards around inputs and outputs,
 * and notes faults. Rules and mutants are called in speclab's own process, plug-ins in a child. Owns its rows. */
#ifndef SPECLAB_CALLER_H
#define SPECLAB_CALLER_H

#include "conformance/samplers/subject.h"

/* The functions of speclab/sampler.h; those that are optional may be NULL. */
typedef struct {
    int (*describe)(spec_sampler_about *about);
    int (*open)(void **ret_self, const char *opt_options);
    int (*step)(void *self, spec_step *steps, int32_t n_steps);
    void (*close)(void *self);
    int (*generate)(void *self, const spec_models *models, const int32_t *context, int64_t n_context, int32_t K,
                    spec_sampling sampling, uint64_t seed, int32_t *ret_token, int64_t n_tokens);
    int (*counters)(void *self, uint64_t *ret_drafted, uint64_t *ret_accepted, uint64_t *ret_emitted);
    const char *(*error)(void *self);
} spec_sampler_api;

typedef struct spec_caller spec_caller;

int spec_caller_init(spec_caller **ret, const spec_sampler_api *api, const spec_sampler_about *about,
                     const char *opt_options, spec_error *error);
int spec_caller_begin(spec_caller *caller, const spec_fixture *fixture, uint32_t scope, int capacity,
                      spec_error *error);
int spec_caller_run(spec_caller *caller, spec_batch *batch, int n, spec_error *error);
int spec_caller_generate(spec_caller *caller, int start, int K, uint64_t seed, int32_t *ret_token,
                         int64_t n_tokens, spec_error *error);
int spec_caller_counters(spec_caller *caller, uint64_t ret[3], bool *ret_known, spec_error *error);
void spec_caller_free(spec_caller *caller);

/* What a kind of subject is made of whose sampler is such a table in this process: subject->about is filled in before;
 * the others are a spec_subject_kind's functions. */
int spec_subject_open_api(spec_subject *subject, const spec_sampler_api *api, const char *opt_options,
                          spec_error *error);
int spec_subject_begin_api(spec_subject *subject, spec_error *error);
int spec_subject_run_api(spec_subject *subject, int n, spec_error *error);
int spec_subject_generate_api(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                              int64_t n_tokens, spec_error *error);
int spec_subject_counters_api(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error);
void spec_subject_close_api(spec_subject *subject);

#endif
