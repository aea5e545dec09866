/* yardstick: a Python process that measures its functions when told to, so that yardstick and row take turns in one run.
 * One process for each script, started when first asked for; all end with _close. tests/bench/yardstick.py is the other side. */
#ifndef SPECLAB_TESTS_YARDSTICK_H
#define SPECLAB_TESTS_YARDSTICK_H

/* Units per second of "FILE.py:FUNCTION" over about `seconds`; NaN where there is no python3 with NumPy, or no such function. */
double spec_yardstick_rate(const char *name, double seconds);
void spec_yardstick_close(void);

#endif
