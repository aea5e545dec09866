/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_report: an advice as sentences, and as a table with a row per draft length.
 * The first sentence is the answer; the setting to paste, the evidence and the diagnoses follow.
 * Every sentence is written from the numbers. */
#ifndef SPECLAB_ADVICE_REPORT_H
#define SPECLAB_ADVICE_REPORT_H

#include "base/table.h"
#include "experiments/advice/diagnosis.h"
#include "experiments/advice/engine_settings.h"

extern const char *const spec_advice_columns[]; /* NULL-terminated */

/* The text, wrapped to `columns`. *ret_wrong: a diagnosis of something wrong applies. */
int spec_advice_report_write(FILE *out, bool *ret_wrong, const spec_diagnosis_facts *facts,
                             int columns);

/* Rows: one per draft length (batch empty), then one per range of batches. GSL_ENOMEM. */
int spec_advice_report_table(spec_table *table, const spec_diagnosis_facts *facts);

#endif
