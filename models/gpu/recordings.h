/* recordings: the passes of a queue that were recorded, by what they depend on.
 * A recording has pointers and grids inside, so it serves passes of one kind alone. Few are kept: the one that was not
 * used for longest goes. Owns them. */
#ifndef SPECLAB_RECORDINGS_H
#define SPECLAB_RECORDINGS_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

enum { SPEC_RECORDINGS_MAX = 32 };

/* What decides which launches a pass is made of. What differs otherwise lies in the batch. */
typedef struct {
    int bucket, wanted;   /* columns that launches are enough for, 0 wanted: no logits */
    int longest;          /* positions, a power of two */
    const spec_kv *kv;    /* by what it holds, and so are the layers */
    const int *layer;
    int n_layers;
} spec_pass_kind;

typedef struct {
    struct spec_recorded *recorded; /* (SPEC_RECORDINGS_MAX) */
    int n;
    uint64_t clock; /* counts uses */
} spec_recordings;

int spec_recordings_init(spec_recordings *recordings, spec_error *error);
void spec_recordings_free(spec_recordings *recordings, spec_card *card);

/* The recording of such a pass, or NULL. */
spec_recording *spec_recordings_find(spec_recordings *recordings, const spec_pass_kind *kind);

/* Whether another one goes when one is added: it must not be running then. */
bool spec_recordings_is_full(const spec_recordings *recordings);

/* Keep one, of a kind that is not there. GSL_ENOMEM: it is freed. */
int spec_recordings_add(spec_recordings *recordings, const spec_pass_kind *kind, spec_recording *recording,
                        spec_card *card, spec_error *error);

#endif
