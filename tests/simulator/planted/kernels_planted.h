/* kernels_planted: kernels with a mistake each, which the simulator is to find, and their twins without it. */
#ifndef SPECLAB_KERNELS_PLANTED_H
#define SPECLAB_KERNELS_PLANTED_H

#include <stdint.h>

/* y[block] = sum over its threads of x; `wrong` leaves a step out. */
struct planted_sum_args {
    float *y;
    const float *x;
    int n, wrong;
};

/* D += A B of one warp, fragments (32 lanes, words) as they lie in memory. */
struct planted_mma_args {
    float *d;
    int32_t *e;
    const uint32_t *a, *b;
};

#define SPEC_KERNELS_PLANTED(X)                                                                                        \
    X(planted, planted_sum, 256)                                                                                       \
    X(planted, planted_mma, 32)

#endif
