/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/conservation.h"

bool spec_conservation_tokens(const spec_serving_sums *sums)
{
    return sums->emitted + sums->cut == sums->first + sums->rounds + sums->accepted &&
           sums->batch == (double)sums->rounds;
}

bool spec_conservation_blocks(const spec_serving_sums *sums)
{
    return sums->blocks_taken == sums->blocks_freed + (uint64_t)sums->blocks_kept;
}

double spec_conservation_lengths(const spec_serving_sums *sums)
{
    return (double)sums->output_tokens / (double)sums->emitted;
}

double spec_conservation_little(const spec_serving_sums *sums)
{
    return sums->latency / sums->in_system;
}

double spec_conservation_time(const spec_serving_sums *sums, const spec_affine_step *cost)
{
    return (cost->step * (double)sums->steps + cost->draft_round * (double)sums->drafting +
            cost->draft_pass * (double)sums->passes + sums->extra) /
           sums->step;
}
