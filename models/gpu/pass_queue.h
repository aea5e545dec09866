/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_queue: runs one session's passes on a GPU, with its stream, uploads, recordings and buffers.
 * All passes share the buffers, since recordings contain their addresses. A queue belongs to one
 * thread. A queue keeps its first failure, and every later call reports it. Owns all it points
 * to. */
#ifndef SPECLAB_PASS_QUEUE_H
#define SPECLAB_PASS_QUEUE_H

#include "models/gpu/launch.h"
#include "models/gpu/recordings.h"
#include "models/gpu/sampling_gpu.h"

typedef struct {
    spec_card *card;
    spec_stream *stream;
    bool records;
    spec_shape shape;
    pass_batch *batch_here;
    void *batch;     /* pass_batch; this and the following are GPU memory */
    void *from;      /* int (SPEC_NODES_MAX): slots to keep */
    void *frequency; /* double (head_dim/2) */
    void *angles;    /* float (PASS_COLUMNS, head_dim/2, 2) */
    void *attention_work, *product_work, *logits_work;
    void *results;                /* pinned int (PASS_COLUMNS), which the kernel writes */
    float *logits_here;           /* pinned (rows at once, vocab), allocated at the first request
                                   * for rows */
    spec_sampling_gpu *sampling;  /* allocated when the first token is drawn */
    int bucket, wanted, longest;  /* of the current pass, as in spec_pass_kind */
    spec_recordings recordings;
    spec_pass_kind kind; /* of the recording in progress */
    bool recording;
    int status;
    spec_error error;
} spec_pass_queue;

/* Returns how much GPU memory a queue takes, in whole allocation units and including what it
 * allocates later. */
size_t spec_pass_queue_bytes(const spec_shape *shape);

int spec_pass_queue_init(spec_pass_queue **ret_queue, spec_card *card, bool records,
                         const spec_shape *shape, spec_error *error);
void spec_pass_queue_free(spec_pass_queue *queue); /* accepts NULL */

/* Returns GSL_SUCCESS, or the kept failure. */
int spec_pass_queue_status(const spec_pass_queue *queue, spec_error *error);
int spec_pass_queue_wait(spec_pass_queue *queue, spec_error *error);

/* Does what the backend's `begin` does. A pass without sublayers is never recorded. */
bool spec_pass_queue_begin(spec_pass_queue *queue, const spec_batch *batch, const spec_kv *kv,
                           const int *sublayer, int n_sublayers);
void spec_pass_queue_end(spec_pass_queue *queue);

/* Returns a launch for all columns of the current pass, or for the wanted ones. */
spec_launch spec_pass_queue_launch(const spec_pass_queue *queue, bool wanted);

/* Uploads n slot numbers into `from`. */
void spec_pass_queue_put_slots(spec_pass_queue *queue, const int *from, int n);

/* The host's memory for logits is allocated when rows are first requested. _rows_at_once returns
 * how many are copied there at a time. */
int spec_pass_queue_rows_at_once(const spec_pass_queue *queue);
int spec_pass_queue_make_rows(spec_pass_queue *queue, spec_error *error);
int spec_pass_queue_make_sampling(spec_pass_queue *queue, spec_error *error);

#endif
