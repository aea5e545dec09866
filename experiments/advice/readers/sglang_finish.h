/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sglang_finish: counts of requests in SGLang's lines "Finish: ..." (--log-requests).
 * They are Python's text of the response's meta_info, as a script's print of it is, under the names
 * of several versions. */
#ifndef SPECLAB_SGLANG_FINISH_H
#define SPECLAB_SGLANG_FINISH_H

#include "experiments/advice/readers/log_scan.h"

/* Does the record have such a text? */
bool spec_sglang_finish_concerns(const char *bytes, size_t n);

/* The next request of the scan, which moves behind it. *ret_found: false at the end. Responses that
 * are not finished are passed over. spec_log_bad for counts that contradict one another. */
int spec_sglang_finish_next(spec_observation *ret, bool *ret_found, spec_log_scan *scan,
                            spec_error *error);

#endif
