/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernel_fault: reports a segmentation fault, stack overflow or endless loop in a kernel.
 * The report names kernel, block and thread; the address sanitizer adds the call stack. */
#ifndef SPECLAB_KERNEL_FAULT_H
#define SPECLAB_KERNEL_FAULT_H

void kernel_fault_watch(void);
void kernel_fault_watched(void);

#endif
