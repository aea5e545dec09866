/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/log_fields.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 24 };

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
static int read_list(spec_log_numbers *ret, spec_log_field_kind kind, spec_log_scan *scan,
                     const char *of, spec_error *error)
{
    int status = GSL_SUCCESS, decimals;
    spec_log_scan_blanks(scan);
    if (*scan->at == ')' || *scan->at == ']') return GSL_SUCCESS;
    for (;;) {
        double value;
        if (ret->n == SPEC_OBSERVED_DEPTHS)
            SPEC_TRY(spec_log_bad(scan->record, error, "%s: expected at most %d numbers", of,
                                  SPEC_OBSERVED_DEPTHS));
        if (kind == SPEC_LOG_RATES) {
            SPEC_TRY(read_mean(&value, &decimals, scan, of, error));
            if (!isnan(value)) SPEC_TRY(check_rate(ret, value, decimals, scan, of, error));
            if (ret->n == 0) ret->list_decimals = decimals;
        } else {
            SPEC_TRY(spec_log_scan_count(&value, scan, of, error));
        }
        ret->list[ret->n++] = value;
        spec_log_scan next = *scan;
        if (!spec_log_scan_word(&next, ",")) goto done;
        spec_log_scan_blanks(&next);
        if (!spec_log_scan_is_digit(*next.at) && !spec_log_scan_word(&next, "nan")) goto done;
        spec_log_scan_word(scan, ",");
    }
done:
    return status;
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
    const ptrdiff_t left = at.end - at.at;
    return spec_log_bad(scan->record, error, "%s: expected '%s', not '%.*s'", of, behind,
                        left < SHOWN ? (int)left : SHOWN, at.at);
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
    int status = GSL_SUCCESS, decimals = 0;
    double value;
    if (field->kind == SPEC_LOG_COUNT)
        SPEC_TRY(spec_log_scan_count(&value, scan, of, error));
    else if (field->kind == SPEC_LOG_MEAN)
        SPEC_TRY(read_mean(&value, &decimals, scan, of, error));
    else
        SPEC_TRY(spec_log_scan_real(&value, &decimals, scan, of, error));
    if (spec_log_numbers_has(ret, field->slot) &&
        (ret->by[field->slot] == field || value != ret->value[field->slot]))
        SPEC_TRY(twice(scan, of, error));
    ret->seen |= 1u << field->slot;
    ret->by[field->slot] = field;
    ret->value[field->slot] = value;
    ret->decimals[field->slot] = decimals;
done:
    return status;
}

static int read_field(spec_log_numbers *ret, const spec_log_field *field, spec_log_scan *scan,
                      const char *of, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (field->kind == SPEC_LOG_RATES || field->kind == SPEC_LOG_COUNTS) {
        spec_log_numbers again;
        again.n = 0;
        SPEC_TRY(read_list(ret->n > 0 ? &again : ret, field->kind, scan, of, error));
        if (again.n > 0 && (ret->list_by == field || again.n != ret->n ||
                            memcmp(again.list, ret->list, (size_t)ret->n * sizeof *ret->list) != 0))
            SPEC_TRY(twice(scan, of, error));
        ret->list_by = field;
    } else {
        SPEC_TRY(read_number(ret, field, scan, of, error));
    }
    if (field->behind != NULL) SPEC_TRY(read_behind(field->behind, scan, of, error));
done:
    return status;
}

/* Reads field i, after its words, and the fields that follow it. */
static int read_fields(spec_log_numbers *ret, const spec_log_line *line, int i, spec_log_scan *scan,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_field *field = &line->field[i];
    const name of = name_of(field);
    do SPEC_TRY(read_field(ret, field, scan, of.text, error));
    while ((++field)->kind != 0 && field->before == NULL);
done:
    return status;
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
    int status = GSL_SUCCESS;
    spec_log_scan next = *scan;
    do {
        const int i = field_at(line, &next);
        if (i < 0 && missing(ret, line) == NULL) goto done;
        if (i < 0) {
            const ptrdiff_t left = next.end - next.at;
            SPEC_TRY(spec_log_bad(
                scan->record, error, "%s: expected a field such as '%s', not '%.*s'", line->name,
                missing(ret, line)->before, left < SHOWN ? (int)left : SHOWN, next.at));
        }
        SPEC_TRY(read_fields(ret, line, i, &next, error));
        *scan = next;
    } while (behind(&next, line->between));
done:
    return status;
}

/* Reads fields that may be anywhere, always the nearest one first. */
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
        const int status = read_fields(ret, line, found, scan, error);
        if (status != GSL_SUCCESS) return status;
    }
}

int spec_log_fields_read(spec_log_numbers *ret, const spec_log_line *line, spec_log_scan *scan,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    ret->seen = 0;
    ret->n = ret->list_decimals = 0;
    for (int i = 0; i < SPEC_LOG_SLOTS; i++) ret->value[i] = NAN, ret->decimals[i] = 0;
    if (line->between != NULL)
        SPEC_TRY(read_joined(ret, line, scan, error));
    else
        SPEC_TRY(read_scattered(ret, line, scan, error));
    const spec_log_field *f = missing(ret, line);
    if (f != NULL)
        SPEC_TRY(spec_log_bad(scan->record, error,
                              "%s: expected '%s' before the end; the line is truncated", line->name,
                              f->before));
done:
    return status;
}
