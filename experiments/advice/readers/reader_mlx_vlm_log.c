/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mlx-vlm prints one line for each generation: means, a percentage, and the number of rounds. */
#include "experiments/advice/readers/log_scan.h"
#include "experiments/advice/readers/readers.h"

static const char *const generations[] = {
    "accepted tokens over rounds (to mid-2026)",
    "with accepted drafts and their share (since mid-2026)",
    NULL,
};

static const char begin[] = "Speculative decoding: ";

static bool concerns(const char *bytes, size_t n)
{
    const char *place = spec_log_find(bytes, n, begin);
    return place != NULL &&
           spec_log_find(place, n - (size_t)(place - bytes), " accepted tokens") != NULL;
}

/* Whole numbers from low to high; the printed numbers narrow the range. */
typedef struct {
    double low, high;
} range;

static void narrow(range *r, double value, double half, double times)
{
    r->low = fmax(r->low, ceil((value - half) * times - 1e-6));
    r->high = fmin(r->high, floor((value + half) * times + 1e-6));
}

static double middle(const range *r)
{
    return floor((r->low + r->high) / 2.0 + 0.5);
}

/* The printed numbers. */
typedef struct {
    double length, mean, percentage, draft, rounds; /* NaN: not printed */
    double length_half, mean_half, percentage_half, draft_half;
} mlx_line;

static int real(double *ret, double *ret_half, spec_log_scan *scan, const char *name,
                spec_error *error)
{
    int decimals;
    const int status = spec_log_scan_real(ret, &decimals, scan, name, error);
    *ret_half = spec_log_scan_half_unit(decimals);
    return status;
}

static int parse(mlx_line *ret, const spec_log_record *record, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_scan scan = spec_log_scan_of(record);
    *ret = (mlx_line){.mean = NAN, .percentage = NAN, .draft = NAN};
    spec_log_scan_find(&scan, begin);
    SPEC_TRY(real(&ret->length, &ret->length_half, &scan, "accepted tokens", error));
    SPEC_TRY(spec_log_scan_expect(&scan, "accepted tokens", "accepted tokens", error));
    if (spec_log_scan_word(&scan, "/round")) {
        SPEC_TRY(spec_log_scan_expect(&scan, "(", "accepted drafts", error));
        SPEC_TRY(real(&ret->mean, &ret->mean_half, &scan, "accepted drafts", error));
        SPEC_TRY(spec_log_scan_expect(&scan, "accepted drafts/round,", "accepted drafts", error));
        SPEC_TRY(real(&ret->percentage, &ret->percentage_half, &scan, "of drafted", error));
        SPEC_TRY(spec_log_scan_expect(&scan, "% of drafted, avg draft", "of drafted", error));
        SPEC_TRY(real(&ret->draft, &ret->draft_half, &scan, "avg draft", error));
        SPEC_TRY(spec_log_scan_expect(&scan, ")", "avg draft", error));
    }
    SPEC_TRY(spec_log_scan_expect(&scan, "over", "rounds", error));
    SPEC_TRY(spec_log_scan_count(&ret->rounds, &scan, "rounds", error));
    SPEC_TRY(spec_log_scan_expect(&scan, "rounds", "rounds", error));
    if (spec_log_scan_find(&scan, begin))
        status = spec_log_bad(record, error, "expected one record on a line, not two");
    else if (ret->rounds < 1.0)
        status = spec_log_bad(record, error, "rounds: expected 1 or more");
done:
    return status;
}

static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    range accepted = {0.0, INFINITY}, drafted = {0.0, INFINITY};
    mlx_line line;
    (void)self;
    SPEC_TRY(parse(&line, record, error));
    const bool drafts = !isnan(line.draft);
    narrow(&accepted, line.length - 1.0, line.length_half, line.rounds);
    if (drafts) {
        narrow(&accepted, line.mean, line.mean_half, line.rounds);
        narrow(&drafted, line.draft, line.draft_half, line.rounds);
        accepted.low =
            fmax(accepted.low,
                 ceil((line.percentage - line.percentage_half) / 100.0 * drafted.low - 1e-6));
        accepted.high =
            fmin(accepted.high,
                 floor((line.percentage + line.percentage_half) / 100.0 * drafted.high + 1e-6));
    }
    if (accepted.low > accepted.high || drafted.low > drafted.high || accepted.low > drafted.high) {
        status = spec_log_bad(record, error,
                              "expected accepted tokens, accepted drafts and their share that "
                              "belong to %.0f rounds",
                              line.rounds);
        goto done;
    }
    o.K = record->K;
    o.rounds = o.rounds_low = o.rounds_high = line.rounds;
    o.accepted = middle(&accepted);
    if (drafts) o.drafted = fmax(middle(&drafted), o.accepted);
    o.printed_length = line.length;
    o.printed_rate = line.percentage / 100.0;
    o.running = 1.0;
    if (learned->generation < (int)drafts) learned->generation = drafts;
    learned->gaps = SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES;
    if (accepted.low < accepted.high || drafted.low < drafted.high)
        learned->gaps |= SPEC_LOG_ROUNDED;
    SPEC_TRY(record->observer->take(record->observer->self, &o, error));
done:
    return status;
}

const spec_log_format spec_reader_mlx_vlm_log = {
    .name = "mlx-vlm-log",
    .engine = "mlx-vlm",
    .summary = "the line 'Speculative decoding: ...' of mlx-vlm",
    .generations = generations,
    .concerns = concerns,
    .needles = (const char *const[]){begin, NULL},
    .read = read,
};
