/* validate_trace: `speclab validate SAMPLER --write-trace FILE`: a trace of what is known to be right or wrong, to see
 * what one looks like and to try one's tools on. */
#ifndef SPECLAB_VALIDATE_TRACE_H
#define SPECLAB_VALIDATE_TRACE_H

#include "cli/validate_args.h"

/* Returns the exit code. */
int spec_validate_write_trace(const spec_validate_args *args, const char *verb);

#endif
