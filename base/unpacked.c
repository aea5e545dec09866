/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/unpacked.h"

#include "base/stop_flag.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __wasm__
#include <zlib.h>
#endif
#ifdef SPECLAB_ZSTD
#include <zstd.h>
#endif

enum { BLOCK = 1 << 16, MAGIC = 4 };

/* A compression method. `step` advances `from` and `to`, and stops at the end of a part. */
struct spec_unpacking {
    const char *name, *magic, *remedy; /* remedy: what to run if the library is missing */
    bool (*begin)(void **ret_stream);  /* NULL: the library is missing */
    bool (*step)(bool *ret_part_ends, void *stream, const unsigned char **from, size_t *n_from,
                 char **to, size_t *n_to);
    bool (*next_part)(void *stream);
    void (*end)(void *stream);
};

/* ---- gzip ------------------------------------------------------------------------------------ */

#ifndef __wasm__
static bool gzip_begin(void **ret_stream)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream != NULL && inflateInit2(stream, 16 + MAX_WBITS) != Z_OK) {
        free(stream);
        stream = NULL;
    }
    *ret_stream = stream;
    return stream != NULL;
}

static bool gzip_step(bool *ret_part_ends, void *stream, const unsigned char **from, size_t *n_from,
                      char **to, size_t *n_to)
{
    z_stream *s = stream;
    s->next_in = (unsigned char *)*from;
    s->avail_in = (unsigned)*n_from;
    s->next_out = (unsigned char *)*to;
    s->avail_out = (unsigned)*n_to;
    const int status = inflate(s, Z_NO_FLUSH);
    *ret_part_ends = status == Z_STREAM_END;
    *from = s->next_in;
    *n_from = s->avail_in;
    *to = (char *)s->next_out;
    *n_to = s->avail_out;
    return status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR;
}

static bool gzip_next_part(void *stream)
{
    return inflateReset(stream) == Z_OK;
}

static void gzip_end(void *stream)
{
    inflateEnd(stream);
    free(stream);
}
#endif

/* ---- zstd ------------------------------------------------------------------------------------ */

#ifdef SPECLAB_ZSTD
static bool zstd_begin(void **ret_stream)
{
    *ret_stream = ZSTD_createDStream();
    return *ret_stream != NULL;
}

static bool zstd_step(bool *ret_part_ends, void *stream, const unsigned char **from, size_t *n_from,
                      char **to, size_t *n_to)
{
    ZSTD_inBuffer in = {*from, *n_from, 0};
    ZSTD_outBuffer out = {*to, *n_to, 0};
    const size_t left = ZSTD_decompressStream(stream, &out, &in);
    *ret_part_ends = left == 0;
    *from += in.pos;
    *n_from -= in.pos;
    *to += out.pos;
    *n_to -= out.pos;
    return !ZSTD_isError(left);
}

static bool zstd_next_part(void *stream)
{
    (void)stream; /* the next call begins one */
    return true;
}

static void zstd_end(void *stream)
{
    ZSTD_freeDStream(stream);
}
#endif

static const struct spec_unpacking methods[] = {
    {"gzip", "\x1f\x8b", "gunzip",
#ifndef __wasm__
     gzip_begin, gzip_step, gzip_next_part, gzip_end
#else
     NULL, NULL, NULL, NULL
#endif
    },
    {"zstd", "\x28\xb5\x2f\xfd", "unzstd",
#ifdef SPECLAB_ZSTD
     zstd_begin, zstd_step, zstd_next_part, zstd_end
#else
     NULL, NULL, NULL, NULL
#endif
    },
};

/* ---- Reading --------------------------------------------------------------------------------- */

spec_unpacked spec_unpacked_of(int fd, const char *name, const volatile int *opt_stop)
{
    return (spec_unpacked){.fd = fd, .name = name, .opt_stop = opt_stop};
}

void spec_unpacked_free(spec_unpacked *u)
{
    if (u->stream != NULL) u->method->end(u->stream);
    free(u->in);
    *u = (spec_unpacked){.fd = -1};
}

static int read_file(size_t *ret, spec_unpacked *u, void *to, size_t n, spec_error *error)
{
    ssize_t got;
    *ret = 0;
    do {
        if (spec_stop_is_set(u->opt_stop))
            return spec_fail(error, GSL_EFAILED, "%.300s: stopped", u->name);
        got = read(u->fd, to, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return spec_fail(error, GSL_EFAILED, "%.300s: %s", u->name, strerror(errno));
    u->ended = got == 0;
    *ret = (size_t)got;
    return GSL_SUCCESS;
}

static int start(spec_unpacked *u, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t got;
    u->in = malloc(BLOCK);
    if (u->in == NULL) return spec_no_memory_for(error, u->name);
    while (u->n < MAGIC && !u->ended) {
        SPEC_TRY(read_file(&got, u, u->in + u->n, BLOCK - u->n, error));
        u->n += got;
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        const struct spec_unpacking *m = &methods[i];
        const size_t n = strlen(m->magic);
        if (u->n < n || memcmp(u->in, m->magic, n) != 0) continue;
        if (m->begin == NULL)
            SPEC_TRY(
                spec_fail(error, GSL_EINVAL,
                          "%.300s: is compressed by %s, which is not built in: decompress it first "
                          "(%s)",
                          u->name, m->name, m->remedy));
        u->method = m;
        u->within = true;
        if (!m->begin(&u->stream)) SPEC_TRY(spec_no_memory_for(error, u->name));
    }
    u->started = true;
done:
    return status;
}

/* Copies bytes from the beginning of the file, which are the text itself. */
static size_t copy(spec_unpacked *u, char *to, size_t n)
{
    const size_t some = u->n - u->at < n ? u->n - u->at : n;
    memcpy(to, u->in + u->at, some);
    u->at += some;
    return some;
}

static int damaged(const spec_unpacked *u, const char *how, spec_error *error)
{
    return spec_fail(error, GSL_EINVAL, "%.300s: its %s data are %s", u->name, u->method->name,
                     how);
}

static int unpack(size_t *ret, spec_unpacked *u, char *to, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    char *const begin = to;
    while (to == begin) {
        if (u->at == u->n && !u->ended) {
            u->at = 0;
            SPEC_TRY(read_file(&u->n, u, u->in, BLOCK, error));
        }
        if (u->at == u->n && u->ended) {
            if (u->within) SPEC_TRY(damaged(u, "cut", error));
            break;
        }
        bool ends;
        const unsigned char *from = u->in + u->at;
        size_t left = u->n - u->at;
        u->within = true;
        if (!u->method->step(&ends, u->stream, &from, &left, &to, &n))
            SPEC_TRY(damaged(u, "damaged", error));
        u->at = u->n - left;
        if (!ends) continue;
        u->within = false;
        if (!u->method->next_part(u->stream)) SPEC_TRY(damaged(u, "damaged", error));
    }
    *ret = (size_t)(to - begin);
done:
    return status;
}

int spec_unpacked_read(size_t *ret, spec_unpacked *u, char *to, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = 0;
    if (!u->started) SPEC_TRY(start(u, error));
    if (u->method != NULL) return unpack(ret, u, to, n, error);
    *ret = copy(u, to, n);
    if (*ret == 0 && !u->ended) SPEC_TRY(read_file(ret, u, to, n, error));
done:
    return status;
}
