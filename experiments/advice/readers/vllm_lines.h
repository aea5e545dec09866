/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vllm_lines: the counts of vLLM's lines of speculation, of V0 and of V1.
 * A scan follows the words that begin the line, such as "SpecDecoding metrics: ", up to its end,
 * and moves past its last field. Malformed and contradictory lines fail with spec_log_bad. */
#ifndef SPECLAB_VLLM_LINES_H
#define SPECLAB_VLLM_LINES_H

#include "experiments/advice/readers/log_scan.h"

/* A line of V1, which covers an interval. */
typedef struct {
    spec_observation observation; /* without label, times and tokens of the output */
    double elapsed;               /* seconds, from counts and throughputs; NaN: not printed */
    bool has_length, has_average; /* fields of the line, which show its generation */
} spec_vllm_counts;

/* Reads a line of V1. Rounds and depths are recovered from the means; if there are none, rounds
 * follow from the record's K. The first lines of V1 have the words of V0. */
int spec_vllm_lines_counts(spec_vllm_counts *ret, bool words_of_v0, spec_log_scan *scan,
                           spec_error *error);

/* Reads a line of V0, which covers the time since the engine started. Its count of accepted tokens
 * includes those after a rejection, so accepted tokens are computed as the emitted ones minus one
 * per round. */
int spec_vllm_lines_totals(spec_observation *ret, spec_log_scan *scan, spec_error *error);

#endif
