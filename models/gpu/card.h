/* card: one NVIDIA GPU: its memory, and streams in which kernels run in order.
 * A card is opened once a process however often it is asked for, and counts who uses it. All functions may be called
 * from any thread; a stream is one thread's. What fails in a stream is told by its next _wait, and everything asked of
 * it in between is left undone. */
#ifndef SPECLAB_CARD_H
#define SPECLAB_CARD_H

#include "models/gpu/kernels.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct spec_card spec_card;
typedef struct spec_stream spec_stream;
typedef struct spec_recording spec_recording;

/* How many cards there are; 0 and a line that says why where there is none to be had. */
int spec_card_count(spec_error *error);

/* GSL_EINVAL for a card that there is not; GSL_EFAILED for one that cannot be used: older than compute capability 8.0,
 * no image for it, built without nvcc, a driver older than the kernels. Loads all kernels. */
int spec_card_open(spec_card **ret_card, int ordinal, spec_error *error);
void spec_card_close(spec_card *card);

const char *spec_card_name(const spec_card *card);      /* "NVIDIA H200" */
size_t spec_card_memory(const spec_card *card);         /* bytes in all */
int spec_card_multiprocessors(const spec_card *card);
size_t spec_card_cache(const spec_card *card);          /* bytes of its second-level cache */

/* ---- memory: zeroed, 256-aligned. GSL_ENOMEM: "the card has 1.5 GiB free of 139 GiB, and ... GiB are needed" ------- */

/* What an allocation of so many bytes takes at most: cards give out 2 MiB at a time, one of 1 MiB or more has its own,
 * smaller ones share them in pieces of 512 bytes. Sums for _check are made of these. */
size_t spec_card_piece(size_t bytes);
int spec_card_check(spec_card *card, size_t bytes, spec_error *error);
int spec_card_alloc(spec_card *card, void **ret_memory, size_t bytes, spec_error *error);
void spec_card_free(spec_card *card, void *memory);
void spec_card_put(spec_card *card, void *to, const void *host, size_t bytes); /* these two wait for the whole card */
void spec_card_get(spec_card *card, void *host, const void *from, size_t bytes);

/* Memory of the host that streams copy from and to while the host goes on. */
int spec_card_pinned_alloc(spec_card *card, void **ret_memory, size_t bytes, spec_error *error);
void spec_card_pinned_free(spec_card *card, void *memory);

/* What the card failed at, if it did: a fault in a kernel spoils all that is done after it. */
int spec_card_status(spec_card *card, spec_error *error);

/* ---- streams ------------------------------------------------------------------------------------------------------ */
/* GSL_ENOMEM where the card has no memory for one; it is then as good as before. */
int spec_stream_init(spec_stream **ret_stream, spec_card *card, spec_error *error);
void spec_stream_free(spec_stream *stream);
spec_card *spec_stream_card(const spec_stream *stream);

/* SPEC_RUN(stream, norm, n, 1, 1, .y = y, .x = x, ...): a field that is left out is 0. Blocks have as many threads as
 * the list of kernels says. A launch without blocks is none. Where card and driver can (compute capability 9.0, CUDA
 * 12.3), a launch begins while the one before it still runs, as far as after_previous() (simt.h); SPECLAB_GPU_EARLY=0 in
 * the environment when the card is opened: it does not. */
#define SPEC_RUN(stream, name, x, y, z, ...)                                                                           \
    spec_stream_run((stream), SPEC_KERNEL_##name, (x), (y), (z), &(struct name##_args){__VA_ARGS__})
void spec_stream_run(spec_stream *stream, spec_kernel kernel, int blocks_x, int blocks_y, int blocks_z,
                     const void *args);

/* Copies in the order of the stream; the host's memory is pinned. */
void spec_stream_put(spec_stream *stream, void *to, const void *pinned, size_t bytes);
void spec_stream_get(spec_stream *stream, void *pinned, const void *from, size_t bytes);

/* Everything asked for so far is done, or has failed: "GPU 0 failed in a pass: CUDA_ERROR_ILLEGAL_ADDRESS (...)". */
int spec_stream_wait(spec_stream *stream, spec_error *error);

/* Between _record and _recorded, launches are written down and not run; the recording can be run again and again.
 * _recorded gives NULL where recording failed, with a line that says why; the card is then as good as before. */
void spec_stream_record(spec_stream *stream);
spec_recording *spec_stream_recorded(spec_stream *stream, spec_error *error);
void spec_stream_replay(spec_stream *stream, spec_recording *recording);
void spec_recording_free(spec_card *card, spec_recording *recording);

/* Seconds on the card's own clock between the marks 0 and 1, after _wait. */
void spec_stream_mark(spec_stream *stream, int which);
double spec_stream_seconds(spec_stream *stream);

#endif
