/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/drafter.h"

#include "base/names.h"
#include "models/row.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINE(name) &spec_draft_##name,
const spec_drafter_kind *const spec_drafter_kinds[] = {SPEC_DRAFTS(LINE) NULL};

static const char *name_of(int i)
{
    return spec_drafter_kinds[i] != NULL ? spec_drafter_kinds[i]->name : NULL;
}

const char *spec_drafter_model_of(const char *text)
{
    const size_t n = strcspn(text, ":?");
    const char *colon = strchr(text, ':');
    for (int i = 0; colon != NULL && name_of(i) != NULL; i++)
        if (strlen(name_of(i)) == n && strncmp(name_of(i), text, n) == 0)
            return spec_drafter_kinds[i]->needs_model ? colon + 1 : text;
    return text;
}

int spec_drafter_init(spec_drafter *drafter, const char *spec, const spec_model *opt_draft,
                      spec_error *error)
{
    return spec_drafter_init_lent(drafter, spec, opt_draft, NULL, error);
}

int spec_drafter_init_lent(spec_drafter *drafter, const char *spec, const spec_model *opt_draft,
                           const spec_session *opt_session, spec_error *error)
{
    spec_settings settings = {0};
    int status = GSL_SUCCESS;
    *drafter = (spec_drafter){0};
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    const int line = spec_names_find(name_of, settings.name, "draft strategy", error);
    SPEC_TRY(line < 0 ? GSL_EINVAL : GSL_SUCCESS);
    drafter->kind = spec_drafter_kinds[line];
    SPEC_TRY(spec_settings_check(&settings, drafter->kind->usage, NULL, error));
    if (drafter->kind->init != NULL) SPEC_TRY(drafter->kind->init(drafter, &settings, error));
    if (drafter->kind->needs_model) {
        if (opt_draft == NULL) {
            status = spec_fail(error, GSL_EINVAL, "draft strategy '%s' needs a draft model",
                               drafter->kind->name);
            goto done;
        }
        if (opt_draft->declines && !drafter->kind->ends_where_declined) {
            status = spec_fail(error, GSL_EINVAL,
                               "draft strategy '%s' does not end drafts by a model's confidence; "
                               "use chain or greedy, or leave out the model's confidence=",
                               drafter->kind->name);
            goto done;
        }
        drafter->rows_by_round = opt_draft->kind->rows_by_round;
        if (opt_session != NULL)
            drafter->session = spec_session_lend(opt_session);
        else
            SPEC_TRY(spec_session_init(&drafter->session, opt_draft, error));
    }
    if (drafter->n_weights > 0) {
        const size_t rows = (size_t)drafter->n_weights;
        drafter->weight = malloc(rows * (size_t)opt_draft->vocab * sizeof *drafter->weight);
        drafter->growth = malloc(sizeof *drafter->growth);
        if (drafter->weight == NULL || drafter->growth == NULL)
            status = spec_fail(error, GSL_ENOMEM, "out of memory for %zu rows of %d probabilities",
                               rows, opt_draft->vocab);
    }
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) spec_drafter_free(drafter);
    return status;
}

void spec_drafter_free(spec_drafter *drafter)
{
    spec_session_free(&drafter->session);
    spec_session_free(&drafter->inner);
    if (drafter->state != NULL) drafter->kind->free(drafter->state);
    free(drafter->weight);
    free(drafter->growth);
    *drafter = (spec_drafter){0};
}

int spec_drafter_open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    return drafter->kind->open != NULL ? drafter->kind->open(drafter, target, K, error)
                                       : GSL_SUCCESS;
}

int spec_drafter_reset(spec_drafter *drafter, bool all, spec_error *error)
{
    return drafter->kind->reset != NULL ? drafter->kind->reset(drafter, all, error) : GSL_SUCCESS;
}

void spec_drafter_observe(spec_drafter *drafter, const spec_draft *draft,
                          const double *const *target_row, const spec_round *round)
{
    if (drafter->kind->observe != NULL) drafter->kind->observe(drafter, draft, target_row, round);
}

