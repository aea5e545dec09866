/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_write: writes a trace of a sampler, for tests that know whether it is correct.
 * Requests walk through the states of a chain fixture, round by round, in batches; the tokens of a
 * round are consecutive. */
#ifndef SPECLAB_TRACE_WRITE_H
#define SPECLAB_TRACE_WRITE_H

#include "tools/validate/samplers/subject.h"

typedef enum {
    SPEC_TRACE_ROWS,     /* whole rows */
    SPEC_TRACE_TOP,      /* the 3 most probable tokens of each row */
    SPEC_TRACE_LOGPROBS, /* only log-probabilities of the emitted token */
    SPEC_TRACE_CONTENTS
} spec_trace_contents;

extern const char *const spec_trace_contents_names[]; /* "rows", "top", "logprobs", NULL */

/* Writes at least n_tokens tokens of `subject` ("rule:token") to `file`. Returns GSL_EINVAL for a
 * fixture whose drafts are not whole chains, and for a sampler that cannot verify them; GSL_EFAILED
 * if the sampler failed, the file could not be written, or *opt_stop was set. */
int spec_trace_write(FILE *file, const char *subject, const spec_fixture_kind *kind,
                     spec_trace_contents contents, uint64_t n_tokens, uint64_t seed,
                     const volatile int *opt_stop, spec_error *error);

#endif
