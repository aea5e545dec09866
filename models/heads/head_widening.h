/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_widening: widens a draft head together with its target, so that its rows stay the same.
 * The new weights are zeros and norms are scaled, as in models/transformer/files/widening.h. The
 * rows equal those of the original head on its own target, bit for bit. */
#ifndef SPECLAB_HEAD_WIDENING_H
#define SPECLAB_HEAD_WIDENING_H

#include "models/heads/head.h"

/* wide_target is the head's target after spec_widening_init with the same `by`. The result owns its
 * weights and borrows the rope factors of `head`. Returns GSL_ENOMEM, or GSL_EINVAL for a head with
 * norm_before_fc, whose rows would differ. */
int spec_head_widening_init(spec_head *ret_wide, const spec_head *head,
                            const spec_checkpoint *wide_target, int by, spec_error *error);

#endif
