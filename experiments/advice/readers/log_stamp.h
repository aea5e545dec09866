/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_stamp: the time stamp of a line of a log, in seconds since the year began.
 * The form is MM-DD HH:MM:SS, as in 2025-05-01T14:24:50.123 too. Years are left out, so a
 * difference across New Year is negative. */
#ifndef SPECLAB_LOG_STAMP_H
#define SPECLAB_LOG_STAMP_H

#include <stddef.h>

/* The last stamp of these bytes; NaN if there is none. February has 29 days. */
double spec_log_stamp(const char *bytes, size_t n);

#endif
