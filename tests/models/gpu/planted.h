/* SPDX-License-Identifier: GPL-3.0-or-later */
/* planted: runs a use of the simulated driver in a child process, and keeps what it prints.
 * A mistake may end the child. The library contains the kernels of tests/simulator/planted, plain
 * or watched. Include it in one file of a program. */
#ifndef SPECLAB_TESTS_PLANTED_H
#define SPECLAB_TESTS_PLANTED_H

#include "models/gpu/driver.h"
#include "tests/simulator/planted/kernels_planted.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1024, THREADS = 256 };

static spec_driver cuda; /* in the child */
static CUcontext context;
static CUmodule module;
static CUstream stream;
static bool launches_early; /* a launch may begin before the previous one has ended */

static char said[8192]; /* the last child's standard error */
static int ended;       /* its exit code, or 128 + the signal */

/* Asserts a condition in the child; otherwise prints its place and exits with 9. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)
#define WORKS(call) HOLDS((call) == CUDA_SUCCESS)

static inline void open_driver(const char *library)
{
    void *handle = dlopen(spec_simulator_path(library), RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) fprintf(stderr, "%s\n", dlerror());
    HOLDS(handle != NULL);
#define PLANTED_FUNCTION(name, parameters) *(void **)(&cuda.name) = dlsym(handle, #name);
    SPEC_DRIVER_FUNCTIONS(PLANTED_FUNCTION)
#undef PLANTED_FUNCTION
}

static inline void open_card(void)
{
    WORKS(cuda.cuInit(0));
    WORKS(cuda.cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cuda.cuCtxSetCurrent(context));
    WORKS(cuda.cuModuleLoadData(&module, "image"));
    WORKS(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static inline void close_card(void)
{
    WORKS(cuda.cuStreamDestroy_v2(stream));
    WORKS(cuda.cuModuleUnload(module));
    WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
}

static inline CUdeviceptr device_floats(int n)
{
    CUdeviceptr memory;
    WORKS(cuda.cuMemAlloc_v2(&memory, (size_t)n * sizeof(float)));
    return memory;
}

static inline CUresult try_launch(CUstream in, const char *name, int blocks, int threads,
                                  CUdeviceptr y, CUdeviceptr x, int wrong)
{
    char whole[80];
    CUfunction function;
    struct planted_args args = {(float *)(uintptr_t)y, (const float *)(uintptr_t)x, N, wrong};
    void *parameters[] = {&args};
    snprintf(whole, sizeof whole, "spec_kernel_%s", name);
    WORKS(cuda.cuModuleGetFunction(&function, module, whole));
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {(unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, in, &early,
                                   launches_early};
    return cuda.cuLaunchKernelEx(&config, function, parameters, NULL);
}

static inline void launch(CUstream in, const char *name, CUdeviceptr y, CUdeviceptr x)
{
    WORKS(try_launch(in, name, N / THREADS, THREADS, y, x, 0));
}

/* Runs `body` in a child whose environment has up to three more variables, "NAME=value". */
static inline void in_child(void (*body)(void), const char *library, const char *one,
                            const char *two, const char *three)
{
    const char *variables[] = {one, two, three};
    int ends[2];
    fflush(stdout);
    fflush(stderr);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        for (int i = 0; i < 3; i++)
            if (variables[i] != NULL) putenv(strdup(variables[i]));
        open_driver(library);
        body();
        fflush(stderr);
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    char rest[512];
    for (ssize_t got = 1; got > 0;) {
        const bool full = n + 1 >= sizeof said;
        got =
            full ? read(ends[0], rest, sizeof rest) : read(ends[0], said + n, sizeof said - 1 - n);
        if (got > 0 && !full) n += (size_t)got;
    }
    said[n] = '\0';
    close(ends[0]);
    int state;
    assert_int_equal(waitpid(child, &state, 0), child);
    ended = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

#endif
