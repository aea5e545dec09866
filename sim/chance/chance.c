/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/chance.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Calls the generator's own function, because gsl_rng_uniform would be one more call. */
static double uniform(gsl_rng *rng)
{
    return rng->type->get_double(rng->state);
}

static double sum(const double *weight, int n)
{
    double total = 0.0;
    for (int i = 0; i < n; i++) total += weight[i];
    return total;
}

/* Returns the first index >= from of positive weight, or n. */
static int next_positive(const double *weight, int n, int from)
{
    while (from < n && !(weight[from] > 0.0)) from++;
    return from;
}

static int last_positive(const double *weight, int n)
{
    while (n > 0 && !(weight[n - 1] > 0.0)) n--;
    return n - 1;
}

/* ---- enumerated ------------------------------------------------------------------------------ */

/* Returns the step of the decision being asked: replayed, or new with unknown probability. NULL if
 * memory runs out. */
static struct spec_enumeration_step *next_step(spec_enumeration *walk)
{
    if (walk->depth == walk->length) {
        if (walk->length == walk->capacity) {
            const int capacity = 2 * walk->capacity;
            void *step = realloc(walk->step, (size_t)capacity * sizeof *walk->step);
            if (step == NULL) {
                walk->refused = true;
                return NULL;
            }
            walk->step = step;
            walk->capacity = capacity;
        }
        walk->step[walk->length++] =
            (struct spec_enumeration_step){.probability = -1.0, .choice = 0};
    }
    return &walk->step[walk->depth++];
}

static bool enumerate_accept(spec_enumeration *walk, double num, double den)
{
    struct spec_enumeration_step *step = next_step(walk);
    if (step == NULL) return false;
    if (step->probability < 0.0) {
        step->probability = step->choice == 1 ? num / den : (den - num) / den;
        step->more = step->choice == 0;
    }
    return step->choice == 1;
}

static int enumerate_pick(spec_enumeration *walk, const double *weight, int n)
{
    const int first = next_positive(weight, n, 0);
    assert(first < n);
    if (next_positive(weight, n, first + 1) == n) return first;

    struct spec_enumeration_step *step = next_step(walk);
    if (step == NULL) return first;
    if (step->probability < 0.0) {
        step->choice = next_positive(weight, n, step->choice);
        assert(step->choice < n);
        step->probability = weight[step->choice] / sum(weight, n);
        step->more = next_positive(weight, n, step->choice + 1) < n;
    }
    return step->choice;
}

/* ---- probed ---------------------------------------------------------------------------------- */

static bool probed_accept(spec_chance *chance)
{
    *chance->branches *= 2.0;
    return uniform(chance->rng) < 0.5;
}

static int probed_pick(spec_chance *chance, const double *weight, int n)
{
    int positive = 0, i;
    for (i = 0; i < n; i++) positive += weight[i] > 0.0;
    assert(positive > 0);
    int passed_over = positive > 1 ? (int)(uniform(chance->rng) * positive) : 0;
    *chance->branches *= positive;
    for (i = next_positive(weight, n, 0); passed_over > 0; passed_over--)
        i = next_positive(weight, n, i + 1);
    return i;
}

/* ---- scripted -------------------------------------------------------------------------------- */

/* Returns the next answer, or -1 after the script's end. */
static int next_answer(spec_script *script)
{
    if (script->used < script->n) return script->answer[script->used++];
    script->broken = true;
    return -1;
}

static void note_asked(spec_script *script, double probability)
{
    if (!(probability > 0.0)) script->broken = true;
    if (script->opt_asked != NULL) script->opt_asked[script->used - 1] = probability;
}

static bool scripted_accept(spec_script *script, double num, double den)
{
    const int answer = next_answer(script);
    const double probability = num >= den ? 1.0 : num / den;
    if (answer < 0) return num >= den;
    assert(answer <= 1);
    note_asked(script, answer == 1 ? probability : 1.0 - probability);
    return answer == 1 ? probability > 0.0 : probability >= 1.0;
}

static int scripted_pick(spec_script *script, const double *weight, int n)
{
    const int answer = next_answer(script);
    if (answer < 0) return last_positive(weight, n);
    const double probability = answer < n ? weight[answer] / sum(weight, n) : 0.0;
    note_asked(script, probability);
    return probability > 0.0 ? answer : last_positive(weight, n);
}

/* ---- sampled --------------------------------------------------------------------------------- */

enum { LANES = 8, BLOCKS = 256, SHORT = 32 };

