/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drawn_nextn: writes a file of a model with the draft blocks of a drawn head, for tests. */
#ifndef SPECLAB_TESTS_DRAWN_NEXTN_H
#define SPECLAB_TESTS_DRAWN_NEXTN_H

#include "models/heads/head.h"

/* Writes the target as architecture llama, then the blocks of a head that was drawn for it with
 * DRAWN_NEXTN; without `layers` only the blocks, with the tables and the norm of the model. */
void drawn_nextn_write(const char *path, const spec_head *head, const spec_checkpoint *target,
                       bool layers);

/* Does the same with layers, and adds a tensor with one row of the target's width. */
void drawn_nextn_write_with(const char *path, const spec_head *head, const spec_checkpoint *target,
                            const char *name);

#endif
