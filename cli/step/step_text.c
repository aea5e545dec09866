/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/step/step_text.h"

#include "base/text_width.h"

#include <math.h>
#include <stdarg.h>

void spec_step_text_add(spec_step_line *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(to->text + to->n, SPEC_STEP_LINE - to->n, format, args);
    va_end(args);
    if (n > 0) to->n = to->n + (size_t)n < SPEC_STEP_LINE ? to->n + (size_t)n : SPEC_STEP_LINE - 1;
}

void spec_step_text_add_token(spec_step_line *to, const spec_step_view *view, int token)
{
    char buffer[SPEC_TOKEN_NAME_SIZE];
    spec_step_text_add(to, "%s", spec_token_names_of(view->names, token, buffer));
}

void spec_step_text_write(FILE *out, const char *label, const spec_step_line *text)
{
    fprintf(out, "  %-*s", SPEC_STEP_LABEL, label);
    spec_text_wrap(text->text, SPEC_STEP_COLUMNS - SPEC_STEP_LABEL - 2, SPEC_STEP_LABEL + 2, out);
    fputc('\n', out);
}

void spec_step_text_name(FILE *out, const char *name)
{
    char character[8];
    size_t n = 0, length;
    int width = 0;
    for (; name[n] != '\0'; n += length) {
        for (length = 1; (name[n + length] & 0xC0) == 0x80;) length++;
        snprintf(character, sizeof character, "%.*s", (int)length, name + n);
        const int columns = spec_text_width(character);
        if (width + columns > SPEC_STEP_NAME) break;
        width += columns;
    }
    fprintf(out, "%.*s%*s", (int)n, name, SPEC_STEP_NAME - width, "");
}

void spec_step_text_token(FILE *out, const spec_step_view *view, int token)
{
    char buffer[SPEC_TOKEN_NAME_SIZE];
    spec_step_text_name(out, spec_token_names_of(view->names, token, buffer));
}

const char *spec_step_text_number(char buffer[SPEC_STEP_NUMBER_SIZE], double value)
{
    snprintf(buffer, SPEC_STEP_NUMBER_SIZE, "%.3g", value);
    return isnan(value) ? "" : buffer;
}
