/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subjects whose sampler is a table of functions in this process. */
#include "tools/validate/samplers/sampler_host.h"

#include "speclab/no_memory.h"

#include <stdlib.h>

typedef struct {
    spec_sampler_host *host;
    void *memory; /* memory of the batch */
} own;

static own *own_of(spec_subject *subject)
{
    return subject->own;
}

/* speclab's own samplers fail only when memory runs out. */
static int of_own(const spec_subject *subject, int status, spec_error *error)
{
    return status == GSL_EFAILED && subject->limits.opt_call == NULL ? spec_no_memory(error)
                                                                     : status;
}

int spec_sampler_host_subject_open(spec_subject *subject, const spec_sampler_api *api,
                                   const char *opt_options, spec_error *error)
{
    subject->own = calloc(1, sizeof(own));
    if (subject->own == NULL) return spec_no_memory(error);
    return of_own(
        subject,
        spec_sampler_host_init(&own_of(subject)->host, api, &subject->about, opt_options, error),
        error);
}

int spec_sampler_host_subject_begin(spec_subject *subject, spec_error *error)
{
    own *o = own_of(subject);
    const int nodes = subject->fixture->n_nodes, n_coins = spec_round_batch_coins(subject->fixture);
    free(o->memory);
    o->memory = calloc(1, spec_round_batch_bytes(subject->capacity, nodes, n_coins));
    if (o->memory == NULL) return spec_no_memory(error);
    spec_round_batch_lay(&subject->batch, o->memory, subject->capacity, nodes, n_coins);
    return of_own(subject,
                  spec_sampler_host_begin(o->host, subject->fixture, subject->scope,
                                          subject->capacity, error),
                  error);
}

int spec_sampler_host_subject_run(spec_subject *subject, int n, spec_error *error)
{
    return of_own(subject, spec_sampler_host_run(own_of(subject)->host, &subject->batch, n, error),
                  error);
}

int spec_sampler_host_subject_generate(spec_subject *subject, int start, int K, uint64_t seed,
                                       int32_t *ret_token, int64_t n_tokens, spec_error *error)
{
    return of_own(subject,
                  spec_sampler_host_generate(own_of(subject)->host, start, K, seed, ret_token,
                                             n_tokens, error),
                  error);
}

int spec_sampler_host_subject_counters(spec_subject *subject, uint64_t ret[3], bool *ret_known,
                                       spec_error *error)
{
    return spec_sampler_host_counters(own_of(subject)->host, ret, ret_known, error);
}

void spec_sampler_host_subject_close(spec_subject *subject)
{
    own *o = own_of(subject);
    if (o == NULL) return;
    spec_sampler_host_free(o->host);
    free(o->memory);
    free(o);
    subject->own = NULL;
}
