/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_report: an advice as sentences, and as a table with a row per draft length.
 * The first sentence is the answer; the setting to paste, the evidence and the diagnoses follow.
 * Every sentence is written from the numbers. */
#ifndef SPECLAB_ADVICE_REPORT_H
#define SPECLAB_ADVICE_REPORT_H

#include "base/table.h"
#include "sim/acceptance_profile.h"
#include "tools/advise/diagnosis.h"
#include "tools/advise/engine_settings.h"

extern const char *const spec_advice_columns[]; /* NULL-terminated */

/* Returns the name of a verdict in the column `answer`: keep, change, off, measure, nothing. */
const char *spec_advice_verdict_name(spec_advice_verdict verdict);

/* Returns where the numbers for a length come from: run, shorter or longer; for K = 0 run, given or
 * "not run". */
const char *spec_advice_known_from(const spec_advice *advice, const spec_advice_length *length);

/* Writes the answer in one sentence. */
void spec_advice_report_answer(spec_sentences ret, const spec_diagnosis_facts *facts);

/* Returns the length whose setting is shown: the current one, the new one, or the one to run; -1 if
 * there is none. */
int spec_advice_report_K(const spec_advice *advice);

/* Writes the setting for that length, ready to paste; "" if there is none, or if something must be
 * fixed before a run. */
void spec_advice_report_setting(spec_sentences ret, const spec_diagnosis_facts *facts);

/* Writes the text, wrapped to `columns` >= 20 (0: not wrapped); settings are never wrapped. Returns
 * GSL_ENOMEM. */
int spec_advice_report_write(FILE *out, const spec_diagnosis_facts *facts, int columns,
                             spec_error *error);

/* Returns whether any diagnosis says that something is wrong. */
bool spec_advice_report_wrong(const spec_diagnosis_facts *facts);

/* Initialises the table, with one row per draft length (batch_from empty), then one per range of
 * batches if they have several lengths. Returns GSL_ENOMEM. */
int spec_advice_report_table(spec_table *table, const spec_diagnosis_facts *facts,
                             spec_error *error);

/* Fills the acceptance behind the advice, at the current draft length and over all batches. If a
 * draft ended early, we treat its next token as rejected, so a round has at most K tests. The
 * caller frees the profile even after a failure. Without acceptance by depth it assumes one rate
 * for all depths, which gives the mean length. Returns GSL_EUNSUP if no round was seen; GSL_EINVAL
 * if more rounds accept a depth than the previous one; GSL_ENOMEM. */
int spec_advice_profile(spec_acceptance_profile *profile, const spec_diagnosis_facts *facts,
                        double error_rate, spec_error *error);

#endif
