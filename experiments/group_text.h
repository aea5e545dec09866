/* SPDX-License-Identifier: GPL-3.0-or-later */
/* group_text: the sum of a group of Monte Carlo batches as one line of text, without rounding. */
#ifndef SPECLAB_GROUP_TEXT_H
#define SPECLAB_GROUP_TEXT_H

#include "sim/montecarlo.h"

/* Returns the line, which the caller frees; NULL if memory runs out. Floating-point numbers are in
 * hexadecimal. */
char *spec_group_text_of(const spec_montecarlo_sum *sum);

/* Returns false unless the text is one that _of could write, for at least one round. */
bool spec_group_text_parse(spec_montecarlo_sum *ret, const char *text);

#endif
