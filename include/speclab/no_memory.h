/* SPDX-License-Identifier: GPL-3.0-or-later */
/* no_memory: writes the error line of a failed allocation, with or without a name. Headers only. */
#ifndef SPECLAB_NO_MEMORY_H
#define SPECLAB_NO_MEMORY_H

#include "speclab/status.h"

static inline int spec_no_memory(spec_error *opt_error)
{
    return spec_fail(opt_error, GSL_ENOMEM, "out of memory");
}

/* Fails with "NAME: out of memory", for a file, an option or an axis. */
static inline int spec_no_memory_for(spec_error *opt_error, const char *name)
{
    return spec_fail(opt_error, GSL_ENOMEM, "%.300s: out of memory", name);
}

#endif
