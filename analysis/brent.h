/* SPDX-License-Identifier: GPL-3.0-or-later */
/* brent: GSL's bracketing root solver by Brent's method, in the caller's memory.
 * So formulas need no allocation, and NaN always means that a value is undefined, never that memory
 * ran out. Header only. */
#ifndef SPECLAB_BRENT_H
#define SPECLAB_BRENT_H

#include <assert.h>
#include <gsl/gsl_roots.h>

typedef struct {
    gsl_root_fsolver solver;
    _Alignas(16) unsigned char state[256];
} spec_brent;

/* Returns a solver as gsl_root_fsolver_alloc would; it must not be freed. */
static inline gsl_root_fsolver *spec_brent_init(spec_brent *brent)
{
    assert(gsl_root_fsolver_brent->size <= sizeof brent->state);
    brent->solver = (gsl_root_fsolver){.type = gsl_root_fsolver_brent, .state = brent->state};
    return &brent->solver;
}

#endif
