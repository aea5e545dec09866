/* SPDX-License-Identifier: GPL-3.0-or-later */
/* time_comment: the line "# time SECONDS", which says when the scrape below it was taken.
 * { echo "# time $(date +%s)"; curl -s HOST/metrics; } writes one. Prometheus ignores it as a
 * comment. Other comments that begin with these words look different. */
#ifndef SPECLAB_TIME_COMMENT_H
#define SPECLAB_TIME_COMMENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether this is such a line: after "# time " comes one word that begins with a digit or a
 * sign. *ret_seconds, since 1970, is then above 0 and below 10^11, or NaN if the word is something
 * else, such as 12:30 or 1,5. */
bool spec_time_comment(double *ret_seconds, const char *bytes, size_t n);

#endif
