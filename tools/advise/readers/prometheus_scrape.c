/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/prometheus_scrape.h"

#include "tools/advise/readers/log_fields.h"

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

/* Returns a pointer to the byte after the name that begins at `at`. */
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
        SPEC_PASS(read_label(s, c, error));
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
    spec_log_scan c = spec_log_scan_of(record);
    double stamp;
    *ret = (spec_prometheus_sample){.name = record->bytes, .position = -1, .stamp = NAN};
    while (c.end > c.at && (c.end[-1] == ' ' || c.end[-1] == '\r' || c.end[-1] == '\t')) c.end--;
    c.at = behind_name(c.at, c.end);
    ret->n = (size_t)(c.at - ret->name);
    ret->series = spec_log_label(ret->name, ret->n);
    SPEC_PASS(read_labels(ret, &c, error));
    spec_log_scan_blanks(&c);
    SPEC_PASS(read_number(&ret->value, &c, error));
    spec_log_scan_blanks(&c);
    if (c.at < c.end && *c.at != '#') { /* an exemplar */
        SPEC_PASS(read_number(&stamp, &c, error));
        ret->stamp = stamp / 1000.0;
    }
    return GSL_SUCCESS;
}

/* ---- Scrapes --------------------------------------------------------------------------------- */

static const double COUNT_MAX = 0x1p53; /* larger counts are not exact */

static bool has(const spec_prometheus_label *s, int slot)
{
    return (s->seen >> slot & 1) != 0;
}

double spec_prometheus_scrape_value(const spec_prometheus_label *s, int slot)
{
    return has(s, slot) ? s->value[slot] : NAN;
}

static int hand_over(spec_prometheus_label *s, const spec_prometheus_source *source,
                     spec_log_learned *learned, const spec_log_record *record, spec_error *error)
{
    const unsigned counters = (1u << SPEC_SCRAPE_FIRST) - 1; /* except the counters of times */
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_TOTAL, s->line);
    spec_log_record at = *record;
    at.line = s->line;
    if ((s->seen & counters) == 0 && !has(s, SPEC_SCRAPE_LENGTH)) return GSL_SUCCESS;
    o.label = s->label;
    o.rounds = spec_prometheus_scrape_value(s, SPEC_SCRAPE_ROUNDS);
    o.drafted = spec_prometheus_scrape_value(s, SPEC_SCRAPE_DRAFTED);
    o.accepted = spec_prometheus_scrape_value(s, SPEC_SCRAPE_ACCEPTED);
    o.emitted = spec_prometheus_scrape_value(s, SPEC_SCRAPE_EMITTED);
    o.running = spec_prometheus_scrape_value(s, SPEC_SCRAPE_RUNNING);
    o.printed_length = spec_prometheus_scrape_value(s, SPEC_SCRAPE_LENGTH);
    o.printed_rate = spec_prometheus_scrape_value(s, SPEC_SCRAPE_RATE);
    o.time = s->stamp;
    if (s->created > 0.0 && s->stamp > s->created) o.seconds = s->stamp - s->created;
    for (uint64_t bits = s->seen_passed; bits != 0; bits >>= 1) o.depths++;
    for (int i = 0; i < o.depths; i++) o.passed[i] = s->passed[i];
    if (s->seen_passed + 1 != (o.depths < 64 ? (uint64_t)1 << o.depths : 0))
        return spec_log_bad(&at, error,
                            "counters of accepted tokens by position: expected "
                            "positions from 0 on without gaps");
    if (o.depths > 0) o.K = o.depths;
    SPEC_PASS(source->finish(&o, learned, s, &at, error));
    if (o.accepted > o.drafted)
        return spec_log_bad(&at, error, "counters: %.0f accepted tokens exceed %.0f drafted ones",
                            o.accepted, o.drafted);
    o.rounds_low = o.rounds_high = o.rounds;
    if (isnan(o.busy) && (isnan(o.time) || isnan(o.running))) learned->gaps |= SPEC_LOG_NO_TIMES;
    return spec_log_hand_over(record, &o, error);
}

int spec_prometheus_scrape_end(spec_prometheus_scrape *scrape, const spec_prometheus_source *source,
                               spec_log_learned *learned, const spec_log_record *last,
                               spec_error *error)
{
    for (int i = 0; i < scrape->n; i++) {
        spec_prometheus_label *s = &scrape->label[i];
        SPEC_PASS(hand_over(s, source, learned, last, error));
        s->seen = 0;
        s->seen_passed = 0;
        s->stamp = NAN;
    }
    return GSL_SUCCESS;
}

/* Finds the numbers of a label. The search starts at the previous label, because samples of each
 * name have their labels in the same order. */
