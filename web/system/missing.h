/* SPDX-License-Identifier: GPL-3.0-or-later */
/* missing: functions of the C library that wasi-libc lacks.
 * Functions that need a system fail with ENOSYS; advice about memory does nothing. The page's build
 * includes this header into every source. */
#ifndef SPECLAB_WEB_MISSING_H
#define SPECLAB_WEB_MISSING_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

/* Reserved memory is already available, so the flag does nothing. */
#undef MAP_NORESERVE
#define MAP_NORESERVE 0

/* Heap sort. */
void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *self);

int fchown(int descriptor, uid_t owner, gid_t group);
int fchmod(int descriptor, mode_t mode);
int flock(int descriptor, int operation);
ssize_t getrandom(void *bytes, size_t n, unsigned flags);
int madvise(void *memory, size_t n, int advice);

/* sched.h: the process cannot ask how many processors it may use, so it has one. */
typedef int cpu_set_t;
#define CPU_COUNT(set) ((void)(set), 1)
#define sched_getaffinity(process, size, set) ((void)(set), 0)

#endif
