#include "models/gpu/kernels_product.h"
#include "models/gpu/simt.h"
