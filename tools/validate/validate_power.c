/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the total variation that would have been detected. */
#include "tools/validate/fixtures/fixtures.h"
#include "tools/validate/validate_run.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

double spec_validate_limit(const spec_validate_plan *plan)
{
    return plan->eps > 0.0 ? plan->eps : SPEC_VALIDATE_TELLING;
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* The guarantee is that of the test `state`. A finite run detects by p-values: the level is what
 * Holm's correction leaves to the smallest p-value, divided by n_states. An endless run detects by
 * bets, which share the capital. */
static spec_detectable_needs needs_of(const spec_validate_run *r, int i)
{
    const spec_validation *v = r->validation;
    const double states = r->trial[i].fixture.n_states, own = r->trial[i].n_applies;
    double tests = 0.0, run = 0.0;
    for (int k = 0; k < v->n_results; k++) {
        tests += r->trial[k].n_applies;
        run += v->result[k].skipped == NULL;
    }
    const double bets = 2.0 * run * own * states * SPEC_WEIGHTS;
    return (spec_detectable_needs){
        .power = r->plan->power,
        .suspicious = SPEC_SUSPICIOUS / (tests * states),
        .fresh = 0.5 * r->plan->false_alarm_rate / (tests * states),
        /* with a budget in seconds, fresh data get as much time again */
        .fresh_times = r->plan->seconds > 0.0 ? 1.0 : SPEC_FRESH_TIMES,
        .log_capital = r->plan->endless ? spec_validate_log_fail(r->plan) + log(bets) : 0.0};
}

static bool tests_states(const spec_trial *t)
{
    for (int k = 0; spec_tests[k].name != NULL; k++)
        if (strcmp(spec_tests[k].name, "state") == 0) return t->applies[k];
    return false;
}

static void fill_result(const spec_validate_run *r, int i)
{
    spec_validate_result *result = &r->validation->result[i];
    const spec_trial *t = &r->trial[i];
    const spec_detectable_needs needs = needs_of(r, i);
    for (spec_place place = 0; place < SPEC_PLACES; place++)
        result->detectable[place] = SPEC_DETECTABLE_NONE;
    if (result->draws == 0) return;
    spec_detectable_find(result->detectable, t->evidence, &t->fixture, &needs);
    for (spec_place place = 0; place < SPEC_PLACES && !tests_states(t); place++)
        if (!isnan(result->detectable[place].tv)) result->detectable[place].tv = 1.0;
}

/* ---- all fixtures ---------------------------------------------------------------------------- */

static bool is_of_table(const spec_fixture_kind *kind)
{
    for (int i = 0; spec_recipe_at(i) != NULL; i++)
        if (&spec_recipe_at(i)->kind == kind) return true;
    return false;
}

static void mark_judged(const spec_validate_run *r)
{
    spec_validation *v = r->validation;
    bool any = false;
    for (int i = 0; i < v->n_results; i++) {
        const bool small = r->trial[i].fixture.vocab <= SPEC_VALIDATE_VOCAB;
        v->result[i].judged = v->result[i].draws > 0 && !v->result[i].late && small &&
                              is_of_table(v->result[i].kind);
        any = any || v->result[i].judged;
    }
    for (int i = 0; i < v->n_results && !any; i++) 
        v->result[i].judged = v->result[i].draws > 0 && !v->result[i].late;
}

static void sum_up(const spec_validate_run *r, spec_place place)
{
    spec_validation *v = r->validation;
    spec_validate_power *power = &v->power[place];
    double *tv = r->p; /* workspace, free between two corrections */
    *power = (spec_validate_power){.median = NAN, .worst = NAN, .worst_result = -1};
    for (int i = 0; i < v->n_results; i++) {
        const double here = v->result[i].detectable[place].tv;
        if (isnan(here)) continue;
        tv[power->reached++] = here;
        if (here > spec_validate_limit(r->plan)) continue;
        power->covered++;
        if (here <= power->worst) continue;
        power->worst = here;
        power->worst_result = i;
    }
    if (power->reached == 0) return;
    gsl_sort(tv, 1, (size_t)power->reached);
    power->median = tv[power->reached / 2];
}

void spec_validate_fill_detectable(spec_validate_run *r)
{
    for (int i = 0; i < r->validation->n_results; i++) fill_result(r, i);
    mark_judged(r);
    for (spec_place place = 0; place < SPEC_PLACES; place++) sum_up(r, place);
}

/* ---- what is lacking ------------------------------------------------------------------------- */

spec_validate_lack spec_validate_find_lack(const spec_validate_run *r)
{
    spec_validate_lack lack = {.result = -1};
    const spec_validation *v = r->validation;
    const double limit = spec_validate_limit(r->plan);
    double asked = 0.0, most = 0.0;
    for (int i = 0; i < v->n_results; i++) asked += (double)v->result[i].asked;
    for (int i = 0; i < v->n_results; i++)
        for (spec_place place = 0; place < SPEC_PLACES; place++) {
            const spec_detectable *d = &v->result[i].detectable[place];
            const spec_detectable_needs needs = needs_of(r, i);
            const bool decides = place == SPEC_PLACE_FIRST || place == SPEC_PLACE_TEXT;
            if (!v->result[i].judged || !decides || !(d->tv > limit)) continue;
            const spec_trial *t = &r->trial[i];
            const double times = tests_states(t)
                                     ? spec_detectable_times(t->evidence, &t->fixture, &needs,
                                                             place, d->state, limit)
                                     : INFINITY;
            if (times <= most) continue;
            most = times;
            lack = (spec_validate_lack){
                .result = i, .place = place, .tv = d->tv, .budget = times * asked};
        }
    return lack;
}
