/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_page: writes a result of bench as a page for people to read.
 * It shows the circumstances, the speed-ups, the advice (timing_advice.h), the parts of a round and
 * the times of passes. All of it comes from the table, so a CSV gives the same page again. */
#ifndef SPECLAB_TIMING_PAGE_H
#define SPECLAB_TIMING_PAGE_H

#include "tools/bench/timing_result.h"

/* Writes the page. Returns GSL_ENOMEM if out of memory, GSL_EFAILED if the stream fails. */
int spec_timing_page_write(const spec_timing_result *result, FILE *out, spec_error *error);

#endif
