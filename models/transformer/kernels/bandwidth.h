/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bandwidth: measures the memory bandwidth of all threads together, which limits many passes.
 * The memory uses large pages if the system has them. Each thread reads one part front to back, and
 * then helps with the rest of other parts, as it does with weights; its loads are independent. */
#ifndef SPECLAB_BANDWIDTH_H
#define SPECLAB_BANDWIDTH_H

#include "base/thread_pool.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *memory;
    size_t bytes;
} spec_bandwidth;

/* Allocates and writes this many bytes; the memory is NULL if they are not available. */
void spec_bandwidth_init(spec_bandwidth *bandwidth, size_t bytes);
void spec_bandwidth_free(spec_bandwidth *bandwidth);

/* Reads all of the memory once. Returns a value computed from it, so that the compiler cannot drop
 * the reads. */
uint64_t spec_bandwidth_read(const spec_bandwidth *bandwidth, spec_thread_pool *opt_pool);

/* Returns bytes per second, the best of a few reads of 256 MiB, several times the caches of a core;
 * takes some tenths of a second. Returns 0 if 256 MiB exceed a quarter of the free memory. */
double spec_bandwidth_measure(spec_thread_pool *opt_pool);

#endif
