/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/number_line.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void spec_number_line_put_count(FILE *out, uint64_t count)
{
    fprintf(out, "%" PRIu64 " ", count);
}

void spec_number_line_put_real(FILE *out, double real)
{
    if (isnan(real)) fputs("nan ", out); /* its sign means nothing */
    else fprintf(out, "%a ", real);
}

char *spec_number_line_take(spec_memory_text *text)
{
    size_t n;
    char *line = spec_memory_text_take(text, &n);
    if (line != NULL && n > 0) line[n - 1] = '\0';
    return line;
}

/* Moves past a number that ends at `end`, or fails if it is malformed. */
static void pass(spec_number_line *line, const char *end)
{
    if (end == line->at || (*end != ' ' && *end != '\0') || errno != 0)
        line->failed = true;
    else
        line->at = *end == ' ' ? end + 1 : end;
}

uint64_t spec_number_line_count(spec_number_line *line)
{
    char *end = NULL;
    if (*line->at < '0' || *line->at > '9') line->failed = true;
    if (line->failed) return 0;
    errno = 0;
    const uint64_t count = strtoull(line->at, &end, 10);
    pass(line, end);
    return line->failed ? 0 : count;
}

double spec_number_line_real(spec_number_line *line)
{
    char *end = NULL;
    const char *digits = line->at + (*line->at == '-');
    if (strncmp(digits, "0x", 2) != 0 && strncmp(digits, "inf", 3) != 0 &&
        strncmp(line->at, "nan", 3) != 0)
        line->failed = true;
    if (line->failed) return 0.0;
    errno = 0;
    const double real = strtod(line->at, &end);
    pass(line, end);
    return line->failed ? 0.0 : real;
}

bool spec_number_line_ended(const spec_number_line *line)
{
    return !line->failed && *line->at == '\0';
}
