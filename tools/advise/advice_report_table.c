/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of an advice. */
#include "speclab/no_memory.h"
#include "tools/advise/advice_report.h"

#include <gsl/gsl_errno.h>
#include <math.h>

const char *const spec_advice_columns[] = {"engine",
                                           "batch_from",
                                           "batch_to",
                                           "K",
                                           "known_from",
                                           "rounds",
                                           "drafted",
                                           "accepted",
                                           "accepted_over_drafted",
                                           "alpha_tested",
                                           "alpha_tested_low",
                                           "alpha_tested_high",
                                           "design_effect",
                                           "conditional",
                                           "conditional_low",
                                           "conditional_high",
                                           "tokens_per_round",
                                           "tokens_per_round_low",
                                           "tokens_per_round_high",
                                           "round_over_plain",
                                           "round_over_plain_low",
                                           "round_over_plain_high",
                                           "speedup",
                                           "speedup_low",
                                           "speedup_high",
                                           "best",
                                           "answer",
                                           NULL};

/* Returns NaN for the 0 of a run that did not happen, so that its cell stays empty. */
static double seen(double count)
{
    return count > 0.0 ? count : NAN;
}

#define PUT(table, name, interval)                                                                 \
    spec_table_interval(table, name, (interval).value, (interval).low, (interval).high)

const char *spec_advice_known_from(const spec_advice *advice, const spec_advice_length *length)
{
    static const char *const sources[] = {"run", "shorter", "longer"};
    if (length->K > 0) return sources[length->source];
    if (isnan(advice->plain_seconds)) return advice->over_plain ? "given" : "not run";
    return advice->plain_given ? "given" : "run";
}

static void put_length(spec_table *table, const spec_advice *advice,
                       const spec_advice_length *length)
{
    spec_table_integer(table, "K", length->K);
    spec_table_text(table, "known_from", spec_advice_known_from(advice, length));
    spec_table_number(table, "rounds", seen(length->rounds));
    spec_table_number(table, "drafted", seen(length->drafted));
    spec_table_number(table, "accepted", length->drafted > 0.0 ? length->accepted : NAN);
    spec_table_number(table, "accepted_over_drafted",
                      length->drafted > 0.0 ? length->accepted / length->drafted : NAN);
    PUT(table, "alpha_tested", length->alpha);
    spec_table_number(table, "design_effect", length->alpha.design_effect);
    PUT(table, "conditional", length->conditional);
    PUT(table, "tokens_per_round", length->tokens);
    PUT(table, "round_over_plain", length->round_over_plain);
    PUT(table, "speedup", length->speedup);
    spec_table_integer(table, "best", length->best);
}

/* Returns the verdict on the lengths that ran in a range of batches. */
static spec_advice_verdict verdict_of(const spec_advice *advice, const spec_advice_batch *batch)
{
    if (!batch->decided) return SPEC_ADVICE_MEASURE;
    if (batch->K == 0) return SPEC_ADVICE_OFF;
    return batch->K == advice->K ? SPEC_ADVICE_KEEP : SPEC_ADVICE_CHANGE;
}

int spec_advice_report_table(spec_table *table, const spec_diagnosis_facts *facts,
                             spec_error *error)
{
    const spec_advice *advice = facts->advice;
    const char *engine =
        facts->read != NULL && facts->read->format != NULL ? facts->read->format->engine : "";
    int n = 0, status = GSL_SUCCESS;
    while (spec_advice_columns[n] != NULL) n++;
    if (spec_table_init(table, spec_advice_columns, n) != GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < advice->n; i++) {
        const spec_advice_length *length = &advice->length[i];
        spec_table_text(table, "engine", engine);
        put_length(table, advice, length);
        spec_table_text(table, "answer",
                        length->K == spec_advice_report_K(advice)
                            ? spec_advice_verdict_name(advice->verdict)
                            : "");
        spec_table_append(table);
    }
    for (int i = 0; i < advice->n_batches && advice->n_batches > 1; i++) {
        const spec_advice_batch *batch = &advice->batch[i];
        spec_table_text(table, "engine", engine);
        spec_table_integer(table, "batch_from", batch->from);
        if (batch->to >= 0) spec_table_integer(table, "batch_to", batch->to);
        spec_table_integer(table, "K", batch->K);
        PUT(table, "speedup", batch->speedup);
        spec_table_text(table, "answer", spec_advice_verdict_name(verdict_of(advice, batch)));
        spec_table_append(table);
    }
    if (table->lost) SPEC_TRY(spec_no_memory(error));
done:
    return status;
}
