/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_layers: computes rows of draft heads with attention: EAGLE, EAGLE-3, MTP, parallel masks.
 * A column is a position of the text or a node of the tree, in one layer. Each pass runs one layer
 * over at most SPEC_COLUMNS_MAX columns. [LiY24] [LiY25] [DeepSeek24] [An25] */
#ifndef SPECLAB_HEAD_LAYERS_H
#define SPECLAB_HEAD_LAYERS_H

#include "models/heads/head_state.h"

/* Fills the requested rows of the settled state; for parallel masks, fills state->fixed instead. A
 * text of one token has a column for that token, whose feature is zero; in longer texts, the first
 * token has no column. */
int spec_head_layers_rows(spec_head_state *state, const spec_score_request *request,
                          spec_error *error);

#endif
