/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/needle_set.h"
#include "experiments/advice/readers/engine_windows.h"
#include "experiments/advice/readers/log_fields.h"
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

enum { PREFIX = 200 }; /* bytes before the words in which we search for stamp and process */

typedef struct {
    spec_needle_set words; /* empty before the first record */
    spec_engine_windows windows;
    double base, emitted; /* V0: stamp of the first line, emitted tokens of the last one */
    bool started;         /* both are known */
} vllm_log;

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
    spec_engine_origin origin;
} prefix;

static bool ends(const char *begin, const char *end, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(end - begin) >= n && memcmp(end - n, text, n) == 0;
}

/* Returns the hash of the number in "Engine 000: ", or of the words for all engines; 0 without
 * them. */
static uint64_t engine_of(const char *begin, const char *end)
{
    static const char all[] = "Engines Aggregated: ";
    if (ends(begin, end, all)) return spec_log_label(all, sizeof all - 1);
    if (!ends(begin, end, ": ")) return 0;
    const char *const last = end - 2, *number = last;
    while (number > begin && spec_log_scan_is_digit(number[-1])) number--;
    if (number == last || !ends(begin, number, "Engine ")) return 0;
    return spec_log_label(number, (size_t)(last - number));
}

/* Returns the hash of the last "pid=1"; 0 without one. */
static uint64_t process_of(const char *begin, const char *end)
{
    uint64_t process = 0;
    for (const char *id = begin; (id = memchr(id, '=', (size_t)(end - id))) != NULL;) {
        const char *last = ++id;
        if (!ends(begin, id, "pid=")) continue;
        while (last < end && spec_log_scan_is_digit(*last)) last++;
        process = spec_log_label(id, (size_t)(last - id));
    }
    return process;
}

static prefix prefix_of(const spec_log_record *record, const char *end)
{
    const char *begin = end - record->bytes > PREFIX ? end - PREFIX : record->bytes;
    return (prefix){.stamp = spec_log_stamp(begin, (size_t)(end - begin)),
                    .origin = {engine_of(begin, end), process_of(begin, end)}};
}

/* ---- "Avg prompt throughput: 8.2 tokens/s, Avg generation throughput: 51.0 tokens/s, ..." ---- */

enum { PROMPT, GENERATED, RUNNING, SWAPPED };
static const spec_log_field throughput_fields[] = {
    {"Avg prompt throughput: ", "tokens/s", SPEC_LOG_REAL, true, PROMPT},
    {"Avg generation throughput: ", "tokens/s", SPEC_LOG_REAL, true, GENERATED},
    {"Running: ", "reqs", SPEC_LOG_COUNT, true, RUNNING},
    {"Swapped: ", "reqs", SPEC_LOG_COUNT, false, SWAPPED},
    {0},
};
static const spec_log_line throughput = {"vLLM", ", ", throughput_fields};

static int read_throughput(vllm_log *state, const prefix *p, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_numbers line;
    SPEC_TRY(spec_log_fields_read(&line, &throughput, scan, error));
    SPEC_TRY(spec_engine_windows_add(
        &state->windows,
        &(spec_engine_line){.line = scan->record->line,
                            .origin = p->origin,
                            .stamp = p->stamp,
                            .prompt = line.value[PROMPT],
                            .generated = line.value[GENERATED],
                            .running = line.value[RUNNING],
                            .missing_allowed = spec_log_numbers_has(&line, SWAPPED)},
        scan->record->observer, error));
done:
    return status;
}

/* ---- V0: totals since the engine started ----------------------------------------------------- */

static int read_totals(vllm_log *state, spec_log_learned *learned, const prefix *p,
                       spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = scan->record;
    spec_observation o;
    SPEC_TRY(spec_vllm_lines_totals(&o, scan, error));
    /* V0's first line covers an unknown time before its stamp. */
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
    SPEC_TRY(
        spec_engine_windows_join(&state->windows, &o, NAN, &p->origin, record->observer, error));
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

/* ---- V1: counts of an interval --------------------------------------------------------------- */

static int read_counts(vllm_log *state, spec_log_learned *learned, const prefix *p,
                       bool words_of_v0, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = scan->record;
    spec_vllm_counts line;
    spec_observation *o = &line.observation;
    SPEC_TRY(spec_vllm_lines_counts(&line, words_of_v0, scan, error));
    SPEC_TRY(spec_engine_windows_join(&state->windows, o, line.elapsed, &p->origin,
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

static void make_set(spec_needle_set *set)
{
    for (int i = 0; i < KINDS; i++) spec_needle_set_add(set, words[i]);
    spec_needle_set_ready(set);
}

static const char *find_words(const spec_needle_set *set, const spec_log_scan *scan)
{
    return spec_needle_set_find(set, scan->at, (size_t)(scan->end - scan->at));
}

/* Reads a record. A JSON value may contain several lines, each of which ends where the next
 * begins. */
static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    int status = GSL_SUCCESS;
    vllm_log *state = self;
    spec_log_scan rest = spec_log_scan_of(record);
    if (state->words.n == 0) make_set(&state->words);
    rest.at = find_words(&state->words, &rest);
    while (rest.at != NULL) {
        const prefix p = prefix_of(record, rest.at);
        spec_log_scan scan = rest;
        rest.at++;
        rest.at = find_words(&state->words, &rest);
        if (rest.at != NULL) scan.end = rest.at;
        if (*scan.at == 'A')
            SPEC_TRY(read_throughput(state, &p, &scan, error));
        else if (spec_log_scan_word(&scan, words[COUNTS]))
            SPEC_TRY(read_counts(state, learned, &p, false, &scan, error));
        else if (spec_log_scan_word(&scan, words[TOTALS]) &&
                 spec_log_find(scan.at, (size_t)(scan.end - scan.at), "efficiency") != NULL)
            SPEC_TRY(read_totals(state, learned, &p, &scan, error));
        else
            SPEC_TRY(read_counts(state, learned, &p, true, &scan, error));
    }
done:
    return status;
}

static int end(void *self, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error)
{
    vllm_log *state = self;
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
    .state_size = sizeof(vllm_log),
    .read = read,
    .end = end,
};
