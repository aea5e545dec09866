/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/kv_cache.h"

#include "base/int_math.h"

#include <string.h>
#include <sys/mman.h>

enum {
    BLOCK = SPEC_VECTOR_BLOCK,
    LANES = SPEC_VECTOR_LANES /* keys of a tile */
};

int spec_kv_cache_width(int head_dim)
{
    return spec_int_ceil_div(head_dim, LANES) * LANES;
}

static size_t size_of_number(const spec_kv *kv)
{
    return spec_tensor_row_bytes(kv->type, 1);
}

/* Returns how many numbers the keys of a block have in one layer and head; its values have as many.
 */
static size_t block_numbers(const spec_kv *kv)
{
    return (size_t)BLOCK * (size_t)spec_kv_cache_width(kv->head_dim);
}

static size_t kv_bytes(const spec_kv *kv)
{
    const size_t blocks = (size_t)spec_int_ceil_div(kv->slots, BLOCK);
    return blocks * (size_t)kv->layers * (size_t)kv->n_kv_heads * 2 * block_numbers(kv) *
           size_of_number(kv);
}

/* Returns the keys of a block of slots, which its values follow. */
static unsigned char *keys_of(const spec_kv *kv, int layer, int head, int block)
{
    const size_t region =
        ((size_t)block * (size_t)kv->layers + (size_t)layer) * (size_t)kv->n_kv_heads +
        (size_t)head;
    return (unsigned char *)kv->data + region * 2 * block_numbers(kv) * size_of_number(kv);
}

/* Returns where a slot's key begins, and in *ret_value its value. The numbers of a key are LANES
 * apart, those of a value adjacent. */
static unsigned char *key_of(unsigned char **ret_value, const spec_kv *kv, int layer, int head,
                             int slot)
{
    const size_t width = (size_t)spec_kv_cache_width(kv->head_dim), size = size_of_number(kv);
    unsigned char *const keys = keys_of(kv, layer, head, slot / BLOCK);
    const int at = slot % BLOCK;
    *ret_value = keys + (block_numbers(kv) + (size_t)at * width) * size;
    return keys + ((size_t)(at / LANES * LANES) * width + (size_t)(at % LANES)) * size;
}

/* Copies n numbers that lie `from_apart` numbers from each other, so that they are `apart` numbers
 * from each other. Callers pass a constant as their `size` in bytes, so that the compiler knows
 * it. */
static inline void copy_numbers(unsigned char *to, size_t apart, const unsigned char *from,
                                size_t from_apart, size_t size, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * apart * size, from + i * from_apart * size, size);
}

static void copy_key(unsigned char *to, size_t apart, const unsigned char *from, size_t from_apart,
                     const spec_kv *kv)
{
    const size_t n = (size_t)kv->head_dim;
    if (kv->type == SPEC_TENSOR_F32)
        copy_numbers(to, apart, from, from_apart, sizeof(float), n);
    else
        copy_numbers(to, apart, from, from_apart, sizeof(uint16_t), n);
}

static spec_kv kv_of(const spec_shape *shape, spec_tensor_type type, int slots)
{
    return (spec_kv){.layers = shape->n_layers - shape->delta.n_layers,
                     .slots = slots,
                     .n_kv_heads = shape->n_kv_heads,
                     .head_dim = shape->head_dim,
                     .type = type};
}

size_t spec_kv_cache_bytes(const spec_shape *shape, spec_tensor_type type, int slots)
{
    const spec_kv kv = kv_of(shape, type, slots);
    return kv_bytes(&kv);
}

int spec_kv_cache_init(const spec_backend *backend, spec_kv *kv, const spec_shape *shape,
                       spec_tensor_type type, int slots, spec_error *error)
{
    (void)backend;
    *kv = kv_of(shape, type, slots);
    const size_t bytes = kv_bytes(kv);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return spec_fail(error, GSL_ENOMEM,
                         "out of memory for keys and values of %d tokens (%zu bytes)", slots,
                         bytes);
    madvise(memory, bytes, MADV_HUGEPAGE); /* large pages make reads faster */
    kv->data = memory;
    return GSL_SUCCESS;
}

