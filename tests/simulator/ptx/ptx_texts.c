/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_texts.h"

#include "models/gpu/kernels.h"

#define PTX_FOLDER "build/gpu/models/gpu/"

SPEC_KERNEL_THEMES(PTX_TAKE_IN)
const ptx_text ptx_texts[] = {SPEC_KERNEL_THEMES(PTX_ROWS){NULL, NULL, 0}};
