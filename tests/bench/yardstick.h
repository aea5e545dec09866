/* SPDX-License-Identifier: GPL-3.0-or-later */
/* yardstick: a Python subprocess that measures its functions on request.
 * Yardstick and row take turns in one run. Each script has one process, started at the first
 * request; _close ends all. tests/bench/yardstick.py is the other side. */
#ifndef SPECLAB_TESTS_YARDSTICK_H
#define SPECLAB_TESTS_YARDSTICK_H

/* Returns the units per second of "FILE.py:FUNCTION" over about `seconds`; NaN without python3 and
 * NumPy, or without that function. */
double spec_yardstick_rate(const char *name, double seconds);
void spec_yardstick_close(void);

#endif
