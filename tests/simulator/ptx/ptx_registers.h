/* ptx_registers: where the registers of a kernel and its constants lie. */
#ifndef SPECLAB_PTX_REGISTERS_H
#define SPECLAB_PTX_REGISTERS_H

#include "tests/simulator/ptx/ptx_code.h"

/* Turns the numbers of operands (ptx_names.h) into places; widths of the registers. */
void ptx_registers_place(ptx_kernel *kernel, const uint8_t *widths, int n_registers);

#endif
