/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/pass_queue.h"

#include "base/int_math.h"
#include "models/gpu/launch_attention.h"
#include "models/gpu/launch_columns.h"
#include "models/gpu/launch_product.h"
#include "speclab/round.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKET_LEAST = 8,
    /* in positions; shorter sequences launch as many blocks as one of this length */
    LONGEST_LEAST = 256,
    ROWS_BYTES = 1 << 23 /* most bytes of logits per copy to the host, unless one row is larger */
};

static int power_of_two(int least, int n)
{
    while (least < n) least *= 2;
    return least;
}

static int longest_of(int positions)
{
    return power_of_two(LONGEST_LEAST, positions);
}

static int bucket_of(int n)
{
    return n == 0 ? 0 : power_of_two(BUCKET_LEAST, n);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* All buffers that are allocated at the start, in GPU memory or pinned. */
enum { BUFFERS = 8 };
typedef struct {
    void **memory;
    size_t bytes;
    bool pinned;
} queue_buffer;

static void list_buffers(queue_buffer *ret_buffer, spec_pass_queue *q, const spec_shape *shape)
{
    const size_t half = (size_t)shape->head_dim / 2;
    const queue_buffer all[BUFFERS] = {
        {&q->results, PASS_COLUMNS * sizeof(int), true},
        {&q->batch, sizeof(pass_batch), false},
        {&q->from, SPEC_NODES_MAX * sizeof(int), false},
        {&q->frequency, half * sizeof(double), false},
        {&q->angles, PASS_COLUMNS * half * 2 * sizeof(float), false},
        {&q->attention_work, spec_launch_attend_bytes(shape, longest_of(shape->context)), false},
        {&q->product_work, spec_launch_product_bytes(), false},
        {&q->logits_work, spec_launch_logits_bytes(shape->vocab, PASS_COLUMNS), false},
    };
    memcpy(ret_buffer, all, sizeof all);
}

size_t spec_pass_queue_bytes(const spec_shape *shape)
{
    spec_pass_queue none = {.shape = *shape};
    queue_buffer buffer[BUFFERS];
    size_t bytes = spec_card_piece(spec_sampling_gpu_bytes(shape->vocab));
    list_buffers(buffer, &none, shape);
    for (int i = 0; i < BUFFERS; i++)
        if (!buffer[i].pinned) bytes += spec_card_piece(buffer[i].bytes);
    return bytes;
}

void spec_pass_queue_free(spec_pass_queue *q)
{
    if (q == NULL) return;
    queue_buffer buffer[BUFFERS];
    if (q->stream != NULL) spec_stream_wait(q->stream, NULL);
    spec_sampling_gpu_free(q->sampling);
    spec_recordings_free(&q->recordings, q->card);
    list_buffers(buffer, q, &q->shape);
    for (int i = 0; i < BUFFERS; i++) {
        if (buffer[i].pinned)
            spec_card_pinned_free(q->card, *buffer[i].memory);
        else
            spec_card_free(q->card, *buffer[i].memory);
    }
    spec_card_pinned_free(q->card, q->logits_here);
    spec_stream_free(q->stream);
    free(q->batch_here);
    free(q);
}

static int put_frequencies(spec_pass_queue *q, spec_error *error)
{
    const size_t half = (size_t)q->shape.head_dim / 2;
    double *frequency = malloc(half * sizeof *frequency);
    if (frequency == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (size_t i = 0; i < half; i++) {
        frequency[i] = pow(q->shape.rope.base, -2.0 * (double)i / q->shape.head_dim);
        if (q->shape.rope.opt_factor != NULL) frequency[i] /= (double)q->shape.rope.opt_factor[i];
    }
    spec_card_put(q->card, q->frequency, frequency, half * sizeof *frequency);
    free(frequency);
    return GSL_SUCCESS;
}

int spec_pass_queue_init(spec_pass_queue **ret_queue, spec_card *card, bool records,
                         const spec_shape *shape, spec_error *error)
{
    int status = GSL_SUCCESS;
    queue_buffer buffer[BUFFERS];
    spec_pass_queue *q = calloc(1, sizeof *q);
    *ret_queue = NULL;
    if (q == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    q->card = card;
    q->records = records;
    q->shape = *shape;
    q->batch_here = calloc(1, sizeof *q->batch_here);
    if (q->batch_here == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    list_buffers(buffer, q, shape);
    for (int i = 0; i < BUFFERS; i++) {
        SPEC_TRY(buffer[i].pinned
                     ? spec_card_pinned_alloc(card, buffer[i].memory, buffer[i].bytes, error)
                     : spec_card_alloc(card, buffer[i].memory, buffer[i].bytes, error));
    }
    SPEC_TRY(spec_stream_init(&q->stream, card, error));
    SPEC_TRY(spec_recordings_init(&q->recordings, error));
    SPEC_TRY(put_frequencies(q, error));
    *ret_queue = q;
    q = NULL;
done:
    spec_pass_queue_free(q);
    return status;
}

int spec_pass_queue_rows_at_once(const spec_pass_queue *q)
{
    const int most = (int)(ROWS_BYTES / ((size_t)q->shape.vocab * sizeof(float)));
    return most < 1 ? 1 : spec_int_min(most, PASS_COLUMNS);
}

int spec_pass_queue_make_rows(spec_pass_queue *q, spec_error *error)
{
    if (q->logits_here != NULL) return GSL_SUCCESS;
    void *memory;
    const size_t bytes =
        (size_t)spec_pass_queue_rows_at_once(q) * (size_t)q->shape.vocab * sizeof *q->logits_here;
    const int status = spec_card_pinned_alloc(q->card, &memory, bytes, error);
    q->logits_here = memory;
    return status;
}

int spec_pass_queue_make_sampling(spec_pass_queue *q, spec_error *error)
{
    if (q->sampling != NULL) return GSL_SUCCESS;
    return spec_sampling_gpu_init(&q->sampling, q->stream, q->shape.vocab, q->batch, q->records,
                                  error);
}

/* -- failures -- */

int spec_pass_queue_status(const spec_pass_queue *q, spec_error *error)
{
    if (q->status != GSL_SUCCESS && error != NULL) *error = q->error;
    return q->status;
}

int spec_pass_queue_wait(spec_pass_queue *q, spec_error *error)
{
    spec_error why = {""};
    const int status = spec_stream_wait(q->stream, &why);
    if (q->status == GSL_SUCCESS && status != GSL_SUCCESS) {
        q->status = status;
        q->error = why;
    }
    return spec_pass_queue_status(q, error);
}

/* ---- uploads --------------------------------------------------------------------------------- */

void spec_pass_queue_put_slots(spec_pass_queue *q, const int *from, int n)
{
    assert(n <= SPEC_NODES_MAX);
    spec_launch_write(q->stream, q->from, from, (size_t)n * sizeof *from);
}

/* Uploads the filled part of the batch. */
static void put_batch(spec_pass_queue *q, const spec_batch *batch)
{
    pass_batch *here = q->batch_here;
    const size_t n = (size_t)batch->n, paths = (size_t)batch->path_begin[n],
                 each = n * sizeof *batch->token;
    assert(batch->n >= 1 && batch->n <= PASS_COLUMNS && paths <= PASS_PATHS);
    here->n = batch->n;
    here->first = batch->first;
    memcpy(here->token, batch->token, each);
    memcpy(here->position, batch->position, each);
    memcpy(here->slot, batch->slot, each);
    memcpy(here->past, batch->past, each);
    memcpy(here->path_begin, batch->path_begin, each + sizeof *batch->path_begin);
    memcpy(here->path, batch->path, paths * sizeof *here->path);
    spec_launch_write(q->stream, q->batch, here,
                      offsetof(pass_batch, path) + paths * sizeof *here->path);
}

/* Returns the most positions that a column sees. */
static int most_seen(const spec_batch *batch)
{
    int most = 0;
    for (int u = 0; u < batch->n; u++)
        most = spec_int_max(most, batch->past[u] + batch->path_begin[u + 1] - batch->path_begin[u]);
    return most;
}

/* ---- passes ---------------------------------------------------------------------------------- */

bool spec_pass_queue_begin(spec_pass_queue *q, const spec_batch *batch, const spec_kv *kv,
                           const int *sublayer, int n_sublayers)
{
    const int most = longest_of(q->shape.context);
    const bool drawn = batch->token[0] == SPEC_TOKEN_DRAWN; /* then the batch is there already */
    assert(!drawn || batch->n == 1);
    if (!drawn) put_batch(q, batch);
    q->longest = longest_of(most_seen(batch));
    q->bucket = bucket_of(batch->n);
    q->wanted = bucket_of(batch->n - batch->first);
    if (q->longest > most && q->status == GSL_SUCCESS)
        q->status = spec_fail(&q->error, GSL_EINVAL, "a text is longer than the context of %d",
                              q->shape.context);
    if (q->status != GSL_SUCCESS) return true; /* the backend skips the pass */
    if (q->records && n_sublayers > 0) {
        q->kind = (spec_pass_kind){q->bucket, q->wanted, q->longest, kv, sublayer, n_sublayers};
        spec_recording *recording = spec_recordings_find(&q->recordings, &q->kind);
        if (recording != NULL) {
            spec_stream_replay(q->stream, recording);
            return true;
        }
        q->recording = true;
        spec_stream_record(q->stream);
    }
    spec_launch_angles(spec_pass_queue_launch(q, false), q->angles, q->frequency,
                       q->shape.head_dim / 2);
    return false;
}

void spec_pass_queue_end(spec_pass_queue *q)
{
    if (!q->recording) return;
    q->recording = false;
    spec_error error = {""};
    spec_recording *recording = spec_stream_recorded(q->stream, &error);
    if (recording == NULL) {
        if (spec_pass_queue_wait(q, NULL) == GSL_SUCCESS)
            q->status = spec_fail(&q->error, GSL_EFAILED,
                                  "%s: a pass could not be recorded: %.250s; SPECLAB_GPU_RECORD=0 "
                                  "runs passes without recording",
                                  spec_card_name(q->card), error.text);
        return;
    }
    if (spec_recordings_is_full(&q->recordings))
        spec_pass_queue_wait(q, NULL); /* the evicted recording may be running */
    const int status = spec_recordings_add(&q->recordings, &q->kind, recording, q->card, &error);
    if (status == GSL_SUCCESS) spec_stream_replay(q->stream, recording);
    if (q->status == GSL_SUCCESS && status != GSL_SUCCESS) {
        q->status = status;
        q->error = error;
    }
}

spec_launch spec_pass_queue_launch(const spec_pass_queue *q, bool wanted)
{
    return (spec_launch){.stream = q->stream,
                         .batch = q->batch,
                         .bucket = wanted ? q->wanted : q->bucket,
                         .wanted = wanted,
                         .longest = q->longest};
}
