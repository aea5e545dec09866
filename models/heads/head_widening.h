/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_widening: a draft head for a target that was widened, with the same rows.
 * Zeros are its new weights, as in models/transformer/files/widening.h, and norms are scaled in
 * the same way. The rows equal those of the head on its own target, bit for bit. */
#ifndef SPECLAB_HEAD_WIDENING_H
#define SPECLAB_HEAD_WIDENING_H

#include "models/heads/head.h"

/* wide_target is the head's target after spec_widening_init with the same `by`. The result owns
 * its weights, and borrows the rope factors of `head`. GSL_ENOMEM;
 * GSL_EINVAL for a head with norm_before_fc, whose rows would differ. */
int spec_head_widening_init(spec_head *ret_wide, const spec_head *head,
                            const spec_checkpoint *wide_target, int by, spec_error *error);

#endif
