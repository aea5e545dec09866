/* SPDX-License-Identifier: GPL-3.0-or-later */
/* placement: writes a line for users that says on which devices a pair of models runs.
 * If `auto` found no GPU, the line says why. */
#ifndef SPECLAB_PLACEMENT_H
#define SPECLAB_PLACEMENT_H

#include "models/model.h"

enum { SPEC_PLACEMENT_SIZE = 1024 };

/* Writes "target on gpu:0 (NVIDIA H200), draft on cpu (the processor)" into text
 * (SPEC_PLACEMENT_SIZE). Models that are not transformers are left out; returns false, without a
 * line, if neither is one. */
bool spec_placement_text(char *text, const spec_model *target, const spec_model *opt_draft);

/* Returns whether the line is worth printing: whether a spec names a GPU or `auto`, or inherits
 * one. */
bool spec_placement_is_told(const spec_model *target, const spec_model *opt_draft);

#endif
