#include "models/gpu/kernels_roofline.h"
#include "models/gpu/simt.h"
