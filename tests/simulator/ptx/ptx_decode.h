/* ptx_decode: the instructions of a kernel, from the text to what ptx_run runs. Functions that it calls are put where
 * they are called. Names live in the braces in which they were declared.
 * An instruction, an operand or a directive that is not known ends the process, exit code 3. */
#ifndef SPECLAB_PTX_DECODE_H
#define SPECLAB_PTX_DECODE_H

#include "tests/simulator/ptx/ptx_module.h"

ptx_kernel *ptx_decode(const ptx_module *module, const ptx_function *function, const char *name);

#endif
