#include "models/gpu/kernels_sampling.h"
#include "models/gpu/simt.h"
