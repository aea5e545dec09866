/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_file.h"

#include "base/input_file.h"
#include "base/needle_set.h"
#include "speclab/no_memory.h"
#include "tools/advise/log_format.h"
#include "tools/advise/log_records.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NEAREST = 3,
    READABLE = 100, /* one unreadable record is allowed per this many records */
    BEGINNING = 1 << 16,
};

/* A format that the file may have, with its reader's state. */
typedef struct {
    const spec_log_format *format;
    void *state; /* NULL before its first record */
    spec_log_learned learned;
    uint64_t records, first_line;
} candidate;

typedef struct {
    const char *name; /* name of the file */
    int K;
    candidate list[SPEC_LOG_FORMATS];
    int n;
    bool asks_all; /* some format has no needles, so we ask all */
    spec_needle_set needles;
    candidate *fixed; /* the file's format; NULL: not yet known */
    const candidate *other;
    uint64_t other_line, other_records; /* records of another format, and the first line */
    uint64_t unreadable, damaged; /* faulty records of the file's format; lines with NUL bytes */
    spec_error fault;             /* the first fault */
    /* the readers report to `mine`, which passes on to the caller's */
    spec_observer mine, to;
    uint64_t observations;
    int K_least, K_most;
    bool muted; /* count observations, but do not pass them on */
    bool observer_failed;
    size_t n_beginning;
    char beginning[BEGINNING]; /* (n_beginning) the first records, kept until the format is known */
} reading;

static int take(void *self, const spec_observation *observation, spec_error *error)
{
    reading *r = self;
    const int K = observation->K >= 0 ? observation->K : observation->depths;
    r->observations++;
    if (r->muted) return GSL_SUCCESS;
    if (K > 0 && (r->K_least == 0 || K < r->K_least)) r->K_least = K;
    if (K > r->K_most) r->K_most = K;
    const int status = r->to.take(r->to.self, observation, error);
    if (status == GSL_SUCCESS) return status;
    r->observer_failed = true;
    if (status == GSL_EINVAL && error != NULL) {
        const spec_error said = *error;
        spec_fail(error, status, "%.300s:%llu: %s", r->name, (unsigned long long)observation->line,
                  said.text);
    }
    return status;
}

/* ---- The table ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void add_needle(spec_needle_set *set, const char *needle)
{
    const bool added = spec_needle_set_add(set, needle);
    assert(added);
    (void)added;
}

static int choose_formats(reading *r, const spec_log_options *options, spec_error *error)
{
    const spec_log_format *const *table =
        options->opt_table != NULL ? options->opt_table : spec_log_formats;
    const char *asked = options->opt_format;
    for (int i = 0; table[i] != NULL; i++) {
        const spec_log_format *f = table[i];
        assert(i < SPEC_LOG_FORMATS);
        if (asked != NULL && strcmp(asked, f->name) != 0 && strcmp(asked, f->engine) != 0) continue;
        r->list[r->n++] = (candidate){.format = f, .learned = {.generation = -1}};
        if (f->needles == NULL) r->asks_all = true;
        for (int k = 0; f->needles != NULL && f->needles[k] != NULL; k++)
            add_needle(&r->needles, f->needles[k]);
    }
    spec_needle_set_ready(&r->needles);
    return r->n == 0 && asked != NULL ? spec_log_format_check(asked, table, error) : GSL_SUCCESS;
}

/* ---- Records ---- */

static void fix(reading *r, candidate *c)
{
    if (r->fixed == NULL) r->fixed = c;
}

/* Skips a faulty record; lines of several processes may have been mixed. */
static void pass_over(reading *r, spec_error *error)
{
    r->unreadable++;
    if (error == NULL) return;
    if (r->unreadable + r->damaged == 1) r->fault = *error;
    error->text[0] = '\0';
}

/* Skips a line with NUL bytes, which a crash or a full disk may leave. If there are many, the file
 * is not text. */
static int pass_over_damage(reading *r, const spec_log_piece *piece, spec_error *error)
{
    r->damaged++;
    if (r->unreadable + r->damaged == 1)
        spec_fail(&r->fault, GSL_EINVAL,
                  "%.300s:%llu: byte %llu of the file is NUL: the line is "
                  "damaged",
                  r->name, (unsigned long long)piece->line, (unsigned long long)piece->zero);
    if (r->damaged <= 1 + piece->line / READABLE) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%s, and others: it is not a text file", r->fault.text);
}

