/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_image: builds GGUF files byte by byte, for tests of their reader.
 * Each test program has its own copy of these small functions. Its one file is `gguf_path`; the
 * test frees the bytes of its images. */
#ifndef SPECLAB_TESTS_GGUF_IMAGE_H
#define SPECLAB_TESTS_GGUF_IMAGE_H

#include "models/transformer/files/gguf.h"

#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

static char gguf_path[] = "/tmp/speclab-gguf-XXXXXX";

static inline int make_file(void **state)
{
    (void)state;
    const int descriptor = mkstemp(gguf_path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static inline int remove_file(void **state)
{
    (void)state;
    return unlink(gguf_path);
}

/* A file in memory. */
typedef struct {
    unsigned char *bytes;
    size_t length, capacity;
} image;

static inline void put(image *to, const void *bytes, size_t n)
{
    if (to->length + n > to->capacity) {
        to->capacity = 2 * (to->length + n);
        to->bytes = realloc(to->bytes, to->capacity);
        assert_non_null(to->bytes);
    }
    if (n > 0) memcpy(to->bytes + to->length, bytes, n);
    to->length += n;
}

static inline void put_u32(image *to, uint32_t value)
{
    put(to, &value, sizeof value);
}

static inline void put_u64(image *to, uint64_t value)
{
    put(to, &value, sizeof value);
}

static inline void put_text(image *to, const char *text)
{
    put_u64(to, strlen(text));
    put(to, text, strlen(text));
}

static inline void put_value(image *to, const char *key, uint32_t type, const void *bytes, size_t n)
{
    put_text(to, key);
    put_u32(to, type);
    put(to, bytes, n);
}

static inline void put_tensor(image *to, const char *name, int n, const uint64_t *size,
                              uint32_t type, uint64_t offset)
{
    put_text(to, name);
    put_u32(to, (uint32_t)n);
    for (int i = 0; i < n; i++) put_u64(to, size[i]);
    put_u32(to, type);
    put_u64(to, offset);
}

static inline void begin(image *to, uint32_t version, uint64_t n_tensors, uint64_t n_values)
{
    to->length = 0;
    put(to, "GGUF", 4);
    put_u32(to, version);
    put_u64(to, n_tensors);
    put_u64(to, n_values);
}

static inline void pad(image *to, size_t alignment)
{
    while (to->length % alignment != 0) put(to, "", 1);
}

static inline int open_image(spec_gguf *gguf, const image *from, spec_error *error)
{
    FILE *file = fopen(gguf_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(from->bytes, 1, from->length, file), from->length);
    fclose(file);
    return spec_gguf_init(gguf, gguf_path, error);
}

/* Every type of value; keys are not sorted. */
static inline void make_values(image *to)
{
    begin(to, 3, 0, 17);
    put_value(to, "u8", 0, "\xfe", 1);
    put_value(to, "i8", 1, "\xfe", 1);
    put_value(to, "u16", 2, "\xfe\xff", 2);
    put_value(to, "i16", 3, "\xfe\xff", 2);
    put_value(to, "u32", 4, "\xfe\xff\xff\xff", 4);
    put_value(to, "i32", 5, "\xfe\xff\xff\xff", 4);
    put_value(to, "f32", 6, &(float){0.27f}, 4);
    put_value(to, "yes", 7, "\1", 1);
    put_value(to, "no", 7, "\0", 1);
    put_value(to, "text", 8, "\5\0\0\0\0\0\0\0caf\xc3\xa9", 13);
    put_value(to, "u64", 10, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    put_value(to, "i64", 11, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
    put_value(to, "f64", 12, &(double){2.385}, 8);
    put_value(to, "texts", 9,
              "\10\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0bc", 39);
    put_value(to, "reals", 9, "\6\0\0\0\2\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100", 20);
    put_value(to, "integers", 9, "\5\0\0\0\2\0\0\0\0\0\0\0\7\0\0\0\377\377\377\377", 20);
    put_value(to, "none", 9, "\5\0\0\0\0\0\0\0\0\0\0\0", 12);
}

static inline void ends_so(const spec_error *error, const char *line)
{
    const size_t n = strlen(error->text), m = strlen(line);
    if (n < m || strcmp(error->text + n - m, line) != 0)
        fail_msg("'%s' does not end in '%s'", error->text, line);
}

#endif
