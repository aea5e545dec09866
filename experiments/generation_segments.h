/* SPDX-License-Identifier: GPL-3.0-or-later */
/* generation_segments: times of speculation and plain decoding per segment, and the speed-up.
 * The times of all segments give the speed-up with its interval, and show whether the machine was
 * busy. Segments become longer as the text grows, so there are at most SPEC_SEGMENTS_MAX. Owns the
 * segments. docs/formulas/statistics.md#bootstrap, #feasible, #busy. */
#ifndef SPECLAB_GENERATION_SEGMENTS_H
#define SPECLAB_GENERATION_SEGMENTS_H

#include "analysis/statistics/bounded_ratio.h"
#include "tools/bench/machine_load.h"
#include "tools/bench/timing_trust.h"

enum { SPEC_SEGMENTS_MAX = 1024 };

/* A segment: seconds of speculation, seconds of plain decoding, tokens, and the time that the
 * load's fixed loop takes after it. */
typedef struct {
    double seconds, plain, tokens, spin;
} spec_generation_segment;

typedef struct {
    spec_machine_load load;           /* zeroed: off */
    spec_generation_segment *segment; /* (n) */
    int n;
    double least;                 /* minimum tokens of a segment */
    spec_generation_segment open; /* the current segment, which is not long enough yet */
    /* the reading before the first segment; totals over all timed intervals */
    spec_load_reading begun, spent;
    double busy_begun, first_spin;
} spec_generation_segments;

/* Makes an empty list; segments have at least `least` tokens at first, and more as the text grows.
 * Returns GSL_ENOMEM. A zeroed object may be freed. */
int spec_generation_segments_init(spec_generation_segments *segments, const spec_machine_load *load,
                                  double least, spec_error *error);
void spec_generation_segments_free(spec_generation_segments *segments);

/* Read the load before and after a timed interval. */
spec_load_reading spec_generation_segments_begin(const spec_generation_segments *segments);
void spec_generation_segments_end(spec_generation_segments *segments,
                                  const spec_load_reading *begun);

/* Adds the times of both decoders for a number of tokens. */
void spec_generation_segments_add(spec_generation_segments *segments, double seconds, double plain,
                                  double tokens);

/* Computes the speed-up over all segments with its 95 % interval. The interval is cut at tokens per
 * round, and withheld if it is not reliable. In *trust the caller sets threads, waits_on_card and
 * processor_clock; the function adds the load of the machine. Returns GSL_ENOMEM. */
int spec_generation_segments_speedup(spec_block_interval *ret_speedup,
                                     spec_ratio_verdict *ret_verdict, spec_timing_trust *trust,
                                     const spec_generation_segments *segments,
                                     double tokens_per_round, uint64_t seed, spec_error *error);

#endif
