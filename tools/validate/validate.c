/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/validate_run.h"

#include "analysis/statistics/evalue.h"
#include "base/clock.h"
#include "base/names.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_validate_verdicts[] = {"PASS",         "FAIL",      "LOSSY",
                                              "INCONCLUSIVE", "DEPENDENT", NULL};

static const double stage_share[SPEC_STAGES] = {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0};
/* further stages, each doubling the data, while all fixtures together look suspicious */
enum { MORE_STAGES = 2 };

const spec_fixture_kind *spec_validate_fixture(const spec_validate_plan *plan, int i)
{
    const spec_fixture_kind *kind = spec_fixture_at(i);
    int n = 0;
    if (kind != NULL || plan->opt_more == NULL) return kind;
    while (spec_fixture_at(n) != NULL) n++;
    return plan->opt_more[i - n];
}

int spec_validate_check_only(const spec_validate_plan *plan, spec_error *error)
{
    enum { NAMES = 512 };
    const char *names[NAMES];
    int n = 0;
    for (; n < NAMES - SPEC_TESTS_MAX && spec_validate_fixture(plan, n) != NULL; n++)
        names[n] = spec_validate_fixture(plan, n)->name;
    for (int i = 0; spec_tests[i].name != NULL && n < NAMES - 1; i++)
        names[n++] = spec_tests[i].name;
    names[n] = NULL;
    return spec_names_check(plan->opt_only, names, "fixture or test", "; --list shows them", error);
}

/* ---- when ------------------------------------------------------------------------------------ */

static bool goes_on(const spec_validate_run *r, int stage)
{
    if (r->plan->seconds > 0.0 || r->plan->endless || stage < SPEC_STAGES) return true;
    return stage < SPEC_STAGES + MORE_STAGES && r->validation->log_e > -log(SPEC_SUSPICIOUS);
}

/* Each stage goes over all fixtures with a growing share of the budget, so that gross mistakes are
 * found early. Bets allow any number of stages. */
static int run_stages(spec_validate_run *r, bool *ret_failed)
{
    spec_validation *v = r->validation;
    double share = 0.0;
    int status = GSL_SUCCESS;
    *ret_failed = false;
    for (int stage = 0; goes_on(r, stage); stage++) {
        const double until = stage < SPEC_STAGES ? stage_share[stage] : 2.0 * share;
        for (int k = 0; k < v->n_results; k++) {
            const int i = r->turn[k];
            if (v->result[i].skipped != NULL || v->result[i].late) continue;
            if (spec_validate_must_end(r, false)) return status;
            const double more = (until - share) * (double)r->trial[i].draws;
            SPEC_TRY(spec_validate_run_trial(r, i, (uint64_t)ceil(more)));
            spec_validate_read(r, i);
            if (r->plan->progress != NULL)
                r->plan->progress(r->plan->self, v->result[i].kind->name, r->done, r->plan->draws,
                                  v->log_e);
            if (spec_validate_first_hard(v) >= 0 || v->log_e >= spec_validate_log_fail(r->plan)) {
                *ret_failed = true;
                return status;
            }
        }
        share = until;
        if (r->plan->stage == NULL) continue;
        v->p = spec_validate_holm(r, NULL);
        spec_validate_fill_detectable(r);
        r->plan->stage(r->plan->self, v, stage);
    }
done:
    return status;
}

/* Repeats suspicious tests with new seeds and more draws, and judges them by the new data alone. */
static int run_fresh(spec_validate_run *r, double *ret_p)
{
    spec_validation *v = r->validation;
    bool *again = calloc((size_t)v->n_results + 1, sizeof *again);
    const double log_e = v->log_e;
    int n = 0, status = GSL_SUCCESS;
    *ret_p = 1.0;
    if (again == NULL) return spec_fail(r->error, GSL_ENOMEM, "out of memory");
    for (int i = 0; i < v->n_results; i++) {
        const spec_validate_result *result = &v->result[i];
        again[i] = result->skipped == NULL &&
                   (result->p <= SPEC_SUSPICIOUS || result->log_e > -log(SPEC_SUSPICIOUS));
        if (!again[i]) continue;
        spec_trial *t = &r->trial[i];
        spec_evidence_free(t->evidence);
        t->evidence = NULL;
        t->batches = t->asked = 0;
        t->fresh = true;
        v->fresh = true;
        SPEC_TRY(spec_evidence_init(&t->evidence, &t->fixture, result->scope, r->error));
        const bool late = v->result[i].late;
        v->result[i].late = false;
        SPEC_TRY(spec_validate_run_trial(r, i, SPEC_FRESH_TIMES * result->asked));
        r->unanswered = r->unanswered || v->result[i].late;
        v->result[i].late = v->result[i].late || late;
        spec_validate_read(r, i);
    }
    *ret_p = spec_validate_holm(r, again);
    if (!v->fresh) goto done;
    for (int i = 0; i < v->n_results; i++)
        if (again[i]) r->p[n++] = v->result[i].log_e;
    v->first_log_e = log_e;
    v->first_p = v->p;
    v->log_e = spec_evalue_mean(r->p, n);
    v->p = *ret_p;
    v->together = NULL;
done:
    free(again);
    return status;
}

