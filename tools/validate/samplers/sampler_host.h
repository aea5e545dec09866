/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sampler_host: calls a sampler in this process with the batches of a subject.
 * A sampler is a table of functions. The host gathers the rows of the batch's states (as logits if
 * requested), puts guards around inputs and outputs, and records faults. Rules and mutants run in
 * speclab's own process, plug-ins in a child. Owns its rows. */
#ifndef SPECLAB_SAMPLER_HOST_H
#define SPECLAB_SAMPLER_HOST_H

#include "tools/validate/samplers/subject.h"

/* The functions of speclab/sampler.h; optional ones may be NULL. */
typedef struct {
    int (*describe)(spec_sampler_about *about);
    int (*open)(void **ret_self, const char *opt_options);
    int (*step)(void *self, spec_step *steps, int32_t n_steps);
    void (*close)(void *self);
    int (*generate)(void *self, const spec_models *models, const int32_t *context,
                    int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                    int32_t *ret_token, int64_t n_tokens);
    int (*counters)(void *self, uint64_t *ret_drafted, uint64_t *ret_accepted,
                    uint64_t *ret_emitted);
    const char *(*error)(void *self);
    /* not of plug-ins: is told the order in which a fixture's parameters are to be applied */
    void (*promise)(void *self, const spec_filter_order *order);
} spec_sampler_api;

typedef struct spec_sampler_host spec_sampler_host;

int spec_sampler_host_init(spec_sampler_host **ret, const spec_sampler_api *api,
                           const spec_sampler_about *about, const char *opt_options,
                           spec_error *error);

/* Sets the sampler's declaration; call this before the first begin. */
void spec_sampler_host_declare(spec_sampler_host *host, const spec_sampler_about *about);
int spec_sampler_host_begin(spec_sampler_host *host, const spec_fixture *fixture, uint32_t scope,
                            int capacity, spec_error *error);
int spec_sampler_host_run(spec_sampler_host *host, spec_round_batch *batch, int n,
                          spec_error *error);
int spec_sampler_host_generate(spec_sampler_host *host, int start, int K, uint64_t seed,
                               int32_t *ret_token, int64_t n_tokens, spec_error *error);
int spec_sampler_host_counters(spec_sampler_host *host, uint64_t ret[3], bool *ret_known,
                               spec_error *error);
void spec_sampler_host_free(spec_sampler_host *host);

/* The functions of a spec_subject_kind whose sampler is such a table in this process. Fill in
 * subject->about before calling _open. */
int spec_sampler_host_subject_open(spec_subject *subject, const spec_sampler_api *api,
                                   const char *opt_options, spec_error *error);
int spec_sampler_host_subject_begin(spec_subject *subject, spec_error *error);
int spec_sampler_host_subject_run(spec_subject *subject, int n, spec_error *error);
int spec_sampler_host_subject_generate(spec_subject *subject, int start, int K, uint64_t seed,
                                       int32_t *ret_token, int64_t n_tokens, spec_error *error);
int spec_sampler_host_subject_counters(spec_subject *subject, uint64_t ret[3], bool *ret_known,
                                       spec_error *error);
void spec_sampler_host_subject_close(spec_subject *subject);

#endif
