/* trace_write: makes a trace of a sampler that is at hand, so that there are traces of what is known to be right or
 * wrong: requests over the states of a chain fixture, round by round, in batches, all tokens of a round in a row. */
#ifndef SPECLAB_TRACE_WRITE_H
#define SPECLAB_TRACE_WRITE_H

#include "conformance/samplers/subject.h"

typedef enum {
    SPEC_TRACE_ROWS,     /* whole rows */
    SPEC_TRACE_TOP,      /* the 3 most probable tokens of each row */
    SPEC_TRACE_LOGPROBS, /* log-probabilities of the emitted token alone */
    SPEC_TRACE_CONTENTS
} spec_trace_contents;

extern const char *const spec_trace_contents_names[]; /* "rows", "top", "logprobs", NULL */

/* Write at least n_tokens tokens of `subject` ("rule:token") to `file`. GSL_EINVAL for a fixture of other drafts than
 * whole chains, and a sampler that cannot verify them; GSL_EFAILED where it broke, or the file could not be written. */
int spec_trace_write(FILE *file, const char *subject, const spec_fixture_kind *kind, spec_trace_contents contents,
                     uint64_t n_tokens, uint64_t seed, spec_error *error);

#endif
