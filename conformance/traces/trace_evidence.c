#include "conformance/traces/trace_evidence.h"

#include "analysis/statistics/evalue.h"
#include "analysis/statistics/goodness.h"
#include "analysis/statistics/power.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

/* Cells of a place in a cumulative law, alone and in pairs; kinds of places in a round; priors of Dirichlet bets. */
enum { CELLS = 32, LAG_CELLS = 8, STRATUM_CELLS = 16, STRATA = 8, PRIORS = 3, MIN_EXPECTED = 5, MIN_VARIANCE = 25 };
static const double priors[PRIORS] = {0.5, 20.0, 500.0};

/* ---- bets -------------------------------------------------------------------------------------------------------- */

/* A capital: exp(gain) factor, so that there is no logarithm a token. */
typedef struct {
    double gain, factor;
} bet;

static void multiply(bet *b, double factor)
{
    b->factor *= factor;
    if (b->factor > 1e-150 && b->factor < 1e150) return;
    b->gain += log(b->factor);
    b->factor = 1.0;
}

static double capital(const bet *b)
{
    return b->gain + log(b->factor);
}

/* Bets towards another law: on the ratio r of that law to the target, at the token. The mean of r is at most 1, so
 * 1 - lambda + lambda r is a fair bet or worse. Of each lambda: the sums of the logarithms, of their squares, and of
 * (r-1) times them, which tell the power against a share of tokens from that law. */
enum { SHARES = 5 };
static const double shares[SHARES] = {0.004, 0.03, 0.15, 0.5, 1.0};

typedef struct {
    double n, sum;
    double gain[SHARES], square[SHARES], slope[SHARES];
} tilt;

static void bet_tilt(tilt *t, double ratio)
{
    const double r = fmin(ratio, 1e100); /* less is still fair */
    t->n++;
    t->sum += r;
    for (int j = 0; j < SHARES; j++) {
        const double x = shares[j] * (r - 1.0), gain = x > -1.0 ? log1p(x) : -INFINITY;
        t->gain[j] += gain;
        if (x <= -1.0) continue;
        t->square[j] += gain * gain;
        t->slope[j] += (r - 1.0) * gain;
    }
}

/* Powers of the target's law, which other temperatures are; two bets on each. */
enum { POWERS = 4 };
static const double powers[POWERS] = {0.5, 0.9, 1.1, 2.0};
static const double power_share = 0.1;

/* ---- sets of tokens ---------------------------------------------------------------------------------------------- */

enum { SET_DRAFT_MORE, SET_TARGET_MORE, SET_TARGET_MODE, SET_DRAFT_MODE, SET_FIRST, SET_LAST, SET_TAIL, SETS };

/* In standard deviations of one token: small ones for small differences. */
enum { DEVIATIONS = 6 };
static const double deviations[DEVIATIONS] = {-0.1, -0.02, -0.004, 0.004, 0.02, 0.1};

typedef struct {
    double n, hits, expected, variance;
    bet bet[DEVIATIONS];
} event;

static void bet_event(event *e, bool hit, double mass)
{
    const double chance = fmin(mass, 1.0), variance = chance * (1.0 - chance);
    if (!(variance > 1e-12)) return;
    const double spread = sqrt(variance), off = (hit ? 1.0 : 0.0) - chance;
    e->n++;
    e->hits += hit;
    e->expected += chance;
    e->variance += variance;
    for (int j = 0; j < DEVIATIONS; j++) {
        const double lambda = fmax(-0.9 / (1.0 - chance), fmin(0.9 / chance, deviations[j] / spread));
        multiply(&e->bet[j], 1.0 + lambda * off);
    }
}

/* ---- the evidence ------------------------------------------------------------------------------------------------ */

enum { TILT_DRAFT, TILT_FLAT, TILTS };
enum { PIT_ID, PIT_RANK, PIT_DRAFTED, PIT_COIN, PITS };
enum { LAG_ONE, LAG_TWO, LAG_REQUESTS, LAGS };

struct spec_trace_evidence {
    int vocab;
    double discount; /* of ratios: log-probabilities are rounded */
    gsl_rng *rng;
    uint64_t tokens, rows, accepted, rounds;
    spec_hard hard;
    uint64_t hard_line;
    tilt tilt[TILTS];
    bet power[2 * POWERS];
    event event[SETS];
    uint64_t pit[PITS][CELLS];
    uint64_t lag[LAGS][LAG_CELLS][LAG_CELLS];
    uint64_t stratum[STRATA][STRATUM_CELLS];
    uint64_t last_key; /* the text of the last token that had a row */
    float last_pit;
};

