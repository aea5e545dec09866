/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prometheus_totals: the one scrape of a text, for the tests of the readers of metrics. */
#ifndef SPECLAB_TESTS_PROMETHEUS_TOTALS_H
#define SPECLAB_TESTS_PROMETHEUS_TOTALS_H

#include "experiments/advice/readers/readers.h"
#include "tests/support/read_lines.h"

static read_lines r;

static inline const spec_observation *only(const spec_log_format *format, const char *text, int K)
{
    read_lines_of(&r, format, text, K);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].kind, SPEC_OBSERVED_TOTAL);
    return &r.observation[0];
}

static inline void assert_counts(const spec_observation *o, int K, const double counts[5])
{
    assert_int_equal(o->K, K);
    assert_same(o->rounds, counts[0]);
    assert_same(o->rounds_low, counts[0]);
    assert_same(o->rounds_high, counts[0]);
    assert_same(o->drafted, counts[1]);
    assert_same(o->accepted, counts[2]);
    assert_same(o->passes, counts[3]);
    assert_same(o->emitted, counts[4]);
}

#endif
