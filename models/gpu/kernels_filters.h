/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_filters: applies top_k, top_p and min_p in stages to the rows of kernels_sampling.h.
 * Only a few candidates are sorted. `exps` counts tokens and masses in bins of
 * logits. `border` finds the bin of the cut. `candidates` lists its tokens and sums the masses
 * before them. `cut` sorts the list. If the list is longer than SAMPLING_CANDIDATES, mostly because
 * of ties, `cut` scans the row four times instead, which takes some 40 us. */
#ifndef SPECLAB_KERNELS_FILTERS_H
#define SPECLAB_KERNELS_FILTERS_H

#include "models/gpu/kernels_sampling.h"

/* Block r. Ends the previous stage (rest[stage - 1], or scale) and begins this one (border and
 * least). */
struct filters_border_args {
    sampling_space space;
    int32_t stage, filters;
};

/* Block (x, r) of `candidates`; block r of `cut`. */
struct filters_candidates_args {
    sampling_space space;
    int32_t stage, filters;
};
struct filters_cut_args {
    sampling_space space;
    int32_t stage, filters;
};

/* Block (x, r): sums of the kept probabilities. */
struct filters_kept_args {
    sampling_space space;
    int32_t stage;
};

#define SPEC_KERNELS_FILTERS(X)                                                                    \
    X(filters, filters_border, 32)                                                                 \
    X(filters, filters_candidates, 128) X(filters, filters_cut, 256) X(filters, filters_kept, 128)

#endif