int spec_trace_evidence_init(spec_trace_evidence **ret, const spec_trace_head *head, gsl_rng *rng, spec_error *error)
{
    spec_trace_evidence *e = *ret = calloc(1, sizeof *e);
    if (e == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    e->vocab = head->vocab;
    e->discount = exp(-2.0 * head->precision);
    e->rng = rng;
    e->last_pit = -1.0f;
    for (int j = 0; j < 2 * POWERS; j++) e->power[j].factor = 1.0;
    for (int s = 0; s < SETS; s++)
        for (int j = 0; j < DEVIATIONS; j++) e->event[s].bet[j].factor = 1.0;
    return GSL_SUCCESS;
}

void spec_trace_evidence_free(spec_trace_evidence *e)
{
    free(e);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int largest(const double *row, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

/* Mass of a row before a cell, in the order of ids (the rest last) or of ranks (of equals, the first cell first). */
static double mass_before(const spec_trace_record *record, const double *row, int cell, bool by_rank)
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
    bet_event(&e->event[SET_TARGET_MODE], cell == mode, target[mode]);
    if (record->whole) {
        for (int i = 0; i < n; i++) tail += target[i] < faint ? target[i] : 0.0;
        bet_event(&e->event[SET_TAIL], target[cell] < faint, tail);
        bet_event(&e->event[SET_FIRST], cell == 0, target[0]);
        bet_event(&e->event[SET_LAST], cell == n - 1, target[n - 1]);
    } else {
        bet_event(&e->event[SET_TAIL], cell == n - 1, target[n - 1]);
    }
    if (draft == NULL) return;
    for (int i = 0; i < n; i++) {
        if (draft[i] > target[i]) draft_more += target[i];
        if (target[i] > draft[i]) target_more += target[i];
    }
    const int draft_mode = largest(draft, n);
    bet_event(&e->event[SET_DRAFT_MORE], draft[cell] > target[cell], draft_more);
    bet_event(&e->event[SET_TARGET_MORE], target[cell] > draft[cell], target_more);
    bet_event(&e->event[SET_DRAFT_MODE], cell == draft_mode, target[draft_mode]);
}

static void bet_powers(spec_trace_evidence *e, const spec_trace_record *record)
{
    double sum[POWERS] = {0.0};
    for (int i = 0; i < record->n_cells; i++) {
        const double chance = record->target[i];
        if (!(chance > 0.0)) continue;
        const double tenth = pow(chance, 0.1);
        sum[0] += sqrt(chance);
        sum[1] += chance / tenth;
        sum[2] += chance * tenth;
        sum[3] += chance * chance;
    }
    for (int k = 0; k < POWERS; k++) {
        const double ratio = pow(record->target[record->cell], powers[k] - 1.0) / sum[k];
        multiply(&e->power[2 * k], ratio);
        multiply(&e->power[2 * k + 1], 1.0 - power_share + power_share * ratio);
    }
}

static int cell_of(double u, int cells)
{
    const int cell = (int)(u * cells);
    return cell < cells ? cell : cells - 1;
}

static void count_lag(spec_trace_evidence *e, int kind, float before, double now)
{
    if (before >= 0.0f) e->lag[kind][cell_of((double)before, LAG_CELLS)][cell_of(now, LAG_CELLS)]++;
}

/* Where in its round a token stands, by what is known before it comes: after a correction, after a bonus, or so many
 * accepted tokens on. Negative: not known. */
static int stratum_of(const spec_trace_text *text)
{
    if (text->accepted < 0 || text->place < 0) return -1;
    if (text->accepted == 0) return text->drafted ? 0 : 1;
    return text->place + 2 < STRATA ? text->place + 2 : STRATA - 1;
}

static void count_places(spec_trace_evidence *e, const spec_trace_record *record)
{
    spec_trace_text *text = record->text;
    const double chance = record->target[record->cell], share = gsl_rng_uniform(e->rng) * chance;
    const double u = mass_before(record, record->target, record->cell, false) + share;
    const int stratum = stratum_of(text);
    e->pit[PIT_ID][cell_of(u, CELLS)]++;
    e->pit[PIT_RANK][cell_of(mass_before(record, record->target, record->cell, true) + share, CELLS)]++;
    count_lag(e, LAG_ONE, text->pit, u);
    count_lag(e, LAG_TWO, text->before, u);
    if (e->last_key != text->key) count_lag(e, LAG_REQUESTS, e->last_pit, u);
    if (stratum >= 0) e->stratum[stratum][cell_of(u, STRATUM_CELLS)]++;
    text->before = text->pit;
    text->pit = e->last_pit = (float)u;
    e->last_key = text->key;
}

/* ---- a token ----------------------------------------------------------------------------------------------------- */

static spec_hard what_is_hard(const spec_trace_record *record)
{
    if (record->token < 0) return SPEC_HARD_RANGE;
    if (exp(record->target_log) == 0.0) return SPEC_HARD_IMPOSSIBLE; /* false where it is not known */
    if (record->n_cells > 0 && record->target[record->cell] == 0.0) return SPEC_HARD_IMPOSSIBLE;
    if (record->accepted == 1 && record->drafted != record->token) return SPEC_HARD_PATH;
    return SPEC_HARD_NONE;
}

/* The first draft token of a round has the draft's law in any rule; of later ones those are seen that were reached. */
static void count_drafted(spec_trace_evidence *e, const spec_trace_record *record)
{
    if (!isnan(record->coin)) e->pit[PIT_COIN][cell_of(record->coin, CELLS)]++;
    if (record->text->accepted != 0 || record->drafted < 0 || record->draft == NULL || !record->whole) return;
    const double share = gsl_rng_uniform(e->rng) * record->draft[record->drafted];
    e->pit[PIT_DRAFTED][cell_of(mass_before(record, record->draft, record->drafted, false) + share, CELLS)]++;
}

static void bet_ratios(spec_trace_evidence *e, const spec_trace_record *record)
{
    if (!isnan(record->target_log) && !isnan(record->draft_log))
        bet_tilt(&e->tilt[TILT_DRAFT], exp(record->draft_log - record->target_log) * e->discount);
    else if (record->draft != NULL)
        bet_tilt(&e->tilt[TILT_DRAFT], record->draft[record->cell] / record->target[record->cell] * e->discount);
    if (!isnan(record->target_log))
        bet_tilt(&e->tilt[TILT_FLAT], exp(-record->target_log) / e->vocab * e->discount);
    else if (record->whole)
        bet_tilt(&e->tilt[TILT_FLAT], e->discount / (e->vocab * record->target[record->cell]));
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
    if (hard == SPEC_HARD_RANGE || hard == SPEC_HARD_IMPOSSIBLE) { /* no place in any law */
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

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static void find_tilt(spec_finding *ret, const spec_trace_evidence *e, int kind)
{
    const tilt *t = &e->tilt[kind];
    ret->n = t->n;
    ret->log_e = spec_evalue_mean(t->gain, SHARES);
    ret->seen = t->sum / t->n;
    ret->expected = 1.0;
}

static void find_power(spec_finding *ret, const spec_trace_evidence *e, int setting)
{
    double log_e[2 * POWERS];
    (void)setting;
    for (int k = 0; k < 2 * POWERS; k++) log_e[k] = capital(&e->power[k]);
    ret->n = (double)e->rows;
    ret->log_e = spec_evalue_mean(log_e, 2 * POWERS);
}

static void find_set(spec_finding *ret, const spec_trace_evidence *e, int set)
{
    const event *s = &e->event[set];
    double log_e[DEVIATIONS];
    for (int j = 0; j < DEVIATIONS; j++) log_e[j] = capital(&s->bet[j]);
    ret->n = s->n;
    ret->log_e = spec_evalue_mean(log_e, DEVIATIONS);
    ret->statistic = s->variance > 0.0 ? (s->hits - s->expected) / sqrt(s->variance) : 0.0;
    if (s->variance >= MIN_VARIANCE) ret->p = spec_normal_p(ret->statistic);
    ret->seen = s->hits / s->n;
    ret->expected = s->expected / s->n;
}

/* Tables of cells that are all as probable, bet on row by row: under the null what fixes the row was there before. */
static void find_table(spec_finding *ret, const uint64_t *count, int rows, int cells)
{
    static const uint64_t none[CELLS] = {0};
    double even[CELLS], log_e[PRIORS] = {0.0};
    ret->statistic = ret->df = 0.0;
    for (int c = 0; c < cells; c++) even[c] = 1.0 / cells;
    for (int r = 0; r < rows; r++) {
        const uint64_t *row = count + (size_t)r * (size_t)cells;
        spec_goodness g;
        for (int c = 0; c < cells; c++) ret->n += (double)row[c];
        for (int w = 0; w < PRIORS; w++) log_e[w] += spec_evalue_dirichlet(row, none, even, cells, priors[w] * cells);
        if (spec_goodness_g(&g, row, even, (size_t)cells, MIN_EXPECTED, 0) != GSL_SUCCESS) continue;
        ret->statistic += g.statistic;
        ret->df += g.df;
    }
    ret->log_e = spec_evalue_mean(log_e, PRIORS);
    ret->p = ret->df > 0.0 ? gsl_cdf_chisq_Q(ret->statistic, ret->df) : NAN;
}

static void find_pit(spec_finding *ret, const spec_trace_evidence *e, int kind)
{
    find_table(ret, e->pit[kind], 1, CELLS);
    if (kind == PIT_DRAFTED || kind == PIT_COIN) ret->log_e = NAN;
}

static void find_lag(spec_finding *ret, const spec_trace_evidence *e, int kind)
{
    find_table(ret, e->lag[kind][0], LAG_CELLS, LAG_CELLS);
}

static void find_rounds(spec_finding *ret, const spec_trace_evidence *e, int setting)
{
    (void)setting;
    find_table(ret, e->stratum[0], STRATA, STRATUM_CELLS);
}

const spec_trace_test spec_trace_tests[] = {
    {"draft-tilt", "ratios of draft to target: tokens that come from the draft untested, or resampled wrongly",
     find_tilt, TILT_DRAFT},
    {"flat-tilt", "log-probabilities against an even law: too many improbable tokens", find_tilt, TILT_FLAT},
    {"temperature", "powers of the target's law: another temperature than the row's", find_power, 0},
    {"draft-more", "tokens the draft likes better: drafts accepted too often, or the residual forgotten", find_set,
     SET_DRAFT_MORE},
    {"target-more", "tokens the target likes better: the residual's tokens", find_set, SET_TARGET_MORE},
    {"target-mode", "the target's most probable token: argmax where a sample was due", find_set, SET_TARGET_MODE},
    {"draft-mode", "the draft's most probable token: drafts chosen and judged as if sampled", find_set, SET_DRAFT_MODE},
    {"first-token", "token 0: where scans that never hit, and casts, end up", find_set, SET_FIRST},
    {"last-token", "the last token: where sums that fall short end up", find_set, SET_LAST},
    {"tail", "tokens a thousand times less probable than the first, or not among those logged", find_set, SET_TAIL},
    {"pit-id", "where tokens fall in the cumulative law, by id: rows of another place or request", find_pit, PIT_ID},
    {"pit-rank", "the same, the most probable first: temperature and filters", find_pit, PIT_RANK},
    {"places", "a token's place in its law, by that of the one before", find_lag, LAG_ONE},
    {"places-2", "the same, by that of the last but one", find_lag, LAG_TWO},
    {"coins", "the same, by that of the last token of another request: random numbers shared", find_lag, LAG_REQUESTS},
    {"rounds", "the same, by where it stands in its round", find_rounds, 0},
    {"drafted", "first draft tokens of a round against the draft's row: drafts from another law than is judged",
     find_pit, PIT_DRAFTED},
    {"coin", "the coins of the tests of drafts", find_pit, PIT_COIN},
    {NULL, NULL, NULL, 0},
};

int spec_trace_evidence_findings(spec_finding *ret, const spec_trace_evidence *e)
{
    int n = 0;
    for (const spec_trace_test *test = spec_trace_tests; test->name != NULL; test++) {
        ret[n] = (spec_finding){.name = test->name, .log_e = NAN, .statistic = NAN, .df = NAN, .p = NAN, .seen = NAN,
                                .expected = NAN};
        test->finding(&ret[n], e, test->setting);
        if (ret[n].n > 0.0) n++; /* nothing seen says nothing */
    }
    return n;
}

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

/* ---- power ------------------------------------------------------------------------------------------------------- */

/* With a prior of W draws the logarithm of the capital is about G/2 n/(n+W) - df/2 log(1 + n/W), G being the likelihood
 * ratio's statistic: so each bet is a chi-square test at a level of its own. */
double spec_trace_evidence_detectable(const spec_trace_evidence *e, double log_needed, double power)
{
    const double n = (double)e->rows, df = CELLS - 1;
    double least = 1.0;
    if (!(n > 0.0)) return NAN;
    for (int w = 0; w < PRIORS; w++) {
        const double weight = priors[w] * CELLS;
        const double gain = log_needed + log(PRIORS) + 0.5 * df * log1p(n / weight);
        const double level = gsl_cdf_chisq_Q(2.0 * gain * (n + weight) / n, df);
        if (level > 0.0) least = fmin(least, spec_power_detectable(n, df, level, power));
    }
    return least;
}

/* If a share of the tokens is the draft's, a bet's expected gain is what it was plus the share times its slope. */
double spec_trace_evidence_share(const spec_trace_evidence *e, double log_needed, double power)
{
    const tilt *t = &e->tilt[TILT_DRAFT];
    const double z = gsl_cdf_ugaussian_Pinv(power);
    double least = NAN;
    for (int j = 0; j < SHARES && t->n > 0.0; j++) {
        if (!(t->slope[j] > 0.0) || isinf(t->gain[j])) continue;
        const double spread = sqrt(fmax(t->square[j] - t->gain[j] * t->gain[j] / t->n, 0.0));
        /* What the gain would be had the mean of the ratios been 1: this trace's luck is not the next one's. */
        const double gain = fmin(t->gain[j], t->gain[j] - shares[j] * (t->sum - t->n));
        const double share = (log_needed + log(SHARES) + z * spread - gain) / t->slope[j];
        if (share <= 1.0) least = fmin(least, fmax(share, 0.0));
    }
    return least;
}
