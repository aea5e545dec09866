/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/rounded_counts.h"
#include "experiments/advice/readers/engine_windows.h"
#include "experiments/advice/readers/log_scan.h"
#include "experiments/advice/readers/log_stamp.h"
#include "experiments/advice/readers/readers.h"

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

static const double SLACK = 1e-9; /* of the arithmetic, beside the rounding of printed numbers */

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

/* A real number or "nan". */
static int scan_real(double *ret, int *opt_decimals, spec_log_scan *scan, const char *name,
                     spec_error *error)
{
    *ret = NAN;
    if (opt_decimals != NULL) *opt_decimals = 0;
    if (spec_log_scan_word(scan, "nan")) return GSL_SUCCESS;
    return spec_log_scan_real(ret, opt_decimals, scan, name, error);
}

static int read_totals(state_of *state, spec_log_learned *learned, const prefix *p,
                       spec_log_scan *scan, spec_error *error)
{
    static const char *const names[] = {"Number of speculative tokens", "Number of accepted tokens",
                                        "Number of draft tokens", "Number of emitted tokens"};
    int status = GSL_SUCCESS, rate_decimals, efficiency_decimals;
    const spec_log_record *record = scan->record;
    double rate, efficiency, count[4];
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_TOTAL, record->line);
    SPEC_TRY(spec_log_scan_expect(scan, "Draft acceptance rate: ", "Speculative metrics", error));
    SPEC_TRY(scan_real(&rate, &rate_decimals, scan, "Draft acceptance rate", error));
    SPEC_TRY(spec_log_scan_expect(scan, ", System efficiency: ", "Speculative metrics", error));
    SPEC_TRY(scan_real(&efficiency, &efficiency_decimals, scan, "System efficiency", error));
    for (int i = 0; i < 4; i++) {
        SPEC_TRY(spec_log_scan_expect(scan, ", ", "Speculative metrics", error));
        SPEC_TRY(spec_log_scan_expect(scan, names[i], "Speculative metrics", error));
        SPEC_TRY(spec_log_scan_expect(scan, ": ", names[i], error));
        /* The last number has a full stop behind it. */
        spec_log_scan number = *scan;
        while (i == 3 && number.at < number.end && *number.at != '.') number.at++;
        number = (spec_log_scan){scan->at, i == 3 ? number.at : scan->end, record};
        SPEC_TRY(spec_log_scan_count(&count[i], &number, names[i], error));
        scan->at = number.at;
    }
    SPEC_TRY(spec_log_scan_expect(scan, ".", names[3], error));
    const double K = count[0], accepted = count[1], drafted = count[2], emitted = count[3];
    const double rounds = drafted / K;
    if (K < 1.0 || K > SPEC_OBSERVED_DEPTHS)
        SPEC_TRY(spec_log_bad(record, error,
                              "Number of speculative tokens: expected 1 to %d, not %.0f",
                              SPEC_OBSERVED_DEPTHS, K));
    if (rounds != floor(rounds))
        SPEC_TRY(spec_log_bad(record, error,
                              "Number of draft tokens: expected a multiple of the %.0f tokens of a "
                              "round, not %.0f",
                              K, drafted));
    if (accepted > drafted ||
        fabs(accepted / drafted - rate) > spec_log_scan_half_unit(rate_decimals) + SLACK)
        SPEC_TRY(spec_log_bad(record, error,
                              "Number of accepted tokens: %.0f of %.0f contradicts the acceptance "
                              "rate of %g",
                              accepted, drafted, rate));
    if (emitted < rounds || emitted > rounds * (K + 1.0) ||
        fabs(emitted / (rounds * (K + 1.0)) - efficiency) >
            spec_log_scan_half_unit(efficiency_decimals) + SLACK)
        SPEC_TRY(spec_log_bad(record, error,
                              "Number of emitted tokens: %.0f of %.0f rounds contradicts K = %.0f "
                              "or the system efficiency of %g",
                              emitted, rounds, K, efficiency));
    o.K = (int)K;
    o.rounds = o.rounds_low = o.rounds_high = o.passes = rounds;
    o.drafted = drafted;
    /* The printed count has tokens behind a rejection in it. A round emits one token more than it
     * accepts. */
    o.accepted = emitted - rounds;
    o.emitted = emitted;
    o.printed_rate = rate;
    /* The line itself covers an unknown time before the first stamp. */
    if (!state->started || emitted < state->emitted || !(p->stamp >= state->base)) {
        state->base = p->stamp;
    } else {
        o.seconds = p->stamp - state->base;
    }
    state->started = true;
    state->emitted = emitted;
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

