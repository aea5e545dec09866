/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of the simulated GPUs and pinned host memory. Guard bytes surround each allocation, and
 * fresh memory reads as NaN. */
#include "tests/simulator/block_run.h"
#include "tests/simulator/simulated_driver.h"
#include "tests/simulator/stack_switch.h"

#include <stdlib.h>
#include <string.h>

#ifdef SIMULATED_ASAN
#include <sanitizer/asan_interface.h>
#endif

enum { ALIGN = 256, MARGIN = 256, MARGIN_BYTE = 0xA5 };

typedef struct allocation {
    struct allocation *next;
    simulated_card *card;
    char *memory;
    size_t bytes;
    bool pinned;
} allocation;

static allocation *allocations;
static const simulated_card *open; /* the GPU whose memory may be touched */
unsigned long simulated_memory_changes;

static void fill_margins(allocation *a)
{
    memset(a->memory - MARGIN, MARGIN_BYTE, MARGIN);
    memset(a->memory + a->bytes, MARGIN_BYTE, MARGIN);
}

static void check_margins(const allocation *a)
{
#ifndef SIMULATED_ASAN
    const unsigned char *before = (const unsigned char *)a->memory - MARGIN,
                        *after = before + MARGIN + a->bytes;
    for (int i = 0; i < MARGIN; i++) {
        if (before[i] != MARGIN_BYTE)
            block_run_fail("%d bytes before an allocation of %zu bytes were written to", MARGIN - i,
                           a->bytes);
        if (after[i] != MARGIN_BYTE)
            block_run_fail("byte %d after the end of an allocation of %zu bytes was written to", i,
                           a->bytes);
    }
#else
    (void)a;
#endif
}

void simulated_memory_check(void)
{
    for (const allocation *a = allocations; a != NULL; a = a->next) check_margins(a);
}

static void set_access(const allocation *a, bool allowed)
{
#ifdef SIMULATED_ASAN
    if (a->pinned) return;
    if (allowed) __asan_unpoison_memory_region(a->memory, a->bytes);
    else __asan_poison_memory_region(a->memory, a->bytes);
#else
    (void)a, (void)allowed;
#endif
}

/* The host must not touch GPU memory: under the address sanitizer it is poisoned while no kernel
 * runs. */
void simulated_memory_open(const simulated_card *card)
{
    for (const allocation *a = allocations; a != NULL; a = a->next)
        if (a->card == card) set_access(a, true);
    open = card;
}

void simulated_memory_close(void)
{
    for (const allocation *a = allocations; a != NULL; a = a->next)
        if (a->card == open) set_access(a, false);
    open = NULL;
}

void simulated_memory_each(void (*visit)(char *memory, size_t bytes))
{
    for (const allocation *a = allocations; a != NULL; a = a->next)
        if (a->card == open && !a->pinned) visit(a->memory, a->bytes);
}

static CUresult take(simulated_card *card, void **ret_memory, size_t bytes, bool pinned)
{
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const size_t counted = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!pinned && (bytes > card->memory || counted > card->memory - card->taken))
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation *a = calloc(1, sizeof *a);
    void *whole = NULL;
#ifdef SIMULATED_ASAN
    const int failed = a == NULL || posix_memalign(&whole, ALIGN, bytes) != 0;
    const size_t begin = 0;
#else
    const int failed = a == NULL || posix_memalign(&whole, ALIGN, MARGIN + bytes + MARGIN) != 0;
    const size_t begin = MARGIN;
#endif
    if (failed) {
        free(a);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *a = (allocation){.next = allocations,
                      .card = card,
                      .memory = (char *)whole + begin,
                      .bytes = bytes,
                      .pinned = pinned};
    allocations = a;
    simulated_memory_changes++;
    memset(a->memory, 0xff, bytes);
    if (begin > 0) fill_margins(a);
    set_access(a, false);
    if (!pinned) card->taken += counted;
    if (pinned) card->pinned++;
    else card->allocations++;
    *ret_memory = a->memory;
    return CUDA_SUCCESS;
}

static CUresult give_back(void *memory, bool pinned)
{
    for (allocation **at = &allocations; *at != NULL; at = &(*at)->next) {
        allocation *a = *at;
        if (a->memory != memory || a->pinned != pinned) continue;
        check_margins(a);
        set_access(a, true);
        if (!pinned) a->card->taken -= (a->bytes + ALIGN - 1) / ALIGN * ALIGN;
        if (pinned) a->card->pinned--;
        else a->card->allocations--;
        *at = a->next;
        simulated_memory_changes++;
#ifdef SIMULATED_ASAN
        free(a->memory);
#else
        memset(a->memory, 0xff, a->bytes);
        free(a->memory - MARGIN);
#endif
        free(a);
        return CUDA_SUCCESS;
    }
    block_run_fail("%p is freed, but is not an allocation", memory);
}

size_t simulated_memory_reach(const void *at, bool pinned)
{
    for (const allocation *a = allocations; a != NULL; a = a->next) {
        const char *byte = at;
        if (a->pinned == pinned && byte >= a->memory && byte < a->memory + a->bytes)
            return a->bytes - (size_t)(byte - a->memory);
    }
    return 0;
}

simulated_range simulated_memory_around(const void *at)
{
    for (const allocation *a = allocations; a != NULL; a = a->next) {
        const char *byte = at;
        if (byte >= a->memory - MARGIN && byte < a->memory + a->bytes + MARGIN)
            return (simulated_range){a->memory, a->memory + a->bytes, simulated_memory_changes};
    }
    return (simulated_range){0};
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    SIMULATED_ENTER(card);
    *free_bytes = card->memory - card->taken;
    *total = card->memory;
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    SIMULATED_ENTER(card);
    if (simulated_streams_spoil_capture())
        return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_);
    void *at = NULL;
    const CUresult result = take(card, &at, bytes, false);
    if (result == CUDA_SUCCESS) *memory = (CUdeviceptr)(uintptr_t)at;
    return simulated_leave(result);
}

/* Waits for everything, as a GPU does. Frees memory even after a failure. */
CUresult cuMemFree_v2(CUdeviceptr memory)
{
    simulated_lock();
    simulated_card *card;
    const CUresult result = simulated_current(&card, __func__);
    if (card == NULL || card->uses == 0) return simulated_leave(result);
    if (simulated_streams_spoil_capture())
        return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_);
    if (memory == 0) return simulated_leave(CUDA_SUCCESS);
    simulated_streams_drain(card);
    give_back((void *)(uintptr_t)memory, false);
    return simulated_leave(card->failed);
}

CUresult cuMemAllocHost_v2(void **memory, size_t bytes)
{
    SIMULATED_ENTER(card);
    return simulated_leave(take(card, memory, bytes, true));
}

CUresult cuMemFreeHost(void *memory)
{
    simulated_lock();
    simulated_card *card;
    const CUresult result = simulated_current(&card, __func__);
    if (card == NULL || card->uses == 0) return simulated_leave(result);
    simulated_streams_drain(card);
    give_back(memory, true);
    return simulated_leave(card->failed);
}
