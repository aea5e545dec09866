/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_state: a file from which a training continues after a kill.
 * The trained weights have the same bytes as without the kill. It has the settings, the number of
 * steps, the weights, both moments, kept weights, numbers of the caller, and a checksum. It
 * replaces the former state only when it is complete, so one of them always survives. */
#ifndef SPECLAB_TRAINING_STATE_H
#define SPECLAB_TRAINING_STATE_H

#include "tools/train/training.h"

/* Numbers that the caller keeps in a state, such as its learning curve so far. */
typedef struct {
    double *number;
    size_t n;
} spec_training_numbers;

void spec_training_numbers_free(spec_training_numbers *numbers); /* may be zeroed */

/* Writes the state. Settings are lines "key=value\n" with everything that the weights depend on. */
int spec_training_state_write(const spec_training *training, const char *settings,
                              const spec_training_numbers *numbers, const char *path,
                              spec_error *error);

/* Continues a training that was set up with these settings, with the number of steps of its state;
 * the caller frees the numbers. Returns GSL_EINVAL, with the file and the first line that differs,
 * if the state has different settings, and for a damaged file or a different format. */
int spec_training_state_read(spec_training *training, spec_training_numbers *ret_numbers,
                             const char *settings, const char *path, spec_error *error);

#endif
