/* SPDX-License-Identifier: GPL-3.0-or-later */
/* planted_use: runs each kernel of tests/simulator/planted in a child, and checks its result.
 * Uses planted.h. Include it in one file of a program. */
#ifndef SPECLAB_TESTS_PLANTED_USE_H
#define SPECLAB_TESTS_PLANTED_USE_H

#include "tests/models/gpu/planted.h"

#include <math.h>

static const char *kernel; /* the kernel that the child runs */
static int wrong, blocks = N / THREADS;

static const char *const orders[] = {"SIM_ORDER=forward", "SIM_ORDER=reverse",
                                     "SIM_ORDER=shuffled"};

static inline float x_of(int i) { return (float)(i % 97) + 0.25f; }

/* Returns the right y of the kernel; NAN where it is unspecified. */
static inline float right_y(int i)
{
    const int block = i / THREADS * THREADS;
    float sum = 0;
    if (strcmp(kernel, "planted_half_warp") == 0 || strcmp(kernel, "planted_two_lines") == 0 ||
        strcmp(kernel, "planted_lanes") == 0)
        return x_of(i ^ 1);
    if (strcmp(kernel, "planted_early") == 0) return x_of(block + THREADS - 1 - i % THREADS);
    if (strcmp(kernel, "planted_one_word") == 0) return x_of(block + THREADS - 1);
    if (strcmp(kernel, "planted_count") == 0) return NAN;
    if (strcmp(kernel, "planted_last") == 0 && i >= N - 4) return NAN;
    if (strcmp(kernel, "planted_sum") != 0) return x_of(i);
    if (i >= N / THREADS) return NAN;
    for (int j = 0; j < THREADS; j++) sum += x_of(i * THREADS + j);
    return sum;
}

/* Runs the kernel over N values; exit code 5 if its result is wrong. */
static inline void use_kernel(void)
{
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = x_of(i);
    open_card();
    const CUdeviceptr from = device_floats(N), to = device_floats(N);
    WORKS(cuda.cuMemcpyHtoD_v2(from, x, sizeof x));
    WORKS(cuda.cuMemsetD8Async(to, 0, sizeof y, stream));
    WORKS(try_launch(stream, kernel, blocks, THREADS, to, from, wrong));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuMemcpyDtoH_v2(y, to, sizeof y));
    WORKS(cuda.cuMemFree_v2(from));
    WORKS(cuda.cuMemFree_v2(to));
    close_card();
    if (strcmp(kernel, "planted_count") == 0) {
        uint32_t count[2];
        memcpy(count, y, sizeof count);
        if (count[0] != N || count[1] != N - 1) _exit(5);
    }
    for (int i = 0; i < N && i < blocks * THREADS; i++)
        if (!isnan(right_y(i)) && !(y[i] == right_y(i))) _exit(5);
}

/* Copies x to y through a third array; the second copy begins early. */
static inline void copy_twice(void)
{
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = x_of(i);
    open_card();
    const CUdeviceptr from = device_floats(N), between = device_floats(N), to = device_floats(N);
    WORKS(cuda.cuMemcpyHtoD_v2(from, x, sizeof x));
    WORKS(try_launch(stream, "planted_copy", N / THREADS, THREADS, between, from, 0));
    launches_early = true;
    WORKS(try_launch(stream, "planted_ahead", N / THREADS, THREADS, to, between, wrong));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuMemcpyDtoH_v2(y, to, sizeof y));
    HOLDS(memcmp(x, y, sizeof x) == 0);
    WORKS(cuda.cuMemFree_v2(from));
    WORKS(cuda.cuMemFree_v2(between));
    WORKS(cuda.cuMemFree_v2(to));
    close_card();
}

/* In the child: makes fragments of A (128 words) and B (64) with magnitudes 0.5 to 2, and checks
 * the products of planted_mma for bf16 and for bytes. */
static inline void multiply_fragments(uint32_t *a, uint32_t *b, float *d, int32_t *e)
{
    enum { A = 128, B = 64, D = 128 };
    uint64_t random = 42;
    for (int i = 0; i < A + B; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t word = (uint32_t)(random >> 32);
        *(i < A ? &a[i] : &b[i - A]) =
            (word & 0x807f807fu) | 0x3f003f00u | (word >> 9 & 0x00800080u);
    }
    open_card();
    const CUdeviceptr in_a = device_floats(A), in_b = device_floats(B), out_d = device_floats(D),
                      out_e = device_floats(D);
    struct planted_mma_args args = {(float *)(uintptr_t)out_d, (int32_t *)(uintptr_t)out_e,
                                    (const uint32_t *)(uintptr_t)in_a,
                                    (const uint32_t *)(uintptr_t)in_b};
    void *parameters[] = {&args};
    CUfunction function;
    WORKS(cuda.cuMemcpyHtoD_v2(in_a, a, A * sizeof *a));
    WORKS(cuda.cuMemcpyHtoD_v2(in_b, b, B * sizeof *b));
    WORKS(cuda.cuModuleGetFunction(&function, module, "spec_kernel_planted_mma"));
    const CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, stream, NULL, 0};
    WORKS(cuda.cuLaunchKernelEx(&config, function, parameters, NULL));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuMemcpyDtoH_v2(d, out_d, D * sizeof *d));
    WORKS(cuda.cuMemcpyDtoH_v2(e, out_e, D * sizeof *e));
    WORKS(cuda.cuMemFree_v2(in_a));
    WORKS(cuda.cuMemFree_v2(in_b));
    WORKS(cuda.cuMemFree_v2(out_d));
    WORKS(cuda.cuMemFree_v2(out_e));
    close_card();
}

/* Asserts the child's exit code, and that it printed `text`. */
static inline void says(const char *text, int code)
{
    if (ended != code || strstr(said, text) == NULL)
        fail_msg("%s ended with %d, not %d with '%s': %s", kernel, ended, code, text, said);
}

#endif
