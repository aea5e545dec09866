/* The functions of a kind of subject whose sampler is a table of functions in this process. */
#include "conformance/samplers/caller.h"

#include <stdlib.h>

typedef struct {
    spec_caller *caller;
    void *memory; /* of the batch */
} own;

static own *own_of(spec_subject *subject)
{
    return subject->own;
}

int spec_subject_open_api(spec_subject *subject, const spec_sampler_api *api, const char *opt_options,
                          spec_error *error)
{
    subject->own = calloc(1, sizeof(own));
    if (subject->own == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    return spec_caller_init(&own_of(subject)->caller, api, &subject->about, opt_options, error);
}

int spec_subject_begin_api(spec_subject *subject, spec_error *error)
{
    own *o = own_of(subject);
    const int nodes = subject->fixture->n_nodes, n_coins = spec_batch_coins(subject->fixture);
    free(o->memory);
    o->memory = calloc(1, spec_batch_bytes(subject->capacity, nodes, n_coins));
    if (o->memory == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    spec_batch_lay(&subject->batch, o->memory, subject->capacity, nodes, n_coins);
    return spec_caller_begin(o->caller, subject->fixture, subject->scope, subject->capacity, error);
}

int spec_subject_run_api(spec_subject *subject, int n, spec_error *error)
{
    return spec_caller_run(own_of(subject)->caller, &subject->batch, n, error);
}

int spec_subject_generate_api(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                              int64_t n_tokens, spec_error *error)
{
    return spec_caller_generate(own_of(subject)->caller, start, K, seed, ret_token, n_tokens, error);
}

int spec_subject_counters_api(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error)
{
    return spec_caller_counters(own_of(subject)->caller, ret, ret_known, error);
}

void spec_subject_close_api(spec_subject *subject)
{
    own *o = own_of(subject);
    if (o == NULL) return;
    spec_caller_free(o->caller);
    free(o->memory);
    free(o);
    subject->own = NULL;
}
