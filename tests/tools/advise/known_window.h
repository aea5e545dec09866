/* SPDX-License-Identifier: GPL-3.0-or-later */
/* known_window: observations with chosen counts, and one whose counts are known by depth.
 * Headers only. */
#ifndef SPECLAB_TESTS_KNOWN_WINDOW_H
#define SPECLAB_TESTS_KNOWN_WINDOW_H

#include "tools/advise/observation.h"

#include <string.h>

static inline spec_observation window(double rounds, double drafted, double accepted)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 7);
    o.rounds = o.rounds_low = o.rounds_high = rounds;
    o.drafted = drafted;
    o.accepted = accepted;
    return o;
}

/* From a line of vLLM's log (pull request 24127): 262 of 295 accepted, in 59 rounds of 5 depths. */
static inline spec_observation known_line(void)
{
    static const double passed[] = {58, 56, 54, 52, 42};
    spec_observation o = window(59, 295, 262);
    o.K = o.depths = 5;
    memcpy(o.passed, passed, sizeof passed);
    return o;
}

#endif
