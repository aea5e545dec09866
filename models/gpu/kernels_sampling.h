/* kernels_sampling: to be written. */
#ifndef SPECLAB_KERNELS_SAMPLING_H
#define SPECLAB_KERNELS_SAMPLING_H

#include "models/gpu/pass_batch.h"

#define SPEC_KERNELS_SAMPLING(X)

#endif
