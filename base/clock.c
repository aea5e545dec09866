#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static double read_time(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double monotonic(void *self)
{
    (void)self;
    return read_time(CLOCK_MONOTONIC);
}

static double processor(void *self)
{
    (void)self;
    return read_time(CLOCK_PROCESS_CPUTIME_ID);
}

spec_clock spec_clock_wall(void)
{
    return (spec_clock){.seconds = monotonic};
}

spec_clock spec_clock_processor(void)
{
    return (spec_clock){.seconds = processor};
}

double spec_clock_read(const spec_clock *clock)
{
    return clock->seconds != NULL ? clock->seconds(clock->self) : 0.0;
}
