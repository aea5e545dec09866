/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status: error codes and one-line error messages.
 * A function that can fail returns int: GSL_SUCCESS (0) or one of GSL's codes, and writes one line
 * for the user into a spec_error. Library code never prints and never exits; on failure it zeroes
 * its outputs. Headers only. */
#ifndef SPECLAB_STATUS_H
#define SPECLAB_STATUS_H

#include <gsl/gsl_errno.h>
#include <stdio.h>

/* One line for the user, without a final newline. It says what is wrong, where it is, and what
 * would be right. */
typedef struct {
    char text[512];
} spec_error;

/* Writes the line and returns `status`, so that failing takes one statement: return
 * spec_fail(error, GSL_EDOM, "..."). Characters that could control a terminal become '?'
 * (base/escape.h), because names in the line may come from outside. opt_error may be NULL. */
__attribute__((format(printf, 3, 4))) int spec_fail(spec_error *opt_error, int status,
                                                    const char *format, ...);

/* Runs `call`; on failure keeps its code in `status` and jumps to the label `done:`. */
#define SPEC_TRY(call)                                                                             \
    do {                                                                                           \
        if ((status = (call)) != GSL_SUCCESS) goto done;                                           \
    } while (0)

/* Runs `call`; on failure returns its code. For a function that has nothing to free. */
#define SPEC_PASS(call)                                                                            \
    do {                                                                                           \
        const int spec_pass_status = (call);                                                       \
        if (spec_pass_status != GSL_SUCCESS) return spec_pass_status;                              \
    } while (0)

#endif
