/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/taps.h"

#include <assert.h>
#include <string.h>

int spec_taps_find(const spec_kv *kv, int layers)
{
    for (int i = 0; i < kv->n_taps; i++)
        if (kv->tap[i] == layers) return i;
    return -1;
}

int spec_taps_init(const spec_backend *backend, spec_kv *kv, const int *tap, int n, int width,
                   spec_error *error)
{
    const size_t floats = ((size_t)kv->slots + 1) * (size_t)width;
    void *memory;
    assert(n >= 1 && n <= SPEC_TAPS_MAX);
    spec_taps_free(backend, kv);
    const int status = backend->alloc(backend, &memory, (size_t)n * floats * sizeof(float), error);
    if (status != GSL_SUCCESS) return status;
    kv->n_taps = n;
    kv->width = width;
    for (int i = 0; i < n; i++) {
        kv->tap[i] = tap[i];
        kv->plane[i] = (float *)memory + (size_t)i * floats;
    }
    return GSL_SUCCESS;
}

void spec_taps_free(const spec_backend *backend, spec_kv *kv)
{
    if (kv->n_taps > 0) backend->free(backend, kv->plane[0]); /* all are in one block */
    kv->n_taps = 0;
}

static float *state(const spec_kv *kv, int plane, int slot)
{
    return kv->plane[plane] + (size_t)slot * (size_t)kv->width;
}

void spec_taps_put(spec_kv *kv, int plane, const float *x, const spec_batch *batch)
{
    const size_t width = (size_t)kv->width;
    for (int u = 0; u < batch->n; u++)
        memcpy(state(kv, plane, batch->slot[u]), x + (size_t)u * width, width * sizeof *x);
}

void spec_taps_keep(spec_kv *kv, const int *from, int to, int n)
{
    const size_t bytes = (size_t)kv->width * sizeof(float);
    for (int plane = 0; plane < kv->n_taps; plane++)
        for (int i = 0; i < n; i++)
            if (from[i] != to + i)
                memcpy(state(kv, plane, to + i), state(kv, plane, from[i]), bytes);
}
