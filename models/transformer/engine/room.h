/* room: whether models have room where they are to compute, asked before any of it is there.
 * Counted are weights, the keys and values of texts, and what passes write, each matrix and buffer as the piece that
 * the backend gives out for it. */
#ifndef SPECLAB_ROOM_H
#define SPECLAB_ROOM_H

#include "models/model.h"
#include "models/transformer/engine/backend.h"

/* What is to be there of a model at a time: its weights, where they are its own and not loaded yet, and */
typedef struct {
    const spec_model *opt_model; /* NULL, or no transformer: nothing */
    int texts;                   /* sessions with keys and values of their own */
    int passes;                  /* sessions in all: each has its buffers */
    int laws;                    /* draft tokens kept on the device with what they were drawn from (models/chain.h) */
} spec_room_need;

/* Is there room for all of these on every backend that they are on? GSL_ENOMEM, with what the first of them there needs
 * for what, what the others there (one is taken for its target) need in all, and what there is. */
int spec_room_check(const spec_room_need *need, int n, spec_error *error);

/* The type of a model's keys and values by the key `kv` of its spec: f32; bf16, half as much, on a backend that keeps
 * them; auto: bf16 where there is such a backend and not all matrices are F32. opt_type as in spec_weights_init. */
int spec_room_choose_kv(spec_tensor_type *ret_kv_type, const spec_backend *backend, const spec_checkpoint *checkpoint,
                        spec_tensor_type opt_type, const spec_settings *settings, spec_error *error);

#endif
