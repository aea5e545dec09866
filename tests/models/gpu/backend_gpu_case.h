/* backend_gpu_case: the backend of the card (or of the simulated one), open for a group of tests. Include it in one
 * file of a program. */
#ifndef SPECLAB_TESTS_BACKEND_GPU_CASE_H
#define SPECLAB_TESTS_BACKEND_GPU_CASE_H

#include "models/gpu/backend_gpu.h"
#include "models/gpu/pass_batch.h"
#include "base/noise.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <string.h>

enum { SLOTS = 400 };

static const spec_backend *const cpu = &spec_backend_cpu;
static const spec_backend *gpu;

static inline float draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(911, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

static inline int open_gpu(void **state)
{
    (void)state;
    spec_error error = {""};
    if (spec_backend_gpu_open(&gpu, 0, &error) == GSL_SUCCESS) return 0;
    printf("%s\n", error.text);
    return -1;
}

static inline int close_gpu(void **state)
{
    (void)state;
    gpu->close(gpu);
    return 0;
}

static inline void *allocated(const spec_backend *on, size_t bytes)
{
    void *memory;
    spec_error error = {""};
    if (on->alloc(on, &memory, bytes, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    return memory;
}

static inline void wait_for(spec_queue *queue)
{
    spec_error error = {""};
    if (queue->backend->wait(queue, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
}

/* n tokens of a text, from position `at` on, of which the last n - first are wanted. */
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