int spec_drafter_nodes(const spec_drafter *drafter, int K)
{
    const int nodes = drafter->kind->nodes != NULL ? drafter->kind->nodes(drafter, K) : K;
    return nodes <= SPEC_NODES_MAX ? nodes : SPEC_NODES_MAX + 1;
}

int spec_drafter_check_reach(const spec_model *opt_draft, int K, spec_error *error)
{
    if (opt_draft == NULL || opt_draft->reach == 0 || K <= opt_draft->reach) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "'%.200s' drafts at most %d tokens, and K is %d; use K = %d or less",
                     opt_draft->spec, opt_draft->reach, K, opt_draft->reach);
}

int spec_drafter_calls(const spec_model *opt_draft, int K)
{
    return opt_draft != NULL && opt_draft->one_pass && K > 1 ? 1 : K;
}

void spec_drafter_begin(spec_draft *ret_draft, spec_drafter *drafter, size_t n,
                        const spec_policy *policy)
{
    spec_draft_reset(ret_draft);
    ret_draft->siblings = drafter->siblings;
    ret_draft->place = n;
    ret_draft->depth = policy->now;
    ret_draft->opt_model = drafter->session.model;
    drafter->n_calls = drafter->n_wasted = drafter->n_rows = drafter->n_inner_calls = 0;
}

int spec_drafter_draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                       const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    spec_drafter_begin(ret_draft, drafter, n, policy);
    const int status = drafter->kind->draft(ret_draft, drafter, context, n, policy, chance, error);
    if (status != GSL_SUCCESS) return status;
    for (int kept = spec_policy_cut(policy, ret_draft); ret_draft->n_nodes > kept;)
        spec_draft_retract(ret_draft);
    return GSL_SUCCESS;
}

static void count_call(spec_drafter *drafter, int rows)
{
    drafter->n_rows += rows;
    if (drafter->n_calls == 0 || !drafter->session.model->one_pass) drafter->n_calls++;
}

int spec_drafter_grow(spec_drafter *drafter, const int *context, size_t n, int first,
                      double *scratch, spec_error *error)
{
    spec_growth *growth = drafter->growth;
    count_call(drafter, growth->n + 1 - first);
    return spec_session_score(&drafter->session,
                              &(spec_score_request){.context = context,
                                                    .n_context = n,
                                                    .token = growth->token,
                                                    .opt_parent = growth->parent,
                                                    .n_nodes = growth->n,
                                                    .first = first,
                                                    .ret_row = growth->row,
                                                    .scratch = scratch},
                              error);
}

int spec_drafter_extend(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                        const spec_policy *policy, spec_chance *opt_chance, spec_error *error)
{
    const spec_model *model = drafter->session.model;
    const bool looks_ahead = policy->looks_ahead;
    while (looks_ahead ? ret_draft->n_nodes < policy->now
                       : spec_policy_go_on(policy, ret_draft, NULL)) {
        const int so_far = ret_draft->n_nodes; /* a node's row is the one after its predecessor */
        assert(so_far < ret_draft->capacity);
        const int status = spec_session_score(&drafter->session,
                                              &(spec_score_request){.context = context,
                                                                    .n_context = n,
                                                                    .token = ret_draft->token,
                                                                    .n_nodes = so_far,
                                                                    .first = so_far,
                                                                    .ret_row = ret_draft->row,
                                                                    .scratch = ret_draft->store},
                                              error);
        if (status != GSL_SUCCESS) return status;
        const double *row = ret_draft->row[so_far];
        count_call(drafter, 1);
        if (looks_ahead && !spec_policy_go_on(policy, ret_draft, row)) break;
        if (spec_session_declines(&drafter->session)) break;

        const int token = opt_chance != NULL ? spec_chance_pick(opt_chance, row, model->vocab)
                                             : spec_row_argmax(row, model->vocab);
        spec_draft_append(ret_draft, token, so_far - 1, row, opt_chance != NULL);
        if (spec_policy_retract(policy, ret_draft)) {
            spec_draft_retract(ret_draft);
            break;
        }
        if (spec_model_ends_text(model, token)) break;
    }
    return GSL_SUCCESS;
}
