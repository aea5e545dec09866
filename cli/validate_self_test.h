/* validate_self_test: `speclab validate --self-test`: does it find the mistakes that are known? As a table. */
#ifndef SPECLAB_VALIDATE_SELF_TEST_H
#define SPECLAB_VALIDATE_SELF_TEST_H

#include "cli/validate_args.h"

/* All known mistakes, or those of --only; the exit code: 1 where one is not called what it is. */
int spec_validate_self_test(const spec_validate_args *args, const char *verb);

#endif