/* Sums weights in lanes that the compiler can add in vectors. */
static double lane_sum(const double *weight, int n)
{
    double lane[LANES] = {0.0};
    int i = 0;
    for (; n - i >= LANES; i += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) lane[l] += weight[i + l];
    }
    for (int l = 0; i < n; i++, l++) lane[l] += weight[i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Sums all weights by block, then scans the weights of one block. */
static int sampled_pick(double coin, const double *weight, int n)
{
    const int even = (n - 1) / (LANES * BLOCKS) * LANES + LANES, size = even > SHORT ? even : SHORT;
    const int last = (n - 1) / size; /* the last block */
    double block[BLOCKS], total = 0.0, cumulative = 0.0;
    for (int b = 0; b <= last; b++) {
        block[b] = last == 0 ? sum(weight, n)
                             : lane_sum(weight + b * size, b < last ? size : n - b * size);
        total += block[b];
    }
    assert(isfinite(total) && total > 0.0);
    const double threshold = coin * total;
    int b = 0;
    while (b < last && !(threshold < cumulative + block[b])) cumulative += block[b++];
    const int end = b < last ? (b + 1) * size : n;
    for (int i = b * size; i < end; i++) {
        cumulative += weight[i];
        if (threshold < cumulative)
            return i; /* strict: a weight of zero is never picked */
    }
    return last_positive(weight, end);
}

/* ---- reported -------------------------------------------------------------------------------- */

static double next_coin(spec_report *report)
{
    return report->used < report->n ? report->coin[report->used++] : uniform(report->rng);
}

static bool reported_accept(spec_report *report, double num, double den)
{
    spec_decision decision = {.accepts = true, .num = num, .den = den, .coin = NAN};
    decision.answer = num >= den;
    if (num < den && num > 0.0) {
        decision.coin = next_coin(report);
        decision.answer = decision.coin * den < num;
    }
    report->tell(report->self, &decision);
    return decision.answer == 1;
}

static int reported_pick(spec_report *report, const double *weight, int n)
{
    spec_decision decision = {.weight = weight, .n = n, .coin = next_coin(report)};
    decision.answer = sampled_pick(decision.coin, weight, n);
    report->tell(report->self, &decision);
    return decision.answer;
}

/* ---- public ---------------------------------------------------------------------------------- */

spec_chance spec_chance_sampled(gsl_rng *rng)
{
    return (spec_chance){.source = SPEC_CHANCE_SAMPLED, .rng = rng};
}

spec_chance spec_chance_shared(spec_shared_noise *noise)
{
    return (spec_chance){.source = SPEC_CHANCE_SHARED, .noise = noise};
}

bool spec_chance_accept(spec_chance *chance, double num, double den)
{
    assert(chance->source != SPEC_CHANCE_SHARED);
    assert(isfinite(num) && isfinite(den) && num >= 0.0 && den >= 0.0);
    if (chance->source >= SPEC_CHANCE_SCRIPTED)
        return chance->source == SPEC_CHANCE_SCRIPTED ? scripted_accept(chance->script, num, den)
                                                      : reported_accept(chance->report, num, den);
    if (num >= den) return true;
    if (num <= 0.0) return false;
    if (chance->source == SPEC_CHANCE_ENUMERATED) return enumerate_accept(chance->walk, num, den);
    if (chance->source == SPEC_CHANCE_PROBED) return probed_accept(chance);
    return uniform(chance->rng) * den < num;
}

int spec_chance_pick(spec_chance *chance, const double *weight, int n)
{
    if (chance->source == SPEC_CHANCE_ENUMERATED) return enumerate_pick(chance->walk, weight, n);
    if (chance->source == SPEC_CHANCE_SCRIPTED) return scripted_pick(chance->script, weight, n);
    if (chance->source == SPEC_CHANCE_SHARED)
        return spec_shared_noise_pick(chance->noise, weight, n);
    if (chance->source == SPEC_CHANCE_PROBED) return probed_pick(chance, weight, n);
    if (chance->source == SPEC_CHANCE_REPORTED) return reported_pick(chance->report, weight, n);
    return sampled_pick(uniform(chance->rng), weight, n);
}

int spec_enumeration_init(spec_enumeration *walk, uint64_t limit)
{
    *walk = (spec_enumeration){.limit = limit, .capacity = 64};
    walk->step = malloc((size_t)walk->capacity * sizeof *walk->step);
    if (walk->step == NULL) return GSL_ENOMEM;
    walk->chance = (spec_chance){.source = SPEC_CHANCE_ENUMERATED, .walk = walk};
    return GSL_SUCCESS;
}

void spec_enumeration_free(spec_enumeration *walk)
{
    free(walk->step);
    *walk = (spec_enumeration){0};
}

double spec_enumeration_probability(const spec_enumeration *walk)
{
    double probability = 1.0;
    for (int i = 0; i < walk->depth; i++) probability *= walk->step[i].probability;
    return probability;
}

bool spec_enumeration_next(spec_enumeration *walk)
{
    assert(walk->depth ==
           walk->length); /* violated if the code being walked does not repeat its decisions */
    walk->branches++;
    if (walk->refused) return false;
    while (walk->length > 0 && !walk->step[walk->length - 1].more) walk->length--;
    walk->depth = 0;
    if (walk->length == 0) return false;
    if (walk->limit > 0 && walk->branches >= walk->limit) {
        walk->refused = true;
        return false;
    }
    struct spec_enumeration_step *last = &walk->step[walk->length - 1];
    last->choice++;
    last->probability = -1.0;
    return true;
}

void spec_script_init(spec_script *script, const int *answer, int n, double *opt_asked)
{
    *script = (spec_script){.answer = answer, .n = n, .opt_asked = opt_asked};
    script->chance = (spec_chance){.source = SPEC_CHANCE_SCRIPTED, .script = script};
}

void spec_report_init(spec_report *report)
{
    report->chance = (spec_chance){.source = SPEC_CHANCE_REPORTED, .report = report};
    report->used = 0;
}
