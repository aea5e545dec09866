/* SPDX-License-Identifier: GPL-3.0-or-later */
/* simulated_traffic: what the simulated GPU ran, and what crossed the bus or stopped the host.
 * Counted since the library was loaded. Tests read it (tests/support/simulated_card.h). */
#ifndef SPECLAB_SIMULATED_TRAFFIC_H
#define SPECLAB_SIMULATED_TRAFFIC_H

#include <stddef.h>

typedef struct {
    long launches, early;     /* kernels that ran, and launches that may start early */
    long replays;             /* of recordings */
    long waits;               /* of the host, for a stream */
    long copies;              /* in streams */
    size_t bytes_up, bytes_down;
} simulated_traffic;

#endif
