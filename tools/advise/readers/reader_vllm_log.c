/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/rounded_counts.h"
#include "base/needle_set.h"
#include "tools/advise/readers/engine_windows.h"
#include "tools/advise/readers/log_fields.h"

#include <assert.h>
#include <math.h>
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
    spec_log_numbers line;
    SPEC_PASS(spec_log_fields_read(&line, &throughput, scan, error));
    return spec_engine_windows_add(
        &state->windows,
        &(spec_engine_line){.line = scan->record->line,
                            .origin = p->origin,
                            .stamp = p->stamp,
                            .prompt = line.value[PROMPT],
                            .generated = line.value[GENERATED],
                            .running = line.value[RUNNING],
                            .missing_allowed = spec_log_numbers_has(&line, SWAPPED)},
        scan->record->observer, error);
}

/* ---- V0: totals since the engine started ----------------------------------------------------- */

/* Accepted tokens of V0 include those after a rejection. */
enum { RATE, EFFICIENCY, K, ACCEPTED, DRAFTED, EMITTED };

static const spec_log_field totals_fields[] = {
    {"Draft acceptance rate: ", NULL, SPEC_LOG_MEAN, true, RATE},
    {"System efficiency: ", NULL, SPEC_LOG_MEAN, true, EFFICIENCY},
    {"Number of speculative tokens: ", NULL, SPEC_LOG_COUNT, true, K},
    {"Number of accepted tokens: ", NULL, SPEC_LOG_COUNT, true, ACCEPTED},
    {"Number of draft tokens: ", NULL, SPEC_LOG_COUNT, true, DRAFTED},
    {"Number of emitted tokens: ", ".", SPEC_LOG_COUNT, true, EMITTED},
    /* early versions */
    {"Number of draft tokens tokens: ", NULL, SPEC_LOG_COUNT, false, DRAFTED},
    {"Number of emitted tokens tokens: ", ".", SPEC_LOG_COUNT, false, EMITTED},
    {0},
};
static const spec_log_line totals = {"Speculative metrics", ", ", totals_fields};

/* The first line of V1 covers only the interval, but has the words of V0. */
static const spec_log_field first_fields[] = {
    {"Draft acceptance rate: ", NULL, SPEC_LOG_MEAN, true, RATE},
    {"Number of accepted tokens: ", NULL, SPEC_LOG_COUNT, true, ACCEPTED},
    {"Number of draft tokens: ", ",", SPEC_LOG_COUNT, true, DRAFTED},
    {0},
};
static const spec_log_line first = {"Speculative metrics", ", ", first_fields};

static int check_totals(const spec_log_numbers *line, const spec_log_record *record,
                        spec_error *error)
{
    const double *v = line->value, rounds = v[DRAFTED] / v[K], most = rounds * (v[K] + 1.0);
    if (v[K] < 1.0 || v[K] > SPEC_OBSERVED_DEPTHS)
        return spec_log_bad(record, error,
                            "Number of speculative tokens: expected 1 to %d, not %.0f",
                            SPEC_OBSERVED_DEPTHS, v[K]);
    if (rounds != floor(rounds))
        return spec_log_bad(record, error,
                            "Number of draft tokens: expected a multiple of the %.0f tokens of a "
                            "round, not %.0f",
                            v[K], v[DRAFTED]);
    if (v[ACCEPTED] > v[DRAFTED] ||
        spec_log_scan_differs(v[RATE], line->decimals[RATE], v[ACCEPTED] / v[DRAFTED]))
        return spec_log_bad(record, error,
                            "Number of accepted tokens: %.0f of %.0f contradicts the acceptance "
                            "rate of %g",
                            v[ACCEPTED], v[DRAFTED], v[RATE]);
    if (v[EMITTED] < rounds || v[EMITTED] > most ||
        spec_log_scan_differs(v[EFFICIENCY], line->decimals[EFFICIENCY], v[EMITTED] / most))
        return spec_log_bad(record, error,
                            "Number of emitted tokens: %.0f of %.0f rounds contradicts K = %.0f "
                            "or the system efficiency of %g",
                            v[EMITTED], rounds, v[K], v[EFFICIENCY]);
    return GSL_SUCCESS;
}

/* Reads a line of V0, which covers the time since the engine started. V0 also counts tokens after a
 * rejection as accepted, so we compute accepted tokens as the emitted ones minus one per round. */
