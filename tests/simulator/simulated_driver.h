/* simulated_driver: what the parts of the simulated CUDA driver know of each other. The functions themselves are those
 * of models/gpu/driver_functions.h, by their own names; one lock is held in all of them.
 *
 * Work is done as late as a card could do it: a launch or a copy in a stream waits there until its stream is
 * synchronised, so that a host that forgets to wait reads old values. With SIM_SEED=n some of it is done earlier.
 * What a real driver answers with an error code is answered so; what it lets pass although it is wrong (memory past the
 * end of an allocation, a copy from memory that is not pinned, something not given back) ends the process with one line
 * and exit code 3.
 *
 *   SIM_ORDER=forward|reverse|shuffled   order of blocks and threads         SIM_CARDS=1      how many cards
 *   SIM_MEMORY=bytes                     of each card (8 GiB)                SIM_VERSION=13000   of the driver
 *   SIM_CAPABILITY=9.0                   compute capability                  SIM_SEED=n       see above
 *   SIM_FAULT_AT=n                       the n-th launch of a context faults (from 1)
 *   SIM_PATIENCE=60                      seconds of processor time that a launch may take
 *   SIM_PROFILE=1                        at the end, a table of the kernels on standard error
 *   SIM_COMPARE=1, 2                     with libcuda_ptx.so: which kernels leave other bits by PTX; none may
 *   SIM_IMAGES=0                         no image of kernels is taken, as a card takes none that is not for it
 *   SIM_FAIL=cuMemAlloc_v2:2:3           the 3rd call of that function (first, if left out) and later ones fail with 2
 *   SIM_MISSING=1                        cuGraphInstantiateWithFlags is missing, as in a driver older than CUDA 11.4 */
#ifndef SPECLAB_SIMULATED_DRIVER_H
#define SPECLAB_SIMULATED_DRIVER_H

#include "models/gpu/driver.h"
#include "tests/simulator/kernel_table.h"

#include <stdbool.h>
#include <stdint.h>

#define SIMULATED_PROTOTYPE(name, parameters) CUresult name parameters;
SPEC_DRIVER_FUNCTIONS(SIMULATED_PROTOTYPE)
#undef SIMULATED_PROTOTYPE

/* Numbers of cuda.h that only the driver says. */
enum {
    CUDA_ERROR_NOT_READY_ = 600,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_ = 900,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED_ = 903,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT_ = 906,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD_ = 908
};

enum { MOST_CARDS = 16 };

/* A card and its primary context. */
typedef struct CUctx_st {
    int device, uses; /* uses 0: there is no context */
    CUresult failed;  /* sticky */
    size_t memory, taken;
    long launches, fault_at;
    int allocations, pinned, streams, events, graphs, modules;
} simulated_card;

/* Begins a function of the driver: the lock; the calling thread's card, with its context alive and not failed. */
#define SIMULATED_ENTER_AS(card, function)                                                                             \
    simulated_lock();                                                                                                  \
    simulated_card *card;                                                                                              \
    const CUresult entered = simulated_current(&card, function);                                                       \
    if (entered != CUDA_SUCCESS) return simulated_leave(entered)
#define SIMULATED_ENTER(card) SIMULATED_ENTER_AS(card, __func__)

int simulated_capability(void); /* 90 is 9.0 */

void simulated_lock(void);
CUresult simulated_leave(CUresult result);
CUresult simulated_current(simulated_card **ret_card, const char *function);
long simulated_setting(const char *name, long otherwise);

/* ---- memory ------------------------------------------------------------------------------------------------------- */

/* Bytes that an access to the card's, or to pinned memory may touch from there on; 0 outside of all of it. */
size_t simulated_memory_reach(const void *at, bool pinned);

/* The allocation in which, or near the ends of which, an address lies; {NULL} for none. It holds until `changes`, which
 * counts allocations made and given back, is another. */
typedef struct {
    const char *begin, *end;
    unsigned long changes;
} simulated_range;
extern unsigned long simulated_memory_changes;
simulated_range simulated_memory_around(const void *at);

/* Held against everything that lies around the allocations. */
void simulated_memory_check(void);

/* Between these the card's memory may be touched, and what no kernel has a right to may not. */
void simulated_memory_open(const simulated_card *card);
void simulated_memory_close(void);

/* All of the card whose memory is open. */
void simulated_memory_each(void (*visit)(char *memory, size_t bytes));

/* ---- streams ------------------------------------------------------------------------------------------------------ */

/* Does what is asked for in all streams of the card. */
void simulated_streams_drain(simulated_card *card);

/* Whether the calling thread captures, which forbids what would wait: the capture is spoilt then. */
bool simulated_streams_spoil_capture(void);

#endif
