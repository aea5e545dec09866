/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/round_log.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static void hear(void *self, const spec_decision *decision)
{
    spec_round_log *log = self;
    if (log->n == log->capacity) {
        const int capacity = log->capacity > 0 ? 2 * log->capacity : 16;
        void *longer = realloc(log->told, (size_t)capacity * sizeof *log->told);
        log->lost = log->lost || longer == NULL;
        if (longer == NULL) return;
        log->told = longer;
        log->capacity = capacity;
    }
    spec_told told = {.decision = *decision, .drafting = log->decoder->target_row[0] == NULL};
    if (!decision->accepts) {
        const size_t bytes = (size_t)decision->n * sizeof(double);
        double *weight = malloc(bytes);
        log->lost = log->lost || weight == NULL;
        if (weight == NULL) return;
        memcpy(weight, decision->weight, bytes);
        told.decision.weight = weight;
    }
    log->told[log->n++] = told;
}

static void forget(spec_round_log *log)
{
    for (int i = 0; i < log->n; i++) free((double *)(uintptr_t)log->told[i].decision.weight);
    log->n = 0;
}

void spec_round_log_init(spec_round_log *log, spec_decoder *decoder, const double *coin, int n,
                         gsl_rng *rng)
{
    *log =
        (spec_round_log){.decoder = decoder,
                         .report = {.coin = coin, .n = n, .rng = rng, .tell = hear, .self = log}};
    spec_report_init(&log->report);
}

void spec_round_log_free(spec_round_log *log)
{
    forget(log);
    free(log->told);
    *log = (spec_round_log){.n = 0};
}

int spec_round_log_next(spec_round_log *log, spec_error *error)
{
    spec_decoder *const decoder = log->decoder;
    forget(log);
    decoder->target_row[0] = NULL; /* NULL until drafting has ended */
    const int status = spec_decoder_round(decoder, &log->report.chance, NULL, error);
    if (status != GSL_SUCCESS) return status;
    if (log->lost) return spec_no_memory(error);
    spec_decision_roles(log->told, log->n, &decoder->rule, &decoder->draft, decoder->target_row,
                        &decoder->round);
    return GSL_SUCCESS;
}
