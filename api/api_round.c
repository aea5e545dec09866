/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records one round decision by decision: the decoder runs with a source of chance that logs
 * them. */
#include "api/lab_pair.h"

#include "sim/chance/rng.h"
#include "sim/round_log.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

struct speclab_round {
    spec_lab_pair pair;
    spec_decoder decoder;
    uint8_t *drawn; /* (n_nodes) */
    spec_round_log log;
};

_Static_assert(sizeof(int) == sizeof(int32_t), "tokens of a round are read as they are");
_Static_assert((int)SPEC_ROLE_TARGET == SPECLAB_ROLE_TARGET, "roles are read as they are");

static int check_options(const speclab_round_options *o, spec_error *error)
{
    if (o->n_coins < 0 || (o->n_coins > 0 && o->coin == NULL))
        return spec_fail(error, GSL_EINVAL,
                         "n_coins must be at least 0, and 0 if coin is NULL, got %d", o->n_coins);
    if (o->n_context < 0 || (o->n_context > 0 && o->context == NULL))
        return spec_fail(error, GSL_EINVAL,
                         "n_context must be at least 0, and 0 if context is NULL, got %lld",
                         (long long)o->n_context);
    for (int i = 0; i < o->n_coins; i++)
        if (!(o->coin[i] >= 0.0 && o->coin[i] < 1.0))
            return spec_fail(error, GSL_EINVAL, "coin %d must be in [0,1), got %g", i, o->coin[i]);
    return GSL_SUCCESS;
}

static int run(speclab_round *r, gsl_rng *rng, const speclab_round_options *o, spec_error *error)
{
    const spec_draft *draft = &r->decoder.draft;
    int status = GSL_SUCCESS;
    spec_rng_stream(rng, o->seed, 0);
    SPEC_TRY(spec_decoder_init(&r->decoder, &r->pair.config, error));
    SPEC_TRY(spec_decoder_reset(&r->decoder, o->context, (size_t)o->n_context, error));
    spec_round_log_init(&r->log, &r->decoder, o->coin, o->n_coins, rng);
    SPEC_TRY(spec_round_log_next(&r->log, error));
    r->drawn = malloc((size_t)draft->n_nodes + 1);
    if (r->drawn == NULL) SPEC_TRY(spec_no_memory(error));
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
    spec_round_log_free(&round->log);
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
                             .n_decisions = round->log.n,
                             .coins_used = round->log.report.used,
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
    if (!spec_lab_clear(ret, sizeof *ret) || round == NULL || index < 0 || index >= round->log.n)
        return SPECLAB_INPUT;
    const spec_told *told = &round->log.told[index];
    const spec_decision *d = &told->decision;
    *ret = (speclab_decision){.size = sizeof *ret,
                              .kind = d->accepts ? SPECLAB_DECISION_ACCEPT : SPECLAB_DECISION_PICK,
                              .phase = told->drafting ? SPECLAB_PHASE_DRAFT : SPECLAB_PHASE_VERIFY,
                              .answer = d->answer,
                              .coin = d->coin,
                              .num = d->num,
                              .den = d->den,
                              .weight = d->weight,
                              .n_weights = d->n,
                              .role = (int32_t)told->role,
                              .node = told->node,
                              .after = told->after};
    return SPECLAB_OK;
}
