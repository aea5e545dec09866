/* kernels_attention: to be written. */
#ifndef SPECLAB_KERNELS_ATTENTION_H
#define SPECLAB_KERNELS_ATTENTION_H

#include "models/gpu/pass_batch.h"

#define SPEC_KERNELS_ATTENTION(X)

#endif
