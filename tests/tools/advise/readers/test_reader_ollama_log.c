/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

#define STATS                                                                                      \
    "time=2026-09-04T14:17:24.482+09:00 level=INFO source=speculate_stats.go:62 "                  \
    "msg=\"speculative decode stats\" "

static const spec_log_format *const format = &spec_reader_ollama_log;
static read_lines r;

/* Lines that users posted, in which most iterations drafted, or few. */
TEST(a_request_has_passes_and_a_range_of_rounds)
{
    const spec_observation *o =
        read_lines_only(&r, format,
                        STATS "iterations=133 drafted=502 accepted=424 acceptance=0.84 "
                              "avg_draft=3.77 max_draft=5 avg_accepted=3.19 "
                              "depth_over_time=\"0.5/1 4.8/5\"\n",
                        -1);
    assert_int_equal(o->kind, SPEC_OBSERVED_REQUEST);
    assert_int_equal(o->K, 5);
    assert_same(o->passes, 133);
    assert_same(o->drafted, 502);
    assert_same(o->accepted, 424);
    assert_same(o->emitted, 557);
    assert_same(o->rounds_low, 101);
    assert_same(o->rounds_high, 133);
    assert_same(o->printed_rate, 0.84);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES | SPEC_LOG_NO_ROUNDS);
    o = read_lines_only(&r, format,
                        STATS "iterations=255 drafted=1 accepted=1 acceptance=1.00 avg_draft=0.00 "
                              "max_draft=1 avg_accepted=0.00\n",
                        -1);
    assert_same(o->rounds, 1);
    assert_same(o->rounds_low, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
}

TEST(malformed_lines_say_what_was_expected)
{
    static const char contradicts[] =
        "x:1: speculative decode stats: 133 iterations, 502 drafted and 424 accepted tokens "
        "contradict one another, the acceptance or max_draft";
    read_lines_fails(format, STATS "iterations=133 drafted=502 accep\n", GSL_EINVAL,
                     "x:1: speculative decode stats: expected ' accepted=' before the end; the "
                     "line is truncated");
    read_lines_fails(format,
                     STATS "iterations=133 drafted=502 accepted=424 acceptance=0.80 max_draft=5\n",
                     GSL_EINVAL, contradicts);
    read_lines_fails(format,
                     STATS "iterations=133 drafted=502 accepted=424 acceptance=0.84 max_draft=3\n",
                     GSL_EINVAL, contradicts);
}
