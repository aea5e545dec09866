/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/served_judge.h"

#include "analysis/statistics/evalue.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/live/filter_bets.h"
#include "tools/validate/traces/trace_bets.h"
#include "tools/validate/traces/trace_read.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_served_verdict_names[] = {"no difference", "wrong state", "wrong sampler",
                                                 "wrong filter",  "wrong token", "undecided"};

/* ALTERNATIVES: how the tokens of a text may be distributed once it has gone wrong. SHARES: assumed
 * shares of texts that go wrong. Each of the four PARTS (trace, states, filters, copies) may cause
 * a quarter of the false alarms. */
enum { ALTERNATIVES = 2, SHARES = 4, PARTS = 4 };
static const double shares[SHARES] = {0.01, 0.05, 0.25, 1.0};
static const double suspicious = 7.0; /* log e of a text that counts as wrong */
static const double half = 0.5;       /* share of excluded tokens after the first one */
enum { FEW = 2 };                     /* excluded tokens that may be a scorer's slip */

/* ---- one text -------------------------------------------------------------------------------- */

/* A bet that a text goes wrong at some position: onset s has a weight of 1/((s+1)(s+2)), and from
 * there on the capital is multiplied by the likelihood ratio. */
typedef struct {
    double log_sum; /* log of the sum over onsets so far */
    double run;     /* log likelihood ratio since `from`, the likeliest onset */
    int from;
} onset_bet;

static double log_add(double a, double b)
{
    const double most = fmax(a, b);
    return isinf(most) ? most : most + log1p(exp(-fabs(a - b)));
}

static void bet_on(onset_bet *b, int at, double log_ratio)
{
    const double weight = -log((at + 1.0) * (at + 2.0));
    b->log_sum = log_add(b->log_sum, weight) + log_ratio;
    if (b->run <= 0.0) {
        b->run = 0.0;
        b->from = at;
    }
    b->run += log_ratio;
}

typedef struct {
    uint64_t key, hash;
    int n, excluded, after; /* tokens; excluded ones; tokens from the first excluded one on */
    double log_chance;
    onset_bet bet[ALTERNATIVES];
} text_state;

/* Bets on two alternatives: that all cells are equally probable, and that half of the mass is on
 * tokens that are not in the list and the rest is spread over those that are. */
static void bet_text(text_state *t, const spec_trace_record *record)
{
    const int n = record->n_cells;
    const double chance = record->target[record->cell];
    const bool rest = record->cell == n - 1;
    bet_on(&t->bet[0], t->n, -log(n * chance));
    bet_on(&t->bet[1], t->n, log((rest ? 0.5 : 0.5 / (n - 1)) / chance));
}

/* ---- all texts ------------------------------------------------------------------------------- */

typedef struct {
    uint64_t hash;
    double log_chance;
} known_text;

typedef struct {
    text_state now;
    spec_trace_bet share[SHARES];
    spec_filter_bets filter;
    spec_served_judgement *result;
    known_text *known; /* (n_known) */
    size_t n_known, capacity;
    double excluded, after; /* over the texts with an excluded token */
    double best, expected;  /* how often the most probable listed token came, and how often we
                             * expect it */
} judge;

