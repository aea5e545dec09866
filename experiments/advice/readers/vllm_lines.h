/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vllm_lines: the counts in vLLM's lines of speculation, of V0 and of V1.
 * A scan starts after the words that begin the line, such as "SpecDecoding metrics: ", ends with
 * the line, and moves past the last field. Malformed and contradictory lines fail with
 * spec_log_bad. */
#ifndef SPECLAB_VLLM_LINES_H
#define SPECLAB_VLLM_LINES_H

#include "experiments/advice/readers/log_scan.h"

/* A line of V1, which covers an interval. */
typedef struct {
    spec_observation observation; /* label, times and output tokens are not set */
    double elapsed;               /* seconds, from counts and throughputs; NaN: not printed */
    bool has_length, has_average; /* which fields the line has, which shows its generation */
} spec_vllm_counts;

/* Reads a line of V1. Recovers rounds and depths from the means; if there are no means, rounds
 * follow from the record's K. The first lines of V1 used the words of V0. */
int spec_vllm_lines_counts(spec_vllm_counts *ret, bool words_of_v0, spec_log_scan *scan,
                           spec_error *error);

/* Reads a line of V0, which covers the time since the engine started. V0 also counts tokens after a
 * rejection as accepted, so we compute accepted tokens as the emitted ones minus one per round. */
int spec_vllm_lines_totals(spec_observation *ret, spec_log_scan *scan, spec_error *error);

#endif