static spec_prometheus_label *label_of(spec_prometheus_scrape *scrape, uint64_t label)
{
    for (int i = 0; i < scrape->n; i++) {
        const int k = (scrape->last + i) % scrape->n;
        if (scrape->label[k].label != label) continue;
        scrape->last = k;
        return &scrape->label[k];
    }
    if (scrape->n == SPEC_SCRAPE_LABELS) return NULL;
    spec_prometheus_label *s = &scrape->label[scrape->n++];
    *s = (spec_prometheus_label){.label = label, .stamp = NAN};
    return s;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool ends(const char *name, size_t n, const char *end)
{
    const size_t length = strlen(end);
    return n >= length && memcmp(name + n - length, end, length) == 0;
}

/* Adds the name to the note of unknown names, unless it is there already. */
static void remark(spec_log_learned *learned, const char *name, size_t n)
{
    static const char begin[] = "unknown counters: ";
    char text[64];
    const size_t used = strlen(learned->note);
    snprintf(text, sizeof text, "%.*s", n < sizeof text ? (int)n : (int)sizeof text - 1, name);
    if (strstr(learned->note, text) != NULL || used + strlen(text) + 3 > sizeof learned->note)
        return;
    if (used > 0 && strncmp(learned->note, begin, strlen(begin)) != 0) return;
    snprintf(learned->note + used, sizeof learned->note - used, "%s%s", used == 0 ? begin : ", ",
             text);
}

/* Returns the slot of a name; -1: it has none. */
static int slot_of(const spec_prometheus_source *source, const spec_prometheus_sample *sample,
                   spec_log_learned *learned)
{
    const char *name = sample->name + strlen(source->prefix);
    size_t n = sample->n - strlen(source->prefix);
    if (ends(name, n, "_created")) return -1;
    if (ends(name, n, "_total")) n -= strlen("_total");
    for (const spec_prometheus_name *known = source->names; known->name != NULL; known++)
        if (strlen(known->name) == n && memcmp(known->name, name, n) == 0) return known->slot;
    if (spec_log_find(name, n, "spec_") != NULL || spec_log_find(name, n, "draft") != NULL)
        remark(learned, sample->name, sample->n);
    return -1;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int check_value(const spec_prometheus_sample *sample, int slot,
                       const spec_log_record *record, spec_error *error)
{
    const double value = sample->value;
    const int shown = sample->n < 80 ? (int)sample->n : 80; /* bytes of the name */
    if (slot < SPEC_SCRAPE_COUNTERS &&
        !(value >= 0.0 && value <= COUNT_MAX && value == floor(value)))
        return spec_log_bad(record, error, "%.*s: expected a whole number up to 2^53, not %.17g",
                            shown, sample->name, value);
    if (value < 0.0 || value > COUNT_MAX)
        return spec_log_bad(record, error, "%.*s: expected a number of 0 to 2^53, not %g", shown,
                            sample->name, value);
    if (slot == SPEC_SCRAPE_PASSED &&
        (sample->position < 0 || sample->position >= SPEC_OBSERVED_DEPTHS))
        return spec_log_bad(record, error, "%.*s: expected a position of 0 to %d", shown,
                            sample->name, SPEC_OBSERVED_DEPTHS - 1);
    return GSL_SUCCESS;
}

static int add(spec_prometheus_scrape *scrape, const spec_prometheus_source *source,
               spec_log_learned *learned, const spec_prometheus_sample *sample, int slot,
               const spec_log_record *record, spec_error *error)
{
    spec_prometheus_label *s = label_of(scrape, sample->label);
    if (s == NULL)
        return spec_log_bad(record, error,
                            "counters of more than %d engines and models; give fewer at a time",
                            SPEC_SCRAPE_LABELS);
    const bool seen =
        slot == SPEC_SCRAPE_PASSED ? (s->seen_passed >> sample->position & 1) != 0 : has(s, slot);
    /* If a series repeats, a new scrape begins. Another series of the same engine comes from
     * another rank. */
    if (has(s, slot) && s->series[slot] != sample->series) return GSL_SUCCESS;
    if (seen) SPEC_PASS(spec_prometheus_scrape_end(scrape, source, learned, record, error));
    s->seen |= 1u << slot;
    s->series[slot] = sample->series;
    s->line = record->line;
    if (scrape->time > 0.0) s->stamp = scrape->time;
    if (!isnan(sample->stamp)) s->stamp = sample->stamp;
    s->value[slot] = sample->value;
    if (slot == SPEC_SCRAPE_PASSED) {
        s->seen_passed |= (uint64_t)1 << sample->position;
        s->passed[sample->position] = sample->value;
    }
    return GSL_SUCCESS;
}

int spec_prometheus_scrape_read(spec_prometheus_scrape *scrape,
                                const spec_prometheus_source *source, spec_log_learned *learned,
                                const spec_log_record *record, spec_error *error)
{
    static const char created[] = "generation_tokens_created";
    spec_prometheus_sample sample;
    if (isnan(record->time))
        return spec_log_bad(record, error,
                            "the comment '# time' above this line has no seconds since 1970; "
                            "write one with: echo \"# time $(date +%%s)\"");
    if (record->time != scrape->time)
        SPEC_PASS(spec_prometheus_scrape_end(scrape, source, learned, record, error));
    scrape->time = record->time;
    SPEC_PASS(spec_prometheus_sample_read(&sample, record, error));
    const int slot = slot_of(source, &sample, learned);
    if (slot >= 0) {
        SPEC_PASS(check_value(&sample, slot, record, error));
        SPEC_PASS(add(scrape, source, learned, &sample, slot, record, error));
    } else if (ends(sample.name, sample.n, created)) {
        spec_prometheus_label *s = label_of(scrape, sample.label);
        if (s != NULL) s->created = sample.value;
    }
    return GSL_SUCCESS;
}
