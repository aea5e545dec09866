/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_size: how large a pair's transformers are, before they are loaded, and defaults from that.
 * The defaults are the same on every machine. */
#ifndef SPECLAB_PAIR_SIZE_H
#define SPECLAB_PAIR_SIZE_H

#include "models/context.h"

#include <stdbool.h>

typedef struct {
    double target, draft; /* bytes of weights that a pass reads; 0: not a transformer */
    bool on_one_device;   /* both are transformers on the same device */
} spec_pair_size;

/* Inspects both specs. If a spec cannot be inspected, it does not count as a transformer; opening
 * the model will report the error. */
spec_pair_size spec_pair_size_of(const char *target, const char *draft, spec_context *context);

/* Returns the default number of positions to measure: 20,000. For transformers it may be less: as
 * many as read 100 GB of weights, which takes about ten seconds, but at least 200. It is rounded to
 * two digits. */
int spec_pair_size_positions(const spec_pair_size *size);

#endif
