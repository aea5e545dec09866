/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_trace: `speclab validate SAMPLER --write-trace FILE`: writes an example trace.
 * We know whether the sampler is right, so the trace can test other tools. */
#ifndef SPECLAB_VALIDATE_TRACE_H
#define SPECLAB_VALIDATE_TRACE_H

#include "cli/validate_args.h"

/* Returns the exit code. */
int spec_validate_write_trace(const spec_validate_args *args, const char *verb);

#endif