/* The fields of the line, in any order. */
enum { RATE, LENGTH, ACCEPTED_PER_S, DRAFTED_PER_S, ACCEPTED, DRAFTED, BY_DEPTH, AVERAGE, FIELDS };
static const struct {
    const char *name, *unit;
} fields[FIELDS] = {[RATE] = {"Draft acceptance rate", "%"},
                    [LENGTH] = {"Mean acceptance length", ""},
                    [ACCEPTED_PER_S] = {"Accepted throughput", "tokens/s"},
                    [DRAFTED_PER_S] = {"Drafted throughput", "tokens/s"},
                    [ACCEPTED] = {"Accepted", "tokens"},
                    [DRAFTED] = {"Drafted", "tokens"},
                    [BY_DEPTH] = {"Per-position acceptance rate", ""},
                    [AVERAGE] = {"Avg Draft acceptance rate", "%"}};

typedef struct {
    bool has[FIELDS];
    double value[FIELDS]; /* NaN: not printed, or "nan" */
    int decimals[FIELDS];
    int first;
    int depths;
    double by_depth[SPEC_OBSERVED_DEPTHS];
} counts_line;

/* "0.983, 0.949, 0.915", before the next field or the end. */
static int scan_depths(counts_line *line, spec_log_scan *scan, spec_error *error)
{
    static const char name[] = "Per-position acceptance rate";
    int status = GSL_SUCCESS, decimals;
    for (;;) {
        if (line->depths == SPEC_OBSERVED_DEPTHS)
            SPEC_TRY(spec_log_bad(scan->record, error, "%s: expected at most %d numbers", name,
                                  SPEC_OBSERVED_DEPTHS));
        double *rate = &line->by_depth[line->depths++];
        SPEC_TRY(scan_real(rate, &decimals, scan, name, error));
        if (line->depths == 1) line->decimals[BY_DEPTH] = decimals;
        if (!isnan(*rate) && (*rate > 1.0 || decimals != line->decimals[BY_DEPTH]))
            SPEC_TRY(
                spec_log_bad(scan->record, error,
                             "%s: expected fractions of %d decimals, not %.*f; the line is cut "
                             "or has another one in it",
                             name, line->decimals[BY_DEPTH], decimals, *rate));
        spec_log_scan next = *scan;
        if (!spec_log_scan_word(&next, ", ")) goto done;
        if (!is_digit(*next.at) && !spec_log_scan_word(&next, "nan")) goto done;
        spec_log_scan_word(scan, ", ");
    }
done:
    return status;
}

static int scan_field(counts_line *line, int field, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const char *const name = fields[field].name;
    if (line->has[field])
        SPEC_TRY(spec_log_bad(scan->record, error,
                              "%s: occurs twice; two lines were written into each other", name));
    line->has[field] = true;
    if (line->first < 0) line->first = field;
    if (field == BY_DEPTH)
        SPEC_TRY(scan_depths(line, scan, error));
    else if (field == ACCEPTED || field == DRAFTED)
        SPEC_TRY(spec_log_scan_count(&line->value[field], scan, name, error));
    else
        SPEC_TRY(scan_real(&line->value[field], &line->decimals[field], scan, name, error));
    SPEC_TRY(spec_log_scan_expect(scan, fields[field].unit, name, error));
done:
    return status;
}

/* The name of a field and its colon. */
static bool scan_name(spec_log_scan *scan, const char *name)
{
    spec_log_scan next = *scan;
    if (!spec_log_scan_word(&next, name) || next.at[0] != ':' || next.at[1] != ' ') return false;
    scan->at = next.at + 2;
    return true;
}

static int scan_counts(counts_line *line, spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS, field;
    *line = (counts_line){.first = -1};
    for (int i = 0; i < FIELDS; i++) line->value[i] = NAN;
    do {
        for (field = 0; field < FIELDS && !scan_name(scan, fields[field].name);) field++;
        if (field == FIELDS)
            SPEC_TRY(spec_log_bad(scan->record, error,
                                  "SpecDecoding metrics: expected a field such as 'Drafted: 295 "
                                  "tokens', not '%.24s'",
                                  scan->at));
        SPEC_TRY(scan_field(line, field, scan, error));
    } while (spec_log_scan_word(scan, ", "));
    if (!line->has[ACCEPTED] || !line->has[DRAFTED] ||
        (line->first == LENGTH && !line->has[AVERAGE]))
        SPEC_TRY(
            spec_log_bad(scan->record, error,
                         "SpecDecoding metrics: expected '%s: N%s' before the end; the line is "
                         "cut",
                         !line->has[ACCEPTED]  ? fields[ACCEPTED].name
                         : !line->has[DRAFTED] ? fields[DRAFTED].name
                                               : fields[AVERAGE].name,
                         line->has[ACCEPTED] && line->has[DRAFTED] ? "%" : " tokens"));
    if (scan->at < scan->end && (is_digit(*scan->at) || (*scan->at >= 'A' && *scan->at <= 'z' &&
                                                         *scan->at != '[' && *scan->at != '\\')))
        SPEC_TRY(spec_log_bad(scan->record, error,
                              "SpecDecoding metrics: expected the end of the line, not '%.24s'",
                              scan->at));
done:
    return status;
}

