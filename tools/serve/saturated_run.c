/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/saturated_run.h"

#include "tools/serve/begun_requests.h"

#include <math.h>

/* Number of requests in the system if nothing limits it. */
enum { CROWD = 2048 };

static int run(spec_saturated_run *ret, const spec_serving_question *question,
               const spec_serving_way *way, int crowd, uint64_t seed, const volatile int *opt_stop,
               spec_error *error)
{
    spec_requests requests = question->requests;
    requests.arrivals = (spec_arrivals){.kind = SPEC_ARRIVALS_AT_ONCE};
    const spec_begun_requests begun = {.inner = spec_requests_source(&requests),
                                       .by_length = spec_requests_source(&question->by_length),
                                       .slots = crowd,
                                       .step = 1.0,
                                       .K = way->K};
    spec_serving_plan plan = spec_serving_question_plan(question, way);
    plan.requests = spec_begun_requests_source(&begun);
    plan.closed = true;
    plan.slots = crowd;
    plan.warm = (uint64_t)crowd;
    plan.measured = 10 * (uint64_t)crowd + 2000;
    plan.keep_every = 0;
    plan.unfollowed = true;
    spec_serving_result result;
    const int status = spec_serving_run(&result, &plan, seed, 0, opt_stop, error);
    const spec_serving_sums *sums = &result.sums;
    ret->capacity = (double)plan.measured / sums->seconds;
    ret->rounds = (double)sums->rounds / (double)plan.measured;
    ret->step = sums->step / (double)sums->steps;
    spec_serving_result_free(&result);
    return status;
}

int spec_saturated_run_capacity(spec_saturated_run *ret, const spec_serving_question *question,
                                const spec_serving_way *way, uint64_t seed,
                                const volatile int *opt_stop, spec_error *error)
{
    const bool full = question->plan.closed || question->batch_limited;
    const int crowd = full ? question->plan.slots : CROWD;
    spec_saturated_run once = {NAN, NAN, NAN};
    int status = GSL_SUCCESS;
    *ret = once;
    SPEC_TRY(run(&once, question, way, crowd, seed, opt_stop, error));
    *ret = once;
    if (!full && question->plan.blocks == 0) {
        SPEC_TRY(run(ret, question, way, 2 * crowd, seed, opt_stop, error));
        ret->capacity = 1.0 / (2.0 / ret->capacity - 1.0 / once.capacity);
    }
done:
    return status;
}
