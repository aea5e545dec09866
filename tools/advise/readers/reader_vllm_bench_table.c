/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/bench_times.h"
#include "tools/advise/readers/log_fields.h"

#include <string.h>

/* Lines of the table, and the needles of its records. vLLM's offline example prints the same
 * numbers under other names. The last needle belongs to SGLang's benchmark, which prints a similar
 * table. */
enum {
    REQUESTS,
    DURATION,
    GENERATED,
    TOKEN_TIME,
    RATE,
    LENGTH,
    DRAFTS,
    DRAFTED,
    ACCEPTED,
    FIELDS,
    POSITION = FIELDS,
    OFFLINE_GENERATED,
    OFFLINE_LENGTH,
    OFFLINE_DRAFTS,
    OFFLINE_DRAFTED,
    OFFLINE_ACCEPTED,
    OFFLINE_POSITION,
    SGLANG_LENGTH,
    NAMES
};
static const char *const names[NAMES + 1] = {
    [REQUESTS] = "Successful requests",
    [DURATION] = "Benchmark duration (s)",
    [GENERATED] = "Total generated tokens",
    [TOKEN_TIME] = "Mean TPOT (ms)",
    [RATE] = "Acceptance rate (%)",
    [LENGTH] = "Acceptance length",
    [DRAFTS] = "Drafts",
    [DRAFTED] = "Draft tokens",
    [ACCEPTED] = "Accepted tokens",
    [POSITION] = "Position ",
    [OFFLINE_GENERATED] = "total_num_output_tokens",
    [OFFLINE_LENGTH] = "mean acceptance length",
    [OFFLINE_DRAFTS] = "num_drafts",
    [OFFLINE_DRAFTED] = "num_draft_tokens",
    [OFFLINE_ACCEPTED] = "num_accepted_tokens",
    [OFFLINE_POSITION] = "acceptance at token ",
    [SGLANG_LENGTH] = "Accept length",
};

/* For each line, the index of the line that prints the same number under vLLM's usual name. The
 * example prints acceptance at positions as fractions, not percentages. */
static const int same[NAMES] = {
    [OFFLINE_GENERATED] = GENERATED, [OFFLINE_LENGTH] = LENGTH,     [OFFLINE_DRAFTS] = DRAFTS,
    [OFFLINE_DRAFTED] = DRAFTED,     [OFFLINE_ACCEPTED] = ACCEPTED, [OFFLINE_POSITION] = POSITION,
};

/* Bits of lines: the lines of a table of plain decoding, and the lines with whole numbers. */
static const unsigned PLAIN = 1u << REQUESTS | 1u << DURATION | 1u << GENERATED | 1u << TOKEN_TIME;
static const unsigned WHOLE =
    1u << REQUESTS | 1u << GENERATED | 1u << DRAFTS | 1u << DRAFTED | 1u << ACCEPTED;

/* tolerance of the arithmetic, in addition to the rounding of printed numbers */
static const double SLACK = 1e-9;

/* One table. */
typedef struct {
    unsigned seen; /* bit per line */
    uint64_t line; /* the newest line */
    double value[FIELDS];
    int decimals[FIELDS];
    int depths, rate_decimals;
    double rate[SPEC_OBSERVED_DEPTHS]; /* in percent */
} table;

/* Returns which line of the table this is, and moves past its name; -1 if it is none. */
static int line_of(spec_log_scan *scan)
{
    for (int i = 0; i < NAMES; i++) {
        spec_log_scan next = *scan;
        if (!spec_log_scan_word(&next, names[i])) continue;
        if (i == POSITION || i == OFFLINE_POSITION ? !spec_log_scan_is_digit(*next.at)
                                                   : *next.at != ':')
            continue;
        *scan = next;
        return i;
    }
    return -1;
}

static bool concerns(const char *bytes, size_t n)
{
    const spec_log_record record = {.bytes = bytes, .n = n};
    spec_log_scan scan = spec_log_scan_of(&record);
    return line_of(&scan) >= 0;
}

static bool has(const table *t, int line)
{
    return (t->seen >> line & 1) != 0;
}

static double value_of(const table *t, int line)
{
    return has(t, line) ? t->value[line] : NAN;
}

/* ---- A whole table --------------------------------------------------------------------------- */

/* Returns whether a printed number differs from its value by more than rounding. */
static bool differs(const table *t, int line, double value)
{
    return has(t, line) && spec_log_scan_differs(t->value[line], t->decimals[line], value);
}

/* Finds the rounds that accepted each depth, if every depth is in the table: whole numbers that
 * agree with the rates and sum to `accepted`. Returns false if there are none. */
static bool passed_of(spec_observation *o, const table *t)
{
    const double half = spec_log_scan_half_unit(t->rate_decimals) + SLACK;
    const bool all = t->depths * o->rounds >= o->drafted;
    double missing = o->accepted;
    o->depths = t->depths;
    for (int i = 0; i < o->depths; i++) {
        o->passed[i] = round(o->rounds * t->rate[i] / 100.0);
        missing -= o->passed[i];
        if (fabs(100.0 * o->passed[i] - t->rate[i] * o->rounds) > half * o->rounds) return false;
    }
    for (int i = 0; i < o->depths && all; i++) {
        const double exact = o->rounds * t->rate[i] / 100.0, slack = half * o->rounds / 100.0;
        const double room = missing > 0.0 ? floor(exact + slack) - o->passed[i]
                                          : ceil(exact - slack) - o->passed[i];
        const double step = missing > 0.0 ? fmin(room, missing) : fmax(room, missing);
        o->passed[i] += step;
        missing -= step;
    }
    for (int i = 0; i < o->depths; i++)
        if (o->passed[i] > (i > 0 ? o->passed[i - 1] : o->rounds)) return false;
    return !all || missing == 0.0;
}