void spec_kv_cache_free(const spec_backend *backend, spec_kv *kv)
{
    (void)backend;
    if (kv->data != NULL) munmap(kv->data, kv_bytes(kv));
    *kv = (spec_kv){0};
}

void spec_kv_cache_keep(spec_kv *kv, const int *from, int to, int n)
{
    const size_t bytes = (size_t)spec_kv_cache_width(kv->head_dim) * size_of_number(kv);
    for (int i = 0; i < n; i++, to++) {
        if (from[i] == to) continue;
        for (int layer = 0; layer < kv->layers; layer++)
            for (int head = 0; head < kv->n_kv_heads; head++) {
                unsigned char *value, *old_value;
                unsigned char *const key = key_of(&value, kv, layer, head, to);
                copy_key(key, LANES, key_of(&old_value, kv, layer, head, from[i]), LANES, kv);
                memcpy(value, old_value, bytes);
            }
    }
}

/* Makes infinite numbers NaN: a score of -inf would silently drop a token. */
static void mark_infinite(uint16_t *f16, int n)
{
    for (int i = 0; i < n; i++)
        if ((f16[i] & 0x7fff) == 0x7c00) f16[i] = 0x7e00;
}

void spec_kv_cache_store(spec_kv *kv, int layer, const float *qkv, int n_heads,
                         const spec_batch *batch, const spec_vector_kernels *kernels)
{
    const size_t head_dim = (size_t)kv->head_dim, size = size_of_number(kv);
    const int width = spec_kv_cache_width(kv->head_dim);
    float padded[SPEC_HEAD_DIM_MAX] = {0};
    uint16_t half[SPEC_HEAD_DIM_MAX];
    for (int h = 0; h < kv->n_kv_heads; h++)
        for (int u = 0; u < batch->n; u++)
            for (int is_value = 0; is_value < 2; is_value++) {
                const float *const x = qkv + ((size_t)u * (size_t)(n_heads + 2 * kv->n_kv_heads) +
                                              (size_t)(n_heads + is_value * kv->n_kv_heads + h)) *
                                                 head_dim;
                const void *from = x;
                unsigned char *value;
                unsigned char *const key = key_of(&value, kv, layer, h, batch->slot[u]);
                if (kv->type != SPEC_TENSOR_F32) {
                    memcpy(padded, x, head_dim * sizeof *x);
                    kernels->narrow(half, padded, kv->type, width);
                    if (kv->type == SPEC_TENSOR_F16) mark_infinite(half, width);
                    from = half;
                }
                if (is_value)
                    memcpy(value, from, head_dim * size);
                else
                    copy_key(key, LANES, from, 1, kv);
            }
}

void spec_kv_cache_block(const void **ret_keys, const void **ret_values, const spec_kv *kv,
                         int layer, int head, int block)
{
    const unsigned char *const keys = keys_of(kv, layer, head, block);
    *ret_keys = keys;
    *ret_values = keys + block_numbers(kv) * size_of_number(kv);
}

void spec_kv_cache_read(float *ret_key, float *ret_value, const spec_kv *kv, int layer, int head,
                        int slot, const spec_vector_kernels *kernels)
{
    const int width = spec_kv_cache_width(kv->head_dim);
    unsigned char *value;
    const unsigned char *const key = key_of(&value, kv, layer, head, slot);
    if (kv->type == SPEC_TENSOR_F32) {
        memset(ret_key, 0, (size_t)width * sizeof *ret_key);
        copy_key((unsigned char *)ret_key, 1, key, LANES, kv);
        memcpy(ret_value, value, (size_t)width * sizeof *ret_value);
    } else {
        uint16_t half[SPEC_HEAD_DIM_MAX] = {0};
        copy_key((unsigned char *)half, 1, key, LANES, kv);
        kernels->widen(ret_key, half, kv->type, width);
        kernels->widen(ret_value, (const uint16_t *)(const void *)value, kv->type, width);
    }
}
