/* ptx_compare: SIM_COMPARE=1: each launch is done by what gcc compiled, and from the same memory again by its PTX; what
 * they leave in the card's memory is held against each other. At the end there is a table on standard error: how many
 * launches of a kernel left other bits. NaN equals NaN. SIM_COMPARE=2: no table, and other bits end the process, but for
 * the kernels of a list, each with its reason. */
#ifndef SPECLAB_PTX_COMPARE_H
#define SPECLAB_PTX_COMPARE_H

#include "tests/simulator/kernel_table.h"

#include <stdbool.h>

/* Weak, as in ptx_run.h. false: nobody wants it. */
bool ptx_compare_begin(void) __attribute__((weak));
void ptx_compare_between(void) __attribute__((weak)); /* back to the memory of before */
void ptx_compare_end(const simulated_kernel *kernel) __attribute__((weak));

#endif
