/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/log_fields.h"

#include <math.h>
#include <stdbool.h>
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
    SPEC_PASS(check_end(scan, begin, true, name, error));
    *ret = value;
    return GSL_SUCCESS;
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
    int whole = 0, decimals = 0;
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
    SPEC_PASS(check_end(scan, begin, false, name, error));
    *ret = (double)digits / scale; /* both are exact, so we round once */
    if (opt_decimals != NULL) *opt_decimals = decimals;
    return GSL_SUCCESS;
}

enum { SHORTEST = 14 }; /* bytes of "05-01 14:24:50" */

/* Reads a number of two digits; returns -1 if there is none, or if it is above `most`. */
static int two(const char *at, int most)
{
    if (!spec_log_scan_is_digit(at[0]) || !spec_log_scan_is_digit(at[1])) return -1;
    const int value = 10 * (at[0] - '0') + (at[1] - '0');
    return value <= most ? value : -1;
}

/* Returns the fraction of a second after a point or a comma. */
static double fraction(const char *at, const char *end)
{
    double unit = 1.0, sum = 0.0;
    if (at == end || (*at != '.' && *at != ',')) return 0.0;
    for (at++; at < end && spec_log_scan_is_digit(*at) && unit > 1e-6; at++) {
        unit /= 10.0;
        sum += unit * (*at - '0');
    }
    return sum;
}