static int parse_totals(spec_observation *o, spec_log_scan *scan, spec_error *error)
{
    spec_log_numbers line;
    *o = spec_observation_empty(SPEC_OBSERVED_TOTAL, scan->record->line);
    SPEC_PASS(spec_log_fields_read(&line, &totals, scan, error));
    SPEC_PASS(check_totals(&line, scan->record, error));
    o->K = (int)line.value[K];
    o->drafted = line.value[DRAFTED];
    o->emitted = line.value[EMITTED];
    o->printed_rate = line.value[RATE];
    o->rounds = o->rounds_low = o->rounds_high = o->passes = o->drafted / o->K;
    o->accepted = o->emitted - o->rounds; /* a round emits one token more than it accepts */
    return GSL_SUCCESS;
}

/* ---- V1: counts of an interval --------------------------------------------------------------- */

enum { LENGTH = EMITTED + 1, ACCEPTED_PER_S, DRAFTED_PER_S, AVERAGE };

static const spec_log_field counts_fields[] = {
    {"Draft acceptance rate: ", "%", SPEC_LOG_MEAN, false, RATE},
    {"Mean acceptance length: ", NULL, SPEC_LOG_MEAN, false, LENGTH},
    {"Accepted throughput: ", "tokens/s", SPEC_LOG_REAL, false, ACCEPTED_PER_S},
    {"Drafted throughput: ", "tokens/s", SPEC_LOG_REAL, false, DRAFTED_PER_S},
    {"Accepted: ", "tokens", SPEC_LOG_COUNT, true, ACCEPTED},
    {"Drafted: ", "tokens", SPEC_LOG_COUNT, true, DRAFTED},
    {"Per-position acceptance rate: ", NULL, SPEC_LOG_RATES, false, 0},
    {"Avg Draft acceptance rate: ", "%", SPEC_LOG_MEAN, false, AVERAGE},
    {0},
};
static const spec_log_line counts = {"SpecDecoding metrics", ", ", counts_fields};

/* A line of V1, which covers an interval. */
typedef struct {
    spec_observation observation; /* label, times and output tokens are not set */
    double elapsed;               /* seconds, from counts and throughputs; NaN: not printed */
    bool has_length, has_average; /* which fields the line has, which shows its generation */
} spec_vllm_counts;

/* Recovers rounds and passed by depth from the means. */
static int recover(spec_observation *o, const spec_log_numbers *line, const spec_log_record *record,
                   spec_error *error)
{
    spec_rounded_recovery r;
    const spec_rounded_counts printed = {.accepted = (uint64_t)o->accepted,
                                         .drafted = (uint64_t)o->drafted,
                                         .length = line->value[LENGTH],
                                         .length_digits = line->decimals[LENGTH],
                                         .n = line->n,
                                         .rate = line->list,
                                         .rate_digits = line->list_decimals};
    bool numbers = true;
    for (int i = 0; i < line->n; i++) numbers = numbers && !isnan(line->list[i]);
    if (!numbers || spec_rounded_counts_recover(&r, &printed) != GSL_SUCCESS)
        return spec_log_bad(record, error,
                            "SpecDecoding metrics: no number of rounds agrees with %.0f accepted "
                            "and %.0f drafted tokens and a mean acceptance length of %.*f",
                            o->accepted, o->drafted, line->decimals[LENGTH], line->value[LENGTH]);
    o->rounds = (double)r.rounds;
    o->rounds_low = (double)r.rounds_low;
    o->rounds_high = (double)r.rounds_high;
    o->depths = line->n;
    for (int i = 0; i < o->depths; i++) o->passed[i] = (double)r.passed[i];
    return GSL_SUCCESS;
}

/* Estimates rounds from the user's K alone. Drafts may be shorter, down to one token. */
static void rounds_from_K(spec_observation *o, int given)
{
    o->K = given;
    if (given < 1) return;
    const double whole = ceil(o->drafted / given);
    o->rounds = o->rounds_low = o->rounds_high = whole;
    if (whole * given != o->drafted) o->rounds_high = o->drafted;
}

static int check_counts(const spec_log_numbers *line, const spec_log_line *form,
                        const spec_log_record *record, spec_error *error)
{
    const bool percent = form == &counts, average = spec_log_numbers_has(line, AVERAGE);
    const int rate = average ? AVERAGE : RATE;
    const double *v = line->value, unit = percent ? 100.0 : 1.0;
    if (spec_log_numbers_has(line, LENGTH) && !average && !spec_log_numbers_has(line, RATE))
        return spec_log_bad(record, error,
                            "%s: expected 'Avg Draft acceptance rate: ' before the end; the line "
                            "is truncated",
                            form->name);
    if (v[ACCEPTED] > v[DRAFTED] ||
        spec_log_scan_differs(v[rate], line->decimals[rate], unit * v[ACCEPTED] / v[DRAFTED]))
        return spec_log_bad(record, error,
                            "%s: %.0f accepted of %.0f drafted tokens contradicts the acceptance "
                            "rate of %g%s",
                            form->name, v[ACCEPTED], v[DRAFTED], v[rate], percent ? "%" : "");
    return GSL_SUCCESS;
}

