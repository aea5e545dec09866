#include "sim/drafter.h"

#include "models/names.h"
#include "models/row.h"

#include <stdlib.h>
#include <string.h>

const spec_drafter_kind *const spec_drafter_kinds[] = {
    &spec_draft_chain,
    &spec_draft_greedy,
    &spec_draft_lookup,
    &spec_draft_tree,
    &spec_draft_dynamic,
    &spec_draft_gumbel,
    &spec_draft_minhash,
    NULL,
};

static const char *name_of(int i)
{
    return spec_drafter_kinds[i] != NULL ? spec_drafter_kinds[i]->name : NULL;
}

int spec_drafter_init(spec_drafter *drafter, const char *spec, const spec_model *opt_draft, spec_error *error)
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
            status = spec_fail(error, GSL_EINVAL, "draft strategy '%s' needs a draft model", drafter->kind->name);
            goto done;
        }
        SPEC_TRY(spec_session_init(&drafter->session, opt_draft, error));
    }
    if (drafter->widest > 0 && (drafter->weight = malloc((size_t)opt_draft->vocab * sizeof(double))) == NULL)
        status = spec_fail(error, GSL_ENOMEM, "out of memory for a row of %d probabilities", opt_draft->vocab);
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) spec_drafter_free(drafter);
    return status;
}

void spec_drafter_free(spec_drafter *drafter)
{
    spec_session_free(&drafter->session);
    free(drafter->path);
    free(drafter->children); /* first_child and place lie behind */
    free(drafter->candidate);
    free(drafter->weight);
    *drafter = (spec_drafter){0};
}

int spec_drafter_nodes(const spec_drafter *drafter, int K)
{
    const int nodes = drafter->kind->nodes != NULL ? drafter->kind->nodes(drafter, K) : K;
    return nodes <= SPEC_NODES_MAX ? nodes : SPEC_NODES_MAX + 1;
}

int spec_drafter_draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                       const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    spec_draft_reset(ret_draft);
    ret_draft->siblings = drafter->siblings;
    ret_draft->place = n;
    ret_draft->depth = policy->now;
    if (drafter->session.model != NULL) ret_draft->end_of_text = drafter->session.model->end_of_text;
    drafter->n_calls = 0;
    return drafter->kind->draft(ret_draft, drafter, context, n, policy, chance, error);
}

long spec_drafter_begin_path(spec_drafter *drafter, const int *context, size_t n, int more)
{
    const int order = drafter->session.model->order;
    const size_t seen = order >= 0 && (size_t)order < n ? (size_t)order : n;
    const size_t needed = seen + (size_t)more;
    if (needed > drafter->path_capacity) {
        const size_t capacity = 2 * needed;
        int *path = realloc(drafter->path, capacity * sizeof *path);
        if (path == NULL) return -1;
        drafter->path = path;
        drafter->path_capacity = capacity;
    }
    if (seen > 0) memcpy(drafter->path, context + (n - seen), seen * sizeof *drafter->path);
    return (long)seen;
}

int spec_drafter_extend(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                        const spec_policy *policy, spec_chance *opt_chance, spec_error *error)
{
    const spec_model *model = drafter->session.model;
    long n_path = spec_drafter_begin_path(drafter, context, n, policy->now);
    if (n_path < 0) return spec_fail(error, GSL_ENOMEM, "out of memory for a context of %zu tokens", n);

    const bool looks_ahead = policy->kind->looks_ahead;
    while (looks_ahead ? ret_draft->n_nodes < policy->now : spec_policy_go_on(policy, ret_draft, NULL)) {
        const double *row = spec_session_row(&drafter->session, drafter->path, (size_t)n_path,
                                             spec_draft_slot(ret_draft), error);
        if (row == NULL) return GSL_EFAILED;
        drafter->n_calls++;
        if (looks_ahead && !spec_policy_go_on(policy, ret_draft, row)) break;

        const int token =
            opt_chance != NULL ? spec_chance_pick(opt_chance, row, model->vocab) : spec_row_argmax(row, model->vocab);
        spec_draft_append(ret_draft, token, ret_draft->n_nodes - 1, row, opt_chance != NULL);
        if (spec_policy_retract(policy, ret_draft)) {
            spec_draft_retract(ret_draft);
            break;
        }
        if (token == model->end_of_text) break;
        drafter->path[n_path++] = token;
    }
    return GSL_SUCCESS;
}
