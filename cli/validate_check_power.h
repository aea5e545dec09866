/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_check_power: `speclab validate --check-power N`: the power at the detectable TV.
 * Prints a table that shows how often a bias of exactly that TV is found. */
#ifndef SPECLAB_VALIDATE_CHECK_POWER_H
#define SPECLAB_VALIDATE_CHECK_POWER_H

#include "cli/validate_args.h"

/* Runs N tests per line, on the fixtures of --only or else the usual ones. Returns the exit code:
 * 0; 1 if spec_power_check_short finds a line that falls short; 2, 130. */
int spec_validate_check_power(const spec_validate_args *args, const char *verb);

#endif
