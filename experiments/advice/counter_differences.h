/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counter_differences: windows from counters since the start of an engine.
 * An observer in front of another one: totals of the same label become their differences, and other
 * observations pass. A counter that falls is an engine that started again: its total is the window.
 */
#ifndef SPECLAB_COUNTER_DIFFERENCES_H
#define SPECLAB_COUNTER_DIFFERENCES_H

#include "experiments/advice/observation.h"

/* Most labels at a time. */
enum { SPEC_COUNTER_LABELS = 4096 };

typedef struct {
    spec_observer to;
    struct spec_counter_last *last; /* (n) by label */
    size_t n, capacity;
    uint64_t resets, labels, repeated; /* seen; scrapes equal to the one before */
} spec_counter_differences;

/* Zeroed but for `to` it is ready. The totals of the first scrape of a label are handed on as one
 * window by _end if no second one came: an average since the start, without an interval. */
spec_observer spec_counter_differences_observer(spec_counter_differences *differences);
int spec_counter_differences_end(spec_counter_differences *differences, spec_error *error);
void spec_counter_differences_free(spec_counter_differences *differences);

#endif
