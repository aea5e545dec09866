/* kernels_columns: to be written. */
#ifndef SPECLAB_KERNELS_COLUMNS_H
#define SPECLAB_KERNELS_COLUMNS_H

#include "models/gpu/pass_batch.h"

#define SPEC_KERNELS_COLUMNS(X)

#endif
