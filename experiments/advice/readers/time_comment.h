/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_comment: the line "# time SECONDS", which says when the scrape below it was taken.
 * { echo "# time $(date +%s)"; curl -s HOST/metrics; } writes one. Prometheus passes it over as a
 * comment. Other comments that begin with these words are not of this form. */
#ifndef SPECLAB_TIME_COMMENT_H
#define SPECLAB_TIME_COMMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Is this such a line: one word behind "# time ", with a digit or a sign at its beginning? Then
 * *ret_seconds since 1970, above 0 and below 10^11; NaN for another word, as 12:30 or 1,5. */
bool spec_time_comment(double *ret_seconds, const char *bytes, size_t n);

#endif
