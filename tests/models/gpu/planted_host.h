/* SPDX-License-Identifier: GPL-3.0-or-later */
/* planted_host: a child process with x in GPU and pinned host memory, and y in GPU memory.
 * Include it in one file of a program. */
#ifndef SPECLAB_TESTS_PLANTED_HOST_H
#define SPECLAB_TESTS_PLANTED_HOST_H

#include "tests/models/gpu/planted.h"

static float host_x[N];
static CUdeviceptr x, y;
static float *pinned; /* (N) */

static inline void begin(void)
{
    void *memory;
    for (int i = 0; i < N; i++) host_x[i] = (float)i + 0.25f;
    open_card();
    x = device_floats(N);
    y = device_floats(N);
    WORKS(cuda.cuMemAllocHost_v2(&memory, sizeof host_x));
    pinned = memory;
    memcpy(pinned, host_x, sizeof host_x);
    WORKS(cuda.cuMemcpyHtoD_v2(x, host_x, sizeof host_x));
}

static inline void end(void)
{
    WORKS(cuda.cuMemFreeHost(pinned));
    WORKS(cuda.cuMemFree_v2(x));
    WORKS(cuda.cuMemFree_v2(y));
    close_card();
}

static inline CUresult get(CUdeviceptr from, float *to)
{
    return cuda.cuMemcpyDtoH_v2(to, from, sizeof host_x);
}

static inline bool is_x(const float *values) { return memcmp(values, host_x, sizeof host_x) == 0; }

static inline void child(void (*body)(void), const char *one, const char *two)
{
    in_child(body, "libplanted.so", one, two, NULL);
}

static inline void ends(int code, const char *text)
{
    if (ended != code || strstr(said, text) == NULL)
        fail_msg("it ended with %d, not %d with '%s': %s", ended, code, text, said);
}

#endif
