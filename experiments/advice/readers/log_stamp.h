/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_stamp: the time stamp of a line of a log, in seconds since the year began.
 * A stamp is MM-DD HH:MM:SS, or as in 2025-05-01T14:24:50.123. Years are ignored, so a difference
 * across New Year is negative. */
#ifndef SPECLAB_LOG_STAMP_H
#define SPECLAB_LOG_STAMP_H

#include <stddef.h>

/* Returns the last stamp in these bytes; NaN if there is none. Every February has 29 days. */
double spec_log_stamp(const char *bytes, size_t n);

#endif
