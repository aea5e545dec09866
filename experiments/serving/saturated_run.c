/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/serving/saturated_run.h"

#include "experiments/serving/begun_requests.h"

#include <math.h>

/* Requests in the system where nothing limits them. */
enum { CROWD = 2048 };

static int run(double *ret_rate, double *ret_rounds, const spec_serving_question *question,
               const spec_serving_way *way, int crowd, uint64_t seed, const volatile int *opt_stop,
               spec_error *error)
{
    spec_requests requests = question->requests;
    requests.arrivals = (spec_arrivals){.kind = SPEC_ARRIVALS_AT_ONCE};
    const spec_begun_requests begun = {spec_requests_source(&requests), crowd};
    spec_serving_plan plan = spec_serving_question_plan(question, way);
    plan.requests = spec_begun_requests_source(&begun);
    plan.closed = true;
    plan.slots = crowd;
    plan.warm = (uint64_t)crowd;
    plan.measured = 10 * (uint64_t)crowd + 2000;
    plan.keep_every = 0;
    spec_serving_result result;
    const int status = spec_serving_run(&result, &plan, seed, 0, opt_stop, error);
    *ret_rate = (double)result.sums.requests / result.sums.seconds;
    *ret_rounds = (double)result.sums.rounds / (double)result.sums.requests;
    spec_serving_result_free(&result);
    return status;
}

int spec_saturated_run_capacity(spec_saturated_run *ret, const spec_serving_question *question,
                                const spec_serving_way *way, uint64_t seed,
                                const volatile int *opt_stop, spec_error *error)
{
    const bool full = question->plan.closed || question->batch_limited;
    const int crowd = full ? question->plan.slots : CROWD;
    double rate, twice, rounds;
    int status = GSL_SUCCESS;
    *ret = (spec_saturated_run){NAN, NAN};
    SPEC_TRY(run(&rate, &rounds, question, way, crowd, seed, opt_stop, error));
    if (!full && question->plan.blocks == 0) {
        SPEC_TRY(run(&twice, &rounds, question, way, 2 * crowd, seed, opt_stop, error));
        rate = 1.0 / (2.0 / twice - 1.0 / rate);
    }
    *ret = (spec_saturated_run){rate, rounds};
done:
    return status;
}
