/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/engine_windows.h"
#include "experiments/advice/readers/log_stamp.h"
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/vllm_lines.h"

#include <assert.h>
#include <string.h>

/* Generations. */
enum { V0, V1_COUNTS, V1_LENGTH, V1_AVERAGE };

static const char *const generations[] = {"0.4 to 0.8 (V0)", "0.8.3 (V1)", "0.8.5 to 0.10",
                                          "0.10.2 and later", NULL};

/* Lines, by the words before their numbers. */
enum { COUNTS, THROUGHPUT, TOTALS, KINDS };
static const char *const words[KINDS + 1] = {[COUNTS] = "SpecDecoding metrics: ",
                                             [THROUGHPUT] = "Avg prompt throughput: ",
                                             [TOTALS] = "Speculative metrics: "};

enum { PREFIX = 200 }; /* bytes before the words that are searched for stamp and process */

typedef struct {
    spec_engine_windows windows;
    double base, emitted; /* stamp and emitted tokens of V0's first and last line */
    bool started;         /* they are known */
} state_of;

static bool concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, words[COUNTS]) != NULL ||
           (spec_log_find(bytes, n, words[THROUGHPUT]) != NULL &&
            spec_log_find(bytes, n, "Avg generation throughput: ") != NULL) ||
           spec_log_find(bytes, n, words[TOTALS]) != NULL;
}

/* ---- The prefix of a line: "(APIServer pid=1) INFO 05-01 14:24:50 [metrics.py:101] " --------- */

typedef struct {
    double stamp;
    uint64_t engine_process[2];
} prefix;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static prefix prefix_of(const spec_log_record *record, const char *at)
{
    static const char engine[] = "Engine ", all[] = "Engines Aggregated: ";
    const char *end = at;
    const char *begin = at - record->bytes > PREFIX ? at - PREFIX : record->bytes;
    prefix p = {NAN, {0, 0}};
    if ((size_t)(end - begin) >= sizeof all - 1 &&
        memcmp(end - (sizeof all - 1), all, sizeof all - 1) == 0) {
        p.engine_process[0] = spec_log_label(all, sizeof all - 1);
    } else if (end - begin >= 2 && memcmp(end - 2, ": ", 2) == 0) {
        const char *number = end - 2;
        while (number > begin && is_digit(number[-1])) number--;
        if (number < end - 2 && number - begin >= 7 && memcmp(number - 7, engine, 7) == 0)
            p.engine_process[0] = spec_log_label(number, (size_t)(end - 2 - number));
    }
    p.stamp = spec_log_stamp(begin, (size_t)(end - begin));
    for (const char *id = begin; (id = memchr(id, '=', (size_t)(end - id))) != NULL;) {
        const char *last = ++id;
        if (id - begin < 4 || memcmp(id - 4, "pid=", 4) != 0) continue;
        while (last < end && is_digit(*last)) last++;
        p.engine_process[1] = spec_log_label(id, (size_t)(last - id));
    }
    return p;
}

/* ---- "Avg prompt throughput: 8.2 tokens/s, Avg generation throughput: 51.0 tokens/s, ..." ---- */

static int read_throughput(state_of *state, const prefix *p, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_engine_line line = {.line = scan->record->line,
                             .engine = p->engine_process[0],
                             .process = p->engine_process[1],
                             .stamp = p->stamp};
    SPEC_TRY(spec_log_scan_real(&line.prompt, NULL, scan, "Avg prompt throughput", error));
    SPEC_TRY(spec_log_scan_expect(
        scan, "tokens/s, Avg generation throughput: ", "Avg prompt throughput", error));
    SPEC_TRY(spec_log_scan_real(&line.generated, NULL, scan, "Avg generation throughput", error));
    SPEC_TRY(spec_log_scan_expect(scan, "tokens/s, Running: ", "Avg generation throughput", error));
    SPEC_TRY(spec_log_scan_count(&line.running, scan, "Running", error));
    SPEC_TRY(spec_log_scan_expect(scan, "reqs", "Running", error));
    line.missing_allowed = spec_log_scan_word(scan, ", Swapped: ");
    SPEC_TRY(spec_engine_windows_add(&state->windows, &line, scan->record->observer, error));
done:
    return status;
}

/* ---- V0: totals since the engine started ----------------------------------------------------- */

