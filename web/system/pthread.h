/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pthread: locks for a process with a single thread; they are always free. */
#ifndef SPECLAB_WEB_PTHREAD_H
#define SPECLAB_WEB_PTHREAD_H

#include <sys/types.h>

#define PTHREAD_ONCE_INIT 0
#define PTHREAD_MUTEX_INITIALIZER {{{0}}}

#define pthread_mutex_init(mutex, attributes) ((void)(mutex), 0)
#define pthread_mutex_lock(mutex) ((void)(mutex))
#define pthread_mutex_unlock(mutex) ((void)(mutex))

static inline int pthread_once(pthread_once_t *once, void (*first)(void))
{
    if ((*once)++ == 0) first();
    return 0;
}

#endif
