/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/llamacpp_run.h"

#include "tools/advise/readers/log_fields.h"

#include <math.h>
#include <string.h>

/* The numbers that the lines print. A run keeps those before SHARE. */
enum { TOKENS, SECONDS, LENGTH, PREDICTED, DRAFTED, ACCEPTED, SHARE = SPEC_LLAMACPP_RUN_NUMBERS };

static const spec_log_field fields[] = {
    {"decoded ", "tokens in", SPEC_LOG_COUNT, false, TOKENS},
    {NULL, "seconds, speed:", SPEC_LOG_REAL, false, SECONDS},
    {"n_draft   = ", NULL, SPEC_LOG_COUNT, false, LENGTH},
    {"n_predict = ", NULL, SPEC_LOG_COUNT, false, PREDICTED},
    {"n_drafted = ", NULL, SPEC_LOG_COUNT, false, DRAFTED},
    {"n_accept  = ", NULL, SPEC_LOG_COUNT, false, ACCEPTED},
    {"accept    = ", "%", SPEC_LOG_MEAN, false, SHARE}, /* -nan without drafts */
    {0},
};
static const spec_log_line form = {"llama-speculative", NULL, fields};

/* Returns which key begins the line; at most the time and level of a log may come before it. */
static const char *figure(const char *bytes, size_t n, const char *key)
{
    const char *place = spec_log_find(bytes, n, key);
    if (place == NULL) return NULL;
    for (const char *c = bytes; c < place; c++)
        if (strchr("0123456789.:-+TZIW[] \t", *c) == NULL) return NULL;
    return place + strlen(key);
}

/* Returns whether the line consists of a key, blanks and a number. llama-cli prints "n_predict =
 * 128" in the middle of other text. */
static bool ends_with_figure(const char *bytes, size_t n, const char *key)
{
    const char *at = figure(bytes, n, key);
    if (at == NULL) return false;
    for (; at < bytes + n; at++)
        if (*at == ',') return at + 1 < bytes + n && at[1] != ' ';
    return true;
}

bool spec_llamacpp_run_concerns(const char *bytes, size_t n)
{
    if (memchr(bytes, '=', n) == NULL)
        return spec_log_find(bytes, n, " seconds, speed:") != NULL &&
               figure(bytes, n, "decoded ") != NULL;
    for (const spec_log_field *f = fields; f->kind != 0; f++)
        if (f->before != NULL && ends_with_figure(bytes, n, f->before)) return true;
    return false;
}

/* Checks "accept    = 72.055%" against the run that ended. */
static int check_share(const spec_llamacpp_run *run, const spec_log_numbers *line,
                       const spec_log_record *record, spec_error *error)
{
    const double share = 100.0 * run->value[ACCEPTED] / run->value[DRAFTED];
    if (!(run->seen >> ACCEPTED & 1) || run->value[DRAFTED] == 0.0) return GSL_SUCCESS;
    /* The program divides in float. */
    if (fabs(line->value[SHARE] - share) <=
        spec_log_scan_half_unit(line->decimals[SHARE]) + 1e-5 * share)
        return GSL_SUCCESS;
    return spec_log_bad(record, error, "accept: expected %.3f%%, n_accept over n_drafted", share);
}

static void find_rounds(spec_observation *observation, unsigned *gaps, const spec_llamacpp_run *run)
{
    const double drafted = run->value[DRAFTED], K = run->value[LENGTH];
    const double passes = run->value[PREDICTED] - run->value[ACCEPTED];
    double low = ceil(drafted / K), high = fmin(passes, drafted), rounds = high;
    *gaps = SPEC_LOG_NO_DEPTHS;
    if (drafted == 0.0) {
        low = high = rounds = 0.0;
    } else if (!(K >= 1.0)) {
        low = fmin(1.0, high);
    } else if (low > high) { /* there are more nodes than a chain can have */
        *gaps |= SPEC_LOG_TREE;
        low = high;
    } else if (drafted == K * (passes - 1.0)) {
        rounds = low; /* all drafts are complete, so the first pass had none */
    }
    if (low < high) *gaps |= SPEC_LOG_NO_ROUNDS;
    observation->rounds = rounds;
    observation->rounds_low = low;
    observation->rounds_high = high;
    observation->passes = passes;
}

static int hand_over(const spec_llamacpp_run *run, spec_log_learned *learned,
                     const spec_log_record *record, spec_error *error)
{
    const double *v = run->value;
    const unsigned counts = 1u << PREDICTED | 1u << DRAFTED;
    const bool timed = (run->seen >> SECONDS & 1) != 0, has_K = (run->seen >> LENGTH & 1) != 0;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    if ((run->seen & counts) != counts)
        return spec_log_bad(record, error, "n_accept: expected n_predict and n_drafted before it");
    for (int i = PREDICTED; i <= DRAFTED; i++)
        if (v[ACCEPTED] > v[i])
            return spec_log_bad(record, error,
                                "n_accept: expected at most the %.0f of %s, not %.0f", v[i],
                                i == PREDICTED ? "n_predict" : "n_drafted", v[ACCEPTED]);
    if (timed && v[TOKENS] != v[PREDICTED])
        return spec_log_bad(record, error, "n_predict: expected the %.0f tokens decoded, not %.0f",
                            v[TOKENS], v[PREDICTED]);
    if (v[PREDICTED] == 0.0) return GSL_SUCCESS;
    o.K = has_K && v[LENGTH] <= SPEC_OBSERVED_DEPTHS ? (int)v[LENGTH] : record->K;
    find_rounds(&o, &learned->gaps, run);
    o.drafted = v[DRAFTED];
    o.accepted = v[ACCEPTED];
    o.emitted = v[PREDICTED];
    o.running = 1.0;
    if (timed && v[SECONDS] > 0.0)
        o.seconds = v[SECONDS];
    else
        learned->gaps |= SPEC_LOG_NO_TIMES;
    if (o.drafted > 0.0) o.printed_rate = o.accepted / o.drafted;
    return spec_log_hand_over(record, &o, error);
}

int spec_llamacpp_run_read(spec_llamacpp_run *run, bool *ret_ended, spec_log_learned *learned,
                           const spec_log_record *record, spec_error *error)
{
    spec_log_scan scan = spec_log_scan_of(record);
    spec_log_numbers line;
    *ret_ended = false;
    SPEC_PASS(spec_log_fields_read(&line, &form, &scan, error));
    if (spec_log_numbers_has(&line, SHARE)) return check_share(run, &line, record, error);
    /* A run begins with "decoded"; if that line is missing, it begins when the previous run has
     * ended. */
    if (spec_log_numbers_has(&line, TOKENS) || (run->seen >> ACCEPTED & 1) != 0)
        *run = (spec_llamacpp_run){0};
    run->seen |= line.seen;
    for (int i = 0; i < SPEC_LLAMACPP_RUN_NUMBERS; i++)
        if (spec_log_numbers_has(&line, i)) run->value[i] = line.value[i];
    if (!spec_log_numbers_has(&line, ACCEPTED)) return GSL_SUCCESS;
    SPEC_PASS(hand_over(run, learned, record, error));
    *ret_ended = true;
    return GSL_SUCCESS;
}
