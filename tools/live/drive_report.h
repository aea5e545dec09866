/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drive_report: a measurement of a server as sentences, and as a table with a row per draft length.
 * The first sentence is the answer. Every sentence is written from the numbers. */
#ifndef SPECLAB_DRIVE_REPORT_H
#define SPECLAB_DRIVE_REPORT_H

#include "base/table.h"
#include "tools/live/drive_numbers.h"

extern const char *const spec_drive_columns[]; /* NULL-terminated */

/* Fills the table: rows of all prompts by concurrency and K, then rows by category. Its provenance
 * says what was measured. Returns GSL_ENOMEM. */
int spec_drive_report_table(spec_table *ret, const spec_drive_numbers *numbers,
                            const spec_drive_result *result, const spec_drive_plan *plan,
                            spec_error *error);

/* Writes the text. Returns GSL_ENOMEM. */
int spec_drive_report(FILE *out, const spec_drive_numbers *numbers, const spec_drive_result *result,
                      const spec_drive_plan *plan, spec_error *error);

#endif
