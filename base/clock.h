/* clock: what time is measured by: seconds since some beginning, from a function, so that a test runs on time of its
 * own making. A clock without a function is off and is never asked. */
#ifndef SPECLAB_CLOCK_H
#define SPECLAB_CLOCK_H

typedef struct {
    double (*seconds)(void *self); /* NULL: off */
    void *self;
} spec_clock;

/* The wall's, which never goes back. */
spec_clock spec_clock_wall(void);

/* The time that this process has computed, all its threads together: what other programs do meanwhile is left out. */
spec_clock spec_clock_processor(void);

/* The time; 0 where the clock is off. */
double spec_clock_read(const spec_clock *clock);

#endif
