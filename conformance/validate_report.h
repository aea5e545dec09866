/* validate_report: a verdict, for people (text), for programs (JSON, a table) and for CI systems (JUnit XML).
 * Names come from outside and are cleaned before they are written. For a budget in draws the bytes are the same on
 * every run: seconds are told only where the budget was in seconds. docs/formats.md describes JSON and XML. */
#ifndef SPECLAB_VALIDATE_REPORT_H
#define SPECLAB_VALIDATE_REPORT_H

#include "conformance/validate.h"
#include "base/table.h"

/* Each writes all of it. GSL_ENOMEM; GSL_EFAILED with errno's reason (full disk, closed pipe). */
int spec_validate_report_text(const spec_validation *validation, FILE *out, spec_error *error);
int spec_validate_report_json(const spec_validation *validation, FILE *out, spec_error *error);
int spec_validate_report_junit(const spec_validation *validation, FILE *out, spec_error *error);

/* A row for each fixture, scope and test, and one for each fixture that was not run. The caller frees the table. */
int spec_validate_report_table(spec_table *ret, const spec_validation *validation, spec_error *error);

/* The reproducer's frequencies, a row for each token shown, with the figure "conformance" in the provenance. There is a
 * reproducer. */
int spec_validate_report_seen(spec_table *ret, const spec_validation *validation, spec_error *error);

/* ---- pieces, for those who write reports ------------------------------------------------------------------------- */

/* "V", "DV", "S". */
const char *spec_validate_report_scope(uint32_t scope);

/* The reproducer as text, lines of at most 120 columns; nothing where there is none. */
void spec_validate_report_reproducer(const spec_validation *validation, FILE *out);

/* How many of the round's emitted tokens there are to be shown: the sampler may have told any number. */
int spec_validate_report_emitted(const spec_reproducer *reproducer);

/* The command that runs this fixture and scope again, for a shell, into a text that the caller frees; NULL: out of
 * memory. */
char *spec_validate_report_command(const spec_validation *validation, const spec_validate_result *result);

/* exp(log_e), also where no double holds it. */
enum { SPEC_VALIDATE_NUMBER = 32, SPEC_VALIDATE_NAME = 1024 };
const char *spec_validate_report_e(char buffer[SPEC_VALIDATE_NUMBER], double log_e);

/* `text` as UTF-8 without control characters: what is neither becomes '?'; cut where the buffer ends. */
const char *spec_validate_report_clean(char buffer[SPEC_VALIDATE_NAME], const char *text);

#endif
