/* SPDX-License-Identifier: GPL-3.0-or-later */
/* process_memory: the memory of all descendants of this process, as Linux reports it in /proc.
 * This includes anonymous and shared memory, also in swap, and files in memory (memfd_create,
 * tmpfs) that a process has open or mapped. Memory that several processes share is counted once.
 * Files on a disk, such as weights, are not counted. */
#ifndef SPECLAB_PROCESS_MEMORY_H
#define SPECLAB_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the descendants use more than `most` bytes. Orphans are included if this process
 * is their subreaper. */
bool spec_process_memory_exceeds(uint64_t most);

#endif