static int read_totals(state_of *state, spec_log_learned *learned, const prefix *p,
                       spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = scan->record;
    spec_observation o;
    SPEC_TRY(spec_vllm_lines_totals(&o, scan, error));
    /* The line itself covers an unknown time before the first stamp. */
    if (!state->started || o.emitted < state->emitted || !(p->stamp >= state->base)) {
        state->base = p->stamp;
    } else {
        o.seconds = p->stamp - state->base;
    }
    state->started = true;
    state->emitted = o.emitted;
    if (learned->generation < V0) learned->generation = V0;
    learned->gaps = SPEC_LOG_OLD_MEANING | SPEC_LOG_NO_DEPTHS |
                    (isnan(p->stamp) ? (unsigned)SPEC_LOG_NO_TIMES : 0);
    SPEC_TRY(spec_engine_windows_join(&state->windows, &o, NAN, p->engine_process, record->observer,
                                      error));
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

/* ---- V1: counts of an interval --------------------------------------------------------------- */

static int read_counts(state_of *state, spec_log_learned *learned, const prefix *p,
                       spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = scan->record;
    spec_vllm_counts line;
    spec_observation *o = &line.observation;
    SPEC_TRY(spec_vllm_lines_counts(&line, scan, error));
    SPEC_TRY(spec_engine_windows_join(&state->windows, o, line.elapsed, p->engine_process,
                                      record->observer, error));
    const int generation = line.has_average ? V1_AVERAGE : line.has_length ? V1_LENGTH : V1_COUNTS;
    if (learned->generation < generation) learned->generation = generation;
    learned->gaps =
        (line.has_length ? 0 : (unsigned)SPEC_LOG_NO_ROUNDS) |
        (o->depths > 0 ? 0 : (unsigned)SPEC_LOG_NO_DEPTHS) |
        /* without K the lines of throughput are not joined */
        (isnan(o->seconds) && (line.has_length || o->K > 0) ? (unsigned)SPEC_LOG_NO_TIMES : 0);
    SPEC_TRY(record->observer->take(record->observer->self, o, error));
done:
    return status;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The words that come next, and where: -1 without any. Of a kind, found is the next place or NULL,
 * and the bytes before `from` have none, so that no byte is searched twice:
 * no words begin within others. */
static int next_words(const char *found[KINDS], const char *from[KINDS],
                      const spec_log_record *record)
{
    const char *limit = record->bytes + record->n;
    int next = -1;
    for (int i = 0; i < KINDS; i++) {
        if (found[i] == NULL && limit > from[i]) {
            found[i] = spec_log_find(from[i], (size_t)(limit - from[i]), words[i]);
            from[i] = found[i] != NULL ? found[i] + strlen(words[i]) : limit;
        }
        if (found[i] != NULL && found[i] < limit) {
            limit = found[i];
            next = i;
        }
    }
    return next;
}

/* A JSON value may have several lines in it. */
static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    int status = GSL_SUCCESS, kind;
    state_of *state = self;
    spec_log_scan scan = spec_log_scan_of(record);
    const char *found[KINDS] = {NULL}, *from[KINDS];
    for (int i = 0; i < KINDS; i++) from[i] = record->bytes;
    while ((kind = next_words(found, from, record)) >= 0) {
        const prefix p = prefix_of(record, found[kind]);
        scan.at = from[kind];
        found[kind] = NULL;
        if (kind == THROUGHPUT) SPEC_TRY(read_throughput(state, &p, &scan, error));
        if (kind == COUNTS) SPEC_TRY(read_counts(state, learned, &p, &scan, error));
        if (kind == TOTALS) SPEC_TRY(read_totals(state, learned, &p, &scan, error));
        if (scan.at > from[kind]) from[kind] = scan.at;
    }
done:
    return status;
}

static int end(void *self, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error)
{
    state_of *state = self;
    (void)learned;
    return spec_engine_windows_end(&state->windows, last->observer, error);
}

const spec_log_format spec_reader_vllm_log = {
    .name = "vllm-log",
    .engine = "vllm",
    .summary = "log of a vLLM server",
    .generations = generations,
    .concerns = concerns,
    .needles = words,
    .state_size = sizeof(state_of),
    .read = read,
    .end = end,
};
