/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_facts: facts of an advice from a few counts, for tests of its report and diagnoses.
 * They have one run with one cluster, and the advice's numbers for its K. Headers only. */
#ifndef SPECLAB_TESTS_ADVICE_FACTS_H
#define SPECLAB_TESTS_ADVICE_FACTS_H

#include "experiments/report/say.h"
#include "tests/support/near.h"
#include "tools/advise/advice_report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_advice advice;
    spec_observed_sums evidence;
    spec_observed_series series[4];
    double column[4][SPEC_SUM_COLUMNS];
    spec_log_format format;
    spec_diagnosis_source source;
    spec_counter_differences counters;
    spec_diagnosis_facts facts;
} advice_facts;

static const char *const advice_facts_generations[] = {"0.4 to 0.8 (V0)", "since 0.10.2", NULL};

static inline spec_cluster_ratio advice_facts_ratio(double value, double low, double high)
{
    return (spec_cluster_ratio){value, 0.25 * (high - low), 10.0, low, high, 2.1};
}

static const spec_cluster_ratio advice_facts_unknown = {NAN, NAN, NAN, NAN, NAN, NAN};

/* Adds a run of K with D rounds, of which passed[j] accepted depth j + 1. */
static inline void advice_facts_run(advice_facts *f, int K, double D, const double *passed,
                                    int depths)
{
    const size_t s = f->evidence.n++;
    double *column = f->column[s];
    f->series[s] =
        (spec_observed_series){.K = K, .label = 1, .depths = depths, .n = 1, .column = column};
    column[SPEC_SUM_ROUNDS] = column[SPEC_SUM_PASSES] = D;
    column[SPEC_SUM_DEPTH_ROUNDS] = depths > 0 ? D : 0.0;
    column[SPEC_SUM_DRAFTED] = K * D;
    for (int j = 0; j < depths; j++) {
        column[SPEC_SUM_PASSED + j] = passed[j];
        column[SPEC_SUM_ACCEPTED] += passed[j];
    }
    column[SPEC_SUM_EMITTED] = D + column[SPEC_SUM_ACCEPTED];
    f->evidence.observations++;
}

/* Makes the advice on one run: lengths 0 to K, where each shorter length is cut from it; no times
 * are known. */
static inline void advice_facts_make(advice_facts *f, const char *engine, int K, double D,
                                     const double *passed)
{
    double tested = D, accepted = 0.0, tokens = 1.0;
    memset(f, 0, sizeof *f);
    f->evidence.series = f->series;
    advice_facts_run(f, K, D, passed, K);
    f->format = (spec_log_format){.name = "a-log",
                                  .engine = engine,
                                  .summary = "its log",
                                  .generations = advice_facts_generations};
    f->source.path = "server.log";
    f->source.summary = (spec_log_summary){
        .format = &f->format, .learned = {.generation = 1}, .records = 7, .observations = 5};
    f->advice = (spec_advice){.K = K,
                              .n = K + 1,
                              .without_longest = advice_facts_unknown,
                              .longest_share = NAN,
                              .mixture_z = NAN,
                              .drift = {.p = 1.0},
                              .plain_seconds = NAN,
                              .break_even = NAN,
                              .verdict = SPEC_ADVICE_MEASURE,
                              .to_K = 0,
                              .gain = {NAN, NAN, NAN, NAN},
                              .running = NAN,
                              .plain_running = NAN,
                              .loss = NAN};
    for (int k = 0; k <= K; k++) {
        spec_advice_length *length = &f->advice.length[k];
        if (k > 0) tokens += passed[k - 1] / D;
        *length =
            (spec_advice_length){.K = k,
                                 .source = k == K ? SPEC_ADVICE_MEASURED : SPEC_ADVICE_WITHIN,
                                 .tokens = advice_facts_ratio(tokens, tokens - 0.02, tokens + 0.02),
                                 .alpha = advice_facts_unknown,
                                 .conditional = advice_facts_unknown,
                                 .round_over_plain = {NAN, NAN, NAN, NAN},
                                 .speedup = {NAN, NAN, NAN, NAN}};
        if (k > 0) {
            const double c = passed[k - 1] / (k > 1 ? passed[k - 2] : D);
            length->conditional = advice_facts_ratio(c, c - 0.01, c + 0.01);
            accepted += passed[k - 1];
            if (k < K) tested += passed[k - 1];
        }
    }
    f->advice.length[K].rounds = D;
    f->advice.length[K].drafted = K * D;
    f->advice.length[K].accepted = accepted;
    f->advice.accepted_over_drafted = accepted / (K * D);
    f->advice.alpha = f->advice.length[K].alpha =
        advice_facts_ratio(accepted / tested, accepted / tested - 0.03, accepted / tested + 0.03);
    f->facts = (spec_diagnosis_facts){.advice = &f->advice,
                                      .evidence = &f->evidence,
                                      .read = &f->source.summary,
                                      .counters = &f->counters,
                                      .source = &f->source,
                                      .n_sources = 1};
}

#endif
