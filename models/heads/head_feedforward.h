/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_feedforward: computes rows of draft heads without attention: Medusa, Hydra and ReDrafter.
 * They read only one feature of the context, h. The state keeps it with the text, and state->held
 * says whether it is known. [Cai24] [Ankner24] [Cheng24] */
#ifndef SPECLAB_HEAD_FEEDFORWARD_H
#define SPECLAB_HEAD_FEEDFORWARD_H

#include "models/heads/head_state.h"

/* Fills the requested rows of the settled state; Medusa fills state->fixed instead. */
int spec_head_feedforward_rows(spec_head_state *state, const spec_score_request *request,
                               spec_error *error);

#endif
