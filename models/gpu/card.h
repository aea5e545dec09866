/* SPDX-License-Identifier: GPL-3.0-or-later */
/* card: one NVIDIA GPU: its memory, and streams that run kernels in order.
 * Each GPU is opened only once per context and counts its users. All functions are thread-safe; a
 * stream belongs to one thread. If a stream fails, the next _wait reports it, and work that is
 * queued until then is skipped. */
#ifndef SPECLAB_CARD_H
#define SPECLAB_CARD_H

#include "models/gpu/gpu_settings.h"
#include "models/gpu/kernels.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct spec_cards spec_cards;
typedef struct spec_card spec_card;
typedef struct spec_stream spec_stream;
typedef struct spec_recording spec_recording;

/* Lists a context's GPUs, none of them open. The driver is loaded at first use, and again after a
 * failure. The settings must outlive the list. Close all GPUs before _free, which accepts NULL. */
int spec_cards_init(spec_cards **ret_cards, const spec_gpu_settings *settings, spec_error *error);
void spec_cards_free(spec_cards *cards);

/* Returns the number of GPUs, or 0 and a reason in `error` if none is available. */
int spec_card_count(spec_cards *cards, spec_error *error);

/* Opens a GPU and loads all kernels. Returns GSL_EINVAL if there is no such GPU; GSL_EFAILED if its
 * compute capability is below 8.0, there is no image for it (without nvcc, for no GPU), or the
 * driver is older than the kernels. */
int spec_card_open(spec_card **ret_card, spec_cards *cards, int ordinal, spec_error *error);
void spec_card_close(spec_card *card);

const char *spec_card_name(const spec_card *card);      /* "NVIDIA H200" */
size_t spec_card_memory(const spec_card *card);         /* total bytes */
int spec_card_multiprocessors(const spec_card *card);
size_t spec_card_cache(const spec_card *card);          /* bytes of the L2 cache */

/* ---- memory --------------------------------------------------------------------------------- */

/* Memory is zeroed and aligned to 256 bytes. The message of GSL_ENOMEM is "GPU 0 (NAME) has 1.5 GiB
 * free of 139 GiB, and ... GiB are needed". */

/* Returns an upper bound on the memory that an allocation takes. The driver hands out blocks of 2
 * MiB. An allocation of 1 MiB or more gets blocks of its own, and smaller ones share a block in
 * units of 512 bytes. Callers sum these bounds for _check. */
size_t spec_card_piece(size_t bytes);
int spec_card_check(spec_card *card, size_t bytes, spec_error *error);
int spec_card_alloc(spec_card *card, void **ret_memory, size_t bytes, spec_error *error);
void spec_card_free(spec_card *card, void *memory);
void spec_card_put(spec_card *card, void *to, const void *host,
                   size_t bytes); /* these two wait for the whole GPU */
void spec_card_get(spec_card *card, void *host, const void *from, size_t bytes);

/* Pinned host memory, for asynchronous copies by streams. Kernels can write it, too: the host sees
 * it after a wait. */
int spec_card_pinned_alloc(spec_card *card, void **ret_memory, size_t bytes, spec_error *error);
void spec_card_pinned_free(spec_card *card, void *memory);

/* Returns the GPU's first failure, if any; a fault in a kernel invalidates all later work. */
int spec_card_status(spec_card *card, spec_error *error);

/* ---- streams --------------------------------------------------------------------------------- */
/* Returns GSL_ENOMEM if the GPU lacks memory for a stream; the GPU stays usable. */
int spec_stream_init(spec_stream **ret_stream, spec_card *card, spec_error *error);
void spec_stream_free(spec_stream *stream);
spec_card *spec_stream_card(const spec_stream *stream);

/* SPEC_RUN(stream, norm, n, 1, 1, .y = y, .x = x, ...): omitted fields are 0, and the list of
 * kernels gives the threads per block. A grid without blocks launches nothing. On compute
 * capability 9.0 with CUDA 12.3 or later, a launch starts while the previous one still runs, up to
 * its after_previous() (simt.h). The setting `in_order` disables that when the GPU is opened. */
#define SPEC_RUN(stream, name, x, y, z, ...)                                                       \
    spec_stream_run((stream), SPEC_KERNEL_##name, (x), (y), (z), &(struct name##_args){__VA_ARGS__})
void spec_stream_run(spec_stream *stream, spec_kernel kernel, int blocks_x, int blocks_y,
                     int blocks_z, const void *args);

/* Copies in stream order; the host memory is pinned. */
void spec_stream_put(spec_stream *stream, void *to, const void *pinned, size_t bytes);
void spec_stream_get(spec_stream *stream, void *pinned, const void *from, size_t bytes);

/* Waits until all queued work is done or has failed: "GPU 0 failed in a pass:
 * CUDA_ERROR_ILLEGAL_ADDRESS (...)". */
int spec_stream_wait(spec_stream *stream, spec_error *error);

/* Between _record and _recorded, launches are recorded and not run; the recording can be run
 * repeatedly. If recording fails, _recorded gives NULL and a message, and the GPU stays usable. */
void spec_stream_record(spec_stream *stream);
spec_recording *spec_stream_recorded(spec_stream *stream, spec_error *error);
void spec_stream_replay(spec_stream *stream, spec_recording *recording);
void spec_recording_free(spec_card *card, spec_recording *recording);

/* Measures the seconds on the GPU's clock between marks 0 and 1; valid after _wait. */
void spec_stream_mark(spec_stream *stream, int which);
double spec_stream_seconds(spec_stream *stream);

#endif
