/* self_draft: drafts made of the very transformer that is to verify them: some of its layers, or all of its weights in
 * another type. Training-free, and of the target's vocabulary and tokenizer by themselves.
 *     layers?of=target&exit=L&skip=a.b   the first L layers but a and b, then the target's head [Elhoushi24] [Zhang24]
 *     quantised?of=target&type=q8_0      the target's checkpoint again, with a cache of its own
 * Layers share the target's weights, and where a decoder lets them (spec_session_share) its cache: the text's keys and
 * values are then the target's own. In layers before the first that is skipped they are what the draft would compute,
 * bit for bit; in later ones they are better informed than the draft's [Zhang24], so its rows differ from those of a
 * session on its own. The last token of the context and the draft after it are always the draft's own, so that a row
 * depends on context and draft alone. */
#ifndef SPECLAB_SELF_DRAFT_H
#define SPECLAB_SELF_DRAFT_H

#include "models/model.h"

/* exit   layers run before the head, 1..those of the target; 0: all
 * skip   layers among these that are left out, counted from 0, as in 3.5, or none; at least one is run
 * GSL_EINVAL where the target is no transformer. */
int spec_layers_open(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target, spec_error *error);

/* type   of the matrices: f32, f16, bf16, q8_0, q4_0 (a name of spec_tensor_type_names); rows that are no whole number
 *        of blocks stay as they are
 * device where it computes: the target's device, or as models/transformer/engine/device.h says
 * kv     the type of its keys and values: see models/transformer/engine/room.h */
int spec_quantised_open(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                        spec_error *error);

#endif
