/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_report: the verdict as text, JSON, a table and JUnit XML.
 * Names from outside are cleaned before they are written. For a budget in draws every run writes
 * the same bytes: seconds appear only if the budget was in seconds. docs/formats.md describes JSON
 * and XML. */
#ifndef SPECLAB_VALIDATE_REPORT_H
#define SPECLAB_VALIDATE_REPORT_H

#include "base/table.h"
#include "conformance/validate.h"

/* Each writes a whole report. GSL_ENOMEM; GSL_EFAILED with the reason of errno (full disk, closed
 * pipe). */
int spec_validate_report_text(const spec_validation *validation, FILE *out, spec_error *error);
/* The same for a terminal of that width: the table of fixtures leaves out columns until its
 * rows fit, and says so. 0: it has all. */
int spec_validate_report_page(const spec_validation *validation, int columns, FILE *out,
                              spec_error *error);
int spec_validate_report_json(const spec_validation *validation, FILE *out, spec_error *error);
int spec_validate_report_junit(const spec_validation *validation, FILE *out, spec_error *error);

/* A row for each fixture, scope and test, and one for each fixture that was not run. The caller
 * frees the table. */
int spec_validate_report_table(spec_table *ret, const spec_validation *validation,
                               spec_error *error);

/* The frequencies of the reproducer, a row for each token shown, for the figure "conformance". The
 * validation must have a reproducer. */
int spec_validate_report_seen(spec_table *ret, const spec_validation *validation,
                              spec_error *error);

/* The verdict and its reason: the first lines of the text. */
void spec_validate_report_verdict(const spec_validation *validation, FILE *out);

/* ---- parts of reports ------------------------------------------------------------------------ */

/* The reason for a late result. */
extern const char spec_validate_report_late[];

/* "V", "DV", "S". */
const char *spec_validate_report_scope(uint32_t scope);

/* The reproducer as text, in lines of at most 120 columns; nothing if there is none. False: out of
 * memory. */
bool spec_validate_report_reproducer(const spec_validation *validation, FILE *out);

/* The detectable TV of each place as text, and the places without a guarantee. */
void spec_validate_report_power(const spec_validation *validation, FILE *out);

/* Which combinations of two values were tested, as text; and in numbers for a scope: of those that
 * were not, opt_missed (n_missed) gets the first. */
void spec_validate_report_pairs(const spec_validation *validation, FILE *out);
spec_design_count spec_validate_report_count(const spec_validation *validation, uint32_t scope,
                                             spec_design_pair *opt_missed, int n_missed);

/* How many pairs were not tested only because calls took too long, and one of them in words; its
 * text is empty if there are none. */
int spec_validate_report_late_pairs(const spec_validation *validation, char example[], size_t size);

/* How many emitted tokens of the round can be shown: the sampler may have reported any number. */
int spec_validate_report_emitted(const spec_reproducer *reproducer);

/* Did a test over all fixtures together fail, and no fixture by itself? */
bool spec_validate_report_is_together(const spec_validation *validation);

/* The shell command that runs this fixture and scope again, or without one the test over all
 * fixtures. The caller frees the text; NULL: out of memory. */
char *spec_validate_report_command(const spec_validation *validation,
                                   const spec_validate_result *opt_result);

/* Formats exp(log_e), also beyond the range of a double. */
enum { SPEC_VALIDATE_NUMBER = 32, SPEC_VALIDATE_NAME = 1024 };
const char *spec_validate_report_e(char buffer[SPEC_VALIDATE_NUMBER], double log_e);

/* Copies `text` as UTF-8 without control characters: all other bytes become '?'; truncated to the
 * buffer. */
const char *spec_validate_report_clean(char buffer[SPEC_VALIDATE_NAME], const char *text);

#endif
