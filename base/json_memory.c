/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_memory.h"

#include "base/utf8.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes jansson reads at a time, and how much it may allocate for the values in them. */
enum { CHUNK = 64, VALUES = 512 * CHUNK };

static _Thread_local bool lost;

/* The reserve from which jansson allocates if malloc fails while it reads. */
static _Thread_local struct {
    unsigned char *bytes; /* NULL: no text is being read */
    size_t n, used;
    size_t left; /* how many bytes the values of the text may still take */
    bool over;   /* they would take more */
} reserve;

static void *allocate(size_t n)
{
    const size_t aligned =
        (n + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    if (reserve.bytes != NULL) {
        reserve.over |= n > reserve.left;
        reserve.left -= reserve.over ? 0 : n;
    }
    void *memory = reserve.over ? NULL : malloc(n);
    if (memory != NULL) return memory;
    lost = true;
    if (reserve.bytes == NULL || aligned > reserve.n - reserve.used) return NULL;
    memory = reserve.bytes + reserve.used;
    reserve.used += aligned;
    return memory;
}

static void release(void *memory)
{
    const uintptr_t begin = (uintptr_t)reserve.bytes, at = (uintptr_t)memory;
    if (reserve.bytes == NULL || at < begin || at >= begin + reserve.n) free(memory);
}

static void set_up(void)
{
    json_set_alloc_funcs(allocate, release);
}

void spec_json_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
    lost = false;
}

bool spec_json_lost(void)
{
    return lost;
}

typedef struct {
    const char *bytes;
    size_t n;
} text;

static size_t give(void *buffer, size_t size, void *self)
{
    text *left = self;
    const size_t most = size < CHUNK ? size : CHUNK;
    const size_t n = lost ? 0 : left->n < most ? left->n : most;
    memcpy(buffer, left->bytes, n);
    left->bytes += n;
    left->n -= n;
    return n;
}

json_t *spec_json_load_within(size_t most, const char *bytes, size_t n, size_t flags,
                              json_error_t *error)
{
    spec_json_begin();
    /* A word is copied into a buffer that doubles, which takes 4 bytes per byte of text; growing
     * tables take 8. */
    reserve.n = 12 * (n + CHUNK) + VALUES;
    reserve.used = 0;
    reserve.left = most;
    reserve.bytes = malloc(reserve.n);
    lost = reserve.bytes == NULL;
    if (lost) return NULL;
    json_t *value = json_load_callback(give, &(text){bytes, n}, flags, error);
    if (lost) {
        json_decref(value);
        value = NULL;
    }
    free(reserve.bytes);
    reserve.bytes = NULL;
    if (!reserve.over) return value;
    reserve.over = lost = false;
    snprintf(error->text, sizeof error->text, "takes over %zu bytes of memory", most);
    error->text[sizeof error->text - 1] = json_error_out_of_memory;
    return NULL;
}

json_t *spec_json_load(const char *bytes, size_t n, size_t flags, json_error_t *error)
{
    return spec_json_load_within(SIZE_MAX, bytes, n, flags, error);
}

json_t *spec_json_string(const char *bytes, size_t n)
{
    char *clean = malloc(3 * n + 1);
    size_t used = 0;
    if (clean == NULL) lost = true;
    if (clean == NULL) return NULL;
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = spec_utf8_decode(&code, (const unsigned char *)bytes + i, n - i);
        const bool valid = code != SPEC_UTF8_INVALID;
        memcpy(clean + used, valid ? bytes + i : "\xEF\xBF\xBD", valid ? length : 3);
        used += valid ? length : 3;
    }
    json_t *string = json_stringn(clean, used);
    free(clean);
    return string;
}
