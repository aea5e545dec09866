/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_compare: runs each launch both as gcc compiled it and as PTX, and compares the results.
 * SIM_COMPARE=1: both runs begin with the same GPU memory; at the end a table on standard error
 * counts per kernel the launches that left different bits. NaN equals NaN. SIM_COMPARE=2: no table;
 * different bits end the process, except for a list of kernels with their reasons. */
#ifndef SPECLAB_PTX_COMPARE_H
#define SPECLAB_PTX_COMPARE_H

#include "tests/simulator/kernel_table.h"

#include <stdbool.h>

/* Weak, as in ptx_run.h. false: SIM_COMPARE is not set. */
bool ptx_compare_begin(void) __attribute__((weak));
void ptx_compare_between(void) __attribute__((weak)); /* restores memory between the two runs */
void ptx_compare_end(const simulated_kernel *kernel) __attribute__((weak));

#endif
