/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_average: a moving average of alpha, from tested draft tokens. Headers only.
 * A draft token is tested if all tokens before it were accepted: accepted/drafted is not alpha. */
#ifndef SPECLAB_ACCEPTANCE_AVERAGE_H
#define SPECLAB_ACCEPTANCE_AVERAGE_H

#include <stdint.h>

typedef struct {
    float passed, tested; /* with weights that fall by 1 - rate per observation */
} spec_acceptance_average;

static inline float spec_acceptance_average_alpha(const spec_acceptance_average *average)
{
    return average->passed / average->tested;
}

/* `passed` of `tested` tokens were accepted, in one round or in all rounds of a step. */
static inline void spec_acceptance_average_add(spec_acceptance_average *average, int64_t passed,
                                               int64_t tested, double rate)
{
    const float keep = (float)(1.0 - rate);
    average->passed = keep * average->passed + (float)passed;
    average->tested = keep * average->tested + (float)tested;
}

#endif
