/* kernels_filters: top_k, top_p and min_p, for the rows of kernels_sampling.h, a stage after another.
 * Nothing is sorted but a few candidates: `exps` has counted tokens and masses in bins of logits, `border` finds the
 * bin in which the filters end, `candidates` lists its tokens and adds up what stands before them, `cut` sorts these
 * few; where they are more than SAMPLING_CANDIDATES, ties mostly, it goes four times over the row: some 40 us. */
#ifndef SPECLAB_KERNELS_FILTERS_H
#define SPECLAB_KERNELS_FILTERS_H

#include "models/gpu/kernels_sampling.h"

/* Block r. Ends the stage before: rest[stage - 1], or scale. Begins this one: the border, and least. */
struct filters_border_args {
    sampling_space space;
    int32_t stage, filters;
};

/* Block (x, r): the candidates for the cut. Block r: the cut. */
struct filters_candidates_args {
    sampling_space space;
    int32_t stage, filters;
};
struct filters_cut_args {
    sampling_space space;
    int32_t stage, filters;
};

/* Block (x, r): sums of what stays. */
struct filters_kept_args {
    sampling_space space;
    int32_t stage;
};

#define SPEC_KERNELS_FILTERS(X)                                                                                        \
    X(filters, filters_border, 32) X(filters, filters_candidates, 128) X(filters, filters_cut, 256)                    \
        X(filters, filters_kept, 128)

#endif
