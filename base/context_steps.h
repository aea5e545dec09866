/* SPDX-License-Identifier: GPL-3.0-or-later */
/* context_steps: a number that depends on the length of a context, by steps: 0.8@0/0.7@4000.
 * Each number holds from its length on, up to the next one. Steps rather than lines between points:
 * measurements come by ranges of lengths, and enumeration of a step function is exact. */
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

/* Parses NUMBER@TOKENS/NUMBER@TOKENS/..., numbers within [low, high]; the first is from 0 on, and
 * its @0 may be left out. GSL_EINVAL with one line that begins with `key`, and a zeroed result. */
int spec_context_steps_parse(spec_context_steps *ret, const char *key, const char *text, double low,
                             double high, spec_error *error);

/* The number at a context of >= 0 tokens. */
static inline double spec_context_steps_at(const spec_context_steps *steps, int64_t context)
{
    int i = 0;
    while (i + 1 < steps->n && steps->from[i + 1] <= context) i++;
    return steps->value[i];
}

#endif
