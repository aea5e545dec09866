/* card_parts: what a card and its streams are, for card.c and card_stream.c
 * alone. A card's failure is the first CUresult that was none of success, and
 * stays: after a fault nothing on the card is what it should be; whatever else
 * a call answers is a mistake of this program or a card that is gone. */
#ifndef SPECLAB_CARD_PARTS_H
#define SPECLAB_CARD_PARTS_H

#include "models/gpu/card.h"
#include "models/gpu/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct spec_card {
    const spec_driver *driver;
    spec_card *next;
    int ordinal, users;
    CUdevice device;
    CUcontext context;
    char name[96];
    size_t memory;
    int multiprocessors, cache;
    bool early; /* launches may begin before the one before them has ended */
    CUmodule module[SPEC_KERNEL_THEMES_COUNT];
    CUfunction function[SPEC_KERNELS_COUNT + 1];
    atomic_int failure;
    pthread_mutex_t lock; /* of the list of streams, and of which of them record */
    spec_stream *streams;
};

struct spec_stream {
    spec_card *card;
    spec_stream *next;
    CUstream stream;
    CUevent mark[2];
    bool recording; /* launches are written down */
    CUresult lost;  /* why they no longer are */
};

extern const int spec_card_threads[SPEC_KERNELS_COUNT + 1]; /* of a block of each kernel */

/* Whether the call succeeded; else the card has failed. */
bool spec_card_good(spec_card *card, CUresult result);

/* The calling thread works with this card from here on. false: the card has failed before. */
bool spec_card_enter(spec_card *card);

/* An address in the card's memory, as the driver has it. */
static inline CUdeviceptr spec_card_address(const void *memory) { return (CUdeviceptr)(uintptr_t)memory; }

#endif
