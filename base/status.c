/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "speclab/status.h"

#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>

int spec_fail(spec_error *opt_error, int status, const char *format, ...)
{
    if (opt_error == NULL) return status;
    va_list args;
    va_start(args, format);
    vsnprintf(opt_error->text, sizeof opt_error->text, format, args);
    va_end(args);
    spec_escape_in_place(opt_error->text);
    return status;
}