static int speculation_of(spec_observation *o, const table *t, const spec_log_record *record,
                          spec_error *error)
{
    for (int i = DRAFTS; i <= ACCEPTED; i++)
        if (!has(t, i))
            return spec_log_bad(record, error,
                                "vLLM's table: expected a line '%s:' or '%s:'; it is "
                                "truncated",
                                names[i], names[i + OFFLINE_DRAFTS - DRAFTS]);
    o->rounds = o->rounds_low = o->rounds_high = t->value[DRAFTS];
    o->drafted = t->value[DRAFTED];
    o->accepted = t->value[ACCEPTED];
    o->printed_length = value_of(t, LENGTH);
    o->printed_rate = value_of(t, RATE) / 100.0;
    if (o->accepted > o->drafted || o->rounds > o->drafted ||
        differs(t, RATE, 100.0 * o->accepted / o->drafted) ||
        differs(t, LENGTH, 1.0 + o->accepted / o->rounds) || !passed_of(o, t))
        return spec_log_bad(record, error,
                            "vLLM's table: %.0f drafts, %.0f draft tokens and %.0f accepted "
                            "ones contradict one another or the rates",
                            o->rounds, o->drafted, o->accepted);
    const double K = o->drafted / o->rounds;
    const bool whole = K == floor(K) && K >= 1.0 && K <= SPEC_OBSERVED_DEPTHS;
    o->K = t->depths > 0 ? t->depths : whole ? (int)K : record->K;
    return GSL_SUCCESS;
}

/* Hands over a table that ended. If it has no lines of speculation, it is plain decoding, provided
 * it has times. */
static int hand_over(table *t, spec_log_learned *learned, const spec_log_record *record,
                     spec_error *error)
{
    int status = GSL_SUCCESS;
    const bool speculates = (t->seen & ~PLAIN) != 0;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, t->line);
    spec_log_record at = *record;
    at.line = t->line;
    if (!speculates && t->seen != PLAIN) goto done;
    if (speculates) {
        SPEC_TRY(speculation_of(&o, t, &at, error));
        learned->generation = 0;
    } else {
        spec_observation_decode_plainly(&o, NAN);
    }
    spec_bench_times_add(&o, &(spec_bench_times){.requests = value_of(t, REQUESTS),
                                                 .tokens = value_of(t, GENERATED),
                                                 .duration = value_of(t, DURATION),
                                                 .token_time = 1e-3 * value_of(t, TOKEN_TIME)});
    learned->gaps = (speculates && o.depths == 0 ? (unsigned)SPEC_LOG_NO_DEPTHS : 0) |
                    (isnan(o.running) ? (unsigned)SPEC_LOG_NO_TIMES : 0);
    SPEC_TRY(spec_log_hand_over(record, &o, error));
done:
    *t = (table){0};
    return status;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int read_position(table *t, bool fraction, spec_log_scan *scan, spec_error *error)
{
    int decimals;
    double position, rate;
    SPEC_PASS(spec_log_scan_count(&position, scan, "Position", error));
    if (position != t->depths || t->depths == SPEC_OBSERVED_DEPTHS)
        return spec_log_bad(scan->record, error, "Position: expected %d of 0 to %d, not %.0f",
                            t->depths, SPEC_OBSERVED_DEPTHS - 1, position);
    SPEC_PASS(spec_log_scan_expect(scan, ":", "Position", error));
    SPEC_PASS(spec_log_scan_real(&rate, &decimals, scan, "Position", error));
    if (fraction) rate *= 100.0, decimals -= 2;
    if (rate > 100.0)
        return spec_log_bad(scan->record, error, "Position: expected at most 100 %%, not %g", rate);
    if (t->depths == 0) t->rate_decimals = decimals;
    t->rate[t->depths++] = rate;
    return GSL_SUCCESS;
}

static int read(void *state, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    table *t = state;
    spec_log_scan scan = spec_log_scan_of(record);
    const int found = line_of(&scan), line = same[found] != 0 ? same[found] : found;
    if (line == SGLANG_LENGTH) {
        spec_log_bad(record, error,
                     "this table is from SGLang's benchmark, which prints a mean length without "
                     "counts; give the server's log instead");
        return GSL_EUNSUP;
    }
    /* The first line of a table, or one that repeats, ends the previous table. */
    if (line != POSITION && (has(t, line) || line == REQUESTS))
        SPEC_PASS(hand_over(t, learned, record, error));
    t->seen |= 1u << line;
    t->line = record->line;
    if (line == POSITION) {
        SPEC_PASS(read_position(t, found == OFFLINE_POSITION, &scan, error));
    } else {
        const char *name = names[found];
        SPEC_PASS(spec_log_scan_expect(&scan, ":", name, error));
        if ((WHOLE >> line & 1) != 0)
            SPEC_PASS(spec_log_scan_count(&t->value[line], &scan, name, error));
        else
            SPEC_PASS(spec_log_scan_real(&t->value[line], &t->decimals[line], &scan, name, error));
    }
    while (scan.at < scan.end && strchr(" \t\r", *scan.at) != NULL) scan.at++;
    if (scan.at < scan.end)
        return spec_log_bad(record, error, "%s: expected the end of the line, not '%.24s'",
                            names[found], scan.at);
    return GSL_SUCCESS;
}

static int end(void *state, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error)
{
    return hand_over(state, learned, last, error);
}

const spec_log_format spec_reader_vllm_bench_table = {
    .name = "vllm-bench-table", .engine = "vllm",
    .summary = "table that vllm bench serve or its offline example prints",
    .generations = SPEC_TEXTS("tables with Acceptance length"),
    .concerns = concerns,
    .needles = names, .state_size = sizeof(table), .read = read, .end = end};
