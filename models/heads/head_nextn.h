/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_nextn: loads the draft blocks of a model's file as a head of kind mtp.
 * They are in the target's own file, or in another file of its architecture, with or without the
 * model's layers. The head owns such a file; blocks in the target's file point into the target. */
#ifndef SPECLAB_HEAD_NEXTN_H
#define SPECLAB_HEAD_NEXTN_H

#include "models/heads/head.h"

/* Finds out from the architecture in a file whether it holds a model rather than a head. *ret is
 * false if the file cannot be read; the only error is GSL_ENOMEM. */
int spec_head_nextn_is_model(bool *ret, const char *path, spec_error *error);

/* Loads the blocks of the file, or of the target's own if opt_path is NULL. Tables and norms that
 * the blocks of another file lack come from that file, or from the target if the file holds the
 * same model. Returns GSL_EINVAL, with one line, if there are no draft blocks, or if the width,
 * vocabulary or number of layers differs. On failure *ret is zeroed. */
int spec_head_nextn_load(spec_head *ret, const char *opt_path, const spec_checkpoint *target,
                         spec_error *error);

#endif
