/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counter_differences: windows from counters since the start of an engine.
 * An observer in front of another one: totals of the same label become their differences, and other
 * observations pass. A counter that falls is an engine that started again: its total is the window.
 */
#ifndef SPECLAB_COUNTER_DIFFERENCES_H
#define SPECLAB_COUNTER_DIFFERENCES_H

#include "experiments/advice/observation.h"

#include <stddef.h>

/* Most labels at a time. */
enum { SPEC_COUNTER_LABELS = 4096 };

typedef struct {
    spec_observer to;
    struct spec_counter_last *last; /* (n) by label, ascending */
    size_t n, capacity;
    uint64_t resets, labels, repeated; /* seen; scrapes equal to the one before */
    uint64_t begins;                   /* first totals with rounds, which are in no window */
    double begin_rounds;               /* theirs */
} spec_counter_differences;

/* Zeroed but for `to` it is ready. The first total of a label is where its windows begin: what it
 * counts is in none of them. A counter that is not given in both scrapes is not given in the
 * window. Gauges (running, printed numbers) are those of the later scrape. K is not known where the
 * scrapes differ in it, but for a first one without a draft; it is 0 in a window without a draft.
 * Totals that are the only ones between two starts are handed on as one window, by _end or when the
 * engine starts again: an average, without an interval. GSL_EINVAL with more than
 * SPEC_COUNTER_LABELS; GSL_ENOMEM; the errors of `to`. */
spec_observer spec_counter_differences_observer(spec_counter_differences *differences);
int spec_counter_differences_end(spec_counter_differences *differences, spec_error *error);
void spec_counter_differences_free(spec_counter_differences *differences);

#endif
