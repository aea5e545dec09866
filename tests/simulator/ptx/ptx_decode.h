/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_decode: decodes a kernel's PTX text into instructions for ptx_run.
 * Called functions are inlined. Names are scoped by braces. An unknown instruction, operand or
 * directive ends the process with exit code 3. */
#ifndef SPECLAB_PTX_DECODE_H
#define SPECLAB_PTX_DECODE_H

#include "tests/simulator/ptx/ptx_module.h"

ptx_kernel *ptx_decode(const ptx_module *module, const ptx_function *function, const char *name);

#endif
