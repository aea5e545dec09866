/* SPDX-License-Identifier: GPL-3.0-or-later */
/* double_training: the network of training_case.h, compiled in double. */
#ifndef SPECLAB_TESTS_DOUBLE_TRAINING_H
#define SPECLAB_TESTS_DOUBLE_TRAINING_H

#include "models/train/losses.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct double_training double_training;

/* A model, or a head; NULL without memory. */
double_training *double_training_new(bool is_head, spec_losses_kind kind, int places,
                                     bool pairs_adjacent);
void double_training_free(double_training *training);

/* Return the number of all parameters; and the loss at these values, with its gradient. */
size_t double_training_numbers(const double_training *training);
double double_training_loss(double_training *training, const double *value);
double double_training_gradient(double *ret_gradient, double_training *training,
                                const double *value);

#endif