static int compare_texts(const void *a, const void *b)
{
    const known_text *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static void keep_suspect(spec_served_judgement *j, const spec_served_suspect *suspect)
{
    int i = j->n_suspects < SPEC_SERVED_SUSPECTS ? j->n_suspects++ : SPEC_SERVED_SUSPECTS - 1;
    if (i == SPEC_SERVED_SUSPECTS - 1 && j->suspect[i].log_e >= suspect->log_e &&
        j->suspect[i].log_e > 0.0)
        return;
    for (; i > 0 && j->suspect[i - 1].log_e < suspect->log_e; i--)
        j->suspect[i] = j->suspect[i - 1];
    j->suspect[i] = *suspect;
}

static int end_text(judge *j, spec_error *error)
{
    text_state *t = &j->now;
    double log_e[ALTERNATIVES];
    int best = 0;
    if (t->n == 0) return GSL_SUCCESS;
    for (int k = 0; k < ALTERNATIVES; k++) {
        /* onsets after the end of the text keep their weight, 1/(n+1) in total */
        log_e[k] = log_add(t->bet[k].log_sum, -log(t->n + 1.0));
        if (log_e[k] > log_e[best]) best = k;
    }
    const double e = spec_evalue_mean(log_e, ALTERNATIVES);
    for (int s = 0; s < SHARES; s++)
        spec_trace_bet_multiply(&j->share[s], 1.0 - shares[s] + shares[s] * exp(fmin(e, 300.0)));
    if (e > suspicious) {
        j->result->wrong_texts++;
        keep_suspect(j->result,
                     &(spec_served_suspect){.key = t->key, .from = t->bet[best].from, .log_e = e});
    }
    j->result->texts++;
    j->excluded += t->excluded;
    j->after += t->after;
    if (j->n_known == j->capacity) {
        const size_t capacity = 2 * j->capacity + 64;
        known_text *grown = realloc(j->known, capacity * sizeof *grown);
        if (grown == NULL) return spec_no_memory(error);
        j->known = grown;
        j->capacity = capacity;
    }
    j->known[j->n_known++] = (known_text){t->hash, t->log_chance};
    return GSL_SUCCESS;
}

static void count_best(judge *j, const spec_trace_record *record)
{
    int best = 0;
    for (int i = 1; i < record->n_cells - 1; i++)
        if (record->target[i] > record->target[best]) best = i;
    j->best += record->cell == best;
    j->expected += record->target[best];
}

static int add_token(judge *j, const spec_trace_record *record, spec_error *error)
{
    text_state *t = &j->now;
    int status = GSL_SUCCESS;
    if (record->text->key != t->key) {
        SPEC_TRY(end_text(j, error));
        *t = (text_state){.key = record->text->key};
        for (int k = 0; k < ALTERNATIVES; k++) t->bet[k].log_sum = -INFINITY;
    }
    const bool out = exp(record->target_log) == 0.0;
    t->hash = (t->hash ^ (uint64_t)(record->token + 1)) * 0x9e3779b97f4a7c15u;
    t->hash ^= t->hash >> 29;
    t->excluded += out;
    t->after += t->excluded > 0;
    j->result->excluded += out;
    j->result->tokens++;
    if (!out && record->n_cells > 1 && record->target[record->cell] > 0.0) {
        bet_text(t, record);
        spec_filter_bets_add(&j->filter, record->target, record->n_cells, record->cell);
        count_best(j, record);
        t->log_chance += log(record->target[record->cell]);
    }
    t->n++;
done:
    return status;
}

/* Counts texts that are copies of an earlier one. Two texts of a right server are equal with at
 * most the probability of the text. */
static void count_copies(judge *j, double rate)
{
    const double pairs = fmax(0.5 * (double)j->n_known * (double)(j->n_known - 1), 1.0);
    const double least = log(rate / PARTS / pairs);
    qsort(j->known, j->n_known, sizeof *j->known, compare_texts);
    for (size_t i = 1; i < j->n_known; i++)
        if (j->known[i].hash == j->known[i - 1].hash && j->known[i].log_chance <= least)
            j->result->copies++;
}

static int read_texts(judge *j, FILE *file, const char *name, double rate, spec_error *error)
{
    spec_trace_reader *reader = NULL;
    spec_trace_record record;
    double log_e[SHARES];
    bool end = false;
    int status = GSL_SUCCESS;
    rewind(file);
    for (int s = 0; s < SHARES; s++) j->share[s] = SPEC_TRACE_BET_START;
    SPEC_TRY(spec_trace_read_open(&reader, file, name, error));
    for (;;) {
        SPEC_TRY(spec_trace_read_next(reader, &record, &end, error));
        if (end) break;
        SPEC_TRY(add_token(j, &record, error));
    }
    SPEC_TRY(end_text(j, error));
    for (int s = 0; s < SHARES; s++) log_e[s] = spec_trace_bet_log_capital(&j->share[s]);
    j->result->state_log_e = spec_evalue_mean(log_e, SHARES);
    j->result->filter_log_e = spec_filter_bets_log_e(&j->filter);
    count_copies(j, rate);
done:
    spec_trace_read_close(reader);
    return status;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void say(spec_served_judgement *r, spec_served_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(spec_served_judgement *r, spec_served_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->reason, sizeof r->reason, format, args);
    va_end(args);
    r->verdict = verdict;
}

static const spec_finding *best_finding(const spec_validate_result *v)
{
    const spec_finding *best = NULL;
    for (int i = 0; i < v->n_findings; i++)
        if (!isnan(v->finding[i].log_e) && (best == NULL || v->finding[i].log_e > best->log_e))
            best = &v->finding[i];
    return best;
}

static void name_state(spec_served_judgement *r)
{
    say(r, SPEC_SERVED_STATE,
        "in %d of %llu texts the tokens do not fit the text before them: from some position on, "
        "nearly all are improbable. Look for a cache that was not rolled back after a rejection, a "
        "wrong position, or another request's text",
        r->wrong_texts, (unsigned long long)r->texts);
}

static bool is_argmax(const judge *j)
{
    const double n = (double)j->result->tokens;
    return n > 50.0 && j->best > 0.999 * n && j->expected < 0.99 * n;
}

/* Names a filter that nobody asked for, if the server drops nearly all tokens that this filter
 * would drop. */
static bool name_filter(const judge *j)
{
    spec_served_judgement *r = j->result;
    char name[32];
    const int best = spec_filter_bets_best(name, &j->filter);
    const double seen = j->filter.seen[best], expected = j->filter.expected[best];
    if (r->filter_log_e < r->needed || r->filter_log_e < r->state_log_e || seen > 0.02 * expected)
        return false;
    say(r, SPEC_SERVED_FILTER,
        "of the tokens that %s drops, %.0f came where %.0f should: the server applies this filter, "
        "or one like it, although it was not asked to",
        name, seen, expected);
    return true;
}

static void name_sampler(const judge *j)
{
    spec_served_judgement *r = j->result;
    const double best = j->best / (double)r->tokens, expected = j->expected / (double)r->tokens;
    if (is_argmax(j))
        say(r, SPEC_SERVED_SAMPLER,
            "every token is the most probable one, where it should be in %.3g of the positions: "
            "the server takes the argmax instead of drawing",
            expected);
    else
        say(r, SPEC_SERVED_SAMPLER,
            "the tokens are drawn from another distribution than the scorer's; the test '%s' shows "
            "it best%s",
            r->best_test != NULL ? r->best_test : "none",
            fabs(best - expected) < 0.02 ? ""
            : best > expected ? ": probable tokens come too often, as at a lower temperature"
                              : ": probable tokens come too rarely, as at a higher temperature");
}

static void decide(spec_served_judgement *r, const spec_validation *trace, const judge *j)
{
    const spec_validate_result *result = trace->result;
    if (r->excluded > 0 && r->excluded <= FEW)
        say(r, SPEC_SERVED_UNDECIDED,
            "%llu tokens are excluded by the filters, which may be a slip of the scorer: draw more "
            "texts",
            (unsigned long long)r->excluded);
    else if (r->excluded > 0 && j->excluded > half * j->after)
        say(r, SPEC_SERVED_STATE,
            "%llu tokens are impossible after the text before them, and so are most that "
            "follow: look for a cache that was not rolled back after a rejection, a wrong "
            "position, or another request's text",
            (unsigned long long)r->excluded);
    else if (r->excluded > 0)
        say(r, SPEC_SERVED_FILTER,
            "%llu of %llu tokens are excluded by the filters: the server ignores top-k, top-p or "
            "min-p",
            (unsigned long long)r->excluded, (unsigned long long)r->tokens);
    else if (result->failed && is_argmax(j))
        name_sampler(j);
    else if (r->copies > 0)
        say(r, SPEC_SERVED_SAMPLER,
            "%d texts are copies of others, although their seeds differ: the server draws with the "
            "same random numbers again",
            r->copies);
    else if (name_filter(j))
        return;
    else if (r->state_log_e >= r->needed && r->state_log_e > r->trace_log_e)
        name_state(r);
    else if (result->failed)
        name_sampler(j);
    else if (r->state_log_e >= r->needed)
        name_state(r);
    else if (trace->verdict == SPEC_VERDICT_PASS)
        say(r, SPEC_SERVED_RIGHT,
            "the tokens look like draws from the scorer's distribution; a total variation of %.2g "
            "would have shown, with a chance of %g",
            r->detectable, trace->plan.power);
    else
        say(r, SPEC_SERVED_UNDECIDED, "%.400s", trace->reason);
}

int spec_served_judge(spec_served_judgement *ret, FILE *file, const char *name,
                      const spec_scorer_noise *noise, double rate, uint64_t seed, spec_error *error)
{
    spec_validation trace = {.n_results = 0};
    judge j = {.result = ret};
    int status = GSL_SUCCESS;
    *ret = (spec_served_judgement){.detectable = NAN};
    SPEC_TRY(read_texts(&j, file, name, rate, error));
    ret->needed = spec_scorer_noise_needed(noise, (double)ret->tokens, rate / PARTS);
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.seed = seed;
    plan.false_alarm_rate = 2.0 * exp(-ret->needed); /* a trace fails at half of it */
    rewind(file);
    SPEC_TRY(spec_trace_validate_file(&trace, file, name, &plan, error));
    const spec_finding *best = best_finding(trace.result);
    ret->trace_log_e = trace.result->log_e;
    ret->best_test = best != NULL ? best->name : NULL;
    ret->detectable = trace.result->detectable[SPEC_PLACE_TEXT].tv;
    decide(ret, &trace, &j);
done:
    free(j.known);
    spec_validation_free(&trace);
    return status;
}
