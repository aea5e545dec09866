/* SPDX-License-Identifier: GPL-3.0-or-later */
/* self_draft: makes a draft from the target's layers, or from its weights in another type.
 * Such drafts need no training; vocabulary and tokenizer are the target's.
 *     layers?of=target&exit=L&skip=3.5a  the first L layers except layer 3 and the attention of
 *                                        layer 5, then its head
 *     layers?of=target&window=W&sink=S   all layers, but attention reads the keys and values of the
 *                                        last W positions and the first S [Xiao24] [Sadhukhan24]
 *     quantised?of=target&type=q8_0      the target's checkpoint again, with a KV cache of its own
 * Layers [Elhoushi24] [Zhang24] share the target's weights, and its KV cache if a decoder allows it
 * (spec_session_share). Keys and values of the text are then the target's. Up to the first skipped
 * sublayer, or attention with a window, they equal the draft's own, bit for bit. In later layers
 * they come from the full target and carry more information [Zhang24], so rows differ from those of
 * a separate session. The last token of the context and the draft tokens always use the draft's own
 * keys and values, so a row depends only on context and draft. */
#ifndef SPECLAB_SELF_DRAFT_H
#define SPECLAB_SELF_DRAFT_H

#include "models/model.h"

/* exit    number of layers before the head, 1..those of the target; 0: all
 * skip    what to leave out, such as 3.5a.6f, or none: a layer, counted from 0, or only its
 *         attention (a) or its feed-forward network (f); at least one sublayer must run
 * window  how many of the last positions attention reads, the token's own included; 0: all. They
 *         keep their positions in the text. A layer with a shorter window of its own keeps that,
 *         and a recurrent layer its state.
 * sink    how many of the first positions it reads as well, if the layer's own window contains them
 * Returns GSL_EINVAL if the target is not a transformer, or its device cannot compute a window. */
int spec_self_draft_layers_open(spec_model **ret_model, spec_settings *settings,
                                const spec_model *opt_target, spec_context *opt_context,
                                spec_error *error);

/* type   of the matrices, one with which the device multiplies (spec_tensor_type_names); rows that
 *        are not a multiple of a block keep their type
 * device the target's device, or one of models/transformer/engine/device.h
 * kv     the type of its KV cache: see models/transformer/engine/memory_budget.h */
int spec_self_draft_quantised_open(spec_model **ret_model, spec_settings *settings,
                                   const spec_model *opt_target, spec_context *opt_context,
                                   spec_error *error);

#endif
