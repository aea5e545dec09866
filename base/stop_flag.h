/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stop_flag: a number that ctrl-C or another thread sets to end long work. NULL: nothing does. */
#ifndef SPECLAB_STOP_FLAG_H
#define SPECLAB_STOP_FLAG_H

#include "speclab/status.h"

#include <gsl/gsl_errno.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool spec_stop_is_set(const volatile int *opt_stop)
{
    return opt_stop != NULL && __atomic_load_n(opt_stop, __ATOMIC_RELAXED) != 0;
}

/* Returns GSL_EFAILED "interrupted" if the flag is set. */
static inline int spec_stop_check(const volatile int *opt_stop, spec_error *opt_error)
{
    return spec_stop_is_set(opt_stop) ? spec_fail(opt_error, GSL_EFAILED, "interrupted")
                                      : GSL_SUCCESS;
}

#endif
