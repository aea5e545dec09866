/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/log_format.h"

#include <stdarg.h>
#include <string.h>

int spec_log_bad(const spec_log_record *record, spec_error *error, const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return spec_fail(error, GSL_EINVAL, "%.150s:%llu: %s", record->file,
                     (unsigned long long)record->line, what);
}

const char *spec_log_find(const char *bytes, size_t n, const char *needle)
{
    return memmem(bytes, n, needle, strlen(needle));
}

uint64_t spec_log_label(const char *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
    return hash != 0 ? hash : 1;
}
