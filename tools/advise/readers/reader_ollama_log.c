/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ollama's runner for MLX prints a line for each request. An iteration is a pass of the target,
 * with a draft or without one: the runner chooses the draft's depth, which may be 0. If
 * llama-server serves a request for ollama, the lines are llama-server's own
 * (reader_llamacpp_log.c). */
#include "tools/advise/readers/log_fields.h"

static const char begin[] = "msg=\"speculative decode stats\"";

enum { PASSES, DRAFTED, ACCEPTED, RATE, MAX_DRAFT };
static const spec_log_field fields[] = {
    {" iterations=", NULL, SPEC_LOG_COUNT, true, PASSES},
    {" drafted=", NULL, SPEC_LOG_COUNT, true, DRAFTED},
    {" accepted=", NULL, SPEC_LOG_COUNT, true, ACCEPTED},
    {" acceptance=", NULL, SPEC_LOG_REAL, false, RATE},
    {" max_draft=", NULL, SPEC_LOG_COUNT, false, MAX_DRAFT},
    {0},
};
static const spec_log_line form = {"speculative decode stats", NULL, fields};

static bool concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, begin) != NULL;
}

static int check(const spec_log_numbers *line, const spec_log_record *record, spec_error *error)
{
    const double *v = line->value;
    if (v[ACCEPTED] > v[DRAFTED] || v[DRAFTED] > v[PASSES] * v[MAX_DRAFT] ||
        v[MAX_DRAFT] > SPEC_OBSERVED_DEPTHS ||
        spec_log_scan_differs(v[RATE], line->decimals[RATE], v[ACCEPTED] / v[DRAFTED]))
        return spec_log_bad(record, error,
                            "speculative decode stats: %.0f iterations, %.0f drafted and %.0f "
                            "accepted tokens contradict one another, the acceptance or max_draft",
                            v[PASSES], v[DRAFTED], v[ACCEPTED]);
    return GSL_SUCCESS;
}

static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    spec_log_scan scan = spec_log_scan_of(record);
    spec_log_numbers line;
    (void)self;
    spec_log_scan_find(&scan, begin);
    SPEC_PASS(spec_log_fields_read(&line, &form, &scan, error));
    SPEC_PASS(check(&line, record, error));
    const double *v = line.value;
    const bool deepest = v[MAX_DRAFT] >= 1.0;
    if (v[PASSES] == 0.0) return GSL_SUCCESS;
    o.K = deepest ? (int)v[MAX_DRAFT] : record->K;
    o.passes = v[PASSES];
    o.drafted = v[DRAFTED];
    o.accepted = v[ACCEPTED];
    o.emitted = o.passes + o.accepted;
    o.rounds_low = deepest ? ceil(o.drafted / v[MAX_DRAFT]) : fmin(1.0, o.drafted);
    o.rounds = o.rounds_high = fmin(o.passes, o.drafted);
    o.printed_rate = v[RATE];
    o.running = 1.0;
    learned->generation = 0;
    learned->gaps = SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES |
                    (o.rounds_low < o.rounds_high ? (unsigned)SPEC_LOG_NO_ROUNDS : 0);
    return spec_log_hand_over(record, &o, error);
}

const spec_log_format spec_reader_ollama_log = {
    .name = "ollama-log", .engine = "ollama",
    .summary = "the line 'speculative decode stats' of ollama's runner for MLX",
    .generations = SPEC_TEXTS("speculative decode stats (2026)"),
    .concerns = concerns,
    .needles = SPEC_TEXTS(begin), .read = read};
