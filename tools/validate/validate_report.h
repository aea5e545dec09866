/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_report: the verdict as text, JSON, a table and JUnit XML.
 * Foreign names are cleaned before they are written. With a budget in draws, every run writes the
 * same bytes, because seconds appear only if the budget was in seconds. docs/formats.md describes
 * JSON and XML. */
#ifndef SPECLAB_VALIDATE_REPORT_H
#define SPECLAB_VALIDATE_REPORT_H

#include "base/table.h"
#include "tools/validate/validate.h"

/* Each of these writes a whole report. Returns GSL_ENOMEM if out of memory, or GSL_EFAILED with the
 * reason from errno (full disk, closed pipe). */
int spec_validate_report_text(const spec_validation *validation, FILE *out, spec_error *error);
/* The same for a terminal of this width: the table of fixtures leaves out columns until its rows
 * fit, and says so. 0: it has all of them. */
int spec_validate_report_page(const spec_validation *validation, int columns, FILE *out,
                              spec_error *error);
int spec_validate_report_json(const spec_validation *validation, FILE *out, spec_error *error);
int spec_validate_report_junit(const spec_validation *validation, FILE *out, spec_error *error);

/* Makes a table with a row for each fixture, scope and test, and one for each fixture that was not
 * run. The caller frees it. */
int spec_validate_report_table(spec_table *ret, const spec_validation *validation,
                               spec_error *error);

/* Makes a table of the reproducer's frequencies, with a row for each token shown, for the figure
 * "conformance". The validation must have a reproducer. */
int spec_validate_report_seen(spec_table *ret, const spec_validation *validation,
                              spec_error *error);

/* Writes the verdict and its reason: the first lines of the text. */
void spec_validate_report_verdict(const spec_validation *validation, FILE *out);

/* ---- parts of reports ------------------------------------------------------------------------ */

/* The reason given for a late result. */
extern const char spec_validate_report_late[];

/* Returns "V", "DV" or "S". */
const char *spec_validate_report_scope(uint32_t scope);

/* Writes the reproducer as text, in lines of at most 120 columns; nothing if there is none. Returns
 * false if out of memory. */
bool spec_validate_report_reproducer(const spec_validation *validation, FILE *out);

/* Writes the detectable TV for each kind of token, and says which kinds have no guarantee. */
void spec_validate_report_power(const spec_validation *validation, FILE *out);

/* Write which combinations of two values were tested, as text; and count them for a scope:
 * opt_missed (n_missed) gets the first ones that were not. */
void spec_validate_report_pairs(const spec_validation *validation, FILE *out);
spec_design_count spec_validate_report_count(const spec_validation *validation, uint32_t scope,
                                             spec_design_pair *opt_missed, int n_missed);

/* Returns how many pairs were not tested only because calls took too long, and one of them in
 * words; its text is empty if there are none. */
int spec_validate_report_late_pairs(const spec_validation *validation, char example[], size_t size);

/* Returns how many of the round's emitted tokens can be shown; samplers may report any number. */
int spec_validate_report_emitted(const spec_reproducer *reproducer);

/* Returns whether a test over all fixtures together failed, but no fixture by itself. */
bool spec_validate_report_is_together(const spec_validation *validation);

/* Returns the shell command that runs this fixture and scope again or, if opt_result is NULL, the
 * test over all fixtures. The caller frees the text; NULL if out of memory. */
char *spec_validate_report_command(const spec_validation *validation,
                                   const spec_validate_result *opt_result);

/* Formats exp(log_e), even beyond the range of a double. */
enum { SPEC_VALIDATE_NUMBER = 32, SPEC_VALIDATE_NAME = 1024 };
const char *spec_validate_report_e(char buffer[SPEC_VALIDATE_NUMBER], double log_e);

/* Copies `text` as UTF-8 without control characters; other bytes become '?'. Truncates it to the
 * buffer. */
const char *spec_validate_report_clean(char buffer[SPEC_VALIDATE_NAME], const char *text);

#endif
