/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clock: reads seconds from a function, so that tests can supply their own time.
 * A clock without a function is off, and its time stays 0. */
#ifndef SPECLAB_CLOCK_H
#define SPECLAB_CLOCK_H

typedef struct {
    double (*seconds)(void *self); /* NULL: off */
    void *self;
} spec_clock;

/* Returns a clock that runs in real time and never goes back. */
spec_clock spec_clock_wall(void);

/* Returns a clock that counts the processor time of all threads of this process, and so does not
 * depend on other programs. */
spec_clock spec_clock_processor(void);

/* Returns the seconds of the system's monotonic clock, which spec_clock_wall reads. */
double spec_clock_monotonic(void);

/* Returns the seconds since some fixed moment; 0 if the clock is off. */
double spec_clock_read(const spec_clock *clock);

/* Formats a duration: "40 s", "3 min 20 s", "2 h 5 min", "12 days", "over 100 years". */
enum { SPEC_CLOCK_TEXT = 40 };
const char *spec_clock_text(char text[SPEC_CLOCK_TEXT], double seconds);

#endif
