/* upload: matrices on their way into a card's memory: packed by all threads, a piece at a time, while the piece before
 * it is copied. What the host needs besides the file is two pieces, however large the model.
 * One backend's; several threads may ask. */
#ifndef SPECLAB_UPLOAD_H
#define SPECLAB_UPLOAD_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

#include <pthread.h>

typedef struct {
    spec_card *card;
    pthread_mutex_t lock;
    spec_stream *stream;
    char *piece[2]; /* pinned, made with the first matrix and again for a larger one */
    size_t bytes;   /* of one */
} spec_upload;

int spec_upload_init(spec_upload *upload, spec_card *card, spec_error *error);
void spec_upload_free(spec_upload *upload);

/* The rows of all parts under one another as layout.h has them, to `data` in the card's memory. */
int spec_upload_matrix(spec_upload *upload, void *data, spec_tensor_type type, const spec_tensor *part, int n_parts,
                       spec_error *error);

#endif
