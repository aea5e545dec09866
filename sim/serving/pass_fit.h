/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_fit: the time of a pass, fitted to a few measured times of plain decoding.
 * Read from a file of llama-batched-bench, `vllm bench`, SGLang's bench_one_batch, or a CSV of
 * batch, tokens and ms (docs/formats.md#fits). Least squares of relative errors, none negative. */
#ifndef SPECLAB_PASS_FIT_H
#define SPECLAB_PASS_FIT_H

#include "base/settings.h"

enum { SPEC_PASS_FIT_POINTS = 4096 };

/* A pass of `tokens` over a total of kv_tokens cached ones. */
typedef struct {
    double tokens, kv_tokens, seconds;
} spec_pass_point;

typedef struct {
    int n;
    spec_pass_point at[SPEC_PASS_FIT_POINTS];
} spec_pass_points;

/* Reads the file, which is hostile. The settings batch, input and output are those of a run of
 * `vllm bench latency`, which its file lacks. Errors are in one line and name the file, and line or
 * row. GSL_EINVAL also for a run with speculation, and without any point. */
int spec_pass_points_read(spec_pass_points *points, const spec_settings *settings,
                          spec_error *error);

/* step + token tokens + kv kv_tokens, with those that are not fitted as they are given. */
typedef struct {
    double step, token, kv;
    double step_se;     /* of the step; NaN without 2 points more than unknowns */
    double worst_error; /* the largest relative error */
    bool fits_token, fits_kv;
} spec_pass_fit;

/* Fits the step; the token, where the points have different tokens; the KV token, where there are
 * three points and contexts differ by 5 % or more. `given` has the values of what is not fitted.
 * GSL_EINVAL if no step >= 0 fits, GSL_ENOMEM. */
int spec_pass_fit_points(spec_pass_fit *fit, const spec_pass_points *points,
                         const spec_pass_fit *given, const char *path, spec_error *error);

#endif
