/* Reading the tests, and the verdict. */
#include "conformance/validate_run.h"

#include "analysis/statistics/evalue.h"
#include "analysis/statistics/goodness.h"
#include "analysis/statistics/power.h"

#include <math.h>
#include <stdarg.h>

/* A pass says little where differences so large may have been missed. */
#define LEAST_TELLING 0.1

/* ---- capitals ---------------------------------------------------------------------------------------------------- */

static void read_trial(spec_validate_run *r, int i)
{
    spec_validate_result *result = &r->validation->result[i];
    const spec_trial *t = &r->trial[i];
    spec_finding all[SPEC_TESTS_MAX];
    double log_e[SPEC_TESTS_MAX];
    int next = 0;
    result->n_findings = 0;
    (void)spec_evidence_findings(all, t->evidence);
    for (int k = 0; spec_tests[k].name != NULL; k++) {
        if (spec_tests[k].applies != NULL && !spec_tests[k].applies(t->evidence)) continue;
        if (t->applies[k]) {
            log_e[result->n_findings] = all[next].log_e;
            result->finding[result->n_findings++] = all[next];
        }
        next++;
    }
    const spec_exhibit *hard = spec_evidence_hard(t->evidence);
    result->rounds = spec_evidence_rounds(t->evidence);
    result->draws = spec_evidence_tokens(t->evidence);
    result->accepted = spec_evidence_accepted(t->evidence);
    result->log_e = result->n_findings > 0 ? spec_evalue_mean(log_e, result->n_findings) : 0.0;
    result->hard = hard != NULL ? hard->hard : SPEC_HARD_NONE;
}

/* The same bets on all fixtures in one scope, one after another: the product of their capitals. False: the test applies
 * to none. */
static bool product(const spec_validate_run *r, uint32_t scope, int test, double *ret_log_e)
{
    double gain[SPEC_BETS_MAX] = {0.0};
    int n_bets = 1;
    bool applies = false;
    for (int i = 0; i < r->validation->n_results; i++) {
        const spec_validate_result *result = &r->validation->result[i];
        if (result->scope != scope || !r->trial[i].applies[test]) continue;
        applies = true;
        for (int k = 0; k < result->n_findings; k++) {
            if (result->finding[k].name != spec_tests[test].name) continue;
            n_bets = result->finding[k].n_bets;
            for (int j = 0; j < n_bets; j++) gain[j] += result->finding[k].gain[j];
        }
    }
    *ret_log_e = spec_evalue_mean(gain, n_bets);
    return applies;
}

/* Half of the capital is bet on fixtures one by one, half on all of a scope together. Fixtures that have not been run
 * hold what they began with. */
static void read_all(spec_validate_run *r)
{
    spec_validation *v = r->validation;
    double together[3 * SPEC_TESTS_MAX], half[2], most = -INFINITY, best = -INFINITY, sum = 0.0;
    int n = 0, run = 0;
    v->rounds = v->draws = 0;
    v->together = NULL;
    for (int i = 0; i < v->n_results; i++) {
        v->rounds += v->result[i].rounds;
        v->draws += v->result[i].draws;
        if (v->result[i].skipped != NULL) continue;
        run++;
        most = fmax(most, v->result[i].log_e);
    }
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].skipped == NULL) sum += isinf(most) ? 1.0 : exp(v->result[i].log_e - most);
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1)
        for (int k = 0; spec_tests[k].name != NULL; k++) {
            if (!product(r, scope, k, &together[n])) continue;
            if (together[n] > best) v->together = spec_tests[k].name;
            best = fmax(best, together[n++]);
        }
    half[0] = run > 0 ? most + log(sum / run) : 0.0;
    half[1] = n > 0 ? spec_evalue_mean(together, n) : 0.0;
    v->log_e = spec_evalue_mean(half, 2);
    if (!(best > most)) v->together = NULL;
}

void spec_validate_read(spec_validate_run *r, int i)
{
    read_trial(r, i);
    read_all(r);
}

double spec_validate_log_fail(const spec_validate_plan *plan)
{
    return -log(0.5 * plan->alpha);
}

int spec_validate_first_hard(const spec_validation *v)
{
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].hard != SPEC_HARD_NONE) return i;
    return -1;
}

/* ---- p-values ---------------------------------------------------------------------------------------------------- */

double spec_validate_holm(const spec_validate_run *r, const bool *opt_mask)
{
    spec_validation *v = r->validation;
    double *p = r->p, least = 1.0;
    size_t n = 0;
    for (int i = 0; i < v->n_results; i++)
        for (int k = 0; k < v->result[i].n_findings; k++)
            if (opt_mask == NULL || opt_mask[i]) p[n++] = v->result[i].finding[k].p;
    spec_holm(p, p, n, r->order);
    n = 0;
    for (int i = 0; i < v->n_results; i++) {
        if (opt_mask != NULL && !opt_mask[i]) continue;
        v->result[i].p = 1.0;
        for (int k = 0; k < v->result[i].n_findings; k++, n++) v->result[i].p = fmin(v->result[i].p, p[n]);
        least = fmin(least, v->result[i].p);
    }
    return least;
}

/* ---- power ------------------------------------------------------------------------------------------------------- */

