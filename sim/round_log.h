/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round_log: rounds of a decoder, one by one, with every random decision of the last one.
 * Its uniform numbers are given coins, then those of a generator. It borrows the decoder and the
 * generator, and owns the decisions. */
#ifndef SPECLAB_ROUND_LOG_H
#define SPECLAB_ROUND_LOG_H

#include "sim/decision_role.h"
#include "sim/decode.h"

typedef struct {
    spec_decoder *decoder;
    spec_report report; /* its `used` counts the coins of all rounds */
    spec_told *told;    /* (n) of the last round */
    int n, capacity;
    bool lost; /* memory ran out for a decision */
} spec_round_log;

/* Begin with `coin` (n), which must outlive the log. The log must not be moved. */
void spec_round_log_init(spec_round_log *log, spec_decoder *decoder, const double *coin, int n,
                         gsl_rng *rng);
void spec_round_log_free(spec_round_log *log);

/* Forget the last round, and run the next one: as spec_decoder_round, or GSL_ENOMEM. */
int spec_round_log_next(spec_round_log *log, spec_error *error);

#endif
