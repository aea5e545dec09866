/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One round, decision by decision: the decoder runs it with a chance that reports. */
#include "api/lab_pair.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

struct speclab_round {
    spec_lab_pair pair;
    spec_decoder decoder;
    uint8_t *drawn; /* (n_nodes) */
    spec_report report;
    int n, capacity;
    speclab_decision *decision; /* (capacity) with weights of their own */
    bool lost;                  /* memory ran out for a decision */
};

_Static_assert(sizeof(int) == sizeof(int32_t), "tokens of a round are read as they are");

/* The decoder has the target's rows from the end of drafting on. */
static void hear(void *self, const spec_decision *told)
{
    speclab_round *r = self;
    if (r->n == r->capacity) {
        const int capacity = r->capacity > 0 ? 2 * r->capacity : 16;
        void *longer = realloc(r->decision, (size_t)capacity * sizeof *r->decision);
        if (longer == NULL) {
            r->lost = true;
            return;
        }
        r->decision = longer;
        r->capacity = capacity;
    }
    double *weight = NULL;
    if (!told->accepts && (weight = malloc((size_t)told->n * sizeof *weight)) == NULL) {
        r->lost = true;
        return;
    }
    if (weight != NULL) memcpy(weight, told->weight, (size_t)told->n * sizeof *weight);
    r->decision[r->n++] = (speclab_decision){
        .size = sizeof(speclab_decision),
        .kind = told->accepts ? SPECLAB_DECISION_ACCEPT : SPECLAB_DECISION_PICK,
        .phase = r->decoder.target_row[0] == NULL ? SPECLAB_PHASE_DRAFT : SPECLAB_PHASE_VERIFY,
        .answer = told->answer,
        .coin = told->coin,
        .num = told->num,
        .den = told->den,
        .weight = weight,
        .n_weights = told->n};
}

static int check_options(const speclab_round_options *o, spec_error *error)
{
    if (o->n_coins < 0 || (o->n_coins > 0 && o->coin == NULL))
        return spec_fail(error, GSL_EINVAL, "coin has no %d numbers", o->n_coins);
    if (o->n_context < 0 || (o->n_context > 0 && o->context == NULL))
        return spec_fail(error, GSL_EINVAL, "context has no %lld tokens", (long long)o->n_context);
    for (int i = 0; i < o->n_coins; i++)
        if (!(o->coin[i] >= 0.0 && o->coin[i] < 1.0))
            return spec_fail(error, GSL_EINVAL, "coin %d is %g: give numbers in [0,1)", i,
                             o->coin[i]);
    return GSL_SUCCESS;
}

static int run(speclab_round *r, gsl_rng *rng, const speclab_round_options *o, spec_error *error)
{
    const spec_draft *draft = &r->decoder.draft;
    int status = GSL_SUCCESS;
    r->report =
        (spec_report){.coin = o->coin, .n = o->n_coins, .rng = rng, .tell = hear, .self = r};
    spec_report_init(&r->report);
    spec_rng_stream(rng, o->seed, 0);
    SPEC_TRY(spec_decoder_init(&r->decoder, &r->pair.config, error));
    SPEC_TRY(spec_decoder_reset(&r->decoder, o->context, (size_t)o->n_context, error));
    SPEC_TRY(spec_decoder_round(&r->decoder, &r->report.chance, NULL, error));
    r->drawn = malloc((size_t)draft->n_nodes + 1);
    if (r->lost || r->drawn == NULL) SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < draft->n_nodes; i++) r->drawn[i] = draft->sampled[i];
done:
    return status;
}

int32_t speclab_round_run(speclab_round **ret_round, speclab *lab, const speclab_pair *pair,
                          const speclab_round_options *opt_options, char *opt_error,
                          uint64_t error_size)
{
    speclab_round_options options;
    speclab_round *round = NULL;
    gsl_rng *rng = NULL;
    spec_lab_call call;
    int status = GSL_SUCCESS;
    if (ret_round != NULL) *ret_round = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_round, "ret_round", &call.error));
    SPEC_TRY(
        spec_lab_take(&options, sizeof options, opt_options, "speclab_round_options", &call.error));
    SPEC_TRY(check_options(&options, &call.error));
    round = calloc(1, sizeof *round);
    rng = spec_rng_alloc();
    if (round == NULL || rng == NULL) SPEC_TRY(spec_no_memory(&call.error));
    SPEC_TRY(spec_lab_pair_init(&round->pair, lab, pair, &call.error));
    SPEC_TRY(run(round, rng, &options, &call.error));
    *ret_round = round;
    round = NULL;
done:
    speclab_round_free(round);
    if (rng != NULL) gsl_rng_free(rng);
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

void speclab_round_free(speclab_round *round)
{
    if (round == NULL) return;
    for (int i = 0; i < round->n; i++) free((double *)(uintptr_t)round->decision[i].weight);
    free(round->decision);
    free(round->drawn);
    spec_decoder_free(&round->decoder);
    spec_lab_pair_free(&round->pair);
    free(round);
}

/* ---- what happened --------------------------------------------------------------------------- */

int32_t speclab_round_outcome(speclab_outcome *ret, const speclab_round *round)
{
    if (!spec_lab_clear(ret, sizeof *ret) || round == NULL) return SPECLAB_INPUT;
    const spec_decoder *d = &round->decoder;
    *ret = (speclab_outcome){.size = sizeof *ret,
                             .vocab = d->config.target->vocab,
                             .n_decisions = round->n,
                             .coins_used = round->report.used,
                             .n_nodes = d->draft.n_nodes,
                             .n_accepted = d->round.n_accepted,
                             .n_emitted = d->round.n_emitted,
                             .token = d->round.token,
                             .node = d->round.node,
                             .draft = d->draft.token,
                             .parent = d->draft.parent,
                             .drawn = round->drawn};
    return SPECLAB_OK;
}

const double *speclab_round_target_row(const speclab_round *round, int32_t node)
{
    if (round == NULL || node < -1 || node >= round->decoder.draft.n_nodes) return NULL;
    return round->decoder.target_row[node + 1];
}

const double *speclab_round_draft_row(const speclab_round *round, int32_t node)
{
    if (round == NULL || node < 0 || node >= round->decoder.draft.n_nodes) return NULL;
    return round->decoder.draft.row[node];
}

int32_t speclab_round_decision(speclab_decision *ret, const speclab_round *round, int32_t index)
{
    if (!spec_lab_clear(ret, sizeof *ret) || round == NULL || index < 0 || index >= round->n)
        return SPECLAB_INPUT;
    *ret = round->decision[index];
    return SPECLAB_OK;
}