/* To be found, a difference must be suspicious first, and then show on more fresh data: each with half of what may be
 * missed. Both by the test of one state, at the level that Holm leaves to the least of all p-values. */
static double detectable(const spec_validate_run *r, double tests, int states, double df, double sensitivity)
{
    const double each = 0.5 * (1.0 + r->plan->power), share = tests * states;
    const double first = spec_power_noncentrality(df, SPEC_SUSPICIOUS / share, each);
    const double fresh = spec_power_noncentrality(df, 0.5 * r->plan->alpha / share, each) / SPEC_FRESH_TIMES;
    return fmin(1.0, sqrt(fmax(first, fresh) / sensitivity));
}

void spec_validate_fill_detectable(spec_validate_run *r)
{
    spec_validation *v = r->validation;
    double tests = 0.0;
    v->detectable = NAN;
    for (int i = 0; i < v->n_results; i++) tests += r->trial[i].n_applies;
    for (int i = 0; i < v->n_results; i++) {
        spec_validate_result *result = &v->result[i];
        double df;
        if (result->draws == 0) continue;
        (void)spec_reproducer_state(&r->trial[i].fixture, r->trial[i].evidence, &result->tv);
        const double sensitivity = spec_evidence_sensitivity(r->trial[i].evidence, &df);
        const int states = r->trial[i].fixture.n_states;
        result->detectable = isnan(sensitivity) ? NAN : df < 1.0 ? 0.0 : detectable(r, tests, states, df, sensitivity);
        v->detectable = fmax(v->detectable, result->detectable); /* of two numbers, one of them NaN: the other */
    }
}

/* ---- verdict ----------------------------------------------------------------------------------------------------- */

static void say(spec_validation *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(spec_validation *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(v->reason, sizeof v->reason, format, args);
    va_end(args);
}

/* The result that shows it best: of those that are enough by themselves the one with the smallest rows; or else the one
 * with the most capital, or, on fresh data, the least p-value. */
static int mark_failed(spec_validate_run *r)
{
    spec_validation *v = r->validation;
    int best = -1, worst = -1;
    for (int i = 0; i < v->n_results; i++) {
        spec_validate_result *result = &v->result[i];
        if (result->skipped != NULL) continue;
        result->failed = result->hard != SPEC_HARD_NONE || result->log_e >= spec_validate_log_fail(r->plan) ||
                         (r->trial[i].fresh && result->p <= 0.5 * r->plan->alpha);
        if (result->failed && (best < 0 || r->trial[i].fixture.vocab < r->trial[best].fixture.vocab)) best = i;
        if (worst < 0 || result->log_e > v->result[worst].log_e) worst = i;
    }
    if (best < 0) best = worst;
    else v->together = NULL;
    v->result[best].failed = true;
    return best;
}

static void say_why(spec_validation *v, const spec_validate_result *worst)
{
    if (worst->hard != SPEC_HARD_NONE)
        say(v, "%s: %s", worst->kind->name, spec_hard_reasons[worst->hard]);
    else if (v->together != NULL)
        say(v, "no fixture alone shows it, but the test '%s' over all of them together does", v->together);
    else if (worst->tv == 0.0)
        say(v, "%s: the text has another law, though no state's tokens alone show it", worst->kind->name);
    else
        say(v, "%s: the tokens after a state have another law, by a TV of about %.2g", worst->kind->name, worst->tv);
}

static int count_run(const spec_validation *v)
{
    int n = 0;
    for (int i = 0; i < v->n_results; i++) n += v->result[i].skipped == NULL;
    return n;
}

int spec_validate_judge(spec_validate_run *r, bool failed, double fresh_p)
{
    spec_validation *v = r->validation;
    const int hard = spec_validate_first_hard(v);
    const double suspicion = fmax(-log(fresh_p), v->fresh ? 0.0 : v->log_e);
    int worst = -1;
    spec_validate_fill_detectable(r);
    failed = failed || hard >= 0 || fresh_p <= 0.5 * r->plan->alpha;
    v->verdict = SPEC_VERDICT_INCONCLUSIVE;
    if (count_run(v) == 0) {
        say(v, "no fixture fits this sampler");
    } else if (failed) {
        v->verdict = v->about.lossy && hard < 0 ? SPEC_VERDICT_LOSSY : SPEC_VERDICT_FAIL;
        worst = mark_failed(r);
        say_why(v, &v->result[worst]);
    } else if (r->suspicious && v->stopped) {
        say(v, "suspicious, and stopped before it was asked again");
    } else if (suspicion >= -log(SPEC_SUSPICIOUS)) {
        say(v, "suspicious, also with more data (p = %.2g), but not beyond doubt: a larger budget will tell",
            exp(-suspicion));
    } else if (r->plan->eps > 0.0 && !(v->detectable <= r->plan->eps)) {
        say(v, "a TV of %g could not be certified with this budget: the smallest is %.2g", r->plan->eps, v->detectable);
    } else if (!(v->detectable <= LEAST_TELLING)) {
        say(v, "too few draws to tell: a TV of %.2g could have been missed", v->detectable);
    } else {
        v->verdict = SPEC_VERDICT_PASS;
        say(v, "no difference seen; one of TV %.2g or more would have been, with a chance of %g", v->detectable,
            r->plan->power);
    }
    return worst;
}
