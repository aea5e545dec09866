/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/launch_columns.h"

#include "base/int_math.h"

#include <assert.h>
#include <string.h>

enum { PIECES_OF_BLOCK = LOGITS_THREADS / 32 };

void spec_launch_norm(spec_launch launch, void *y, const float *x, const float *gain, int dim,
                      float eps, operand_format format)
{
    const struct norm_args norm = {y, x, gain, dim, eps, launch.wanted, format, launch.batch};
    if (dim <= NORM_NARROW)
        SPEC_RUN(launch.stream, norm_narrow, launch.bucket, 1, 1, .norm = norm);
    else
        spec_stream_run(launch.stream, SPEC_KERNEL_norm, launch.bucket, 1, 1, &norm);
}

size_t spec_launch_logits_bytes(int vocab, int n)
{
    return (size_t)n * (size_t)spec_int_ceil_div(vocab, LOGITS_PIECE) * sizeof(sampling_largest);
}

void spec_launch_argmax(spec_stream *stream, int *ret_token, const float *logits, int vocab, int n,
                        void *workspace)
{
    const int pieces = spec_int_ceil_div(vocab, LOGITS_PIECE);
    sampling_largest *largest = workspace;
    SPEC_RUN(stream, largest, spec_int_ceil_div(pieces, PIECES_OF_BLOCK), n, 1, .largest = largest,
             .logits = logits, .vocab = vocab);
    SPEC_RUN(stream, argmax, n, 1, 1, .token = ret_token, .largest = largest, .pieces = pieces);
}

void spec_launch_write(spec_stream *stream, void *to, const void *from, size_t bytes)
{
    const size_t most = WRITE_WORDS * sizeof(uint32_t);
    _Static_assert(sizeof(struct write_args) <= 4096, "a launch takes no more arguments");
    assert(bytes % sizeof(uint32_t) == 0);
    for (size_t at = 0; at < bytes; at += most) {
        const size_t some = bytes - at < most ? bytes - at : most;
        struct write_args args = {.to = (uint32_t *)(void *)((char *)to + at),
                                  .n = (int32_t)(some / sizeof(uint32_t))};
        memcpy(args.word, (const char *)from + at, some);
        spec_stream_run(stream, SPEC_KERNEL_write, 1, 1, 1, &args);
    }
}
