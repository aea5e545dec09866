/* validate_calibrate: `speclab validate SAMPLER --calibrate N`: an exact sampler tested N times, as a table and a
 * figure. */
#ifndef SPECLAB_VALIDATE_CALIBRATE_H
#define SPECLAB_VALIDATE_CALIBRATE_H

#include "cli/validate_args.h"

/* Tokens of one run, without --budget. */
#define SPEC_VALIDATE_CALIBRATE_DRAWS 200000ull

/* The exit code: 0; 1 for more false alarms than alpha makes likely (p < 0.01); 2, 130. */
int spec_validate_calibrate(const spec_validate_args *args, const char *verb);

#endif
