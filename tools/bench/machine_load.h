/* SPDX-License-Identifier: GPL-3.0-or-later */
/* machine_load: how busy other programs keep the machine during a measurement, and its speed.
 * Functions supply the readings, so a test can supply its own. A source without functions is off,
 * and its readings are NaN. getrusage(2), proc_stat(5). */
#ifndef SPECLAB_MACHINE_LOAD_H
#define SPECLAB_MACHINE_LOAD_H

typedef struct {
    double wall;      /* seconds of a monotonic clock */
    double processor; /* seconds computed by all threads of this process */
    double switched;  /* involuntary context switches of its threads */
} spec_load_reading;

typedef struct {
    void (*read)(void *self, spec_load_reading *ret); /* NULL: off */
    /* Processor seconds used by all processes and the hypervisor; NaN: unknown. */
    double (*busy)(void *self);
    double (*spin)(void *self); /* seconds of a fixed loop of arithmetic */
    int processors;             /* processors of the machine, for `busy` */
    void *self;
} spec_machine_load;

/* Returns the functions for this machine. A reading takes about a microsecond, `busy` tens of
 * microseconds, `spin` about 0.2 ms. */
spec_machine_load spec_machine_load_here(void);

/* Read a source; NaN if it is off. */
spec_load_reading spec_machine_load_read(const spec_machine_load *load);
double spec_machine_load_busy(const spec_machine_load *load);
double spec_machine_load_spin(const spec_machine_load *load);

#endif
