/* validate_list: what `speclab validate` has: fixtures, tests, kinds of samplers and known mistakes, each with its
 * reason. */
#ifndef SPECLAB_VALIDATE_LIST_H
#define SPECLAB_VALIDATE_LIST_H

#include "cli/validate_args.h"

/* All of them, or those of --only; the exit code. */
int spec_validate_list(const spec_validate_args *args, const char *verb);

#endif
