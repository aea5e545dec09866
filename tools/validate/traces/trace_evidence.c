/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_counts.h"

#include <math.h>
#include <stdlib.h>

static const double powers[SPEC_TRACE_POWERS] = {0.5, 0.9, 1.1, 2.0};
static const double power_stake = 0.1;

/* In any law, at most k tokens have a probability above 1/(k+1). There is one tilt for each k. */
static const double sure_tokens[SPEC_TRACE_SURE] = {1.0, 2.0, 4.0};

int spec_trace_evidence_init(spec_trace_evidence **ret, const spec_trace_head *head, gsl_rng *rng,
                             spec_error *error)
{
    spec_trace_evidence *e = *ret = calloc(1, sizeof *e);
    if (e == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    e->vocab = head->vocab;
    e->discount = exp(-2.0 * head->precision);
    e->rng = rng;
    e->last_pit = -1.0f;
    for (int j = 0; j < 2 * SPEC_TRACE_POWERS; j++) e->power[j] = SPEC_TRACE_BET_START;
    for (int s = 0; s < SPEC_TRACE_SETS; s++) e->event[s] = spec_trace_event_start();
    return GSL_SUCCESS;
}

void spec_trace_evidence_free(spec_trace_evidence *e)
{
    free(e);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int largest(const double *row, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

/* Returns the mass of a row before a cell, in order of ids (with the rest last) or of ranks (among
 * equals, the first cell comes first). */
static double mass_before(const spec_trace_record *record, const double *row, int cell,
                          bool by_rank)
{
    const int n = record->n_cells;
    double mass = 0.0;
    if (by_rank) {
        for (int i = 0; i < n; i++)
            if (row[i] > row[cell] || (row[i] == row[cell] && i < cell)) mass += row[i];
    } else if (record->whole) {
        for (int i = 0; i < cell; i++) mass += row[i];
    } else {
        for (int i = 0; i < n - 1; i++)
            if (cell == n - 1 || record->id[i] < record->id[cell]) mass += row[i];
    }
    return mass;
}

static void count_sets(spec_trace_evidence *e, const spec_trace_record *record)
{
    const int n = record->n_cells, cell = record->cell, mode = largest(record->target, n);
    const double *target = record->target, *draft = record->draft;
    const double faint = 1e-3 * target[mode];
    double tail = 0.0, draft_more = 0.0, target_more = 0.0;
    spec_trace_event_add(&e->event[SPEC_TRACE_SET_TARGET_MODE], cell == mode, target[mode]);
    if (record->whole) {
        for (int i = 0; i < n; i++) tail += target[i] < faint ? target[i] : 0.0;
        spec_trace_event_add(&e->event[SPEC_TRACE_SET_TAIL], target[cell] < faint, tail);
        spec_trace_event_add(&e->event[SPEC_TRACE_SET_FIRST], cell == 0, target[0]);
        spec_trace_event_add(&e->event[SPEC_TRACE_SET_LAST], cell == n - 1, target[n - 1]);
    } else {
        spec_trace_event_add(&e->event[SPEC_TRACE_SET_TAIL], cell == n - 1, target[n - 1]);
    }
    if (draft == NULL) return;
    for (int i = 0; i < n; i++) {
        if (draft[i] > target[i]) draft_more += target[i];
        if (target[i] > draft[i]) target_more += target[i];
    }
    const int draft_mode = largest(draft, n);
    spec_trace_event_add(&e->event[SPEC_TRACE_SET_DRAFT_MORE], draft[cell] > target[cell],
                         draft_more);
    spec_trace_event_add(&e->event[SPEC_TRACE_SET_TARGET_MORE], target[cell] > draft[cell],
                         target_more);
    spec_trace_event_add(&e->event[SPEC_TRACE_SET_DRAFT_MODE], cell == draft_mode,
                         target[draft_mode]);
}

static void bet_powers(spec_trace_evidence *e, const spec_trace_record *record)
{
    double sum[SPEC_TRACE_POWERS] = {0.0};
    for (int i = 0; i < record->n_cells; i++) {
        const double chance = record->target[i];
        if (!(chance > 0.0)) continue;
        const double tenth = pow(chance, 0.1);
        sum[0] += sqrt(chance);
        sum[1] += chance / tenth;
        sum[2] += chance * tenth;
        sum[3] += chance * chance;
    }
    for (int k = 0; k < SPEC_TRACE_POWERS; k++) {
        const double ratio = pow(record->target[record->cell], powers[k] - 1.0) / sum[k];
        spec_trace_bet_multiply(&e->power[2 * k], ratio);
        spec_trace_bet_multiply(&e->power[2 * k + 1], 1.0 - power_stake + power_stake * ratio);
    }
}

static int cell_of(double u, int cells)
{
    const int cell = (int)(u * cells);
    return cell < cells ? cell : cells - 1;
}

static void count_lag(spec_trace_evidence *e, int kind, float before, double now)
{
    if (before >= 0.0f)
        e->lag[kind][cell_of((double)before, SPEC_TRACE_LAG_CELLS)]
              [cell_of(now, SPEC_TRACE_LAG_CELLS)]++;
}

/* Returns the position of a token in its round, as far as it is known before the token: after a
 * correction, after a bonus token, or after some number of accepted tokens. Negative if unknown. */
static int stratum_of(const spec_trace_text *text)
{
    if (text->accepted < 0 || text->place < 0) return -1;
    if (text->accepted == 0) return text->drafted ? 0 : 1;
    return text->place + 2 < SPEC_TRACE_STRATA ? text->place + 2 : SPEC_TRACE_STRATA - 1;
}

static void count_places(spec_trace_evidence *e, const spec_trace_record *record)
{
    spec_trace_text *text = record->text;
    const double chance = record->target[record->cell], share = gsl_rng_uniform(e->rng) * chance;
    const double u = mass_before(record, record->target, record->cell, false) + share;
    const int stratum = stratum_of(text);
    e->pit[SPEC_TRACE_PIT_ID][cell_of(u, SPEC_TRACE_CELLS)]++;
    e->pit[SPEC_TRACE_PIT_RANK][cell_of(
        mass_before(record, record->target, record->cell, true) + share, SPEC_TRACE_CELLS)]++;
    count_lag(e, SPEC_TRACE_LAG_ONE, text->pit, u);
    count_lag(e, SPEC_TRACE_LAG_TWO, text->before, u);
    if (e->last_key != text->key) count_lag(e, SPEC_TRACE_LAG_REQUESTS, e->last_pit, u);
    if (stratum >= 0) e->stratum[stratum][cell_of(u, SPEC_TRACE_STRATUM_CELLS)]++;
    text->before = text->pit;
    text->pit = e->last_pit = (float)u;
    e->last_key = text->key;
}

/* ---- a token --------------------------------------------------------------------------------- */

static spec_hard what_is_hard(const spec_trace_record *record)
{
    if (record->token < 0) return SPEC_HARD_RANGE;
    if (exp(record->target_log) == 0.0)
        return SPEC_HARD_IMPOSSIBLE; /* false for NaN, which is unknown */
    if (record->n_cells > 0 && record->target[record->cell] == 0.0) return SPEC_HARD_IMPOSSIBLE;
    if (record->accepted == 1 && record->drafted != record->token) return SPEC_HARD_PATH;
    return SPEC_HARD_NONE;
}

/* Under any rule, the first draft token of a round has the draft's law. Later ones are logged only
 * if they are reached. */
static void count_drafted(spec_trace_evidence *e, const spec_trace_record *record)
{
    if (!isnan(record->coin))
        e->pit[SPEC_TRACE_PIT_COIN][cell_of(record->coin, SPEC_TRACE_CELLS)]++;
    if (record->text->accepted != 0 || record->drafted < 0 || record->draft == NULL ||
        !record->whole)
        return;
    const double share = gsl_rng_uniform(e->rng) * record->draft[record->drafted];
    e->pit[SPEC_TRACE_PIT_DRAFTED][cell_of(
        mass_before(record, record->draft, record->drafted, false) + share, SPEC_TRACE_CELLS)]++;
}

/* The threshold is discounted like the ratio: a logged probability above it was above 1/(k+1)
 * before rounding. */
static void bet_sure(spec_trace_evidence *e, double chance)
{
    for (int j = 0; j < SPEC_TRACE_SURE; j++) {
        const double k = sure_tokens[j];
        spec_trace_tilt_add(&e->tilt[SPEC_TRACE_TILT_SURE + j],
                            chance * e->discount > 1.0 / (k + 1.0) ? e->discount / (k * chance)
                                                                   : 0.0);
    }
}

static void bet_ratios(spec_trace_evidence *e, const spec_trace_record *record)
{
    if (!isnan(record->target_log))
        bet_sure(e, exp(record->target_log));
    else if (record->n_cells > 0)
        bet_sure(e, record->target[record->cell]);
    if (!isnan(record->target_log) && !isnan(record->draft_log))
        spec_trace_tilt_add(&e->tilt[SPEC_TRACE_TILT_DRAFT],
                            exp(record->draft_log - record->target_log) * e->discount);
    else if (record->draft != NULL)
        spec_trace_tilt_add(&e->tilt[SPEC_TRACE_TILT_DRAFT], record->draft[record->cell] /
                                                                 record->target[record->cell] *
                                                                 e->discount);
    if (!isnan(record->target_log))
        spec_trace_tilt_add(&e->tilt[SPEC_TRACE_TILT_FLAT],
                            exp(-record->target_log) / e->vocab * e->discount);
    else if (record->whole)
        spec_trace_tilt_add(&e->tilt[SPEC_TRACE_TILT_FLAT],
                            e->discount / (e->vocab * record->target[record->cell]));
}

static void keep_round(spec_trace_evidence *e, const spec_trace_record *record)
{
    spec_trace_text *text = record->text;
    const int last = text->accepted;
    if (record->accepted >= 0) {
        e->accepted += record->accepted == 1;
        e->rounds += record->accepted == 0;
    }
    text->place = record->accepted < 0 ? -1 : last == 1 && text->place >= 0 ? text->place + 1 : 0;
    text->accepted = record->accepted;
    text->drafted = record->drafted >= 0;
}

void spec_trace_evidence_add(spec_trace_evidence *e, const spec_trace_record *record, uint64_t line)
{
    const spec_hard hard = what_is_hard(record);
    e->tokens++;
    if (hard != SPEC_HARD_NONE && e->hard == SPEC_HARD_NONE) {
        e->hard = hard;
        e->hard_line = line;
    }
    /* it has no position in any law */
    if (hard == SPEC_HARD_RANGE || hard == SPEC_HARD_IMPOSSIBLE) {
        record->text->pit = record->text->before = e->last_pit = -1.0f;
    } else {
        bet_ratios(e, record);
        count_drafted(e, record);
        if (record->n_cells > 0) {
            e->rows++;
            count_sets(e, record);
            bet_powers(e, record);
            count_places(e, record);
        } else {
            record->text->before = record->text->pit;
            record->text->pit = -1.0f;
        }
    }
    keep_round(e, record);
}

/* ---- reading --------------------------------------------------------------------------------- */

uint64_t spec_trace_evidence_tokens(const spec_trace_evidence *e)
{
    return e->tokens;
}

uint64_t spec_trace_evidence_rows(const spec_trace_evidence *e)
{
    return e->rows;
}

spec_hard spec_trace_evidence_hard(const spec_trace_evidence *e, uint64_t *ret_line)
{
    *ret_line = e->hard_line;
    return e->hard;
}

double spec_trace_evidence_accepted(const spec_trace_evidence *e)
{
    return e->rounds > 0 ? (double)e->accepted / (double)e->rounds : NAN;
}
