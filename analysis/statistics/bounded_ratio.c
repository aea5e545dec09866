/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/bounded_ratio.h"

#include <math.h>

spec_ratio_verdict spec_bounded_ratio(spec_block_interval *ratio, bool impossible, double least,
                                      double most, double most_high)
{
    if (impossible) {
        *ratio = (spec_block_interval){NAN, NAN, NAN, NAN};
        return SPEC_RATIO_IMPOSSIBLE;
    }
    const bool reported = ratio->high <= SPEC_RATIO_WIDEST * ratio->low;
    ratio->value = reported ? fmin(fmax(ratio->value, least), most) : NAN;
    if (!reported) ratio->se = NAN;
    if (isnan(ratio->low)) return SPEC_RATIO_VAGUE;
    ratio->low = fmin(fmax(ratio->low, least), most_high);
    ratio->high = fmin(fmax(ratio->high, least), most_high);
    if (reported && ratio->low > ratio->value) ratio->low = ratio->value;
    return reported ? SPEC_RATIO_REPORTED : SPEC_RATIO_VAGUE;
}
