/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/log_file.h"

#include "base/input_file.h"
#include "base/names.h"
#include "base/needle_set.h"
#include "experiments/advice/log_records.h"
#include "experiments/advice/readers/time_comment.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FORMATS_MOST = 64,
    NAMES_SIZE = 400,
    READABLE = 100 /* records for each one that may be unreadable */
};

/* A format that the file may be of, and what its reader has seen. */
typedef struct {
    const spec_log_format *format;
    void *state; /* NULL before its first record */
    spec_log_learned learned;
    uint64_t records, first_line;
} candidate;

typedef struct {
    const char *name; /* of the file */
    int K;
    candidate list[FORMATS_MOST];
    int n;
    bool asks_all; /* a format has no needles */
    spec_needle_set needles;
    candidate *fixed; /* the file's format; NULL: not yet known */
    uint64_t fixed_line;
    uint64_t unreadable, damaged; /* records of the format, and lines with NUL bytes */
    spec_error fault;             /* of the first one */
    /* the observer of the readers, in front of the caller's */
    spec_observer mine, to;
    uint64_t observations;
    bool observer_failed;
} reading;

static int take(void *self, const spec_observation *observation, spec_error *error)
{
    reading *r = self;
    r->observations++;
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

/* Adds a name and a comma; the text ends where it is full. */
static void append(char text[NAMES_SIZE], const char *name)
{
    const size_t used = strlen(text);
    snprintf(text + used, NAMES_SIZE - used, "%s%s", used > 0 ? ", " : "", name);
}

static int unknown_name(const char *name, const spec_log_format *const *table, spec_error *error)
{
    const char *names[2 * FORMATS_MOST + 1] = {NULL};
    char formats[NAMES_SIZE] = "", engines[NAMES_SIZE] = "";
    int n = 0;
    for (int i = 0; table[i] != NULL; i++) {
        int k = 0;
        while (k < i && strcmp(table[k]->engine, table[i]->engine) != 0) k++;
        names[n++] = table[i]->name;
        append(formats, table[i]->name);
        if (k < i) continue;
        names[n++] = table[i]->engine;
        append(engines, table[i]->engine);
    }
    const char *near = spec_names_nearest(name, names);
    if (near != NULL)
        return spec_fail(error, GSL_EINVAL,
                         "no engine or format of logs is named '%.60s'; did you mean '%s'?", name,
                         near);
    return spec_fail(error, GSL_EINVAL,
                     "no engine or format of logs is named '%.60s'; engines are %.150s; formats "
                     "are %.200s",
                     name, engines, formats);
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
        assert(i < FORMATS_MOST);
        if (asked != NULL && strcmp(asked, f->name) != 0 && strcmp(asked, f->engine) != 0) continue;
        r->list[r->n++] = (candidate){.format = f, .learned = {.generation = -1}};
        if (f->needles == NULL) r->asks_all = true;
        for (int k = 0; f->needles != NULL && f->needles[k] != NULL; k++)
            add_needle(&r->needles, f->needles[k]);
    }
    spec_needle_set_ready(&r->needles);
    return r->n == 0 && asked != NULL ? unknown_name(asked, table, error) : GSL_SUCCESS;
}

/* ---- Records ---- */

static void fix(reading *r, candidate *c, uint64_t line)
{
    if (r->fixed != NULL) return;
    r->fixed = c;
    r->fixed_line = line;
}

/* Lines of several processes may be interleaved, so a record with a fault is passed over. */
static void pass_over(reading *r, spec_error *error)
{
    r->unreadable++;
    if (error == NULL) return;
    if (r->unreadable + r->damaged == 1) r->fault = *error;
    error->text[0] = '\0';
}

/* A crash or a full disk leaves lines with NUL bytes. In a file that is no text they are many. */
static int pass_over_damage(reading *r, const spec_log_piece *piece, spec_error *error)
{
    r->damaged++;
    if (r->unreadable + r->damaged == 1)
        spec_fail(&r->fault, GSL_EINVAL,
                  "%.300s:%llu: byte %llu of the file is NUL: the line is "
                  "damaged",
                  r->name, (unsigned long long)piece->line, (unsigned long long)piece->zero);
    if (r->damaged <= 1 + piece->line / READABLE) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%s, and others: it is no text file", r->fault.text);
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
    if (status != GSL_SUCCESS || r->observations > before) fix(r, c, record->line);
    if (status != GSL_EINVAL || r->observer_failed) return status;
    pass_over(r, error);
    return GSL_SUCCESS;
}

