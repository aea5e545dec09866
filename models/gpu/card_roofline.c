/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/card_roofline.h"

#include "base/clock.h"

#include <math.h>

enum {
    CACHES = 40, /* memory to read, in L2 cache sizes; enough that the launch time hardly matters */
    CACHES_LEAST = 4,
    LEAST_BYTES = 1 << 24,
    REPEATS = 5,
    KERNELS = 256,         /* launches of the recording */
    ROUNDS_MOST = 1 << 18, /* limit for products: sums of 11-bit integers */
    WORDS = 6              /* words of operands per lane */
};
static const double long_enough = 1e-3; /* shortest time of a repetition, in seconds */
static const double too_long = 0.02;    /* longest time of all repetitions together, in seconds on
                                           the host */

typedef struct {
    spec_card *card;
    spec_stream *stream;
    void *sum, *operand; /* results and operands of the kernels */
    spec_error *error;
} bench;

/* ---- repetitions ----------------------------------------------------------------------------- */

/* A workload: work queued on the stream. */
typedef struct {
    const void *memory;
    size_t pieces;
    int blocks, rounds;
    spec_recording *recording;
} setup;
typedef void work(const bench *b, const setup *s);

static int seconds_of(double *ret, const bench *b, work *run, const setup *s)
{
    int status = GSL_SUCCESS;
    spec_stream_mark(b->stream, 0);
    run(b, s);
    spec_stream_mark(b->stream, 1);
    SPEC_TRY(spec_stream_wait(b->stream, b->error));
    *ret = spec_stream_seconds(b->stream);
done:
    return status;
}

/* Lowers *ret_least to the shortest of some repetitions. */
static int least_seconds(double *ret_least, const bench *b, work *run, const setup *s)
{
    int status = GSL_SUCCESS;
    const double begun = spec_clock_monotonic();
    double seconds;
    for (int i = 0; i < REPEATS && (i == 0 || spec_clock_monotonic() - begun < too_long); i++) {
        SPEC_TRY(seconds_of(&seconds, b, run, s));
        if (seconds > 0.0 && seconds < *ret_least) *ret_least = seconds;
    }
done:
    return status;
}

