/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_registers: allocation of a kernel's registers and constants. */
#ifndef SPECLAB_PTX_REGISTERS_H
#define SPECLAB_PTX_REGISTERS_H

#include "tests/simulator/ptx/ptx_code.h"

/* Turns operand numbers (ptx_names.h) into places, given the registers' widths. */
void ptx_registers_place(ptx_kernel *kernel, const uint8_t *widths, int n_registers);

#endif
