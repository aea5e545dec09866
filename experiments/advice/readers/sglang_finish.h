/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sglang_finish: counts of requests in SGLang's lines "Finish: ..." (--log-requests).
 * The line has Python's text of the response's meta_info, as a script would print it; several
 * versions use different names. */
#ifndef SPECLAB_SGLANG_FINISH_H
#define SPECLAB_SGLANG_FINISH_H

#include "experiments/advice/readers/log_scan.h"

/* Returns whether the record has such a text. */
bool spec_sglang_finish_concerns(const char *bytes, size_t n);

/* Reads the next request of the scan, and moves past it. *ret_found is false at the end. Skips
 * unfinished responses. Fails with spec_log_bad for counts that contradict each other. */
int spec_sglang_finish_next(spec_observation *ret, bool *ret_found, spec_log_scan *scan,
                            spec_error *error);

#endif
