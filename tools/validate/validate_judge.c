/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the tests and gives the verdict. */
#include "tools/validate/validate_report.h"
#include "tools/validate/validate_run.h"

#include "analysis/statistics/evalue.h"
#include "analysis/statistics/goodness.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- capitals -------------------------------------------------------------------------------- */

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
    result->asked = t->asked;
    (void)spec_reproducer_state(&t->fixture, t->evidence, &result->tv);
    result->log_e = result->n_findings > 0 ? spec_evalue_mean(log_e, result->n_findings) : 0.0;
    result->hard = hard != NULL ? hard->hard : SPEC_HARD_NONE;
}

/* Multiplies the capitals of the same bets on all fixtures of a scope. Returns false if the test
 * applies to none. */
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

/* Half of the capital is bet on single fixtures, half on all fixtures of a scope together. Fixtures
 * that have not run keep their initial capital. */
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
            if (together[n] > best) {
                v->together = spec_tests[k].name;
                v->together_reason = spec_tests[k].reason;
                v->together_scope = scope;
            }
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
    return -log(0.5 * plan->false_alarm_rate);
}

int spec_validate_first_hard(const spec_validation *v)
{
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].hard != SPEC_HARD_NONE) return i;
    return -1;
}

/* ---- p-values -------------------------------------------------------------------------------- */

double spec_validate_holm(const spec_validate_run *r, const bool *opt_mask)
{
    spec_validation *v = r->validation;
    double *p = r->p, least = 1.0;
    size_t n = 0;
    for (int i = 0; i < v->n_results; i++)
        for (int k = 0; k < v->result[i].n_findings; k++)
            if (opt_mask == NULL || opt_mask[i]) p[n++] = v->result[i].finding[k].p;
    spec_goodness_holm(p, p, n, r->order);
    n = 0;
    for (int i = 0; i < v->n_results; i++) {
        if (opt_mask != NULL && !opt_mask[i]) continue;
        v->result[i].p = 1.0;
        for (int k = 0; k < v->result[i].n_findings; k++, n++)
            v->result[i].p = fmin(v->result[i].p, p[n]);
        least = fmin(least, v->result[i].p);
    }
    return least;
}

/* ---- verdict --------------------------------------------------------------------------------- */

