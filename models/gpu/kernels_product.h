/* kernels_product: matrix products and the rows of a table; layouts in models/gpu/layout.h. */
#ifndef SPECLAB_KERNELS_PRODUCT_H
#define SPECLAB_KERNELS_PRODUCT_H

#include "models/gpu/pass_batch.h"

#define SPEC_KERNELS_PRODUCT(X)

#endif
