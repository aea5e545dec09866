/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/prometheus_sample.h"

#include "experiments/advice/readers/log_scan.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 24 };

/* Labels that tell engines and models apart. Other labels, such as ranks, are parts of one
 * engine. */
static const char *const identity[] = {"model_name", "model", "engine",    "instance",
                                       "pod",        "job",   "namespace", "server"};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

/* Returns the byte after the letters and digits of a name. */
static const char *behind_name(const char *at, const char *end)
{
    while (at < end && (is_letter(*at) || spec_log_scan_is_digit(*at))) at++;
    return at;
}

bool spec_prometheus_sample_begins(const char *bytes, size_t n, const char *prefix)
{
    const size_t length = strlen(prefix);
    if (n <= length || memcmp(bytes, prefix, length) != 0) return false;
    const char *end = bytes + n, *at = behind_name(bytes, end);
    if (at < end && *at == '{') return true;
    if (at == end || (*at != ' ' && *at != '\t')) return false;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at < end && (spec_log_scan_is_digit(*at) || strchr("+-.NI", *at) != NULL);
}

static int bad(const spec_log_scan *c, const char *expected, spec_error *error)
{
    const ptrdiff_t left = c->end - c->at;
    return spec_log_bad(c->record, error, "Prometheus sample: expected %s, not '%.*s'", expected,
                        left < SHOWN ? (int)left : SHOWN, c->at);
}

/* Reads KEY="VALUE", where VALUE may contain \". */
static int read_label(spec_prometheus_sample *s, spec_log_scan *c, spec_error *error)
{
    const char *key = c->at;
    c->at = behind_name(c->at, c->end);
    const size_t n = (size_t)(c->at - key);
    if (n == 0) return bad(c, "a label or '}'", error);
    if (c->end - c->at < 2 || c->at[0] != '=' || c->at[1] != '"') return bad(c, "'=\"'", error);
    c->at += 2;
    const char *value = c->at;
    for (; c->at < c->end && *c->at != '"'; c->at++)
        if (*c->at == '\\' && c->at + 1 < c->end) c->at++;
    if (c->at == c->end) return bad(c, "'\"' after a label; the line is truncated", error);
    if (n == 8 && memcmp(key, "position", 8) == 0) {
        s->position = 0;
        for (const char *digit = value; digit < c->at; digit++) {
            if (!spec_log_scan_is_digit(*digit) || s->position > 9999) {
                c->at = value;
                return bad(c, "a whole number as position", error);
            }
            s->position = 10 * s->position + (*digit - '0');
        }
    } else {
        /* Sums of hashes do not depend on the order of labels. */
        const uint64_t hash = spec_log_label(key, (size_t)(c->at - key));
        s->series += hash;
        for (size_t i = 0; i < sizeof identity / sizeof identity[0]; i++)
            if (n == strlen(identity[i]) && memcmp(key, identity[i], n) == 0) s->label += hash;
    }
    c->at++;
    return GSL_SUCCESS;
}

static int read_labels(spec_prometheus_sample *s, spec_log_scan *c, spec_error *error)
{
    if (!spec_log_scan_word(c, "{")) return GSL_SUCCESS;
    for (bool more = true; !spec_log_scan_word(c, "}"); more = spec_log_scan_word(c, ",")) {
        spec_log_scan_blanks(c);
        if (!more) return bad(c, "',' or '}' after a label", error);
        const int status = read_label(s, c, error);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

/* Reads a number with a decimal point, in any locale. */
static int read_number(double *ret, spec_log_scan *c, spec_error *error)
{
    const size_t n = strspn(c->at, "+-.0123456789eENaInf"); /* no hexadecimal digits */
    char *end;
    *ret = strtod_l(c->at, &end, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (*end == ',' && spec_log_scan_is_digit(end[1]))
        return bad(c, "a decimal point in place of the comma", error);
    if (end == c->at || end > c->at + n || (end < c->end && *end != ' ' && *end != '\t'))
        return bad(c, "a number; the line is truncated or has another one in it", error);
    c->at = end;
    return GSL_SUCCESS;
}

int spec_prometheus_sample_read(spec_prometheus_sample *ret, const spec_log_record *record,
                                spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_scan c = spec_log_scan_of(record);
    double stamp;
    *ret = (spec_prometheus_sample){.name = record->bytes, .position = -1, .stamp = NAN};
    while (c.end > c.at && (c.end[-1] == ' ' || c.end[-1] == '\r' || c.end[-1] == '\t')) c.end--;
    c.at = behind_name(c.at, c.end);
    ret->n = (size_t)(c.at - ret->name);
    ret->series = spec_log_label(ret->name, ret->n);
    SPEC_TRY(read_labels(ret, &c, error));
    spec_log_scan_blanks(&c);
    SPEC_TRY(read_number(&ret->value, &c, error));
    spec_log_scan_blanks(&c);
    if (c.at < c.end && *c.at != '#') { /* an exemplar */
        SPEC_TRY(read_number(&stamp, &c, error));
        ret->stamp = stamp / 1000.0;
    }
done:
    return status;
}
