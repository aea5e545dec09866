/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_load.h"

static const double *block_of(const spec_timing *timed, int text)
{
    return timed->block + (size_t)text * (size_t)timed->n_columns;
}

static double sum_of(const spec_timing *timed, int column)
{
    double sum = 0.0;
    for (int i = 0; i < timed->n_blocks; i++) sum += block_of(timed, i)[column];
    return sum;
}

/* Returns the spread over texts of the time of a round or plain token; skips texts without any. */
static double spread_of(const spec_timing *timed, int way, double *work)
{
    const int seconds = spec_timing_column(way, SPEC_TIMING_SECONDS);
    const int count = spec_timing_column(way, way > 0 ? SPEC_TIMING_ROUNDS : SPEC_TIMING_TOKENS);
    int n = 0;
    for (int i = 0; i < timed->n_blocks; i++) {
        const double *block = block_of(timed, i);
        if (block[count] > 0.0) work[n++] = block[seconds] / block[count];
    }
    return spec_timing_spread(work, n);
}

spec_timing_load spec_timing_load_of(const spec_timing *timed, int way, double *work)
{
    const double wall = sum_of(timed, spec_timing_column(way, SPEC_TIMING_WALL));
    return (spec_timing_load){
        .processor_share = sum_of(timed, spec_timing_column(way, SPEC_TIMING_PROCESSOR)) / wall,
        .switches_per_s = sum_of(timed, spec_timing_column(way, SPEC_TIMING_SWITCHED)) / wall,
        .spread = spread_of(timed, way, work),
    };
}

spec_timing_trust spec_timing_load_trust(const spec_timing *timed, double *work)
{
    const spec_timing_plan *plan = &timed->plan;
    double wall = sum_of(timed, timed->passes_load),
           processor = sum_of(timed, timed->passes_load + 1);
    spec_timing_trust trust = {.processors = plan->load.processors,
                               .processor_clock =
                                   plan->clock.seconds == spec_clock_processor().seconds};
    for (int i = 0; i < timed->n_ways; i++) {
        wall += sum_of(timed, spec_timing_column(i, SPEC_TIMING_WALL));
        processor += sum_of(timed, spec_timing_column(i, SPEC_TIMING_PROCESSOR));
    }
    spec_timing_trust_of_models(&trust, plan->decoder.target, plan->decoder.opt_draft);
    spec_timing_trust_load(&trust, timed->whole.wall, timed->whole.processor, timed->busy,
                           processor / wall);
    trust.spread = spread_of(timed, 0, work);
    work[0] = timed->first_spin;
    for (int i = 0; i < timed->n_blocks; i++) work[i + 1] = block_of(timed, i)[timed->spin];
    trust.speed_spread = spec_timing_spread(work, timed->n_blocks + 1);
    return trust;
}