static void say(spec_validation *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(spec_validation *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(v->reason, sizeof v->reason, format, args);
    va_end(args);
}

/* Returns the result that shows the failure best: the one with the smallest rows among those that
 * fail by themselves, otherwise the one with the most capital. Returns -1 if a test over all
 * fixtures shows more than any one of them. */
static int mark_failed(spec_validate_run *r)
{
    spec_validation *v = r->validation;
    int best = -1, worst = -1;
    for (int i = 0; i < v->n_results; i++) {
        spec_validate_result *result = &v->result[i];
        if (result->skipped != NULL) continue;
        result->failed = result->hard != SPEC_HARD_NONE ||
                         result->log_e >= spec_validate_log_fail(r->plan) ||
                         (r->trial[i].fresh && result->p <= 0.5 * r->plan->false_alarm_rate);
        if (result->failed &&
            (best < 0 || r->trial[i].fixture.vocab < r->trial[best].fixture.vocab))
            best = i;
        if (worst < 0 || result->log_e > v->result[worst].log_e) worst = i;
    }
    if (best < 0 && v->together != NULL) return -1;
    if (best < 0) best = worst;
    v->together = NULL;
    v->result[best].failed = true;
    return best;
}

/* Returns the finding of the best test, or of the named one; NULL if there is none. */
static const spec_finding *find_finding(const spec_validate_result *result, const char *opt_name)
{
    const spec_finding *found = NULL;
    for (int k = 0; k < result->n_findings; k++) {
        const spec_finding *here = &result->finding[k];
        if (opt_name != NULL && strcmp(here->name, opt_name) != 0) continue;
        if (found == NULL || here->log_e > found->log_e) found = here;
    }
    return found;
}

static const spec_test *test_of(const char *name)
{
    int k = 0;
    while (spec_tests[k].name != NULL && strcmp(spec_tests[k].name, name) != 0) k++;
    return &spec_tests[k];
}

static const char *const why_shared[] = {
    [SPEC_SHARED_BY_CALL] = "the rounds of a call share random numbers: draw those of each round "
                            "from its own seed and offset",
    [SPEC_SHARED_BY_SEED] = "rounds that have the same seed share random numbers: draw those of "
                            "each round from its seed and its own offset",
    [SPEC_SHARED_BY_SEEDS] = "rounds that have different seeds share random numbers: draw them "
                             "from the whole seed",
    [SPEC_SHARED_MIRRORED] = "a round and the next use one random number as u and 1 - u: draw "
                             "those of each round from its own seed and offset",
};

/* Returns the finding with the most capital about how requests depend on each other, or NULL. */
static const spec_finding *find_requests(const spec_validate_result *result)
{
    const spec_finding *found = NULL;
    for (int k = 0; k < result->n_findings; k++) {
        const spec_finding *here = &result->finding[k];
        if (test_of(here->name)->about != SPEC_ABOUT_REQUESTS) continue;
        if (found == NULL || here->log_e > found->log_e) found = here;
    }
    return found;
}

/* If all rounds of a call share random numbers, the law of tokens looks wrong, too, and the
 * verdict's reason may then be about tokens. So each.reason keeps the reason about requests. */
static void suspect_requests(spec_validation *v, const spec_validate_result *worst, bool is_said)
{
    const spec_finding *requests = find_requests(worst);
    v->each.suspected =
        is_said || (requests != NULL && requests->log_e >= spec_validate_log_fail(&v->plan));
    if (v->each.suspected && !is_said)
        snprintf(v->each.reason, sizeof v->each.reason,
                 "%s: answers to different requests depend on each other (test '%s': %s)",
                 worst->kind->name, requests->name, test_of(requests->name)->reason);
}

/* Says how the tokens after one state differ; empty if they do not. `single`: the test of single
 * states shows it. */
static void describe_state(char text[160], const spec_validate_result *worst,
                           const spec_trial *trial, bool single)
{
    enum { FAR = 6 }; /* standard deviations */
    const spec_reproducer_token far = spec_reproducer_furthest(&trial->fixture, trial->evidence);
    const uint64_t n = spec_evidence_visits(trial->evidence, far.state),
                   count = spec_evidence_count(trial->evidence, far.state, far.token);
    const size_t at = (size_t)far.state * (size_t)worst->vocab + (size_t)far.token;
    const double expected = (double)n * trial->fixture.target_law[at];
    const int digits = expected >= 100.0 ? (int)log10(expected) + 1 : 2;
    text[0] = '\0';
    if (worst->tv > 0.0)
        snprintf(text, 160,
                 "the tokens after a state have a different distribution, by a TV of "
                 "about %.2g",
                 worst->tv);
    else if (fabs(far.deviation) > FAR)
        snprintf(text, 160,
                 "the tokens after a state have a different distribution: of %llu, token %d came "
                 "%llu times, where %.*g are expected",
                 (unsigned long long)n, far.token, (unsigned long long)count, digits, expected);
    else if (single)
        snprintf(
            text, 160,
            "the tokens after one state have a different distribution, by a TV that these data "
            "cannot measure");
}

/* Shared numbers come first, since they make the law of tokens look wrong as well. They need less
 * proof if a test has shown that rounds depend on each other. Then come the tokens after one state,
 * unless these alone would not be a FAIL and a test of something else shows it best. */
static void say_what_differs(spec_validation *v, const spec_validate_result *worst,
                             const spec_trial *trial)
{
    const spec_finding *best = find_finding(worst, NULL), *single = find_finding(worst, "state");
    const spec_test *test = test_of(best->name);
    const bool proven =
        single != NULL ? single->log_e >= spec_validate_log_fail(&v->plan) : worst->tv > 0.0;
    const spec_sharing sharing =
        spec_evidence_sharing(trial->evidence, test->about == SPEC_ABOUT_REQUESTS ? 3.0 : 6.0);
    const char *name = worst->kind->name, *what = NULL;
    char state[160];
    describe_state(state, worst, trial,
                   single != NULL && (best == single || single->p <= SPEC_SUSPICIOUS));
    v->of_state = state[0] != '\0';
    suspect_requests(v, worst,
                     sharing != SPEC_SHARED_NOTHING || test->about == SPEC_ABOUT_REQUESTS);
    if (sharing != SPEC_SHARED_NOTHING)
        say(v, "%s: %s", name, why_shared[sharing]);
    else if (test->about == SPEC_ABOUT_REQUESTS)
        what = "answers to different requests depend on each other";
    else if (test->about == SPEC_ABOUT_CALLS && !proven)
        what = "the tokens of one round of each call have a different distribution";
    else if (test->about == SPEC_ABOUT_TEXTS && !proven)
        what = "the tokens of a text depend on each other in a way that the models do not";
    else if (v->of_state)
        say(v, "%s: %s", name, state);
    else
        what = single == NULL
                   ? "the tokens have a different distribution"
                   : "the tokens have a different distribution, though no single state shows it";
    if (what != NULL) say(v, "%s: %s (test '%s': %s)", name, what, test->name, test->reason);
}

static void say_why(spec_validate_run *r, int worst)
{
    spec_validation *v = r->validation;
    const spec_validate_result *opt_worst = worst >= 0 ? &v->result[worst] : NULL;
    if (opt_worst == NULL) {
        v->each.suspected = test_of(v->together)->about == SPEC_ABOUT_REQUESTS;
        say(v, "no single fixture shows it, but the test '%s' (%s) over all of them together does",
            v->together, v->together_reason);
    } else if (opt_worst->hard != SPEC_HARD_NONE)
        say(v, "%s: %s", opt_worst->kind->name, spec_hard_reasons[opt_worst->hard]);
    else
        say_what_differs(v, opt_worst, &r->trial[worst]);
}

static const char *const at_place[SPEC_PLACES] = {
    [SPEC_PLACE_FIRST] = "in a round's first token",
    [SPEC_PLACE_LATER] = "at its later positions",
    [SPEC_PLACE_TEXT] = "in a text",
    [SPEC_PLACE_CORRECTION] = "in its corrections",
    [SPEC_PLACE_BONUS] = "in its bonus tokens",
};

/* Formats tokens as --budget takes them, such as 1.2G: two digits, rounded up. */
static const char *amount(char text[32], double tokens)
{
    static const struct {
        double unit;
        const char *suffix;
    } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    const double digit = pow(10.0, floor(log10(tokens)) - 1.0), up = ceil(tokens / digit) * digit;
    int i = 0;
    while (i < 2 && up < units[i].unit) i++;
    snprintf(text, 32, "%.3g%s", up / units[i].unit, units[i].suffix);
    return text;
}

/* Says what is missing, for example "plain-4 (V): a TV of .2 in its corrections". */
static void say_lack(spec_validation *v, const spec_validate_lack *lack)
{
    const spec_validate_result *result = &v->result[lack->result];
    char missed[64] = "no TV is guaranteed to be found", budget[32], remedy[96];
    if (lack->tv < 1.0)
        snprintf(missed, sizeof missed, "a TV of %.2g could have been missed", lack->tv);
    if (isinf(lack->budget))
        snprintf(remedy, sizeof remedy, "no budget changes that");
    else
        snprintf(remedy, sizeof remedy, "--budget %s would do", amount(budget, lack->budget));
    say(v, "too few draws to %s %g: on %s (%s) %s %s; %s",
        v->plan.eps > 0.0 ? "certify a TV of" : "find a TV of", spec_validate_limit(&v->plan),
        result->kind->name, spec_validate_report_scope(result->scope), missed,
        at_place[lack->place], remedy);
}

enum { LATE_TEXT = 320 };

/* Says which fixtures and pairs a PASS does not cover because calls took too long. */
static void describe_late(char text[LATE_TEXT], const spec_validation *v)
{
    enum { SHOWN = 3 };
    char example[128];
    size_t used = 0;
    int n = 0;
    text[0] = '\0';
    for (int i = 0; i < v->n_results; i++) {
        if (!v->result[i].late || n++ >= SHOWN) continue;
        used += (size_t)snprintf(text + used, LATE_TEXT - used, "%s %s (%s)",
                                 n > 1 ? ","
                                       : "; not tested, since a call took longer than "
                                         "--timeout:",
                                 v->result[i].kind->name,
                                 spec_validate_report_scope(v->result[i].scope));
    }
    if (n > SHOWN)
        used += (size_t)snprintf(text + used, LATE_TEXT - used, " and %d more fixtures", n - SHOWN);
    const int pairs = n > 0 && v->plan.opt_only == NULL
                          ? spec_validate_report_late_pairs(v, example, sizeof example)
                          : 0;
    if (pairs > 0)
        snprintf(text + used, LATE_TEXT - used, ", and so %d combination%s, such as %s", pairs,
                 pairs > 1 ? "s" : "", example);
}

/* Lists the TV that is guaranteed to be found in each kind of token (SPEC_PLACE_*) that the sampler
 * emits. */
static void say_power(spec_validation *v)
{
    char list[400] = "", late[LATE_TEXT];
    size_t used = 0;
    describe_late(late, v);
    for (spec_place place = 0; place < SPEC_PLACES; place++) {
        const spec_validate_power *power = &v->power[place];
        const char *const between = used == 0 ? "" : ", ", *const of = used == 0 ? " fixtures" : "";
        char tv[16] = "none";
        if (power->reached == 0) continue;
        if (power->covered > 0) snprintf(tv, sizeof tv, "%.2g", power->worst);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %s (%d of %d%s)", between,
                                 tv, at_place[place], power->covered, power->reached, of);
    }
    say(v, "no difference seen; each of these TVs would have been found with a chance of %g: %s%s",
        v->plan.power, list, late);
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
    failed = failed || hard >= 0 || fresh_p <= 0.5 * r->plan->false_alarm_rate;
    v->verdict = SPEC_VERDICT_INCONCLUSIVE;
    if (count_run(v) == 0) {
        say(v, "no fixture fits this sampler");
    } else if (failed) {
        v->verdict = v->about.lossy && hard < 0 ? SPEC_VERDICT_LOSSY : SPEC_VERDICT_FAIL;
        worst = mark_failed(r);
        say_why(r, worst);
    } else if (r->suspicious && v->stopped) {
        say(v, "suspicious, and stopped before it was tested again");
    } else if (r->unanswered) {
        say(v, "suspicious, and on fresh data a call took longer than --timeout, %g s",
            r->plan->limits.timeout);
    } else if (suspicion >= -log(SPEC_SUSPICIOUS)) {
        say(v,
            "suspicious, also with more data (p = %.2g), but not beyond doubt: a larger budget "
            "will decide",
            exp(-suspicion));
    } else if (v->power[SPEC_PLACE_FIRST].reached + v->power[SPEC_PLACE_TEXT].reached == 0) {
        say(v, "the time ran out before any fixture was run");
    } else if (r->lack.result >= 0) {
        say_lack(v, &r->lack);
    } else {
        v->verdict = SPEC_VERDICT_PASS;
        say_power(v);
    }
    return worst;
}
