/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round_log: runs a decoder round by round and keeps every random decision of the last round.
 * Uniform numbers come from given coins first, and then from a generator. It borrows the decoder
 * and the generator, and owns the decisions. */
#ifndef SPECLAB_ROUND_LOG_H
#define SPECLAB_ROUND_LOG_H

#include "sim/decision_role.h"
#include "sim/decode.h"

typedef struct {
    spec_decoder *decoder;
    spec_report report; /* its `used` counts the coins over all rounds */
    spec_told *told;    /* (n) decisions of the last round */
    int n, capacity;
    bool lost; /* a decision was lost because memory ran out */
} spec_round_log;

/* Begins with `coin` (n), which must outlive the log. The log must not be moved. */
void spec_round_log_init(spec_round_log *log, spec_decoder *decoder, const double *coin, int n,
                         gsl_rng *rng);
void spec_round_log_free(spec_round_log *log);

/* Forgets the last round and runs the next one. Returns what spec_decoder_round returns, or
 * GSL_ENOMEM. */
int spec_round_log_next(spec_round_log *log, spec_error *error);

#endif
