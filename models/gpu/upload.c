/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/upload.h"

#include "base/int_math.h"
#include "models/gpu/layout.h"

#include <stdatomic.h>

enum {
    PIECE_BYTES = 1 << 24,
    CHUNK_BYTES = 1 << 16 /* bytes that one thread packs at a time */
};

int spec_upload_init(spec_upload *upload, spec_card *card, spec_thread_pool *opt_pool,
                     spec_error *error)
{
    *upload = (spec_upload){.card = card, .opt_pool = opt_pool};
    if (pthread_mutex_init(&upload->lock, NULL) != 0)
        return spec_fail(error, GSL_ENOMEM, "out of memory for a lock");
    const int status = spec_stream_init(&upload->stream, card, error);
    if (status != GSL_SUCCESS) pthread_mutex_destroy(&upload->lock);
    return status;
}

static void free_pieces(spec_upload *upload)
{
    for (int i = 0; i < 2; i++) {
        if (upload->piece[i] != NULL) spec_card_pinned_free(upload->card, upload->piece[i]);
        upload->piece[i] = NULL;
    }
    upload->bytes = 0;
}

void spec_upload_free(spec_upload *upload)
{
    if (upload->stream == NULL) return;
    free_pieces(upload);
    spec_stream_free(upload->stream);
    pthread_mutex_destroy(&upload->lock);
    *upload = (spec_upload){0};
}

static int make_pieces(spec_upload *upload, size_t bytes, spec_error *error)
{
    if (upload->bytes >= bytes) return GSL_SUCCESS;
    free_pieces(upload);
    for (int i = 0; i < 2; i++) {
        void *memory = NULL;
        const int status = spec_card_pinned_alloc(upload->card, &memory, bytes, error);
        if (status != GSL_SUCCESS) return status;
        upload->piece[i] = memory;
    }
    upload->bytes = bytes;
    return GSL_SUCCESS;
}

typedef struct {
    char *to; /* destination of tile `first` */
    spec_tensor_type type;
    const spec_tensor *part;
    bool gated;
    int n_parts, first, end, tiles; /* tiles: per chunk */
    size_t tile_bytes;
    atomic_bool failed;
} pack_job;

static void pack_chunk(void *job, int chunk)
{
    pack_job *j = job;
    const int first = j->first + chunk * j->tiles, end = spec_int_min(first + j->tiles, j->end);
    char *to = j->to + (size_t)(first - j->first) * j->tile_bytes;
    if (spec_layout_pack(to, j->type, j->part, j->n_parts, j->gated, first, end, NULL) !=
        GSL_SUCCESS)
        atomic_store(&j->failed, true);
}

/* Packs a piece while the previous one is copied. Then waits for that copy, so that the memory of
 * that piece is free for the next one. */
static int pack_and_put(spec_upload *upload, char *data, pack_job *job, int tiles,
                        spec_thread_pool *opt_locked, spec_error *error)
{
    const int tiles_of_piece = (int)(upload->bytes / job->tile_bytes);
    int status = GSL_SUCCESS;
    for (int piece = 0; job->first < tiles; piece ^= 1, job->first = job->end) {
        job->end = spec_int_min(job->first + tiles_of_piece, tiles);
        job->to = upload->piece[piece];
        const int n = job->end - job->first;
        spec_thread_pool_run(opt_locked, pack_chunk, job, spec_int_ceil_div(n, job->tiles));
        if (atomic_load(&job->failed))
            SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for packing a matrix"));
        SPEC_TRY(spec_stream_wait(upload->stream, error));
        spec_stream_put(upload->stream, data + (size_t)job->first * job->tile_bytes, job->to,
                        (size_t)n * job->tile_bytes);
    }
done:
    if (status == GSL_SUCCESS) return spec_stream_wait(upload->stream, error);
    spec_stream_wait(upload->stream, NULL); /* after this no copy reads the pieces */
    return status;
}

int spec_upload_matrix(spec_upload *upload, void *data, spec_tensor_type type,
                       const spec_tensor *part, int n_parts, bool gated, spec_error *error)
{
    int rows = 0;
    for (int i = 0; i < n_parts; i++) rows += part[i].rows;
    const int tiles = spec_int_ceil_div(rows, SPEC_LAYOUT_ROWS);
    const size_t tile_bytes = spec_layout_tile_bytes(type, part[0].cols),
                 all = (size_t)tiles * tile_bytes;
    const size_t chunk = CHUNK_BYTES / tile_bytes, least = all < PIECE_BYTES ? all : PIECE_BYTES;
    pack_job job = {.type = type,
                    .part = part,
                    .n_parts = n_parts,
                    .gated = gated,
                    .tiles = chunk > 0 ? (int)chunk : 1,
                    .tile_bytes = tile_bytes};
    pthread_mutex_lock(&upload->lock);
    int status = make_pieces(upload, least > tile_bytes ? least : tile_bytes, error);
    if (status == GSL_SUCCESS) {
        spec_thread_pool *locked = spec_thread_pool_try_lock(upload->opt_pool);
        status = pack_and_put(upload, data, &job, tiles, locked, error);
        spec_thread_pool_unlock(locked);
    }
    pthread_mutex_unlock(&upload->lock);
    return status;
}
