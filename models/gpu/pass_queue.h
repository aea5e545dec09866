/* pass_queue: the passes of one session on a card: their stream, what is uploaded for each, their recordings, and the
 * buffers that all of them use, whose addresses are inside the recordings.
 * One thread's. The first failure is kept, and told by everything after it. Owns all it points to. */
#ifndef SPECLAB_PASS_QUEUE_H
#define SPECLAB_PASS_QUEUE_H

#include "models/gpu/recordings.h"
#include "models/gpu/sampling_gpu.h"

typedef struct {
    spec_card *card;
    spec_stream *stream;
    bool records;
    spec_shape shape;
    void *slot;      /* pinned memory of uploads that may be under way */
    int uploads;     /* since the last wait */
    void *batch;     /* pass_batch; from here on the card's memory */
    void *from;      /* int (SPEC_NODES_MAX): slots that are kept */
    void *frequency; /* double (head_dim/2) */
    void *angles;    /* float (PASS_COLUMNS, head_dim/2, 2) */
    void *attention_work, *product_work, *logits_work;
    void *results, *results_here; /* int (2, PASS_COLUMNS): the card's, and pinned */
    void *rows, *rows_here;       /* double (at once, vocab), when rows have been asked for */
    spec_sampling_gpu *sampling;  /* when tokens have been drawn */
    int bucket, wanted, longest;  /* of the pass under way, as in spec_pass_kind */
    spec_recordings recordings;
    spec_pass_kind kind; /* that is being recorded */
    bool recording;
    int status;
    spec_error error;
} spec_pass_queue;

/* Of the card's memory, with what is made later; in the card's pieces. */
size_t spec_pass_queue_bytes(const spec_shape *shape);

int spec_pass_queue_init(spec_pass_queue **ret_queue, spec_card *card, bool records, const spec_shape *shape,
                         spec_error *error);
void spec_pass_queue_free(spec_pass_queue *queue); /* NULL is fine */

/* GSL_SUCCESS, or the failure that was kept. */
int spec_pass_queue_status(const spec_pass_queue *queue, spec_error *error);
int spec_pass_queue_wait(spec_pass_queue *queue, spec_error *error);

/* As the backend's. A pass without layers is never recorded. */
bool spec_pass_queue_begin(spec_pass_queue *queue, const spec_batch *batch, const spec_kv *kv, const int *layer,
                           int n_layers);
void spec_pass_queue_end(spec_pass_queue *queue);

/* n slots into `from`. */
void spec_pass_queue_put_slots(spec_pass_queue *queue, const int *from, int n);

/* What is made when it is first asked for. So many rows cross the bus at once. */
int spec_pass_queue_rows_at_once(const spec_pass_queue *queue);
int spec_pass_queue_make_rows(spec_pass_queue *queue, spec_error *error);
int spec_pass_queue_make_sampling(spec_pass_queue *queue, spec_error *error);

#endif
