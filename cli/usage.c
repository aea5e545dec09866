/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/usage.h"

#include "base/escape.h"
#include "base/progress.h"
#include "cli/page.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static void write_line(char line[LINE_MAX_BYTES], const char *verb, const char *format,
                       va_list args)
{
    const int n = snprintf(line, LINE_MAX_BYTES, "%.60s: ", verb);
    vsnprintf(line + n, LINE_MAX_BYTES - (size_t)n, format, args);
    if (line[n] == '\0') /* what fails without a word has no memory */
        snprintf(line + n, LINE_MAX_BYTES - (size_t)n, "out of memory");
    spec_escape_in_place(line);
    spec_progress_clear();
}

static void say(const char *verb, const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    if (spec_stop == SIGPIPE) return; /* its reader has gone */
    write_line(line, verb, format, args);
    fprintf(stderr, "%s\n", line);
}

void spec_usage_say(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb, format, args);
    va_end(args);
}

static void tell(const char *verb, const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    write_line(line, verb, format, args);
    spec_page_write(line, spec_page_columns(STDERR_FILENO), stderr);
    fputc('\n', stderr);
}

void spec_usage_tell(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(verb, format, args);
    va_end(args);
}

void spec_usage_note(const char *verb, const char *format, ...)
{
    va_list args;
    if (!isatty(STDERR_FILENO)) return;
    va_start(args, format);
    tell(verb, format, args);
    va_end(args);
}

void spec_usage_fail(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb, format, args);
    va_end(args);
    exit(spec_stop_code(SPEC_EXIT_USAGE));
}

void spec_usage_no_memory(const char *verb)
{
    spec_usage_fail(verb, "out of memory");
}
