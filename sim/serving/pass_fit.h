/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_fit: the time of a pass, fitted to a few measured times of plain decoding.
 * The times are read from a file of llama-batched-bench, `vllm bench` or SGLang's bench_one_batch,
 * or from a CSV with batch, tokens and ms (docs/formats.md#fits). The fit is by least squares of
 * the relative errors, with no negative coefficient. */
#ifndef SPECLAB_PASS_FIT_H
#define SPECLAB_PASS_FIT_H

#include "base/settings.h"

enum { SPEC_PASS_FIT_POINTS = 4096 };

/* A pass of `tokens` tokens that reads kv_tokens cached tokens in total. */
typedef struct {
    double tokens, kv_tokens, seconds;
} spec_pass_point;

typedef struct {
    int n;
    spec_pass_point at[SPEC_PASS_FIT_POINTS];
} spec_pass_points;

/* Reads the file, which may be hostile. The settings batch, input and output describe a run of
 * `vllm bench latency`, whose file lacks them. Error messages are one line and name the file, and
 * the line or row. Returns GSL_EINVAL also if the run used speculation, and if there is no
 * point. */
int spec_pass_points_read(spec_pass_points *points, const spec_settings *settings,
                          spec_error *error);

/* Returns the name of required field i = 0, 1, ... of a row of format 0, 1, ..., and the program
 * that writes the format; NULL after the last field, and after the last format. */
const char *spec_pass_fit_fields(const char **ret_program, int format, int i);

/* The fitted time: step + token tokens + kv kv_tokens. Coefficients that are not fitted keep their
 * given values. */
typedef struct {
    double step, token, kv;
    double step_se;     /* standard error of step; NaN unless there are 2 more points than
                         * unknowns */
    double worst_error; /* the largest relative error */
    bool fits_token, fits_kv;
} spec_pass_fit;

/* Always fits `step`, fits `token` if the points differ in tokens, and `kv` if there are at least
 * three points and their contexts differ by 5 % or more. `given` holds the values of what is not
 * fitted. Returns GSL_EINVAL if no step >= 0 fits, or GSL_ENOMEM. */
int spec_pass_fit_points(spec_pass_fit *fit, const spec_pass_points *points,
                         const spec_pass_fit *given, const char *path, spec_error *error);

#endif
