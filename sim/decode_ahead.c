/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode_ahead.h"

#include "models/row.h"

#include <assert.h>
#include <stdlib.h>

int spec_decode_ahead_init(spec_ahead *ahead, const spec_drafter *drafter,
                           const spec_policy *policy, int vocab, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_policy_kind *kind = policy->kind;
    *ahead = (spec_ahead){.on = true};
    if (drafter->kind != &spec_draft_chain && drafter->kind != &spec_draft_greedy)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "only chains of a draft model can be drafted ahead: draft strategy "
                           "chain or greedy, not %s",
                           drafter->kind->name));
    if (spec_policy_reads(policy) || kind->charged != NULL)
        SPEC_TRY(spec_fail(
            error, GSL_EINVAL,
            "to draft ahead, the length of the next draft must be known: use a length policy like "
            "fixed or heuristic, not %s",
            kind->name));
    SPEC_TRY(spec_draft_init(&ahead->draft, policy->K, vocab, error));
    ahead->row = malloc((size_t)vocab * sizeof *ahead->row);
    if (ahead->row == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for a row of %d", vocab));
done:
    if (status != GSL_SUCCESS) spec_decode_ahead_free(ahead);
    return status;
}

void spec_decode_ahead_free(spec_ahead *ahead)
{
    spec_draft_free(&ahead->draft);
    free(ahead->row);
    *ahead = (spec_ahead){0};
}

/* Finds the draft model's most probable token after the context. */
static int guess(int *ret_token, spec_ahead *ahead, spec_drafter *drafter,
                 spec_device_chain *device, const int *context, size_t n, spec_error *error)
{
    if (device->used) return spec_chain_guess(&device->next, ret_token, context, n, error);
    const double *row = spec_session_row(&drafter->session, context, n, ahead->row, error);
    if (row == NULL) return GSL_EFAILED;
    *ret_token = spec_row_argmax(row, drafter->session.model->vocab);
    return GSL_SUCCESS;
}

int spec_decode_ahead_draft(spec_ahead *ahead, spec_drafter *drafter, spec_device_chain *device,
                            const spec_ahead_request *request, spec_chance *chance,
                            spec_error *error)
{
    const spec_draft *chain = request->chain;
    const spec_policy *next = request->next;
    int *const context = request->context;
    size_t n = request->n;
    const spec_model *model = drafter->session.model;
    const int length = chain->n_nodes, calls = drafter->n_calls, rows = drafter->n_rows,
              wasted = drafter->n_wasted;
    int status = GSL_SUCCESS;
    spec_decode_ahead_forget(ahead);
    ahead->n_calls = ahead->n_wasted = ahead->n_rows = 0;
    if (length == 0 || next->now <= 0 || spec_model_ends_text(model, chain->token[length - 1]))
        goto done;
    for (int i = 0; i < length; i++) context[n++] = chain->token[i];
    ahead->n_calls = ahead->n_rows = 1;
    SPEC_TRY(guess(&ahead->guess, ahead, drafter, device, context, n, error));
    if (spec_model_ends_text(model, ahead->guess)) goto done;
    context[n++] = ahead->guess;
    ahead->draft.text = chain->text;
    if (device->used) {
        spec_drafter_begin(&ahead->draft, drafter, n, next);
        SPEC_TRY(spec_decode_device_draft(&ahead->draft, device, &device->next, drafter, context,
                                          chance, error));
    } else {
        SPEC_TRY(spec_drafter_draft(&ahead->draft, drafter, context, n, next, chance, error));
    }
    ahead->n_calls += drafter->n_calls;
    ahead->n_rows += drafter->n_rows;
    ahead->n_wasted = drafter->n_wasted;
    ahead->place = n;
    ahead->drafted = true;
done:
    drafter->n_calls = calls;
    drafter->n_rows = rows;
    drafter->n_wasted = wasted;
    return status;
}

void spec_decode_ahead_settle(spec_ahead *ahead, spec_round *round)
{
    round->guess_tested = ahead->drafted && round->n_accepted == round->n_drafted;
    round->guess_right = round->guess_tested && round->token[round->n_emitted - 1] == ahead->guess;
    ahead->there = round->guess_right;
}

bool spec_decode_ahead_take(spec_ahead *ahead, spec_device_chain *device, spec_draft *draft,
                            size_t n)
{
    if (!ahead->there || ahead->place != n) return false;
    const spec_draft chain = ahead->draft;
    ahead->draft = *draft;
    *draft = chain;
    const spec_chain laws = device->next;
    device->next = device->chain;
    device->chain = laws;
    spec_decode_ahead_forget(ahead);
    return true;
}

void spec_decode_ahead_forget(spec_ahead *ahead)
{
    ahead->drafted = ahead->there = false;
}
