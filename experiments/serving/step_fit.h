/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_fit: the affine step cost with which a simulated engine has the times of a measured one.
 * The engine serves every request of a trace; the fit sees the measured times of one half of them.
 * Nelder and Mead's simplex [NelderMead65] over logarithms of the costs, from several starts. */
#ifndef SPECLAB_STEP_FIT_H
#define SPECLAB_STEP_FIT_H

#include "experiments/serving/request_times.h"

/* The engine that served a trace: its limits, its requests, K = 0. The plan's cost is not read. */
typedef struct {
    spec_serving_plan plan;
    const spec_request_trace *trace;
    const spec_request_times *measured; /* of the trace */
    spec_request_split split;           /* the first half is fitted */
} spec_step_fit_problem;

/* The weighted mean over the fitted half of 2 d^2 (sqrt(1 + (e/d)^2) - 1) (pseudo-Huber
 * [Charbonnier94]), d = 0.05, of the errors e of three times: time to first token and latency over
 * their measured means, and, with weight 10, time per token over the request's own. It is e^2 where
 * errors are small, and 2 d |e| where they are large: which request is preempted is chance. */
int spec_step_fit_loss(double *ret_loss, const spec_step_fit_problem *problem,
                       const spec_affine_step *cost, spec_error *error);

/* The cost with the smallest loss found, and its loss. Without draft costs. GSL_EINVAL if no
 * request has two tokens, or a time is 0 that errors are relative to; GSL_EFAILED where *opt_stop
 * was set; as spec_serving_run. */
int spec_step_fit(spec_affine_step *ret_cost, double *ret_loss,
                  const spec_step_fit_problem *problem, const volatile int *opt_stop,
                  spec_error *error);

/* The cost as a spec for spec_step_cost_create: "affine?step=..&token=..&kv=..". */
enum { SPEC_STEP_FIT_SPEC = 128 };
void spec_step_fit_spec(char ret_spec[SPEC_STEP_FIT_SPEC], const spec_affine_step *cost);

#endif
