/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_self_test: `speclab validate --self-test`: whether each known mistake is found. */
#ifndef SPECLAB_VALIDATE_SELF_TEST_H
#define SPECLAB_VALIDATE_SELF_TEST_H

#include "cli/validate_args.h"

/* Tests all known mistakes, or those of --only. Returns the exit code, 1 if any gets the wrong
 * verdict. */
int spec_validate_self_test(const spec_validate_args *args, const char *verb);

#endif
