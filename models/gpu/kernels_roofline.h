/* kernels_roofline: to be written. */
#ifndef SPECLAB_KERNELS_ROOFLINE_H
#define SPECLAB_KERNELS_ROOFLINE_H

#include "models/gpu/pass_batch.h"

#define SPEC_KERNELS_ROOFLINE(X)

#endif