double spec_log_stamp(const char *bytes, size_t n)
{
    static const int before[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
    if (n < SHORTEST) return NAN;
    for (size_t i = n - SHORTEST + 1; i-- > 0;) {
        const char *at = bytes + i;
        if (at[2] != '-' || at[8] != ':' || at[11] != ':' || (at[5] != ' ' && at[5] != 'T'))
            continue;
        const int month = two(at, 12), day = two(at + 3, 31), hour = two(at + 6, 23);
        const int minute = two(at + 9, 59), second = two(at + 12, 60);
        if (month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0) continue;
        return 86400.0 * (before[month - 1] + day - 1) + 3600.0 * hour + 60.0 * minute + second +
               fraction(at + SHORTEST, bytes + n);
    }
    return NAN;
}

/* ---- Tables of fields ------------------------------------------------------------------------ */

/* The name of a field in messages: its words without the punctuation around them. */
typedef struct {
    char text[48];
} name;

static name name_of(const spec_log_field *field)
{
    name n;
    const char *before = field->before + strspn(field->before, " '(/");
    size_t length = strlen(before);
    while (length > 0 && strchr(" ':=([", before[length - 1]) != NULL) length--;
    if (length >= sizeof n.text) length = sizeof n.text - 1;
    memcpy(n.text, before, length); /* no printf, because this runs for each number */
    n.text[length] = '\0';
    return n;
}

static int read_mean(double *ret, int *ret_decimals, spec_log_scan *scan, const char *of,
                     spec_error *error)
{
    *ret = NAN;
    *ret_decimals = 0;
    if (spec_log_scan_word(scan, "nan") || spec_log_scan_word(scan, "-nan") ||
        spec_log_scan_word(scan, "None"))
        return GSL_SUCCESS;
    return spec_log_scan_real(ret, ret_decimals, scan, of, error);
}

static int check_rate(const spec_log_numbers *numbers, double rate, int decimals,
                      const spec_log_scan *scan, const char *of, spec_error *error)
{
    const int n = numbers->n;
    if (rate > 1.0 || (n > 0 && decimals != numbers->list_decimals))
        return spec_log_bad(scan->record, error,
                            "%s: expected fractions of %d decimals, not %.*f; the line is "
                            "truncated or has another one in it",
                            of, n > 0 ? numbers->list_decimals : decimals, decimals, rate);
    if (n > 0 && rate > numbers->list[n - 1])
        return spec_log_bad(scan->record, error,
                            "%s: expected rates that do not rise with depth, not %.*f at depth %d",
                            of, decimals, rate, n + 1);
    return GSL_SUCCESS;
}

/* Reads "0.983, 0.949, 0.915" until another field begins or the brackets end. */
static int read_rates(spec_log_numbers *ret, spec_log_scan *scan, const char *of, spec_error *error)
{
    int decimals;
    spec_log_scan_blanks(scan);
    if (*scan->at == ')') return GSL_SUCCESS;
    for (;;) {
        double value;
        if (ret->n == SPEC_OBSERVED_DEPTHS)
            return spec_log_bad(scan->record, error, "%s: expected at most %d numbers", of,
                                SPEC_OBSERVED_DEPTHS);
        SPEC_PASS(read_mean(&value, &decimals, scan, of, error));
        if (!isnan(value)) SPEC_PASS(check_rate(ret, value, decimals, scan, of, error));
        if (ret->n == 0) ret->list_decimals = decimals;
        ret->list[ret->n++] = value;
        spec_log_scan next = *scan;
        if (!spec_log_scan_word(&next, ",")) return GSL_SUCCESS;
        spec_log_scan_blanks(&next);
        if (!spec_log_scan_is_digit(*next.at) && !spec_log_scan_word(&next, "nan"))
            return GSL_SUCCESS;
        spec_log_scan_word(scan, ",");
    }
    return GSL_SUCCESS;
}

/* Reads the words after a number. If letters follow without a blank, the line is a different
 * one. */
static int read_behind(const char *behind, spec_log_scan *scan, const char *of, spec_error *error)
{
    const spec_log_scan at = *scan;
    const int status = spec_log_scan_expect(scan, behind, of, error);
    const size_t n = strlen(behind);
    if (status != GSL_SUCCESS || n == 0) return status;
    const char last = behind[n - 1];
    if (last != '%' && !spec_log_scan_is_letter(last)) return GSL_SUCCESS;
    if (!spec_log_scan_is_letter(*scan->at) && !spec_log_scan_is_digit(*scan->at))
        return GSL_SUCCESS;
    return spec_log_bad(scan->record, error, "%s: expected '%s', not '%.*s'", of, behind,
                        shown(&at), at.at);
}

static int twice(const spec_log_scan *scan, const char *of, spec_error *error)
{
    return spec_log_bad(scan->record, error, "%s: occurs twice; two lines are mixed up", of);
}

/* Reads a number. It is an error if a field comes twice, or if a field with another name gives a
 * different value for the same slot. */
static int read_number(spec_log_numbers *ret, const spec_log_field *field, spec_log_scan *scan,
                       const char *of, spec_error *error)
{
    int decimals = 0;
    double value;
    if (field->kind == SPEC_LOG_COUNT)
        SPEC_PASS(spec_log_scan_count(&value, scan, of, error));
    else if (field->kind == SPEC_LOG_MEAN)
        SPEC_PASS(read_mean(&value, &decimals, scan, of, error));
    else
        SPEC_PASS(spec_log_scan_real(&value, &decimals, scan, of, error));
    if (spec_log_numbers_has(ret, field->slot) &&
        (ret->by[field->slot] == field || value != ret->value[field->slot]))
        return twice(scan, of, error);
    ret->seen |= 1u << field->slot;
    ret->by[field->slot] = field;
    ret->value[field->slot] = value;
    ret->decimals[field->slot] = decimals;
    return GSL_SUCCESS;
}

static int read_field(spec_log_numbers *ret, const spec_log_field *field, spec_log_scan *scan,
                      const char *of, spec_error *error)
{
    if (field->kind == SPEC_LOG_RATES) {
        spec_log_numbers again;
        again.n = 0;
        SPEC_PASS(read_rates(ret->n > 0 ? &again : ret, scan, of, error));
        if (again.n > 0 && (ret->list_by == field || again.n != ret->n ||
                            memcmp(again.list, ret->list, (size_t)ret->n * sizeof *ret->list) != 0))
            return twice(scan, of, error);
        ret->list_by = field;
    } else {
        SPEC_PASS(read_number(ret, field, scan, of, error));
    }
    if (field->behind != NULL) SPEC_PASS(read_behind(field->behind, scan, of, error));
    return GSL_SUCCESS;
}

/* Reads field i, after its words, and the fields that follow it. */
static int read_fields(spec_log_numbers *ret, const spec_log_line *line, int i, spec_log_scan *scan,
                       spec_error *error)
{
    const spec_log_field *field = &line->field[i];
    const name of = name_of(field);
    do SPEC_PASS(read_field(ret, field, scan, of.text, error));
    while ((++field)->kind != 0 && field->before == NULL);
    return GSL_SUCCESS;
}

static const spec_log_field *missing(const spec_log_numbers *numbers, const spec_log_line *line)
{
    for (const spec_log_field *f = line->field; f->kind != 0; f++)
        if (f->needed && f->before != NULL && !spec_log_numbers_has(numbers, f->slot)) return f;
    return NULL;
}

/* Moves past the words if they follow. */
static bool behind(spec_log_scan *scan, const char *words)
{
    const size_t n = strlen(words);
    if ((size_t)(scan->end - scan->at) < n || memcmp(scan->at, words, n) != 0) return false;
    scan->at += n;
    return true;
}

/* Returns the field whose words follow; -1: none. */
static int field_at(const spec_log_line *line, spec_log_scan *scan)
{
    for (int i = 0; line->field[i].kind != 0; i++) {
        const char *const words = line->field[i].before;
        if (words == NULL || *scan->at != *words || !behind(scan, words)) continue;
        return i;
    }
    return -1;
}

/* Reads fields that directly follow each other, until other text comes. */
static int read_joined(spec_log_numbers *ret, const spec_log_line *line, spec_log_scan *scan,
                       spec_error *error)
{
    spec_log_scan next = *scan;
    do {
        const int i = field_at(line, &next);
        if (i < 0 && missing(ret, line) == NULL) return GSL_SUCCESS;
        if (i < 0)
            return spec_log_bad(scan->record, error,
                                "%s: expected a field such as '%s', not '%.*s'", line->name,
                                missing(ret, line)->before, shown(&next), next.at);
        SPEC_PASS(read_fields(ret, line, i, &next, error));
        *scan = next;
    } while (behind(&next, line->between));
    return GSL_SUCCESS;
}

/* Reads fields that may come in any order: each time the one whose words come next. */
static int read_scattered(spec_log_numbers *ret, const spec_log_line *line, spec_log_scan *scan,
                          spec_error *error)
{
    for (;;) {
        const char *nearest = NULL;
        int found = 0;
        for (int i = 0; line->field[i].kind != 0; i++) {
            const char *const words = line->field[i].before;
            if (words == NULL) continue;
            const char *place = spec_log_find(scan->at, (size_t)(scan->end - scan->at), words);
            if (place == NULL || (nearest != NULL && nearest <= place)) continue;
            nearest = place;
            found = i;
        }
        if (nearest == NULL) return GSL_SUCCESS;
        scan->at = nearest + strlen(line->field[found].before);
        SPEC_PASS(read_fields(ret, line, found, scan, error));
    }
}

int spec_log_fields_read(spec_log_numbers *ret, const spec_log_line *line, spec_log_scan *scan,
                         spec_error *error)
{
    ret->seen = 0;
    ret->n = ret->list_decimals = 0;
    for (int i = 0; i < SPEC_LOG_SLOTS; i++) ret->value[i] = NAN, ret->decimals[i] = 0;
    if (line->between != NULL)
        SPEC_PASS(read_joined(ret, line, scan, error));
    else
        SPEC_PASS(read_scattered(ret, line, scan, error));
    const spec_log_field *f = missing(ret, line);
    if (f != NULL)
        return spec_log_bad(scan->record, error,
                            "%s: expected '%s' before the end; the line is truncated", line->name,
                            f->before);
    return GSL_SUCCESS;
}
