/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rope_scaling: computes the factors by which YaRN slows the pairs of a rotary embedding.
 * Pairs that turn often within the original context are kept. Those that hardly turn are slowed by
 * the whole factor, and in between the factor increases along a ramp. [Peng24] section 3.2. */
#ifndef SPECLAB_ROPE_SCALING_H
#define SPECLAB_ROPE_SCALING_H

#include "models/transformer/files/checkpoint.h"

enum { SPEC_YARN_FAST = 32, SPEC_YARN_SLOW = 1 }; /* the defaults of spec_yarn */

/* Pair i, which turns by w_i = base^(-2i/head_dim) per position, turns by w_i / factor[i]:
 *
 *     1/factor[i] = (1 - r_i) + r_i / yarn.factor,    r_i = clamp((i - low) / (high - low), 0, 1)
 *     low  = d(fast), high = d(slow),    d(n) = head_dim log(context / (2 pi n)) / (2 log(base))
 *
 * low is rounded down and at least 0, high is rounded up and at most head_dim - 1; they are not
 * rounded if yarn.keeps_fractions. The function multiplies factor (head_dim/2), which may already
 * hold another scaling. Returns the magnitude. */
double spec_rope_scaling_yarn(float *factor, const spec_yarn *yarn, double base, int head_dim);

/* Returns GSL_EINVAL if the factor or the context is below 1, 0 < slow < fast does not hold, or the
 * magnitude is not a number above 0. The line begins with `path`. */
int spec_rope_scaling_check(const spec_yarn *yarn, const char *path, spec_error *error);

#endif
