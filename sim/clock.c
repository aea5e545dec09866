#include "sim/clock.h"

#include <stddef.h>
#include <time.h>

static double monotonic(void *self)
{
    struct timespec now;
    (void)self;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

spec_clock spec_clock_wall(void)
{
    return (spec_clock){.seconds = monotonic};
}

double spec_clock_read(const spec_clock *clock)
{
    return clock->seconds != NULL ? clock->seconds(clock->self) : 0.0;
}
