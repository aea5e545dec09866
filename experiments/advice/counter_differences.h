/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counter_differences: windows from counters since the start of an engine.
 * It is an observer in front of another one: totals of the same label become their differences, and
 * other observations pass. If a counter falls, the engine has started again, and its total is the
 * window. */
#ifndef SPECLAB_COUNTER_DIFFERENCES_H
#define SPECLAB_COUNTER_DIFFERENCES_H

#include "experiments/advice/observation.h"

#include <stddef.h>

/* Maximum labels at a time. */
enum { SPEC_COUNTER_LABELS = 4096 };

typedef struct {
    spec_observer to;
    struct spec_counter_last *last; /* (n) by label, ascending */
    size_t n, capacity;
    uint64_t resets, labels, repeated; /* events seen; repeated: scrapes equal to the previous
                                        * one */
    uint64_t begins;                   /* first totals with rounds, which are in no window */
    double begin_rounds;               /* their rounds */
} spec_counter_differences;

/* Returns the observer. Differences that are zeroed except for `to` are ready. The windows of a
 * label begin at its first total, so what that counts is in none of them. A counter that is missing
 * from either scrape is missing from the window. Gauges (running, printed numbers) are those of the
 * later scrape. K is not known if the scrapes differ in it, unless the first had no draft; it is 0
 * in a window without a draft. If there is only one total between two starts, _end or the next
 * start hands it on as one window: an average, without an interval. Returns GSL_EINVAL with more
 * than SPEC_COUNTER_LABELS; GSL_ENOMEM; the errors of `to`. */
spec_observer spec_counter_differences_observer(spec_counter_differences *differences);
int spec_counter_differences_end(spec_counter_differences *differences, spec_error *error);
void spec_counter_differences_free(spec_counter_differences *differences);

#endif
