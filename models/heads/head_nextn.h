/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_nextn: the draft blocks of a model's file as a head of kind mtp.
 * They are in the target's own file, or in another file of its architecture, with or without the
 * model's layers. The head owns the other file; blocks of the target point into the target. */
#ifndef SPECLAB_HEAD_NEXTN_H
#define SPECLAB_HEAD_NEXTN_H

#include "models/heads/head.h"

/* Whether a file is that of a model rather than of a head: its architecture is one of models.
 * False also for a file that cannot be read; GSL_ENOMEM alone is an error. */
int spec_head_nextn_is_model(bool *ret, const char *path, spec_error *error);

/* The blocks of the file, or of the target's own if opt_path is NULL. Of another file, tables and
 * norms that its blocks lack are those of the file; or the target's, where the file holds the same
 * model. GSL_EINVAL with one line for a file or a target
 * without draft blocks, and for another width, vocabulary or number of layers. On failure *ret is
 * zeroed. */
int spec_head_nextn_load(spec_head *ret, const char *opt_path, const spec_checkpoint *target,
                         spec_error *error);

#endif
