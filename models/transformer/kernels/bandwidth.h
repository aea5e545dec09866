/* bandwidth: how fast all threads together read memory, the yardstick of what is bound by that.
 * The memory is in large pages where the system has them. Each thread reads a part of it front to back and then what
 * others have left, as it would weights, with loads that wait for nothing. */
#ifndef SPECLAB_BANDWIDTH_H
#define SPECLAB_BANDWIDTH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *memory;
    size_t bytes;
} spec_bandwidth;

/* Memory of so many bytes, all written; NULL memory where there is not so much. */
void spec_bandwidth_init(spec_bandwidth *bandwidth, size_t bytes);
void spec_bandwidth_free(spec_bandwidth *bandwidth);

/* Read all of it once; returns what was read, in some way, so that it must be. */
uint64_t spec_bandwidth_read(const spec_bandwidth *bandwidth);

/* Bytes a second, the best of a few times over 256 MiB, which is several times what a core's caches hold; some tenths
 * of a second. 0 where that is more than a quarter of what is free. */
double spec_bandwidth_measure(void);

#endif
