/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_fit: fits an affine step cost, so that the simulated engine reproduces measured times.
 * The engine serves every request of a trace, but the fit sees the measured times of only half of
 * them. It runs Nelder and Mead's simplex [NelderMead65] on logarithms of the costs, from several
 * starts. */
#ifndef SPECLAB_STEP_FIT_H
#define SPECLAB_STEP_FIT_H

#include "tools/serve/request_times.h"

/* The engine that served a trace: its limits and its requests, at K = 0. The plan's cost is not
 * read. */
typedef struct {
    spec_serving_plan plan;
    const spec_request_trace *trace;
    const spec_request_times *measured; /* the times measured in the trace */
    spec_request_split split;           /* the first half of the split is fitted */
} spec_step_fit_problem;

/* Computes the loss: the weighted mean over the fitted half of 2 d^2 (sqrt(1 + (e/d)^2) - 1)
 * (pseudo-Huber [Charbonnier94]), d = 0.05. e is the error of a time. Errors of the time to first
 * token and of latency are divided by their measured means; errors of the time per token, which
 * have weight 10, are divided by the request's own. The loss is e^2 for small errors, and 2 d |e|
 * for large ones, because chance decides which request is preempted. */
int spec_step_fit_loss(double *ret_loss, const spec_step_fit_problem *problem,
                       const spec_affine_step *cost, spec_error *error);

/* Returns the cost with the smallest loss that was found, without draft costs, and its loss.
 * Returns GSL_EINVAL if no request has two tokens, or if errors would be relative to a time of 0;
 * GSL_EFAILED if *opt_stop was set; otherwise as spec_serving_run. */
int spec_step_fit(spec_affine_step *ret_cost, double *ret_loss,
                  const spec_step_fit_problem *problem, const volatile int *opt_stop,
                  spec_error *error);

/* Writes the cost as a spec for spec_step_cost_create: "affine?step=..&token=..&kv=..". */
enum { SPEC_STEP_FIT_SPEC = 128 };
void spec_step_fit_spec(char ret_spec[SPEC_STEP_FIT_SPEC], const spec_affine_step *cost);

#endif
