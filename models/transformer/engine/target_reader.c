/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/target_reader.h"

#include "models/transformer/engine/transformer_session.h"

#include <string.h>

int spec_target_reader_find(const spec_transformer **ret_target, const spec_settings *settings,
                            const spec_model *target, spec_error *error)
{
    *ret_target = spec_transformer_of(target);
    if (*ret_target == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "%s needs a transformer as its target, which this is not: %.80s",
                         settings->name, target->spec);
    if ((*ret_target)->weights->backend->taps_init == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "%s: draft heads need a target on the CPU; open it with device=cpu",
                         settings->name);
    return GSL_SUCCESS;
}

bool spec_target_reader_share(spec_target_reader *reader, const spec_model *target,
                              void *target_session)
{
    spec_error unused;
    if (target != &reader->target->head || reader->session != NULL ||
        spec_transformer_session_tap(target_session, reader->tap, reader->n_taps, &unused) !=
            GSL_SUCCESS)
        return false;
    reader->session = target_session;
    return true;
}

int spec_target_reader_follow(spec_target_reader *reader, const int *text, int n_text,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    if (reader->session == NULL) {
        SPEC_TRY(spec_session_init(&reader->own, &reader->target->head, error));
        SPEC_TRY(
            spec_transformer_session_tap(reader->own.data, reader->tap, reader->n_taps, error));
        reader->session = reader->own.data;
    }
    SPEC_TRY(spec_transformer_session_follow(reader->session, text, (size_t)n_text, error));
done:
    if (reader->session == NULL) spec_session_free(&reader->own);
    return status;
}

void spec_target_reader_free(spec_target_reader *reader)
{
    spec_session_free(&reader->own);
    *reader = (spec_target_reader){0};
}

int spec_target_reader_depth(const spec_score_request *request, int node)
{
    int depth = 0;
    for (; node >= 0; node = request->opt_parent != NULL ? request->opt_parent[node] : node - 1)
        depth++;
    return depth;
}

int spec_target_reader_check(const spec_target_reader *reader, const spec_model *draft,
                             const char *path, int n_text, const spec_score_request *request,
                             spec_error *error)
{
    int longest = 0, row = 0;
    for (int i = -1; i < request->n_nodes; i++) {
        const int depth = spec_target_reader_depth(request, i);
        if (depth > longest) longest = depth;
        if (i + 1 >= request->first && depth + 1 > row) row = depth + 1;
    }
    if (n_text + longest > reader->target->context)
        return spec_fail(error, GSL_EINVAL,
                         "a draft of %d tokens after %zu is too long: the model's context is %d",
                         longest, request->n_context, draft->window);
    if (draft->reach > 0 && row > draft->reach)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: this draft has rows for %d tokens, so none for number %d", path,
                         draft->reach, row);
    return GSL_SUCCESS;
}

int spec_target_reader_rows(spec_forward *forward, double *const *row, double *few,
                            const int *opt_token, int vocab, double temperature, int n,
                            spec_error *error)
{
    const size_t n_few = (size_t)forward->weights->shape.vocab;
    double *reduced[SPEC_COLUMNS_MAX] = {NULL};
    if (opt_token == NULL) return spec_forward_rows(forward, row, temperature, n, error);
    for (int i = 0; i < n; i++) reduced[i] = few + (size_t)i * n_few;
    const int status = spec_forward_rows(forward, reduced, temperature, n, error);
    for (int i = 0; i < n && status == GSL_SUCCESS; i++) {
        memset(row[i], 0, (size_t)vocab * sizeof *row[i]);
        for (size_t k = 0; k < n_few; k++) row[i][opt_token[k]] = reduced[i][k];
    }
    return status;
}
