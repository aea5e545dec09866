/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_list: `speclab validate --list`: fixtures, tests, kinds of samplers, known mistakes. */
#ifndef SPECLAB_VALIDATE_LIST_H
#define SPECLAB_VALIDATE_LIST_H

#include "cli/validate_args.h"

/* Lists all names, or those of --only; returns the exit code. */
int spec_validate_list(const spec_validate_args *args, const char *verb);

#endif
