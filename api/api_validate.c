/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests a sampler that is a function in this process. */
#include "api/lab.h"

#include "base/memory_text.h"
#include "speclab/no_memory.h"
#include "tools/validate/validate_report.h"

#include <stdlib.h>
#include <string.h>

struct speclab_validation {
    int32_t verdict;
    char reason[sizeof((spec_validation *)NULL)->reason];
    char *json;
};

_Static_assert(SPECLAB_PASS == (int)SPEC_VERDICT_PASS && SPECLAB_FAIL == (int)SPEC_VERDICT_FAIL &&
                   SPECLAB_LOSSY == (int)SPEC_VERDICT_LOSSY &&
                   SPECLAB_INCONCLUSIVE == (int)SPEC_VERDICT_INCONCLUSIVE &&
                   SPECLAB_DEPENDENT == (int)SPEC_VERDICT_DEPENDENT,
               "the verdicts of the header are those of tools/validate/validate.h");

typedef struct {
    speclab_validate_options options;
    speclab_sampler sampler;
} question;

static void hear(void *self, const char *fixture, uint64_t draws, uint64_t budget, double log_e)
{
    const question *q = self;
    (void)fixture;
    (void)budget;
    q->options.progress(q->options.self, draws, log_e);
}

static int check_sampler(const speclab_sampler *sampler, spec_error *error)
{
    const spec_sampler_about *about = sampler->about;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_lab_need(about, "about of speclab_sampler", error));
    if (about->size != sizeof *about)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "the size of spec_sampler_about is %u, not %zu: set it to sizeof",
                           about->size, sizeof *about));
    if (spec_subject_check_about(about, error) != GSL_SUCCESS) SPEC_TRY(GSL_EINVAL);
    if (about->scopes & (SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT) && sampler->batch == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "a sampler of scope V or DV needs batch"));
    if (about->scopes & SPEC_SCOPE_STREAM && sampler->generate == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "a sampler of scope S needs generate"));
done:
    return status;
}

/* Keeps the default in *value if `given` is 0; otherwise `given` must lie between the limits. */
static int set_share(double *value, double given, double low, double high, const char *name,
                     spec_error *error)
{
    if (given == 0.0) return GSL_SUCCESS;
    if (!(given > low && given < high))
        return spec_fail(error, GSL_EINVAL, "%s must be above %g and below %g, got %g", name, low,
                         high, given);
    *value = given;
    return GSL_SUCCESS;
}

static int make_plan(spec_validate_plan *plan, const question *q, const speclab *lab,
                     spec_error *error)
{
    const speclab_validate_options *o = &q->options;
    const uint32_t scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM;
    int status = GSL_SUCCESS;
    *plan = SPEC_VALIDATE_PLAN_DEFAULT;
    SPEC_TRY(set_share(&plan->false_alarm_rate, o->false_alarm_rate, 0.0, 0.5, "false_alarm_rate",
                       error));
    SPEC_TRY(set_share(&plan->eps, o->eps, 0.0, 1.0, "eps", error));
    SPEC_TRY(set_share(&plan->power, o->power, 0.0, 1.0, "power", error));
    if (plan->power <= plan->false_alarm_rate)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "power must be above false_alarm_rate, %g, got %g",
                           plan->false_alarm_rate, plan->power));
    SPEC_TRY(set_share(&plan->seconds, o->seconds, 0.0, 1e9, "seconds", error));
    if (o->scopes & ~scopes)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "scopes must be a sum of SPEC_SCOPE_*, got %#x",
                           o->scopes));
    if (o->draws > 0) plan->draws = o->draws;
    if (o->seed != NULL) plan->seed = *o->seed;
    plan->scopes = o->scopes;
    plan->opt_only = o->only;
    plan->hints = plan->asks_each = !o->no_hints;
    plan->dependent = o->dependent_requests != 0;
    plan->opt_pool = q->sampler.parallel ? lab->context.pool : NULL;
    plan->limits.opt_stop = o->opt_stop;
    plan->limits.opt_call = &q->sampler;
    if (o->progress != NULL) plan->progress = hear;
    plan->self = (void *)(uintptr_t)q;
done:
    return status;
}

static int keep(speclab_validation **ret, const spec_validation *v, spec_error *error)
{
    spec_memory_text text = {.out = NULL};
    speclab_validation *kept = calloc(1, sizeof *kept);
    int status = GSL_SUCCESS;
    if (kept == NULL || !spec_memory_text_open(&text)) SPEC_TRY(spec_no_memory(error));
    status = spec_validate_report_json(v, text.out, error);
    kept->json = spec_memory_text_take(&text, NULL);
    if (kept->json == NULL) status = spec_no_memory(error);
    SPEC_TRY(status);
    kept->verdict = (int32_t)v->verdict;
    memcpy(kept->reason, v->reason, sizeof kept->reason);
    *ret = kept;
    kept = NULL;
done:
    speclab_validation_free(kept);
    return status;
}

int32_t speclab_validate(speclab_validation **ret_validation, speclab *lab,
                         const speclab_sampler *sampler,
                         const speclab_validate_options *opt_options, char *opt_error,
                         uint64_t error_size)
{
    question q = {.options = {.size = 0}};
    spec_validate_plan plan;
    spec_validation v;
    spec_lab_call call;
    int status = GSL_SUCCESS;
    if (ret_validation != NULL) *ret_validation = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_validation, "ret_validation", &call.error));
    SPEC_TRY(spec_lab_need(sampler, "sampler", &call.error));
    SPEC_TRY(spec_lab_take(&q.options, sizeof q.options, opt_options, "speclab_validate_options",
                           &call.error));
    SPEC_TRY(spec_lab_take(&q.sampler, sizeof q.sampler, sampler, "speclab_sampler", &call.error));
    SPEC_TRY(check_sampler(&q.sampler, &call.error));
    SPEC_TRY(make_plan(&plan, &q, lab, &call.error));
    SPEC_TRY(spec_validate(&v, "call", &plan, &call.error));
    status = keep(ret_validation, &v, &call.error);
    spec_validation_free(&v);
done:
    return spec_lab_leave(&call, status, q.options.opt_stop, opt_error, error_size);
}

void speclab_validation_free(speclab_validation *validation)
{
    if (validation == NULL) return;
    free(validation->json);
    free(validation);
}

int32_t speclab_validation_verdict(const speclab_validation *validation)
{
    return validation != NULL ? validation->verdict : SPECLAB_INCONCLUSIVE;
}

const char *speclab_validation_reason(const speclab_validation *validation)
{
    return validation != NULL ? validation->reason : "";
}

const char *speclab_validation_json(const speclab_validation *validation)
{
    return validation != NULL ? validation->json : "";
}
