/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that instances of a sampler draw different random numbers. If they share them, requests of
 * several instances depend on each other, which says nothing about the sampler's law. */
#include "tools/validate/validate_run.h"

#include "sim/chance/rng.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 256, TOKENS = 256 };
#define UNCERTAIN 0.5 /* entropy, nats */

static double entropy_of(const spec_fixture *f, int state)
{
    const double *law = f->target_law + (size_t)state * (size_t)f->vocab;
    double sum = 0.0;
    for (int x = 0; x < f->vocab; x++) sum -= law[x] > 0.0 ? law[x] * log(law[x]) : 0.0;
    return sum;
}

/* Finds the smallest trial whose first tokens have so much entropy that two samplers cannot agree
 * by chance; -1 if there is none. */
static int trial_to_ask(int *ret_trial, spec_validate_run *r)
{
    int status = GSL_SUCCESS;
    *ret_trial = -1;
    for (int k = 0; k < r->validation->n_results && *ret_trial < 0; k++) {
        const int i = r->turn[k];
        if (r->validation->result[i].skipped != NULL) continue;
        SPEC_TRY(spec_validate_fill_trial(r, i));
        if (entropy_of(&r->trial[i].fixture, 0) > UNCERTAIN) *ret_trial = i;
    }
done:
    return status;
}

/* Asks instance `which`. All instances get the same starts and drafts, but their own seeds and
 * requests. */
static int answer(spec_worker *w, const spec_validate_run *r, int trial, int which)
{
    const spec_trial *t = &r->trial[trial];
    const uint32_t scope = r->validation->result[trial].scope;
    const uint64_t base = spec_rng_named_seed(r->plan->seed, "instances"),
                   seed = base + (uint64_t)which;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_subject_begin(&w->subject, &t->fixture, scope, ROUNDS, &w->error));
    spec_rng_stream(w->rng, base, 0);
    if (scope == SPEC_SCOPE_STREAM) {
        SPEC_TRY(spec_subject_generate(&w->subject, 0, t->fixture.n_nodes, seed, w->text, TOKENS,
                                       &w->error));
    } else {
        spec_evidence_ask(t->evidence, &w->subject.batch, ROUNDS, (uint64_t)which * ROUNDS, seed,
                          w->rng);
        SPEC_TRY(spec_subject_run(&w->subject, ROUNDS, &w->error));
    }
done:
    if (status != GSL_SUCCESS) *r->error = w->error;
    return status;
}

static bool same_answers(const spec_worker *a, const spec_worker *b, uint32_t scope)
{
    const spec_round_batch *x = &a->subject.batch, *y = &b->subject.batch;
    const size_t places = (size_t)x->nodes + 1;
    if (scope == SPEC_SCOPE_STREAM) return memcmp(a->text, b->text, TOKENS * sizeof *a->text) == 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        const int n = x->n_emitted[i];
        if (y->n_emitted[i] != n || n < 1 || n > (int)places) return false;
        if (memcmp(x->emitted + i * places, y->emitted + i * places,
                   (size_t)n * sizeof *x->emitted) != 0)
            return false;
    }
    return true;
}

int spec_validate_part_instances(spec_validate_run *r)
{
    int i = -1, status = GSL_SUCCESS;
    if (r->threads > 1) SPEC_TRY(trial_to_ask(&i, r));
    if (i < 0) return status;
    const uint32_t scope = r->validation->result[i].scope;
    const spec_worker *first = &r->worker[0];
    for (int k = 0; k < r->threads; k++) {
        spec_worker *w = &r->worker[k];
        SPEC_TRY(answer(w, r, i, k));
        if (k == 0 || !same_answers(first, w, scope)) continue;
        /* A sampler without random numbers gives these answers to every seed, and may run in many
         * instances. */
        SPEC_TRY(answer(w, r, i, k + r->threads));
        if (!same_answers(first, w, scope)) r->validation->alone = true;
    }
    for (; r->validation->alone && r->threads > 1; r->threads--)
        spec_validate_end_worker(&r->worker[r->threads - 1]);
done:
    return status;
}
