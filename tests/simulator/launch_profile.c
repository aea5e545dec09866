/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/launch_profile.h"

#include "models/gpu/simt.h"
#include "tests/simulator/simulated_driver.h"

#include <stdio.h>
#include <time.h>

enum { MOST_KERNELS = 256 };

static struct {
    long launches;
    int64_t blocks;
    uint64_t moved;
    double seconds;
} rows[MOST_KERNELS];

static bool wanted(void) { return simulated_setting("SIM_PROFILE", 0) != 0; }

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

launch_mark launch_profile_begin(void)
{
    return (launch_mark){simt.moved, wanted() ? seconds_now() : 0};
}

void launch_profile_end(launch_mark began, const simulated_kernel *kernel, int64_t blocks)
{
    const long i = kernel - simulated_kernels;
    if (!wanted() || i >= MOST_KERNELS) return;
    rows[i].launches++;
    rows[i].blocks += blocks;
    rows[i].moved += simt.moved - began.moved;
    rows[i].seconds += seconds_now() - began.seconds;
}

__attribute__((destructor)) static void show(void)
{
    if (!wanted()) return;
    fprintf(stderr, "%-28s %9s %10s %14s %10s %10s\n", "kernel", "launches", "blocks",
            "bytes moved", "ms", "us/block");
    for (int i = 0; i < MOST_KERNELS && simulated_kernels[i].name != NULL; i++) {
        if (rows[i].launches == 0) continue;
        fprintf(stderr, "%-28s %9ld %10lld %14llu %10.1f %10.2f\n",
                simulated_kernels[i].name + strlen("spec_kernel_"), rows[i].launches,
                (long long)rows[i].blocks, (unsigned long long)rows[i].moved, 1e3 * rows[i].seconds,
                rows[i].blocks > 0 ? 1e6 * rows[i].seconds / (double)rows[i].blocks : 0.0);
    }
}
