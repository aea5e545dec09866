/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/bandwidth.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 1 << 15 /* words */, LANES = 32, PAGE = 1 << 21, MEASURED = 1 << 28, REPEATS = 5 };

void spec_bandwidth_init(spec_bandwidth *bandwidth, size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    *bandwidth = (spec_bandwidth){.memory = aligned_alloc(PAGE, bytes), .bytes = bytes};
    if (bandwidth->memory == NULL) return;
    madvise(bandwidth->memory, bytes, MADV_HUGEPAGE);
    memset(bandwidth->memory, 1, bytes);
}

void spec_bandwidth_free(spec_bandwidth *bandwidth)
{
    free(bandwidth->memory);
    *bandwidth = (spec_bandwidth){0};
}

typedef struct {
    const uint64_t *memory;
    atomic_ullong all;
} reading;

static void read_chunk(void *job, int chunk)
{
    reading *r = job;
    const uint64_t *const word = r->memory + (size_t)chunk * CHUNK;
    uint64_t lane[LANES] = {0}, all = 0;
    for (int i = 0; i < CHUNK; i += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) lane[l] |= word[i + l];
    }
    for (int l = 0; l < LANES; l++) all |= lane[l];
    atomic_fetch_or_explicit(&r->all, all, memory_order_relaxed);
}

uint64_t spec_bandwidth_read(const spec_bandwidth *bandwidth, spec_thread_pool *opt_pool)
{
    reading r = {.memory = bandwidth->memory};
    spec_thread_pool *locked = spec_thread_pool_try_lock(opt_pool);
    spec_thread_pool_run(locked, read_chunk, &r,
                         (int)(bandwidth->bytes / sizeof *bandwidth->memory / CHUNK));
    spec_thread_pool_unlock(locked);
    return atomic_load(&r.all);
}

double spec_bandwidth_measure(spec_thread_pool *opt_pool)
{
    const long pages = sysconf(_SC_AVPHYS_PAGES);
    if (pages <= 0 || MEASURED > (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) / 4) return 0.0;
    double best = 0.0;
    uint64_t seen = 0;
    spec_bandwidth bandwidth;
    spec_bandwidth_init(&bandwidth, MEASURED);
    for (int i = 0; i < REPEATS && bandwidth.memory != NULL; i++) {
        const double begun = spec_clock_monotonic();
        seen |= spec_bandwidth_read(&bandwidth, opt_pool);
        const double rate = (double)bandwidth.bytes / (spec_clock_monotonic() - begun);
        if (rate > best) best = rate;
    }
    spec_bandwidth_free(&bandwidth);
    return seen != 0 ? best : 0.0;
}
