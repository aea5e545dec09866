#include "models/gpu/kernels_attention.h"
#include "models/gpu/simt.h"
