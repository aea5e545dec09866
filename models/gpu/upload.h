/* SPDX-License-Identifier: GPL-3.0-or-later */
/* upload: packs matrices and uploads them to GPU memory, piece by piece.
 * All threads pack a piece while the previous one is copied. Besides the file, the host needs
 * memory for only two pieces, no matter how large the model is. An upload belongs to one backend;
 * calls are thread-safe. */
#ifndef SPECLAB_UPLOAD_H
#define SPECLAB_UPLOAD_H

#include "base/thread_pool.h"
#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

#include <pthread.h>

typedef struct {
    spec_card *card;
    spec_thread_pool *opt_pool; /* packs the weights */
    pthread_mutex_t lock;
    spec_stream *stream;
    char *piece[2]; /* pinned; allocated for the first matrix, and again for a larger one */
    size_t bytes;   /* of one piece */
} spec_upload;

int spec_upload_init(spec_upload *upload, spec_card *card, spec_thread_pool *opt_pool,
                     spec_error *error);
void spec_upload_free(spec_upload *upload);

/* Uploads the rows of all parts, packed as layout.h says, to `data` in GPU memory. */
int spec_upload_matrix(spec_upload *upload, void *data, spec_tensor_type type,
                       const spec_tensor *part, int n_parts, bool gated, spec_error *error);

#endif
