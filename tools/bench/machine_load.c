/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/machine_load.h"

#include "base/clock.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SPIN_STEPS = 60000, SPIN_REPEATS = 3 };

static double wall(void)
{
    const spec_clock clock = spec_clock_wall();
    return spec_clock_read(&clock);
}

static void read_usage(void *self, spec_load_reading *ret)
{
    struct rusage usage;
    const spec_clock processor = spec_clock_processor();
    (void)self;
    ret->wall = wall();
    ret->processor = spec_clock_read(&processor);
    ret->switched = getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_nivcsw : NAN;
}

/* Reads ticks from /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
static double read_busy(void *self)
{
    unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
    FILE *in = fopen("/proc/stat", "r");
    (void)self;
    if (in == NULL) return NAN;
    const int n = fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
                         &idle, &wait, &irq, &softirq, &steal);
    fclose(in);
    return n == 8 ? (double)(user + nice + system + irq + softirq + steal) /
                        (double)sysconf(_SC_CLK_TCK)
                  : NAN;
}

/* Times a chain of dependent multiplications, which takes the same number of cycles on every call.
 * The shortest of a few runs is one without interruptions. */
static double time_spin(void *self)
{
    volatile uint64_t sink = 0;
    double least = INFINITY;
    (void)self;
    for (int i = 0; i < SPIN_REPEATS; i++) {
        const double begun = wall();
        uint64_t x = sink;
        for (int k = 0; k < SPIN_STEPS; k++) x = x * 6364136223846793005u + 1442695040888963407u;
        sink = x;
        least = fmin(least, wall() - begun);
    }
    return least;
}

spec_machine_load spec_machine_load_here(void)
{
    return (spec_machine_load){.read = read_usage,
                               .busy = read_busy,
                               .spin = time_spin,
                               .processors = (int)sysconf(_SC_NPROCESSORS_ONLN)};
}

spec_load_reading spec_machine_load_read(const spec_machine_load *load)
{
    spec_load_reading reading = {NAN, NAN, NAN};
    if (load->read != NULL) load->read(load->self, &reading);
    return reading;
}

double spec_machine_load_busy(const spec_machine_load *load)
{
    return load->busy != NULL ? load->busy(load->self) : NAN;
}

double spec_machine_load_spin(const spec_machine_load *load)
{
    return load->spin != NULL ? load->spin(load->self) : NAN;
}