/* Reads a line of V1. Recovers rounds and depths from the means; if there are no means, rounds
 * follow from the record's K. The first lines of V1 used the words of V0. */
static int parse_counts(spec_vllm_counts *ret, bool words_of_v0, spec_log_scan *scan,
                        spec_error *error)
{
    const spec_log_line *const form = words_of_v0 ? &first : &counts;
    spec_log_numbers line;
    spec_observation *o = &ret->observation;
    *o = spec_observation_empty(SPEC_OBSERVED_WINDOW, scan->record->line);
    SPEC_PASS(spec_log_fields_read(&line, form, scan, error));
    SPEC_PASS(check_counts(&line, form, scan->record, error));
    const double *v = line.value;
    ret->has_length = spec_log_numbers_has(&line, LENGTH);
    ret->has_average = spec_log_numbers_has(&line, AVERAGE);
    o->accepted = v[ACCEPTED];
    o->drafted = v[DRAFTED];
    o->printed_length = v[LENGTH];
    o->printed_rate = ret->has_average  ? v[AVERAGE] / 100.0
                      : form == &counts ? v[RATE] / 100.0
                                        : v[RATE];
    if (line.n > 0)
        o->K = line.n;
    else
        rounds_from_K(o, scan->record->K);
    if (o->drafted == 0.0) {
        o->rounds = o->rounds_low = o->rounds_high = 0.0;
        o->depths = line.n;
    } else if (!isnan(v[LENGTH])) {
        SPEC_PASS(recover(o, &line, scan->record, error));
    }
    ret->elapsed = o->drafted > 0.0 && v[DRAFTED_PER_S] > 0.0     ? o->drafted / v[DRAFTED_PER_S]
                   : o->accepted > 0.0 && v[ACCEPTED_PER_S] > 0.0 ? o->accepted / v[ACCEPTED_PER_S]
                                                                  : NAN;
    return GSL_SUCCESS;
}

/* ---- Lines of speculation -------------------------------------------------------------------- */

static int read_totals(vllm_log *state, spec_log_learned *learned, const prefix *p,
                       spec_log_scan *scan, spec_error *error)
{
    const spec_log_record *record = scan->record;
    spec_observation o;
    SPEC_PASS(parse_totals(&o, scan, error));
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
    SPEC_PASS(
        spec_engine_windows_join(&state->windows, &o, NAN, &p->origin, record->observer, error));
    return spec_log_hand_over(record, &o, error);
}

static int read_counts(vllm_log *state, spec_log_learned *learned, const prefix *p,
                       bool words_of_v0, spec_log_scan *scan, spec_error *error)
{
    const spec_log_record *record = scan->record;
    spec_vllm_counts line;
    spec_observation *o = &line.observation;
    SPEC_PASS(parse_counts(&line, words_of_v0, scan, error));
    SPEC_PASS(spec_engine_windows_join(&state->windows, o, line.elapsed, &p->origin,
                                       record->observer, error));
    const int generation = line.has_average ? V1_AVERAGE : line.has_length ? V1_LENGTH : V1_COUNTS;
    if (learned->generation < generation) learned->generation = generation;
    learned->gaps =
        (line.has_length ? 0 : (unsigned)SPEC_LOG_NO_ROUNDS) |
        (o->depths > 0 ? 0 : (unsigned)SPEC_LOG_NO_DEPTHS) |
        /* without K the lines of throughput are not joined */
        (isnan(o->seconds) && (line.has_length || o->K > 0) ? (unsigned)SPEC_LOG_NO_TIMES : 0);
    return spec_log_hand_over(record, o, error);
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
            SPEC_PASS(read_throughput(state, &p, &scan, error));
        else if (spec_log_scan_word(&scan, words[COUNTS]))
            SPEC_PASS(read_counts(state, learned, &p, false, &scan, error));
        else if (spec_log_scan_word(&scan, words[TOTALS]) &&
                 spec_log_find(scan.at, (size_t)(scan.end - scan.at), "efficiency") != NULL)
            SPEC_PASS(read_totals(state, learned, &p, &scan, error));
        else
            SPEC_PASS(read_counts(state, learned, &p, true, &scan, error));
    }
    return GSL_SUCCESS;
}

static int end(void *self, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error)
{
    vllm_log *state = self;
    (void)learned;
    return spec_engine_windows_end(&state->windows, last->observer, error);
}

const spec_log_format spec_reader_vllm_log = {
    .name = "vllm-log", .engine = "vllm", .summary = "log of a vLLM server",
    .generations = generations,
    .concerns = concerns,
    .needles = words, .state_size = sizeof(vllm_log), .read = read, .end = end};
