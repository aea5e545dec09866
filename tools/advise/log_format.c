/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "base/names.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define LINE(name) &spec_reader_##name,
const spec_log_format *const spec_log_formats[] = {SPEC_READERS(LINE) NULL};

int spec_log_format_check(const char *name, const spec_log_format *const *table, spec_error *error)
{
    const char *names[2 * SPEC_LOG_FORMATS + 1], *const asked[] = {name, NULL};
    int n = 0;
    for (; *table != NULL && n < 2 * SPEC_LOG_FORMATS; table++) {
        names[n++] = (*table)->name;
        names[n++] = (*table)->engine;
    }
    names[n] = NULL;
    return spec_names_check(asked, names, "engine or format of logs",
                            "; 'speclab list logs' lists them", error);
}

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

int spec_log_hand_over(const spec_log_record *record, const spec_observation *observation,
                       spec_error *error)
{
    return record->observer->take(record->observer->self, observation, error);
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

/* ---- # time SECONDS -------------------------------------------------------------------------- */

bool spec_log_time_comment(double *ret_seconds, const char *bytes, size_t n)
{
    static const char begin[] = "# time ", blanks[] = " \t\r", digits[] = "0123456789";
    static const double MOST = 1e11; /* more must be milliseconds; seconds reach this in 5138 */
    double value = 0.0, unit = 1.0;
    if (n < sizeof begin || memcmp(bytes, begin, sizeof begin - 1) != 0) return false;
    const char *word = bytes + sizeof begin - 1;
    word += strspn(word, blanks);
    const size_t length = strcspn(word, blanks), whole = strspn(word, digits);
    if (*word == '\0' || strchr("+-.0123456789", *word) == NULL) return false;
    if (word[length + strspn(word + length, blanks)] != '\0') return false;
    const size_t fraction = word[whole] == '.' ? strspn(word + whole + 1, digits) : 0;
    for (size_t i = 0; i < whole + 1 + fraction; i++) {
        if (i == whole || !(unit < 1e9)) continue;
        value = 10.0 * value + (word[i] - '0');
        if (i > whole) unit *= 10.0;
    }
    value /= unit;
    const bool number = whole > 0 && length == whole + (fraction > 0 ? 1 + fraction : 0);
    *ret_seconds = number && value > 0.0 && value < MOST ? value : NAN;
    return true;
}