static int read_record(reading *r, candidate *c, const spec_log_record *record, spec_error *error)
{
    const uint64_t before = r->observations;
    if (c->state == NULL) {
        c->state = calloc(1, c->format->state_size + 1);
        if (c->state == NULL) return spec_no_memory_for(error, r->name);
    }
    if (c->records++ == 0) c->first_line = record->line;
    const int status = c->format->read(c->state, &c->learned, record, error);
    if (status != GSL_SUCCESS || r->observations > before) fix(r, c);
    if (status != GSL_EINVAL || r->observer_failed) return status;
    pass_over(r, error);
    return GSL_SUCCESS;
}

/* Counts a record of another engine or kind, which is then skipped. */
static void note_other(reading *r, const candidate *c, uint64_t line)
{
    if (r->other == NULL) {
        r->other = c;
        r->other_line = line;
    }
    r->other_records += c == r->other;
}

static bool concerns(const candidate *c, const spec_log_record *record, bool found)
{
    return (found || c->format->needles == NULL) && c->format->concerns(record->bytes, record->n);
}

/* Asks the formats about a record; the file's own format comes first. */
static int ask(reading *r, const spec_log_record *record, spec_error *error)
{
    const bool found = spec_needle_set_find(&r->needles, record->bytes, record->n) != NULL;
    if (!found && !r->asks_all) return GSL_SUCCESS;
    if (r->fixed != NULL && concerns(r->fixed, record, found))
        return read_record(r, r->fixed, record, error);
    for (int i = 0; i < r->n; i++) {
        candidate *c = &r->list[i];
        if (c == r->fixed || !concerns(c, record, found)) continue;
        if (r->fixed != NULL)
            note_other(r, c, record->line);
        else
            SPEC_PASS(read_record(r, c, record, error));
        if (r->fixed != NULL) break;
    }
    return GSL_SUCCESS;
}

/* Lets formats hand over records that wait for a companion line. The first format that then has a
 * record becomes the file's, and records of others are skipped. If no format has one, we take the
 * format that recognised most records. */
static int end_formats(reading *r, const spec_log_record *last, spec_error *error)
{
    for (int i = 0; i < r->n; i++) {
        candidate *c = &r->list[i];
        const uint64_t before = r->observations;
        if (c->state == NULL || c->format->end == NULL) continue;
        r->muted = r->fixed != NULL && r->fixed != c;
        SPEC_PASS(c->format->end(c->state, &c->learned, last, error));
        if (r->observations > before && r->muted) note_other(r, c, c->first_line);
        if (r->muted) r->observations = before;
        if (r->observations > before) fix(r, c);
    }
    for (int i = 0; i < r->n && r->observations == 0; i++)
        if (r->list[i].records > (r->fixed != NULL ? r->fixed->records : 0)) r->fixed = &r->list[i];
    return GSL_SUCCESS;
}

/* Checks that only few records are unreadable and few lines are damaged. */
static int check_readable(const reading *r, uint64_t lines, spec_error *error)
{
    const unsigned long long unreadable = r->unreadable, damaged = r->damaged;
    if (damaged * READABLE > lines)
        return spec_fail(error, GSL_EINVAL, "%s (%llu of %llu lines)", r->fault.text, damaged,
                         (unsigned long long)lines);
    if (unreadable == 0) return GSL_SUCCESS;
    const unsigned long long records = r->fixed->records;
    if (unreadable * READABLE <= records) return GSL_SUCCESS;
    if (records == 1) return spec_fail(error, GSL_EINVAL, "%s", r->fault.text);
    return spec_fail(error, GSL_EINVAL, "%s (%llu of %llu records cannot be read)", r->fault.text,
                     unreadable, records);
}

/* ---- Files of no known format ---- */

static void keep_beginning(reading *r, const spec_log_record *record)
{
    const size_t room = BEGINNING - r->n_beginning;
    const size_t n = record->n < room ? record->n : room;
    for (size_t i = 0; i < n; i++) r->beginning[r->n_beginning++] = lower(record->bytes[i]);
    if (r->n_beginning < BEGINNING) r->beginning[r->n_beginning++] = '\n';
}

