/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the fixtures for hints. */
#include "conformance/evidence/nearest.h"
#include "conformance/validate_run.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* DRAWS: tokens per fixture. FAILED_*: limits for the failed one, which otherwise gets as many as
 * it took to fail. VOCAB_MOST: largest vocabulary. */
enum { DRAWS = 16000, FAILED_LEAST = 64000, FAILED_MOST = 256000, VOCAB_MOST = 1024 };

/* Fixtures that tell mistakes apart: residuals, lengths, requests, parameters, siblings, texts. */
static const char *const wanted[] = {
    "plain-4",      "heavy-draft-4",  "shorter-4",      "batch-3",  "draft-zeros-8", "cold-8",
    "top-k-16",     "binary-iid-4",   "wide-without-8", "wide-fixed-8", "fixed-4",   "blind-3",
    "blind-long-3", "blind-equal-16", "blind-argmax-4", "text-5-3", "brief-3-4",     "text-1-4",
    NULL};

static bool is_wanted(const char *name)
{
    for (int i = 0; wanted[i] != NULL; i++)
        if (strcmp(wanted[i], name) == 0) return true;
    return false;
}

/* With two tokens every residual is a single token, so that residual mistakes do not show. */
static bool tells(const spec_validate_run *r, int i, uint32_t scope)
{
    const spec_validate_result *result = &r->validation->result[i];
    return result->skipped == NULL && !result->late && result->scope == scope &&
           result->vocab > 2 && result->vocab <= VOCAB_MOST;
}

/* Tokens that the search may take: the budget of the run, or if time limits it, the tokens drawn so
 * far. */
static uint64_t most_draws(const spec_validate_run *r)
{
    return r->plan->seconds > 0.0 || r->plan->endless ? r->done : r->plan->draws;
}

int spec_validate_find_hints(spec_validate_run *r, int opt_worst)
{
    spec_validation *v = r->validation;
    const uint32_t scope = opt_worst >= 0 ? v->result[opt_worst].scope : v->together_scope;
    spec_hint_base *on = malloc(((size_t)v->n_results + 1) * sizeof *on), failed = {NULL, 0};
    uint64_t draws = 0;
    int n = 0, status = GSL_SUCCESS;
    if (on == NULL) return spec_no_memory(r->error);
    if (opt_worst >= 0 && tells(r, opt_worst, scope)) {
        const uint64_t asked = v->result[opt_worst].asked;
        draws = asked < FAILED_LEAST ? FAILED_LEAST : asked > FAILED_MOST ? FAILED_MOST : asked;
        if (draws > most_draws(r)) draws = most_draws(r);
        failed = (spec_hint_base){&r->trial[opt_worst].fixture, draws};
    }
    for (int i = 0; i < v->n_results && draws + DRAWS <= most_draws(r); i++) {
        if (i == opt_worst || !tells(r, i, scope) || !is_wanted(v->result[i].kind->name)) continue;
        on[n++] = (spec_hint_base){&r->trial[i].fixture, DRAWS};
        draws += DRAWS;
    }
    if (failed.fixture != NULL) on[n++] = failed; /* last, when few mistakes remain */
    if (n > 0)
        status = spec_nearest(v->hint, &v->n_hints, &r->worker[0].subject,
                              &(spec_hint_request){on, n, scope,
                                                   spec_rng_named_seed(r->plan->seed, "hints"),
                                                   r->threads > 1 ? r->plan->opt_pool : NULL},
                              r->error);
    free(on);
    return status;
}
