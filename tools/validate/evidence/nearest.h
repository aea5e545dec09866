/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nearest: the known mistakes whose laws best explain the answers of a failed sampler.
 * They are hints, not findings: other mistakes may have the same law. docs/conformance.md#hints. */
#ifndef SPECLAB_NEAREST_H
#define SPECLAB_NEAREST_H

#include "base/thread_pool.h"
#include "tools/validate/validate.h"

/* A fixture, and how many tokens to draw from it. */
typedef struct {
    const spec_fixture *fixture;
    uint64_t draws;
} spec_hint_base;

typedef struct {
    const spec_hint_base *base; /* (n) */
    int n;
    uint32_t scope;
    uint64_t seed;
    spec_thread_pool *opt_pool;
    bool *opt_shows; /* (n) set to whether the sampler differs from an exact one on this fixture */
} spec_hint_request;

/* Runs the sampler, an exact sampler and every mistake of the scope on each fixture, and compares
 * their splits (split.h). A mistake is near if, on every fixture, it leaves at most a two-hundredth
 * of the difference from the exact sampler unexplained, apart from noise. ret_hint: at most three,
 * the nearest first; none if no mistake is near, or the difference does not show. A fixture on
 * which the sampler fails is left out. Put the fixture on which most mistakes differ first, so that
 * few mistakes have to run on the others. */
int spec_nearest(spec_hint ret_hint[3], int *ret_n, spec_subject *subject,
                 const spec_hint_request *request, spec_error *error);

/* Sets *ret to whether the sampler differs from an exact one on one fixture, like opt_shows. */
int spec_nearest_differs(bool *ret, spec_subject *subject, const spec_hint_base *on, uint32_t scope,
                         uint64_t seed, spec_error *error);

#endif
