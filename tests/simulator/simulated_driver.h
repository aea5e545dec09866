/* SPDX-License-Identifier: GPL-3.0-or-later */
/* simulated_driver: the shared state of the simulated CUDA driver's parts.
 * The driver's functions have the names of models/gpu/driver_functions.h; all of them hold one
 * lock.
 *
 * Work runs as late as a GPU may run it. A launch or a copy waits in its stream until the stream is
 * synchronised, so a host that forgets to wait reads old values. With SIM_SEED=n some of it runs
 * earlier. Errors that a real driver reports have its error codes. Mistakes that a real driver lets
 * pass end the process with one line and exit code 3: memory past the end of an allocation, a copy
 * from memory that is not pinned, a leak.
 *
 *   SIM_ORDER=forward|reverse|shuffled   order of blocks and threads
 *   SIM_CARDS=1                          number of GPUs
 *   SIM_MEMORY=bytes                     of each GPU (8 GiB)
 *   SIM_VERSION=13000                    of the driver
 *   SIM_CAPABILITY=9.0                   compute capability; below 9.0, products add as on Ampere
 *   SIM_SEED=n                           see above
 *   SIM_FAULT_AT=n                       the n-th launch of a context faults (from 1)
 *   SIM_PATIENCE=60                      seconds of processor time that a launch may take
 *   SIM_PROFILE=1                        at the end, a table of the kernels on standard error
 *   SIM_COMPARE=1, 2                     with libcuda_ptx.so: kernels whose PTX leaves other bits;
 *                                        2: none may
 *   SIM_IMAGES=0                         every image of kernels is rejected, as one for another GPU
 *   SIM_FAIL=cuMemAlloc_v2:2:3           the 3rd call of that function (first, if left out) and
 *                                        later ones fail with 2
 *   SIM_MISSING=1                        no cuGraphInstantiateWithFlags, as before CUDA 11.4 */
#ifndef SPECLAB_SIMULATED_DRIVER_H
#define SPECLAB_SIMULATED_DRIVER_H

#include "models/gpu/driver.h"
#include "tests/simulator/kernel_table.h"
#include "tests/simulator/simulated_traffic.h"

#include <stdbool.h>
#include <stdint.h>

#define SIMULATED_PROTOTYPE(name, parameters) CUresult name parameters;
SPEC_DRIVER_FUNCTIONS(SIMULATED_PROTOTYPE)
#undef SIMULATED_PROTOTYPE

/* CUresult values of cuda.h that only the driver returns. */
enum {
    CUDA_ERROR_NOT_READY_ = 600,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_ = 900,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED_ = 903,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT_ = 906,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD_ = 908
};

enum { MOST_CARDS = 16 };

/* A GPU and its primary context. */
typedef struct CUctx_st {
    int device, uses; /* uses 0: there is no context */
    CUresult failed;  /* sticky */
    size_t memory, taken;
    long launches, fault_at;
    int allocations, pinned, streams, events, graphs, modules;
} simulated_card;

/* Begins a driver function: takes the lock and gets the calling thread's GPU, whose context must
 * exist and not have failed. */
#define SIMULATED_ENTER_AS(card, function)                                                         \
    simulated_lock();                                                                              \
    simulated_card *card;                                                                          \
    const CUresult entered = simulated_current(&card, function);                                   \
    if (entered != CUDA_SUCCESS) return simulated_leave(entered)
#define SIMULATED_ENTER(card) SIMULATED_ENTER_AS(card, __func__)

int simulated_capability(void); /* 90 is 9.0 */

void simulated_lock(void);
CUresult simulated_leave(CUresult result);
CUresult simulated_current(simulated_card **ret_card, const char *function);
long simulated_setting(const char *name, long otherwise);

extern simulated_traffic simulated_counts;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Returns how many bytes from there on an access to GPU memory, or pinned memory, may touch; 0
 * outside of both. */
size_t simulated_memory_reach(const void *at, bool pinned);

/* Returns the allocation that contains an address, or whose ends are near it; NULL for none. Valid
 * until `changes`, which counts allocations and frees, changes. */
typedef struct {
    const char *begin, *end;
    unsigned long changes;
} simulated_range;
extern unsigned long simulated_memory_changes;
simulated_range simulated_memory_around(const void *at);

/* Checks the guard bytes around all allocations. */
void simulated_memory_check(void);

/* Kernels may touch GPU memory only between these two, and then nothing else. */
void simulated_memory_open(const simulated_card *card);
void simulated_memory_close(void);

/* Visits all memory of the GPU that is open. */
void simulated_memory_each(void (*visit)(char *memory, size_t bytes));

/* ---- streams --------------------------------------------------------------------------------- */

/* Performs all queued work in all streams of the GPU. */
void simulated_streams_drain(simulated_card *card);

/* Returns whether the calling thread is capturing on a GPU that works; waiting is then forbidden
 * and invalidates the capture. */
bool simulated_streams_spoil_capture(void);

#endif
