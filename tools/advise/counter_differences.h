/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counter_differences: turns counters since an engine's start into windows.
 * It is an observer in front of another one: totals with the same label become their differences,
 * and other observations pass through. If a counter decreases, the engine was restarted, and the
 * new total is itself the window. */
#ifndef SPECLAB_COUNTER_DIFFERENCES_H
#define SPECLAB_COUNTER_DIFFERENCES_H

#include "tools/advise/observation.h"

#include <stddef.h>

/* Maximum labels at a time. */
enum { SPEC_COUNTER_LABELS = 4096 };

typedef struct {
    spec_observer to;
    struct spec_counter_last *last; /* (n) by label, ascending */
    size_t n, capacity;
    uint64_t resets, repeated; /* events seen; repeated: scrapes equal to the previous one */
    double begin_rounds;       /* rounds of first totals, which belong to no window */
} spec_counter_differences;

/* Returns the observer. Differences that are zeroed except for `to` are ready to use. The windows
 * of a label begin at its first total, so they exclude what that total contains. If a counter is
 * missing from one of two scrapes, it is missing from their window. Gauges (running, printed
 * numbers) come from the later scrape. If two scrapes have different K, the K of their window is
 * not known, unless the first had no draft; without a draft in the window it is 0. If there is only
 * one total between two starts, _end or the next start passes it on as one window, which is an
 * average without an interval. Returns GSL_EINVAL for more than SPEC_COUNTER_LABELS; GSL_ENOMEM;
 * the errors of `to`. */
spec_observer spec_counter_differences_observer(spec_counter_differences *differences);
int spec_counter_differences_end(spec_counter_differences *differences, spec_error *error);
void spec_counter_differences_free(spec_counter_differences *differences);

#endif
