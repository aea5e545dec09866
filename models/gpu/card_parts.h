/* SPDX-License-Identifier: GPL-3.0-or-later */
/* card_parts: the private structs of a GPU and its streams, for card.c and card_stream.c.
 * We keep the first CUresult that is not success as the GPU's failure. A failure is permanent:
 * after a fault the GPU's memory is undefined, and any other error means a bug in this program or a
 * lost GPU. */
#ifndef SPECLAB_CARD_PARTS_H
#define SPECLAB_CARD_PARTS_H

#include "models/gpu/card.h"
#include "models/gpu/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct spec_cards {
    const spec_gpu_settings *settings;
    pthread_mutex_t lock; /* guards the rest */
    spec_driver driver;   /* does not change after its version is set */
    spec_card *open;
};

struct spec_card {
    spec_cards *cards;
    const spec_driver *driver;
    spec_card *next;
    int ordinal, users;
    CUdevice device;
    CUcontext context;
    char name[96];
    size_t memory;
    int multiprocessors, cache;
    bool early; /* launches may start before the previous one ends */
    CUmodule module[SPEC_KERNEL_THEMES_COUNT];
    CUfunction function[SPEC_KERNELS_COUNT + 1];
    atomic_int failure;
    pthread_mutex_t lock; /* guards the list of streams and their `recording` */
    spec_stream *streams;
};

struct spec_stream {
    spec_card *card;
    spec_stream *next;
    CUstream stream;
    CUevent mark[2];
    bool recording; /* launches are recorded, not run */
    CUresult lost;  /* why recording stopped */
};

extern const int spec_card_threads[SPEC_KERNELS_COUNT + 1]; /* Threads per block of each kernel. */

/* Returns whether the call succeeded; otherwise marks the GPU as failed. */
bool spec_card_good(spec_card *card, CUresult result);

/* Makes the GPU current in the calling thread. Returns false if the GPU has failed before. */
bool spec_card_enter(spec_card *card);

/* Returns a GPU memory address in the driver's type. */
static inline CUdeviceptr spec_card_address(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

#endif
