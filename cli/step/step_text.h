/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_text: what the parts of a page of step share: the round, names, numbers and wrapped lines.
 */
#ifndef SPECLAB_STEP_TEXT_H
#define SPECLAB_STEP_TEXT_H

#include "cli/step/token_names.h"
#include "sim/round_log.h"

#include <stdio.h>

/* Columns of a page, of labels before lines, of names in tables, and of numbers in tables. */
enum { SPEC_STEP_COLUMNS = 80, SPEC_STEP_LABEL = 12, SPEC_STEP_NAME = 16, SPEC_STEP_NUMBER = 9 };

/* A round and how to show it. Borrows everything. */
typedef struct {
    const spec_round_log *log;     /* its last round is shown */
    const spec_token_names *names; /* its `utf8` also decides how bars are drawn */
    int top; /* maximum tokens of a row to show, not counting draft and emitted ones */
} spec_step_view;

/* A paragraph being written; text that does not fit is cut off. */
enum { SPEC_STEP_LINE = 4096 };

typedef struct {
    char text[SPEC_STEP_LINE];
    size_t n;
} spec_step_line;

__attribute__((format(printf, 2, 3))) void spec_step_text_add(spec_step_line *to,
                                                              const char *format, ...);
void spec_step_text_add_token(spec_step_line *to, const spec_step_view *view, int token);

/* Writes the paragraph after its label, in lines of SPEC_STEP_COLUMNS. */
void spec_step_text_write(FILE *out, const char *label, const spec_step_line *text);

/* Writes a token's name, or a text, in its column of a table. */
void spec_step_text_name(FILE *out, const char *name);
void spec_step_text_token(FILE *out, const spec_step_view *view, int token);

/* Formats a number with three digits; "" for NaN. */
enum { SPEC_STEP_NUMBER_SIZE = 16 };
const char *spec_step_text_number(char buffer[SPEC_STEP_NUMBER_SIZE], double value);

#endif