static int validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan,
                    spec_error *error)
{
    spec_validate_run r = {.validation = ret, .plan = plan, .subject = subject, .error = error};
    bool failed = false;
    double fresh_p = 1.0;
    int status = GSL_SUCCESS;
    *ret = (spec_validation){.plan = *plan, .subject = subject};
    r.begun = spec_clock_monotonic();
    SPEC_TRY(spec_validate_check_only(plan, error));
    SPEC_TRY(spec_validate_make_workers(&r));
    ret->about = r.worker[0].subject.about;
    SPEC_TRY(spec_validate_make_trials(&r));
    SPEC_TRY(spec_validate_part_instances(&r));
    SPEC_TRY(run_stages(&r, &failed));
    ret->p = spec_validate_holm(&r, NULL);
    spec_validate_fill_detectable(&r);
    r.lack = spec_validate_find_lack(&r);
    r.suspicious = !failed && (ret->p <= SPEC_SUSPICIOUS || ret->log_e > -log(SPEC_SUSPICIOUS));
    if (r.suspicious && !spec_validate_is_stopped(&r)) SPEC_TRY(run_fresh(&r, &fresh_p));
    ret->stopped = spec_validate_is_stopped(&r);
    if (ret->stopped && !plan->endless) SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
    const int worst = spec_validate_judge(&r, failed, fresh_p);
    const bool hints = plan->hints && ret->verdict == SPEC_VERDICT_FAIL;
    if (worst >= 0) SPEC_TRY(spec_validate_reproduce(&r, worst));
    if (hints && plan->phase != NULL)
        plan->phase(plan->self, "looking for the most likely "
                                "mistake");
    if (hints) SPEC_TRY(spec_validate_find_hints(&r, worst));
    if (hints && worst >= 0) status = spec_validate_find_order(&r, worst);
    if (status != GSL_EFAILED) SPEC_TRY(status);
    status = GSL_SUCCESS; /* the verdict is final, even if the sampler fails now */
    ret->seconds = spec_validate_seconds(&r);
done:
    if (status != GSL_SUCCESS) status = spec_validate_blame_time(&r, status);
    spec_validate_free_run(&r);
    if (status != GSL_SUCCESS) spec_validation_free(ret);
    return status;
}

/* Runs again with other seeds, to see whether each request is right by itself. The FAIL is final
 * even if the sampler breaks in this run. */
static void ask_each(spec_validation *v)
{
    spec_validate_plan plan = v->plan;
    spec_validation each;
    spec_error error;
    plan.dependent = true;
    plan.hints = plan.endless = false;
    plan.stage = NULL;
    plan.seed = spec_rng_named_seed(plan.seed, "each request");
    if (validate(&each, v->subject, &plan, &error) != GSL_SUCCESS) return;
    if (each.verdict == SPEC_VERDICT_PASS) {
        v->verdict = SPEC_VERDICT_DEPENDENT;
        if (v->each.reason[0] != '\0') memcpy(v->reason, v->each.reason, sizeof v->reason);
    }
    v->each.asked = true;
    v->each.verdict = each.verdict;
    v->each.draws = each.draws;
    v->each.log_e = each.log_e;
    v->each.p = each.p;
    memcpy(v->each.reason, each.reason, sizeof v->each.reason);
    spec_validation_free(&each);
}

int spec_validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan,
                  spec_error *error)
{
    const int status = validate(ret, subject, plan, error);
    if (status == GSL_SUCCESS && ret->verdict == SPEC_VERDICT_FAIL && ret->each.suspected &&
        plan->asks_each && !plan->dependent && !spec_validate_names_a_test(plan))
        ask_each(ret);
    return status;
}

void spec_validation_free(spec_validation *validation)
{
    free(validation->result);
    spec_reproducer_free(&validation->reproducer);
    *validation = (spec_validation){.n_results = 0};
}
