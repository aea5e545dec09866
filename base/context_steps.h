/* SPDX-License-Identifier: GPL-3.0-or-later */
/* context_steps: a number that changes in steps with the length of the context: 0.8@0/0.7@4000.
 * Each number holds from its length up to the next one. We use steps rather than lines between
 * points because measurements come as ranges of lengths, and because a step function can be
 * enumerated exactly. */
#ifndef SPECLAB_CONTEXT_STEPS_H
#define SPECLAB_CONTEXT_STEPS_H

#include "speclab/status.h"

#include <stdint.h>

enum { SPEC_CONTEXT_STEPS_MAX = 32 };

typedef struct {
    int n;                            /* >= 1 */
    int from[SPEC_CONTEXT_STEPS_MAX]; /* tokens; 0, then rising */
    double value[SPEC_CONTEXT_STEPS_MAX];
} spec_context_steps;

/* Parses NUMBER@TOKENS/NUMBER@TOKENS/..., with numbers within [low, high]. The first number holds
 * from 0 on, and its @0 may be left out. Otherwise zeroes the result and returns GSL_EINVAL, with a
 * line that begins with `key`. */
int spec_context_steps_parse(spec_context_steps *ret, const char *key, const char *text, double low,
                             double high, spec_error *error);

/* Returns the number for a context of >= 0 tokens. */
static inline double spec_context_steps_at(const spec_context_steps *steps, int64_t context)
{
    int i = 0;
    while (i + 1 < steps->n && steps->from[i + 1] <= context) i++;
    return steps->value[i];
}

#endif
