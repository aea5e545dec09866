/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For any processor; arm64 fuses products without further options. */
#include "models/transformer/kernels/path_loops.h"

const spec_path_kernels spec_path_kernels_ref = {dot, add};
