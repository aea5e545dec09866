/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transform: applies temperature, top_k, top_p and min_p to a row.
 * "joint": all filters see the probabilities after the temperature, and what is left is
 * renormalised once. "chained": top_k, top_p and min_p apply in turn, each followed by a
 * renormalisation. docs/formats.md says which engine uses which. */
#ifndef SPECLAB_TRANSFORM_H
#define SPECLAB_TRANSFORM_H

#include "base/settings.h"
#include "speclab/status.h"

#include <stdbool.h>

typedef struct {
    double temperature; /* >= 0; 0 is the argmax, the lowest id among ties; 1 changes nothing */
    int top_k;          /* keep the k most probable; ties with the k-th stay; 0 keeps all */
    double top_p; /* keep the fewest tokens, most probable first (ties: lowest id), whose mass is >=
                     top_p; 1 keeps all */
    double min_p;       /* keep tokens of probability >= min_p * max; 0 keeps all */
    bool chained;
} spec_transform;

#define SPEC_TRANSFORM_NONE ((spec_transform){.temperature = 1.0, .top_p = 1.0})
#define SPEC_TRANSFORM_KEYS "temperature,top_k,top_p,min_p,filters"

bool spec_transform_is_none(const spec_transform *transform);

/* Returns whether `key` is one of SPEC_TRANSFORM_KEYS. */
bool spec_transform_is_key(const char *key);

/* Reads temperature, top_k, top_p, min_p and filters=joint|chained from a model's settings. */
int spec_transform_read(spec_transform *ret_transform, spec_settings *settings, spec_error *error);

/* Transforms `row` (V, normalised) in place. `order` (V) is workspace. The most probable token is
 * always kept. */
void spec_transform_apply(double *row, int vocab, const spec_transform *transform, int *order);

#endif
