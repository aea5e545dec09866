/* SPDX-License-Identifier: GPL-3.0-or-later */
/* listener: a progress callback for long computations.
 * A long computation takes a listener, which may be NULL, and reports its progress as a share in
 * [0, 1]. Several threads may report at the same time. Headers only. */
#ifndef SPECLAB_LISTENER_H
#define SPECLAB_LISTENER_H

#include <stddef.h>

typedef struct {
    void (*hear)(void *self, double share);
    void *self;
} spec_listener;

static inline void spec_listener_tell(const spec_listener *opt_listener, double share)
{
    if (opt_listener != NULL) opt_listener->hear(opt_listener->self, share);
}

#endif
