/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bandwidth: the memory bandwidth of all threads together, the limit of memory-bound passes.
 * The memory uses large pages if the system has them. Each thread reads one part front to back and
 * then the rest of other parts, as it reads weights, with independent loads. */
#ifndef SPECLAB_BANDWIDTH_H
#define SPECLAB_BANDWIDTH_H

#include "base/thread_pool.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *memory;
    size_t bytes;
} spec_bandwidth;

/* Allocate and write this many bytes; NULL memory if they are not available. */
void spec_bandwidth_init(spec_bandwidth *bandwidth, size_t bytes);
void spec_bandwidth_free(spec_bandwidth *bandwidth);

/* Read all of it once; returns a value of what was read, so that the compiler keeps the reads. */
uint64_t spec_bandwidth_read(const spec_bandwidth *bandwidth, spec_thread_pool *opt_pool);

/* Bytes per second, the best of a few reads of 256 MiB, several times the caches of a core; takes
 * some tenths of a second. 0 if that is more than a quarter of the free memory. */
double spec_bandwidth_measure(spec_thread_pool *opt_pool);

#endif
