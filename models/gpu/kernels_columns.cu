#include "models/gpu/kernels_columns.h"
#include "models/gpu/simt.h"
