/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/kernel_table.h"

#include "models/gpu/kernels.h"

SPEC_KERNELS(SIMULATED_KERNEL_CALL)

const simulated_kernel simulated_kernels[] = {SPEC_KERNELS(SIMULATED_KERNEL_ROW){NULL, NULL, 0, 0}};