/* Returns the length of the longest part of the needle that occurs in the file's beginning. */
static size_t likeness(const reading *r, const char *needle)
{
    char small[64];
    size_t n = 0, most = 0;
    for (; needle[n] != '\0' && n < sizeof small; n++) small[n] = lower(needle[n]);
    for (size_t from = 0; from + most < n; from++)
        while (from + most < n && memmem(r->beginning, r->n_beginning, small + from, most + 1))
            most++;
    return most;
}

/* Names the formats that the file resembles most, each with an example of the text we looked
 * for. */
static void nearest(spec_log_nearest ret, const reading *r)
{
    bool used[SPEC_LOG_FORMATS] = {false};
    ret[0] = '\0';
    for (int k = 0; k < NEAREST && k < r->n; k++) {
        const char *text = NULL;
        size_t most = 0, used_bytes = strlen(ret);
        int best = -1;
        for (int i = 0; i < r->n; i++) {
            const char *const *needle = r->list[i].format->needles;
            for (int j = 0; !used[i] && needle != NULL && needle[j] != NULL; j++) {
                const size_t like = likeness(r, needle[j]);
                if (best >= 0 && like <= most) continue;
                best = i;
                most = like;
                text = needle[j];
            }
        }
        if (best < 0) return;
        used[best] = true;
        snprintf(ret + used_bytes, sizeof(spec_log_nearest) - used_bytes, "%s%s ('%s')",
                 k == 0 ? "" : ", ", r->list[best].format->name, text);
    }
}

static int read_records(spec_log_summary *ret, reading *r, spec_log_records *records,
                        spec_error *error)
{
    spec_log_record record = {
        .bytes = "", .file = r->name, .line = 1, .K = r->K, .observer = &r->mine};
    for (;;) {
        spec_log_piece piece;
        bool end;
        SPEC_PASS(spec_log_records_next(&piece, &end, records, error));
        if (end) break;
        record.bytes = piece.bytes;
        record.n = piece.n;
        record.line = piece.line;
        if (piece.zero > 0) {
            SPEC_PASS(pass_over_damage(r, &piece, error));
            continue;
        }
        if (spec_log_time_comment(&record.time, record.bytes, record.n)) continue;
        if (r->fixed == NULL) keep_beginning(r, &record);
        const uint64_t unreadable = r->unreadable;
        SPEC_PASS(ask(r, &record, error));
        if (piece.cut && r->unreadable > unreadable) {
            ret->cut = true;
            r->unreadable = unreadable;
        }
    }
    SPEC_PASS(check_readable(r, records->line, error));
    record.bytes = "";
    record.n = 0;
    return end_formats(r, &record, error);
}

int spec_log_file_read(spec_log_summary *ret, const char *path, const spec_log_options *options,
                       const spec_observer *observer, spec_error *error)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    int status = GSL_SUCCESS, fd = is_stdin ? STDIN_FILENO : -1;
    spec_log_records records = {.line = 1};
    *ret = (spec_log_summary){.learned = {.generation = -1}};
    reading *r = calloc(1, sizeof *r);
    if (r == NULL) return spec_no_memory_for(error, path);
    r->name = is_stdin ? "standard input" : path;
    r->K = options->K;
    r->to = *observer;
    r->mine = (spec_observer){take, r};
    SPEC_TRY(choose_formats(r, options, error));
    if (!is_stdin) SPEC_TRY(spec_input_file_open(&fd, path, error));
    records = spec_log_records_of(fd, r->name, options->opt_stop);
    SPEC_TRY(read_records(ret, r, &records, error));
    ret->bytes = records.bytes;
    ret->open_line = records.open_line;
    ret->observations = r->observations;
    ret->K_least = r->K_least;
    ret->K_most = r->K_most;
    if (r->fixed != NULL) {
        ret->format = r->fixed->format;
        ret->learned = r->fixed->learned;
        ret->records = r->fixed->records;
        ret->unreadable = r->unreadable + r->damaged;
        ret->fault = r->fault;
        ret->other = r->other != NULL ? r->other->format : NULL;
        ret->other_line = r->other_line;
        ret->other_records = r->other_records;
    } else {
        nearest(ret->nearest, r);
    }
done:
    spec_log_records_free(&records);
    if (!is_stdin && fd >= 0) close(fd);
    for (int i = 0; i < r->n; i++) free(r->list[i].state);
    free(r);
    if (status != GSL_SUCCESS) *ret = (spec_log_summary){.learned = {.generation = -1}};
    return status;
}