/* Rounds and passed by depth, from the means. */
static int recover(spec_observation *o, const counts_line *line, const spec_log_record *record,
                   spec_error *error)
{
    spec_rounded_recovery r;
    const spec_rounded_counts printed = {.accepted = (uint64_t)o->accepted,
                                         .drafted = (uint64_t)o->drafted,
                                         .length = line->value[LENGTH],
                                         .length_digits = line->decimals[LENGTH],
                                         .n = line->depths,
                                         .rate = line->by_depth,
                                         .rate_digits = line->decimals[BY_DEPTH]};
    bool numbers = true;
    for (int i = 0; i < line->depths; i++) numbers = numbers && !isnan(line->by_depth[i]);
    if (!numbers || spec_rounded_counts_recover(&r, &printed) != GSL_SUCCESS)
        return spec_log_bad(record, error,
                            "SpecDecoding metrics: no number of rounds agrees with %.0f accepted "
                            "and %.0f drafted tokens and a mean acceptance length of %.*f",
                            o->accepted, o->drafted, line->decimals[LENGTH], line->value[LENGTH]);
    o->rounds = (double)r.rounds;
    o->rounds_low = (double)r.rounds_low;
    o->rounds_high = (double)r.rounds_high;
    o->depths = line->depths;
    for (int i = 0; i < o->depths; i++) o->passed[i] = (double)r.passed[i];
    return GSL_SUCCESS;
}

/* Rounds from the user's K alone. Drafts may be shorter, down to one token. */
static void rounds_from_K(spec_observation *o, int K)
{
    o->K = K;
    if (K < 1) return;
    const double whole = ceil(o->drafted / K);
    o->rounds = o->rounds_low = o->rounds_high = whole;
    if (whole * K != o->drafted) o->rounds_high = o->drafted;
}

static int read_counts(state_of *state, spec_log_learned *learned, const prefix *p,
                       spec_log_scan *scan, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = scan->record;
    counts_line line;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, record->line);
    SPEC_TRY(scan_counts(&line, scan, error));
    const int rate = line.has[AVERAGE] ? AVERAGE : RATE;
    const double *value = line.value, drafted = value[DRAFTED], accepted = value[ACCEPTED];
    /* The printed rate is a percentage. */
    if (accepted > drafted || fabs(100.0 * accepted / drafted - value[rate]) >
                                  spec_log_scan_half_unit(line.decimals[rate]) + SLACK)
        SPEC_TRY(spec_log_bad(record, error,
                              "SpecDecoding metrics: %.0f accepted of %.0f drafted tokens "
                              "contradicts the acceptance rate of %g%%",
                              accepted, drafted, value[rate]));
    o.accepted = accepted;
    o.drafted = drafted;
    o.printed_length = value[LENGTH];
    o.printed_rate = value[rate] / 100.0;
    if (line.depths > 0)
        o.K = line.depths;
    else
        rounds_from_K(&o, record->K);
    if (drafted == 0.0) {
        o.rounds = o.rounds_low = o.rounds_high = 0.0;
        o.depths = line.depths;
    } else if (!isnan(value[LENGTH])) {
        SPEC_TRY(recover(&o, &line, record, error));
    }
    const double elapsed =
        drafted > 0.0 && value[DRAFTED_PER_S] > 0.0     ? drafted / value[DRAFTED_PER_S]
        : accepted > 0.0 && value[ACCEPTED_PER_S] > 0.0 ? accepted / value[ACCEPTED_PER_S]
                                                        : NAN;
    SPEC_TRY(spec_engine_windows_join(&state->windows, &o, elapsed, p->engine_process,
                                      record->observer, error));
    const int generation = line.has[AVERAGE]  ? V1_AVERAGE
                           : line.has[LENGTH] ? V1_LENGTH
                                              : V1_COUNTS;
    if (learned->generation < generation) learned->generation = generation;
    learned->gaps = (line.has[LENGTH] ? 0 : (unsigned)SPEC_LOG_NO_ROUNDS) |
                    (line.depths > 0 ? 0 : (unsigned)SPEC_LOG_NO_DEPTHS) |
                    (isnan(o.seconds) ? (unsigned)SPEC_LOG_NO_TIMES : 0);
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The words that come next, and where: -1 without any. Of a kind, found is the next place or NULL,
 * and the bytes before `from` have none, so that no byte is searched twice. */
static int next_words(const char *found[KINDS], const char *from[KINDS],
                      const spec_log_record *record)
{
    const char *limit = record->bytes + record->n;
    int next = -1;
    for (int i = 0; i < KINDS; i++) {
        const size_t n = strlen(words[i]);
        if (found[i] == NULL && limit > from[i]) {
            found[i] = spec_log_find(from[i], (size_t)(limit - from[i]), words[i]);
            if (found[i] != NULL)
                from[i] = found[i] + n;
            else if ((size_t)(limit - from[i]) >= n)
                from[i] = limit - (n - 1);
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