static double rate(double amount, double seconds)
{
    return isfinite(seconds) ? amount / seconds : 0.0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_memory(const bench *b, const setup *s)
{
    SPEC_RUN(b->stream, roofline_read, s->blocks, 1, 1, .memory = s->memory, .pieces = s->pieces,
             .sum = b->sum);
}

/* Blocks per multiprocessor: as many as can be resident, or several times as many. */
static const int blocks_each[] = {8, 32};
enum { MOST_BLOCKS_EACH = 32 };

static int measure_read(double *ret, const bench *b)
{
    int status = GSL_SUCCESS;
    void *memory = NULL;
    const size_t cache = spec_card_cache(b->card);
    size_t bytes = CACHES * cache > LEAST_BYTES ? CACHES * cache : LEAST_BYTES;
    double least = INFINITY;
    *ret = 0.0;
    while (bytes > CACHES_LEAST * cache && bytes > LEAST_BYTES &&
           spec_card_check(b->card, 4 * bytes, NULL) != GSL_SUCCESS)
        bytes /= 2;
    if (spec_card_check(b->card, 4 * bytes, NULL) != GSL_SUCCESS || bytes < CACHES_LEAST * cache)
        goto done;
    SPEC_TRY(spec_card_alloc(b->card, &memory, bytes, b->error));
    for (size_t i = 0; i < sizeof blocks_each / sizeof blocks_each[0]; i++) {
        const setup s = {.memory = memory, .pieces = bytes / ROOFLINE_PIECE,
                         .blocks = blocks_each[i] * spec_card_multiprocessors(b->card)};
        double warm;
        SPEC_TRY(seconds_of(&warm, b, read_memory, &s));
        SPEC_TRY(least_seconds(&least, b, read_memory, &s));
    }
    *ret = rate((double)(bytes / ROOFLINE_PIECE * ROOFLINE_PIECE), least);
done:
    spec_card_free(b->card, memory);
    return status;
}

/* ---- products -------------------------------------------------------------------------------- */

static void multiply_bf16(const bench *b, const setup *s)
{
    SPEC_RUN(b->stream, roofline_bf16, s->blocks, 1, 1, .operand = b->operand, .rounds = s->rounds,
             .sum = b->sum);
}

static void multiply_int8(const bench *b, const setup *s)
{
    SPEC_RUN(b->stream, roofline_int8, s->blocks, 1, 1, .operand = b->operand, .rounds = s->rounds,
             .sum = b->sum);
}

enum {
    BLOCKS_THAT_MULTIPLY = 2
}; /* warps per multiprocessor: four on each of its four partitions */

static int measure_products(double *ret, const bench *b, work *run, int k, const uint32_t *operand)
{
    int status = GSL_SUCCESS;
    setup s = {.blocks = BLOCKS_THAT_MULTIPLY * spec_card_multiprocessors(b->card), .rounds = 2};
    double seconds, begun, least = INFINITY;
    spec_card_put(b->card, b->operand, operand, WORDS * 32 * sizeof *operand);
    SPEC_TRY(seconds_of(&seconds, b, run, &s));
    do {
        s.rounds *= 4;
        begun = spec_clock_monotonic();
        SPEC_TRY(seconds_of(&seconds, b, run, &s));
    } while (spec_clock_monotonic() - begun < long_enough && s.rounds < ROUNDS_MOST);
    SPEC_TRY(least_seconds(&least, b, run, &s));
    const double products = (double)s.blocks * (ROOFLINE_THREADS / 32) * s.rounds * ROOFLINE_SUMS;
    *ret = rate(products * 2.0 * 16.0 * 8.0 * k, least);
done:
    return status;
}

/* Operands of mixed signs and sizes: bf16 of magnitudes 1 to 2, and bytes -8 to 7. */
static void draw_operands(uint32_t *bf16, uint32_t *int8)
{
    uint32_t word = 1;
    for (int i = 0; i < WORDS * 32; i++) {
        word = word * 1664525u + 1013904223u;
        const uint32_t bits = word >> 8 | word << 24;
        bf16[i] = (bits & 0x807f807fu) | 0x3f803f80u;
        int8[i] = (bits & 0x07070707u) |
                  (bits & 0x08080808u) * 31; /* copies bit 3, the sign, to bits 3 to 7 */
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static void run_recording(const bench *b, const setup *s)
{
    spec_stream_replay(b->stream, s->recording);
}

static int measure_launch(double *ret, const bench *b)
{
    int status = GSL_SUCCESS;
    setup s = {.blocks = spec_card_multiprocessors(b->card)};
    double warm, least = INFINITY;
    spec_stream_record(b->stream);
    for (int i = 0; i < KERNELS; i++)
        SPEC_RUN(b->stream, roofline_nothing, s.blocks, 1, 1, .opt_seen = NULL);
    spec_error why = {{0}};
    s.recording = spec_stream_recorded(b->stream, &why);
    SPEC_TRY(spec_stream_wait(b->stream, b->error));
    if (s.recording == NULL)
        SPEC_TRY(
            spec_fail(b->error, GSL_EFAILED, "launches could not be recorded: %.250s", why.text));
    SPEC_TRY(seconds_of(&warm, b, run_recording, &s));
    SPEC_TRY(least_seconds(&least, b, run_recording, &s));
    *ret = isfinite(least) ? least / KERNELS : 0.0;
done:
    spec_recording_free(b->card, s.recording);
    return status;
}

/* -- the roofline -- */

int spec_card_roofline(spec_roofline *ret, spec_card *card, spec_error *error)
{
    int status = GSL_SUCCESS;
    bench b = {.card = card, .error = error};
    uint32_t bf16[WORDS * 32], int8[WORDS * 32];
    const size_t sums =
        (size_t)spec_card_multiprocessors(card) * MOST_BLOCKS_EACH * ROOFLINE_THREADS;
    *ret = (spec_roofline){0};
    draw_operands(bf16, int8);
    SPEC_TRY(spec_stream_init(&b.stream, card, error));
    SPEC_TRY(spec_card_alloc(card, &b.sum, sums * sizeof(uint32_t), error));
    SPEC_TRY(spec_card_alloc(card, &b.operand, sizeof bf16, error));
    SPEC_TRY(measure_read(&ret->read, &b));
    SPEC_TRY(measure_products(&ret->bf16, &b, multiply_bf16, 16, bf16));
    SPEC_TRY(measure_products(&ret->int8, &b, multiply_int8, 32, int8));
    SPEC_TRY(measure_launch(&ret->launch, &b));
done:
    spec_card_free(card, b.operand);
    spec_card_free(card, b.sum);
    spec_stream_free(b.stream);
    if (status != GSL_SUCCESS) *ret = (spec_roofline){0};
    return status;
}
