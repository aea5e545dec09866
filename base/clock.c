/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 86400, MOST_YEARS = 100 };

static double read_time(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double monotonic(void *self)
{
    (void)self;
    return spec_clock_monotonic();
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

double spec_clock_monotonic(void)
{
    return read_time(CLOCK_MONOTONIC);
}

double spec_clock_read(const spec_clock *clock)
{
    return clock->seconds != NULL ? clock->seconds(clock->self) : 0.0;
}

const char *spec_clock_text(char text[SPEC_CLOCK_TEXT], double seconds)
{
    const double years = seconds / (365.25 * DAY);
    const long long s = years < MOST_YEARS ? llround(seconds) : 0;
    if (years >= MOST_YEARS) snprintf(text, SPEC_CLOCK_TEXT, "over %d years", MOST_YEARS);
    else if (s < MINUTE) snprintf(text, SPEC_CLOCK_TEXT, "%lld s", s);
    else if (s < HOUR) snprintf(text, SPEC_CLOCK_TEXT, "%lld min %lld s", s / MINUTE, s % MINUTE);
    else if (s < 2 * DAY)
        snprintf(text, SPEC_CLOCK_TEXT, "%lld h %lld min", s / HOUR, s % HOUR / MINUTE);
    else snprintf(text, SPEC_CLOCK_TEXT, "%lld days", s / DAY);
    return text;
}
