/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/conservation.h"

#include <math.h>
#include <stddef.h>

/* Allows for rounding in sums of times, relative to the total of what is summed. */
static const double rounding = 1e-9;

bool spec_conservation_tokens(const spec_serving_sums *sums)
{
    return sums->emitted + sums->cut == sums->first + sums->rounds + sums->accepted &&
           (int64_t)sums->emitted == sums->written && sums->batch == (double)sums->rounds;
}

bool spec_conservation_blocks(const spec_serving_sums *sums)
{
    return sums->blocks_taken == sums->blocks_freed + (uint64_t)sums->blocks_kept;
}

bool spec_conservation_little(const spec_serving_sums *sums)
{
    return fabs(sums->present - sums->in_system) <= rounding * (sums->in_system + sums->latency);
}

bool spec_conservation_time(const spec_serving_sums *sums, const spec_affine_step *cost)
{
    const double time = cost->step * (double)sums->steps +
                        cost->draft_round * (double)sums->drafting +
                        cost->draft_pass * (double)sums->passes + sums->extra;
    return fabs(time - sums->step) <= rounding * sums->step;
}

const char *spec_conservation_broken(const spec_serving_sums *sums,
                                     const spec_affine_step *opt_cost)
{
    if (!spec_conservation_tokens(sums)) return "tokens do not add up";
    if (!spec_conservation_blocks(sums)) return "KV blocks do not add up";
    if (!spec_conservation_little(sums)) return "Little's law does not hold";
    if (opt_cost != NULL && !spec_conservation_time(sums, opt_cost))
        return "the times of steps do not add up";
    return NULL;
}
