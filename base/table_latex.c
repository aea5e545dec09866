/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/table.h"

#include "base/escape.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 40 };

/* Returns the digits after the decimal point; -1 if the text has an exponent or is not a number. */
static int fraction_digits(const char *number)
{
    if (strspn(number, "-0123456789.") != strlen(number)) return -1;
    const char *point = strchr(number, '.');
    return point != NULL ? (int)strlen(point + 1) : 0;
}

/* Writes a number in math mode, so that its minus is typeset as one, padded on the right to
 * `digits` decimals for alignment. */
static void write_number(const char *number, int digits, FILE *out)
{
    const size_t mantissa = strcspn(number, "e");
    const bool finite = strpbrk(number, "0123456789") != NULL;
    fputc('$', out);
    if (!finite) fputs(number[0] == '-' ? "-\\infty" : "\\infty", out);
    else fwrite(number, 1, mantissa, out);
    if (finite && number[mantissa] == 'e')
        fprintf(out, "\\times 10^{%ld}", strtol(number + mantissa + 1, NULL, 10));
    fputc('$', out);
    const int own = fraction_digits(number);
    if (digits <= 0 || own < 0 || own == digits) return;
    fputs(own == 0 ? "\\phantom{." : "\\phantom{", out);
    for (int i = own; i < digits; i++) fputc('0', out);
    fputc('}', out);
}

static void write_provenance(const char *line, FILE *out)
{
    for (; *line != '\0'; line += *line == '\n') {
        const size_t n = strcspn(line, "\n");
        fputs("% ", out);
        spec_escape_line(out, line, n);
        fputc('\n', out);
        line += n;
    }
}

/* Returns whether a column holds texts. *ret_digits is the most decimals of its numbers, or 0 if
 * one of them has an exponent, in which case the points are not aligned. */
static bool look_at(int *ret_digits, const spec_table *table, int c)
{
    bool text = false, lined = true;
    char buffer[NUMBER_SIZE];
    *ret_digits = 0;
    for (size_t r = 0; r < table->n_rows; r++) {
        const spec_cell *cell = spec_table_cell(table, r, c);
        text = text || cell->kind == SPEC_CELL_TEXT;
        if (cell->kind != SPEC_CELL_NUMBER && cell->kind != SPEC_CELL_INTEGER) continue;
        const int digits = fraction_digits(
            spec_table_shown(table, r, c, SPEC_FORMAT_LATEX, buffer, sizeof buffer));
        if (digits > *ret_digits) *ret_digits = digits;
        lined = lined && (digits >= 0 || !isfinite(spec_cell_number(cell)));
    }
    if (!lined) *ret_digits = 0;
    return text;
}

int spec_table_write_latex(const spec_table *table, FILE *out)
{
    char buffer[NUMBER_SIZE];
    int *digits = calloc((size_t)table->n_columns, sizeof *digits);
    if (digits == NULL) return GSL_ENOMEM;
    write_provenance(table->provenance, out);
    fputs("% \\usepackage{booktabs}\n\\begin{tabular}{", out);
    for (int c = 0; c < table->n_columns; c++)
        fputc(look_at(&digits[c], table, c) ? 'l' : 'r', out);
    fputs("}\n\\toprule\n", out);
    for (int c = 0; c < table->n_columns; c++) {
        if (c > 0) fputs(" & ", out);
        spec_escape_latex(out, table->column[c]);
    }
    fputs(" \\\\\n\\midrule\n", out);
    for (size_t r = 0; r < table->n_rows; r++) {
        for (int c = 0; c < table->n_columns; c++) {
            const spec_cell *cell = spec_table_cell(table, r, c);
            const char *text =
                spec_table_shown(table, r, c, SPEC_FORMAT_LATEX, buffer, sizeof buffer);
            if (c > 0) fputs(" & ", out);
            if (cell->kind == SPEC_CELL_TEXT)
                spec_escape_latex(out, text);
            else if (cell->kind != SPEC_CELL_EMPTY) write_number(text, digits[c], out);
        }
        fputs(" \\\\\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", out);
    free(digits);
    return GSL_SUCCESS;
}
