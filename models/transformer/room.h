/* room: whether a model has room where it is to compute, asked before any of it is there.
 * Counted are all weights, the keys and values of one text, and what a pass writes, each matrix and buffer as the piece
 * that the backend gives out for it. */
#ifndef SPECLAB_ROOM_H
#define SPECLAB_ROOM_H

#include "models/model.h"
#include "models/transformer/backend.h"

/* The type of a model's keys and values by the key `kv` of its spec: f32; bf16, half as much, on a backend that keeps
 * them; auto: bf16 where there is such a backend and not all matrices are F32. Then whether there is room, also for the
 * text of a target on the same backend: GSL_ENOMEM, with what is needed for what and what there is. opt_type as in
 * spec_weights_init. */
int spec_room_check(spec_tensor_type *ret_kv_type, const spec_backend *backend, const spec_checkpoint *checkpoint,
                    spec_tensor_type opt_type, const spec_model *opt_target, const spec_settings *settings,
                    spec_error *error);

#endif
