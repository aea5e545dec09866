/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/log_scan.h"

#include <string.h>

static const double COUNT_MAX = 0x1p53; /* larger counts are not exact */
/* for arithmetic, in addition to the rounding of the text */
static const double SLACK = 1e-9;
enum { DECIMALS = 15, DIGITS = 15, SHOWN = 24 };

spec_log_scan spec_log_scan_of(const spec_log_record *record)
{
    return (spec_log_scan){record->bytes, record->bytes + record->n, record};
}

bool spec_log_scan_find(spec_log_scan *scan, const char *needle)
{
    const char *place = spec_log_find(scan->at, (size_t)(scan->end - scan->at), needle);
    if (place == NULL) return false;
    scan->at = place + strlen(needle);
    return true;
}

static const char *behind_blanks(const spec_log_scan *scan)
{
    const char *at = scan->at;
    while (at < scan->end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

void spec_log_scan_blanks(spec_log_scan *scan)
{
    scan->at = behind_blanks(scan);
}

bool spec_log_scan_word(spec_log_scan *scan, const char *word)
{
    const char *at = behind_blanks(scan);
    const size_t n = strlen(word);
    if ((size_t)(scan->end - at) < n || memcmp(at, word, n) != 0) return false;
    scan->at = at + n;
    return true;
}

/* Returns how many of the next bytes to show in a message. */
static int shown(const spec_log_scan *scan)
{
    const ptrdiff_t n = scan->end - scan->at;
    return n < SHOWN ? (int)n : SHOWN;
}

int spec_log_scan_expect(spec_log_scan *scan, const char *word, const char *name, spec_error *error)
{
    if (spec_log_scan_word(scan, word)) return GSL_SUCCESS;
    return spec_log_bad(scan->record, error, "%s: expected '%s', not '%.*s'", name, word,
                        shown(scan), scan->at);
}

static bool is_digit(const spec_log_scan *scan)
{
    return scan->at < scan->end && spec_log_scan_is_digit(*scan->at);
}

/* Checks that a number is not followed directly by a letter, a second point, or a comma with
 * digits. A point after a whole number may end a sentence. */
static int check_end(const spec_log_scan *scan, const char *begin, bool whole, const char *name,
                     spec_error *error)
{
    const char next = scan->at < scan->end ? *scan->at : '\0';
    const char after = next != '\0' ? scan->at[1] : '\0';
    const bool comma = next == ',' && spec_log_scan_is_digit(after);
    const bool point = next == '.' && !(whole && !spec_log_scan_is_digit(after));
    const bool glued =
        point || next == '_' || spec_log_scan_is_digit(next) || spec_log_scan_is_letter(next);
    const int n = (int)(scan->at - begin);
    if (comma)
        return spec_log_bad(scan->record, error,
                            "%s: expected a decimal point, not the comma of '%.*s,%c'; run the "
                            "engine with LC_ALL=C",
                            name, n < SHOWN ? n : SHOWN, begin, after);
    if (glued)
        return spec_log_bad(scan->record, error, "%s: expected the end of the number, not '%.*s'",
                            name, shown(scan), scan->at);
    return GSL_SUCCESS;
}

int spec_log_scan_count(double *ret, spec_log_scan *scan, const char *name, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = 0.0;
    scan->at = behind_blanks(scan);
    const char *begin = scan->at;
    double value = 0.0;
    if (!is_digit(scan))
        return spec_log_bad(scan->record, error, "%s: expected a whole number, not '%.*s'", name,
                            shown(scan), scan->at);
    for (; is_digit(scan); scan->at++) {
        value = 10.0 * value + (*scan->at - '0');
        if (value > COUNT_MAX)
            return spec_log_bad(scan->record, error, "%s: expected a number up to 2^53", name);
    }
    SPEC_TRY(check_end(scan, begin, true, name, error));
    *ret = value;
done:
    return status;
}

double spec_log_scan_half_unit(int decimals)
{
    double unit = 0.5;
    for (int i = 0; i < decimals; i++) unit /= 10.0;
    return unit;
}

bool spec_log_scan_differs(double printed, int decimals, double value)
{
    return fabs(printed - value) > spec_log_scan_half_unit(decimals) + SLACK;
}

int spec_log_scan_real(double *ret, int *opt_decimals, spec_log_scan *scan, const char *name,
                       spec_error *error)
{
    int status = GSL_SUCCESS, whole = 0, decimals = 0;
    uint64_t digits = 0; /* digits of the number, without its point */
    double scale = 1.0;
    *ret = 0.0;
    if (opt_decimals != NULL) *opt_decimals = 0;
    scan->at = behind_blanks(scan);
    const char *begin = scan->at;
    for (; is_digit(scan) && whole <= DIGITS; scan->at++, whole++)
        digits = 10 * digits + (uint64_t)(*scan->at - '0');
    if (whole == 0 || whole > DIGITS)
        return spec_log_bad(scan->record, error, "%s: expected a number%s, not '%.*s'", name,
                            whole == 0 ? "" : " below 1e15",
                            SHOWN < scan->end - begin ? SHOWN : (int)(scan->end - begin), begin);
    if (scan->end - scan->at >= 2 && scan->at[0] == '.' && spec_log_scan_is_digit(scan->at[1])) {
        for (scan->at++; is_digit(scan); scan->at++) {
            /* Skip digits after the 15th significant one; they change nothing. */
            if (whole + decimals >= DIGITS && digits > 0) continue;
            if (decimals >= DECIMALS) continue;
            digits = 10 * digits + (uint64_t)(*scan->at - '0');
            scale *= 10.0;
            decimals++;
        }
    }
    SPEC_TRY(check_end(scan, begin, false, name, error));
    *ret = (double)digits / scale; /* both are exact, so we round once */
    if (opt_decimals != NULL) *opt_decimals = decimals;
done:
    return status;
}
