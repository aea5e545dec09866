/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mlx-vlm prints one line for each generation: means, a percentage, and the number of rounds. */
#include "tools/advise/readers/log_fields.h"

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

/* A range of whole numbers, which the printed numbers narrow. */
typedef struct {
    double low, high;
} range;

static void narrow(range *r, double value, double half, double times)
{
    r->low = fmax(r->low, ceil((value - half) * times - 1e-6));
    r->high = fmin(r->high, floor((value + half) * times + 1e-6));
}

static double half(const spec_log_numbers *line, int slot)
{
    return spec_log_scan_half_unit(line->decimals[slot]);
}

static double middle(const range *r)
{
    return floor((r->low + r->high) / 2.0 + 0.5);
}

enum { LENGTH, MEAN, PERCENTAGE, DRAFT, ROUNDS };
static const spec_log_field fields[] = {
    {begin, "accepted tokens", SPEC_LOG_REAL, true, LENGTH},
    {"/round (", "accepted drafts/round,", SPEC_LOG_REAL, false, MEAN},
    {NULL, "% of drafted, avg draft", SPEC_LOG_REAL, false, PERCENTAGE},
    {NULL, ")", SPEC_LOG_REAL, false, DRAFT},
    {"over ", "rounds", SPEC_LOG_COUNT, true, ROUNDS},
    {0},
};
static const spec_log_line form = {"Speculative decoding", NULL, fields};

static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    range accepted = {0.0, INFINITY}, drafted = {0.0, INFINITY};
    spec_log_scan scan = spec_log_scan_of(record);
    spec_log_numbers line;
    (void)self;
    SPEC_PASS(spec_log_fields_read(&line, &form, &scan, error));
    const double *v = line.value, rounds = v[ROUNDS];
    const bool drafts = spec_log_numbers_has(&line, DRAFT);
    if (rounds < 1.0) return spec_log_bad(record, error, "rounds: expected 1 or more");
    narrow(&accepted, v[LENGTH] - 1.0, half(&line, LENGTH), rounds);
    if (drafts) {
        const double share = half(&line, PERCENTAGE);
        narrow(&accepted, v[MEAN], half(&line, MEAN), rounds);
        narrow(&drafted, v[DRAFT], half(&line, DRAFT), rounds);
        accepted.low =
            fmax(accepted.low, ceil((v[PERCENTAGE] - share) / 100.0 * drafted.low - 1e-6));
        accepted.high =
            fmin(accepted.high, floor((v[PERCENTAGE] + share) / 100.0 * drafted.high + 1e-6));
    }
    if (accepted.low > accepted.high || drafted.low > drafted.high || accepted.low > drafted.high) {
        return spec_log_bad(record, error,
                            "expected accepted tokens, accepted drafts and their share that "
                            "belong to %.0f rounds",
                            rounds);
    }
    o.K = record->K;
    o.rounds = o.rounds_low = o.rounds_high = rounds;
    o.accepted = middle(&accepted);
    if (drafts) o.drafted = fmax(middle(&drafted), o.accepted);
    o.printed_length = v[LENGTH];
    o.printed_rate = v[PERCENTAGE] / 100.0;
    o.running = 1.0;
    if (learned->generation < (int)drafts) learned->generation = drafts;
    learned->gaps = SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES;
    if (accepted.low < accepted.high || drafted.low < drafted.high)
        learned->gaps |= SPEC_LOG_ROUNDED;
    return spec_log_hand_over(record, &o, error);
}

const spec_log_format spec_reader_mlx_vlm_log = {
    .name = "mlx-vlm-log", .engine = "mlx-vlm",
    .summary = "the line 'Speculative decoding: ...' of mlx-vlm",
    .generations = generations,
    .concerns = concerns,
    .needles = SPEC_TEXTS(begin), .read = read};
