/* no_memory: the line of what fails for want of memory, where there is no more to say. Headers only. */
#ifndef SPECLAB_NO_MEMORY_H
#define SPECLAB_NO_MEMORY_H

#include "speclab/status.h"

static inline int spec_no_memory(spec_error *opt_error)
{
    return spec_fail(opt_error, GSL_ENOMEM, "out of memory");
}

#endif
