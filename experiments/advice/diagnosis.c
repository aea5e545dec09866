/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/diagnosis.h"

#include "experiments/advice/engine_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const spec_diagnosis *const spec_diagnoses[] = {
    &spec_diagnosis_broken_identity,
    &spec_diagnosis_blind_draft,
    &spec_diagnosis_all_accepted,
    &spec_diagnosis_changed,
    &spec_diagnosis_drift,
    &spec_diagnosis_slow_rounds,
    &spec_diagnosis_short_drafts,
    &spec_diagnosis_trained_depth,
    &spec_diagnosis_lookup,
    &spec_diagnosis_accepted_over_drafted,
    &spec_diagnosis_per_position,
    &spec_diagnosis_sglang_rate,
    &spec_diagnosis_vllm_v0,
    &spec_diagnosis_restarts,
    &spec_diagnosis_many_sources,
    &spec_diagnosis_mixed_lengths,
    NULL,
};

static void add_series(spec_diagnosis_counts *counts, const spec_observed_series *series)
{
    const int K = series->K > series->depths ? series->K : series->depths;
    double rounds = 0.0, drafted = 0.0;
    for (size_t c = 0; c < series->n; c++) {
        const double *column = series->column + c * SPEC_SUM_COLUMNS;
        rounds += column[SPEC_SUM_DEPTH_ROUNDS];
        drafted += column[SPEC_SUM_DRAFTED];
        counts->rounds += column[SPEC_SUM_ROUNDS];
        counts->drafted += column[SPEC_SUM_DRAFTED];
        counts->accepted += column[SPEC_SUM_ACCEPTED];
        for (int j = 0; j < series->depths && j < SPEC_OBSERVED_DEPTHS; j++) {
            counts->tested[j] += column[j == 0 ? SPEC_SUM_DEPTH_ROUNDS : SPEC_SUM_PASSED + j - 1];
            counts->passed[j] += column[SPEC_SUM_PASSED + j];
        }
    }
    /* A draft that ends before depth j + 1 lacks at least K - j tokens. */
    for (int j = 0; j < series->depths && j < SPEC_OBSERVED_DEPTHS; j++)
        counts->short_of[j] += fmax(K * rounds - drafted, 0.0) / (K - j);
    if (series->depths > counts->depths) counts->depths = series->depths;
}

spec_diagnosis_counts spec_diagnosis_counts_of(const spec_diagnosis_facts *facts, int K)
{
    spec_diagnosis_counts counts = {0};
    for (size_t s = 0; s < facts->evidence->n; s++) {
        const spec_observed_series *series = &facts->evidence->series[s];
        if (series->K != 0 && (K < 0 || series->K == K)) add_series(&counts, series);
    }
    return counts;
}

const spec_advice_length *spec_diagnosis_length(const spec_diagnosis_facts *facts, int K)
{
    for (int i = 0; i < facts->advice->n; i++)
        if (facts->advice->length[i].K == K) return &facts->advice->length[i];
    return NULL;
}

bool spec_diagnosis_engine(const spec_diagnosis_facts *facts, const char *engine)
{
    return facts->read != NULL && facts->read->format != NULL &&
           strcmp(facts->read->format->engine, engine) == 0;
}

const char *spec_diagnosis_validate(spec_diagnosis_text text, const spec_diagnosis_facts *facts)
{
    const spec_engine *engine = spec_engine_of(facts->read);
    if (engine->validate != NULL)
        snprintf(text, SPEC_DIAGNOSIS_TEXT, "%s (docs/conformance.md#adapters)", engine->validate);
    else
        snprintf(text, SPEC_DIAGNOSIS_TEXT,
                 "speclab validate, with an adapter of your own (docs/conformance.md)");
    return text;
}