static int second_format(const reading *r, const candidate *c, const spec_log_record *record,
                         spec_error *error)
{
    return spec_log_bad(record, error,
                        "is of %s, but line %llu is of %s: give one file per engine and kind, or "
                        "choose with --engine %s",
                        c->format->name, (unsigned long long)r->fixed_line, r->fixed->format->name,
                        r->fixed->format->name);
}

static bool concerns(const candidate *c, const spec_log_record *record, bool found)
{
    return (found || c->format->needles == NULL) && c->format->concerns(record->bytes, record->n);
}

/* Ask the formats about a record, the file's own one first. */
static int ask(reading *r, const spec_log_record *record, spec_error *error)
{
    const bool found = spec_needle_set_find(&r->needles, record->bytes, record->n) != NULL;
    int status = GSL_SUCCESS;
    if (!found && !r->asks_all) return GSL_SUCCESS;
    if (r->fixed != NULL && concerns(r->fixed, record, found))
        return read_record(r, r->fixed, record, error);
    for (int i = 0; i < r->n; i++) {
        candidate *c = &r->list[i];
        if (c == r->fixed || !concerns(c, record, found)) continue;
        if (r->fixed != NULL) return second_format(r, c, record, error);
        SPEC_TRY(read_record(r, c, record, error));
        if (r->fixed != NULL) break;
    }
done:
    return status;
}

/* Formats whose records wait for a companion hand them over. The first one with any is the file's,
 * and there may be no other. */
static int end_formats(reading *r, const spec_log_record *last, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < r->n; i++) {
        candidate *c = &r->list[i];
        const uint64_t before = r->observations;
        if (c->state == NULL || c->format->end == NULL) continue;
        SPEC_TRY(c->format->end(c->state, &c->learned, last, error));
        if (r->observations == before) continue;
        spec_log_record first = *last;
        first.line = c->first_line;
        if (r->fixed != NULL && r->fixed != c) return second_format(r, c, &first, error);
        fix(r, c, c->first_line);
    }
done:
    return status;
}

/* Few records may be unreadable, and few lines damaged. */
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

static int read_records(spec_log_summary *ret, reading *r, spec_log_records *records,
                        spec_error *error)
{
    spec_log_record record = {
        .bytes = "", .file = r->name, .line = 1, .K = r->K, .observer = &r->mine};
    int status = GSL_SUCCESS;
    for (;;) {
        spec_log_piece piece;
        bool end;
        SPEC_TRY(spec_log_records_next(&piece, &end, records, error));
        if (end) break;
        record.bytes = piece.bytes;
        record.n = piece.n;
        record.line = piece.line;
        if (piece.zero > 0) {
            SPEC_TRY(pass_over_damage(r, &piece, error));
            continue;
        }
        if (spec_time_comment(&record.time, record.bytes, record.n)) continue;
        const uint64_t unreadable = r->unreadable;
        SPEC_TRY(ask(r, &record, error));
        if (piece.cut && r->unreadable > unreadable) {
            ret->cut = true;
            r->unreadable = unreadable;
        }
    }
    SPEC_TRY(check_readable(r, records->line, error));
    record.bytes = "";
    record.n = 0;
    SPEC_TRY(end_formats(r, &record, error));
done:
    return status;
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
    if (r->fixed != NULL) {
        ret->format = r->fixed->format;
        ret->learned = r->fixed->learned;
        ret->records = r->fixed->records;
        ret->unreadable = r->unreadable + r->damaged;
        ret->fault = r->fault;
    }
done:
    spec_log_records_free(&records);
    if (!is_stdin && fd >= 0) close(fd);
    for (int i = 0; i < r->n; i++) free(r->list[i].state);
    free(r);
    if (status != GSL_SUCCESS) *ret = (spec_log_summary){.learned = {.generation = -1}};
    return status;
}
