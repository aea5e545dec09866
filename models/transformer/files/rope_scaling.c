/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/rope_scaling.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* Returns, as a fraction, the index of the pair that turns this many times within the context. */
static double pair_of(double turns, const spec_yarn *yarn, double base, int head_dim)
{
    return head_dim * log(yarn->context / (2.0 * pi * turns)) / (2.0 * log(base));
}

double spec_rope_scaling_yarn(float *factor, const spec_yarn *yarn, double base, int head_dim)
{
    double low = pair_of(yarn->fast, yarn, base, head_dim),
           high = pair_of(yarn->slow, yarn, base, head_dim);
    if (!yarn->keeps_fractions) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0.0);
    high = fmin(high, head_dim - 1.0);
    const double width = fmax(high - low, 0.001);
    for (int i = 0; i < head_dim / 2; i++) {
        const double ramp = fmin(fmax((i - low) / width, 0.0), 1.0);
        factor[i] = (float)((double)factor[i] / ((1.0 - ramp) + ramp / yarn->factor));
    }
    return yarn->opt_magnitude != 0.0 ? yarn->opt_magnitude : 1.0 + 0.1 * log(yarn->factor);
}

int spec_rope_scaling_check(const spec_yarn *yarn, const char *path, spec_error *error)
{
    if (!(yarn->factor >= 1.0 && yarn->factor <= SPEC_CONTEXT_MAX))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: YaRN by a factor of %g is not possible: it must be from 1 to %d",
                         path, yarn->factor, SPEC_CONTEXT_MAX);
    if (yarn->context < 1)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: YaRN from a context of %d positions is not possible", path,
                         yarn->context);
    if (!(yarn->slow > 0.0 && yarn->slow < yarn->fast && isfinite(yarn->fast)))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: YaRN with beta_fast %g and beta_slow %g is not possible: "
                         "beta_slow must be above 0 and below beta_fast",
                         path, yarn->fast, yarn->slow);
    if (!(yarn->opt_magnitude >= 0.0 && isfinite(yarn->opt_magnitude)))
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: YaRN with attention scaled by %g is not possible", path,
                         yarn->opt_magnitude);
    return GSL_SUCCESS;
}
