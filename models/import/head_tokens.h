/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_tokens: reads the reduced vocabulary of an EAGLE-3 head from d2t and t2d in its safetensors.
 * d2t holds offsets: row i of the output is token i + d2t[i] of the target. t2d, true or false for
 * each token of the target, must agree. */
#ifndef SPECLAB_HEAD_TOKENS_H
#define SPECLAB_HEAD_TOKENS_H

#include "models/heads/head.h"
#include "models/import/tensor_folder.h"

/* Sets head->shape.draft_vocab, the rows of lm_head, and head->opt_token; takes d2t and t2d.
 * opt_token is NULL if there is no d2t, or if it is all zero and covers the whole vocabulary.
 * Without lm_head and d2t, the head borrows the target's output. May return GSL_EINVAL, with a
 * line. */
int spec_head_tokens_read(spec_head *head, spec_tensor_folder *folder, spec_error *error);

#endif
