/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/online_draft.h"

#include "models/transformer/engine/device.h"
#include "models/translated_model.h"

#include <assert.h>

const char *const spec_online_positions_names[] = {"all", "rejected", NULL};

enum { NOT_BEGUN = -1, CONTEXT_SHARE = 4 }; /* the share of a later window that is only context */

/* ---- making ---------------------------------------------------------------------------------- */

static int check(const spec_model *draft, spec_error *error)
{
    const spec_transformer *model = spec_transformer_of(draft);
    bool all_floats;
    if (spec_translated_model_is(draft))
        return spec_fail(error, GSL_EINVAL,
                         "'%.200s' cannot learn: its vocabulary is not the target's", draft->spec);
    if (model == NULL || model->weights != &model->own_weights)
        return spec_fail(error, GSL_EINVAL,
                         "'%.200s' cannot learn: give a transformer with weights of its own, from "
                         "'speclab train distill'",
                         draft->spec);
    if (!spec_device_is_cpu(model->weights->backend))
        return spec_fail(error, GSL_EINVAL, "'%.200s' can only learn on the CPU; use device=cpu",
                         draft->spec);
    spec_weights_bytes(&all_floats, model->checkpoint, model->type, model->weights->backend);
    if (!all_floats)
        return spec_fail(error, GSL_EINVAL,
                         "'%.200s' cannot learn, because its weights are not floats of 32 bits",
                         draft->spec);
    return GSL_SUCCESS;
}

int spec_online_draft_init(spec_online_draft *online, const spec_online_plan *plan,
                           spec_model *draft, spec_thread_pool *opt_pool, spec_error *error)
{
    int status = GSL_SUCCESS;
    *online = (spec_online_draft){.plan = *plan, .from = NOT_BEGUN};
    SPEC_TRY(check(draft, error));
    online->model = (spec_transformer *)spec_transformer_of(draft);
    SPEC_TRY(spec_draft_learner_init(&online->learner, &plan->learner, online->model->checkpoint,
                                     opt_pool, error));
done:
    if (status != GSL_SUCCESS) spec_online_draft_free(online);
    return status;
}

void spec_online_draft_free(spec_online_draft *online)
{
    spec_draft_learner_free(&online->learner);
    *online = (spec_online_draft){0};
}

/* ---- windows --------------------------------------------------------------------------------- */

static int update_if_full(spec_online_draft *online, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_draft_learner *learner = &online->learner;
    if (online->window < online->plan.learner.texts) return GSL_SUCCESS;
    const long before = learner->step;
    double loss;
    SPEC_TRY(spec_draft_learner_step(learner, &loss, error));
    if (learner->step != before)
        SPEC_TRY(spec_transformer_replace(online->model, &learner->model.checkpoint, error));
done:
    spec_draft_learner_clear(learner);
    online->window = 0;
    return status;
}

void spec_online_draft_end_text(spec_online_draft *online)
{
    online->window += online->from != NOT_BEGUN;
    online->from = NOT_BEGUN;
}

/* Returns token i of the text as the draft reads it: a beginning of text, the context, and the
 * round. */
static int token_of(const spec_online_draft *online, const spec_online_round *of, long i)
{
    const spec_checkpoint *checkpoint = online->model->checkpoint;
    const long at = i - (checkpoint->adds_begin ? 1 : 0), n = (long)of->n;
    return at < 0 ? checkpoint->begin_of_text : at < n ? of->context[at] : of->round->token[at - n];
}

/* Drops from the window what follows a cut: the caller may have cut the text since the last
 * round. */
static void cut(spec_online_draft *online, long first)
{
    const int places = online->plan.learner.places;
    bool *learns = online->learner.learns + (long)online->window * places;
    if (online->from == NOT_BEGUN) return;
    for (long i = first > online->from ? first - online->from : 0; i < places; i++)
        learns[i] = false;
    if (first < online->until) online->until = first;
    if (first <= online->from) online->from = NOT_BEGUN;
}

/* Finds the batch's row for token i of the text. Begins a window if there is none or it is full,
 * and adds the tokens up to this one. */
static int find_place(int *ret_place, spec_online_draft *online, const spec_online_round *of,
                      long i, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int places = online->plan.learner.places;
    if (online->from != NOT_BEGUN && i >= online->from + places) spec_online_draft_end_text(online);
    SPEC_TRY(update_if_full(online, error));
    const int row = online->window * places;
    if (online->from == NOT_BEGUN)
        online->until = online->from = i < places ? 0 : i - places / CONTEXT_SHARE;
    for (; online->until <= i; online->until++)
        online->learner.token[row + online->until - online->from] =
            token_of(online, of, online->until);
    *ret_place = row + (int)(i - online->from);
done:
    return status;
}

int spec_online_draft_observe(spec_online_draft *online, const spec_online_round *of,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_round *round = of->round;
    spec_draft_learner *learner = &online->learner;
    const long first = (long)of->n - (online->model->checkpoint->adds_begin ? 0 : 1);
    cut(online, first);
    for (int k = 0; k < round->n_emitted; k++) {
        if (first + k < 0) continue; /* the beginning of an empty text, which no later pass reads */
        const bool was_rejected = k == round->n_accepted && round->n_tested > round->n_accepted;
        int place;
        SPEC_TRY(find_place(&place, online, of, first + k, error));
        learner->next[place] = round->token[k];
        learner->learns[place] = online->plan.positions == SPEC_ONLINE_ALL || was_rejected;
        if (learner->learns[place])
            spec_draft_learner_set_row(learner, place,
                                       of->target_row[k > 0 ? round->node[k - 1] + 1 : 0],
                                       online->model->temperature);
    }
done:
    return status;
}

int spec_online_draft_forget(spec_online_draft *online, spec_error *error)
{
    const bool has_learnt = online->learner.step > 0;
    spec_draft_learner_restart(&online->learner);
    online->window = 0;
    online->from = NOT_BEGUN;
    return has_learnt ? spec_transformer_replace(online->model, online->model->checkpoint, error)
                      : GSL_SUCCESS;
}
