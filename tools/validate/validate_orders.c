/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a failed fixture again with other orders of filters, since an undeclared order may be the
 * cause. */
#include "tools/validate/validate_run.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 1 << 16 };
#define DIFFERENT 0.02

static double tv_of(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += 0.5 * fabs(a[i] - b[i]);
    return sum;
}

/* Returns the largest TV between a state's new and old law. */
static double moved(const spec_fixture *f, const double *before)
{
    double most = 0.0;
    for (int s = 0; s < f->n_states; s++) {
        const size_t at = (size_t)s * (size_t)f->vocab;
        most = fmax(most, tv_of(f->target_law + at, before + at, f->vocab));
    }
    return most;
}

/* Finds out whether the sampler passes with the current laws of the fixture. */
static int passes(bool *ret, spec_validate_run *r, int i)
{
    spec_trial *t = &r->trial[i];
    spec_finding finding[SPEC_TESTS_MAX];
    double least = 1.0;
    int status = GSL_SUCCESS;
    spec_evidence_free(t->evidence);
    t->evidence = NULL;
    t->batches = 0;
    t->fresh = true;
    SPEC_TRY(
        spec_evidence_init(&t->evidence, &t->fixture, r->validation->result[i].scope, r->error));
    SPEC_TRY(spec_validate_run_trial(r, i, DRAWS));
    const int n = spec_evidence_findings(finding, t->evidence);
    for (int k = 0; k < n; k++) least = fmin(least, finding[k].p * n);
    *ret = spec_evidence_hard(t->evidence) == NULL && least > SPEC_SUSPICIOUS &&
           !r->validation->result[i].late;
done:
    return status;
}

int spec_validate_find_order(spec_validate_run *r, int i)
{
    spec_fixture *f = &r->trial[i].fixture;
    spec_sampler_about about = r->validation->about;
    const size_t bytes = (size_t)f->n_states * (size_t)f->vocab * sizeof(double);
    double *before = NULL;
    int status = GSL_SUCCESS;
    if (!spec_fixture_samples(f)) return status;
    if ((before = malloc(bytes)) == NULL) return spec_no_memory(r->error);
    memcpy(before, f->target_law, bytes);
    for (int k = 0; spec_filter_orders[k] != NULL && r->validation->order == NULL; k++) {
        bool agrees = false;
        snprintf(about.filters, sizeof about.filters, "%s", spec_filter_orders[k]);
        SPEC_TRY(spec_fixture_promise(f, &about, r->error));
        if (moved(f, before) > DIFFERENT) SPEC_TRY(passes(&agrees, r, i));
        if (agrees) r->validation->order = spec_filter_orders[k];
    }
done:
    free(before);
    return status;
}
