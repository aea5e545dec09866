/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recordings: keeps a queue's recorded passes by kind, and evicts the least recently used.
 * A recording contains pointers and grids, so it serves only passes of one kind. Owns them. */
#ifndef SPECLAB_RECORDINGS_H
#define SPECLAB_RECORDINGS_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

enum { SPEC_RECORDINGS_MAX = 32 };

/* Everything that determines the launches of a pass; all other inputs are in the batch. */
typedef struct {
    /* bucket: columns that the launches cover; wanted: those with logits, 0: none */
    int bucket, wanted;
    int longest;        /* positions, a power of two */
    const spec_kv *kv;  /* compared by value, as are the sublayers */
    const int *sublayer;
    int n_sublayers;
} spec_pass_kind;

typedef struct {
    struct spec_recorded *recorded; /* (SPEC_RECORDINGS_MAX) */
    int n;
    uint64_t clock; /* counts lookups */
} spec_recordings;

int spec_recordings_init(spec_recordings *recordings, spec_error *error);
void spec_recordings_free(spec_recordings *recordings, spec_card *card);

/* Returns the recording of that kind, or NULL. */
spec_recording *spec_recordings_find(spec_recordings *recordings, const spec_pass_kind *kind);

/* Returns whether adding a recording evicts another, which must not be running then. */
bool spec_recordings_is_full(const spec_recordings *recordings);

/* Adds a recording of a new kind. Returns GSL_ENOMEM, and frees the recording, if that fails. */
int spec_recordings_add(spec_recordings *recordings, const spec_pass_kind *kind,
                        spec_recording *recording, spec_card *card, spec_error *error);

#endif
