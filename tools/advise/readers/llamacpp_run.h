/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llamacpp_run: the figures that llama-speculative and llama-speculative-simple print at the end.
 * A run is one request. Rounds are not printed. There are n_predict - n_accept passes, and the
 * first may have no draft. */
#ifndef SPECLAB_LLAMACPP_RUN_H
#define SPECLAB_LLAMACPP_RUN_H

#include "tools/advise/log_format.h"

enum { SPEC_LLAMACPP_RUN_NUMBERS = 6 };

typedef struct {
    unsigned seen;                           /* bit per number */
    double value[SPEC_LLAMACPP_RUN_NUMBERS]; /* of the current run, or of the one that ended last */
} spec_llamacpp_run;

bool spec_llamacpp_run_concerns(const char *bytes, size_t n);

/* Reads a line that the function above accepts. *ret_ended says that the run has ended, and was
 * handed over. */
int spec_llamacpp_run_read(spec_llamacpp_run *run, bool *ret_ended, spec_log_learned *learned,
                           const spec_log_record *record, spec_error *error);

#endif
