/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_average: a moving average of alpha, from tested draft tokens.
 * Headers only. A draft token is tested if all tokens before it were accepted, so accepted/drafted
 * is not alpha. */
#ifndef SPECLAB_ACCEPTANCE_AVERAGE_H
#define SPECLAB_ACCEPTANCE_AVERAGE_H

#include <stdint.h>

typedef struct {
    float passed, tested; /* each observation multiplies the older weights by 1 - rate */
} spec_acceptance_average;

static inline float spec_acceptance_average_alpha(const spec_acceptance_average *average)
{
    return average->passed / average->tested;
}

/* Adds n rounds as one observation; round i accepted accepted[i] of K[i] draft tokens. Does nothing
 * if no round drafted. */
static inline void spec_acceptance_average_add(spec_acceptance_average *average, const int32_t *K,
                                               const int32_t *accepted, int n, double rate)
{
    const float keep = (float)(1.0 - rate);
    int64_t passed = 0, tested = 0;
    for (int i = 0; i < n; i++) {
        passed += accepted[i];
        tested += accepted[i] + (accepted[i] < K[i]);
    }
    if (tested == 0) return;
    average->passed = keep * average->passed + (float)passed;
    average->tested = keep * average->tested + (float)tested;
}

#endif
