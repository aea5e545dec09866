/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backend_gpu_case: memory, batches and random numbers for tests of the GPU backend.
 * Opens the backend for the group (backend_gpu_group.h). Include it in one file of a program. */
#ifndef SPECLAB_TESTS_BACKEND_GPU_CASE_H
#define SPECLAB_TESTS_BACKEND_GPU_CASE_H

#include "base/noise.h"
#include "models/gpu/pass_batch.h"
#include "tests/support/backend_gpu_group.h"
#include "tests/support/support.h"

#include <string.h>

enum { SLOTS = 400 };

static const spec_backend *const cpu = &spec_backend_cpu;

static inline float draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(911, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

static inline void *allocated(const spec_backend *on, size_t bytes)
{
    void *memory;
    assert_works(on->alloc(on, &memory, bytes, &error));
    return memory;
}

static inline void wait_for(spec_queue *queue)
{
    assert_works(queue->backend->wait(queue, &error));
}

/* Makes a batch of n tokens of a sequence, from position `at` on; logits of the last n - first are
 * wanted. */
static inline spec_batch text_batch(int vocab, int n, int first, int at, int *path)
{
    spec_batch batch = {.n = n, .first = first, .path = path};
    for (int u = 0; u < n; u++) {
        batch.token[u] = (7 * u + 3 * at) % vocab;
        batch.position[u] = batch.slot[u] = batch.past[u] = path[u] = at + u;
        batch.path_begin[u + 1] = u + 1;
    }
    return batch;
}

#endif
