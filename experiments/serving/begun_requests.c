/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/serving/begun_requests.h"

#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>

static const double golden_ratio = 0.6180339887498949;

typedef struct {
    const spec_begun_requests *of;
    void *inner;
    int next;
    double share; /* of the next request */
} cursor;

static void *begin(const void *self, uint64_t seed, uint64_t stream)
{
    cursor *at = calloc(1, sizeof *at);
    if (at == NULL) return NULL;
    at->of = self;
    at->inner = at->of->inner.begin(at->of->inner.self, seed, stream);
    spec_rng_state rng = spec_rng_stream_state(spec_rng_named_seed(seed, "begun requests"), stream);
    at->share = spec_rng_next_double(&rng);
    if (at->inner != NULL) return at;
    free(at);
    return NULL;
}

static bool next(void *self, spec_request *ret_request)
{
    cursor *at = self;
    if (!at->of->inner.next(at->inner, ret_request)) return false;
    if (at->next == at->of->begun) return true;
    ret_request->output = 1 + (int)(at->share * (ret_request->output - 1));
    at->share = fmod(at->share + golden_ratio, 1.0);
    at->next++;
    return true;
}

static void end(void *self)
{
    cursor *at = self;
    at->of->inner.end(at->inner);
    free(at);
}

spec_request_source spec_begun_requests_source(const spec_begun_requests *requests)
{
    return (spec_request_source){requests, begin, next, end};
}
