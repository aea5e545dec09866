/* kernel_fault: while a launch runs, addresses that no memory has, full stacks and loops without end are named with
 * their kernel, block and thread; under the address sanitizer with the calls that led there. */
#ifndef SPECLAB_KERNEL_FAULT_H
#define SPECLAB_KERNEL_FAULT_H

void kernel_fault_watch(void);
void kernel_fault_watched(void);

#endif
