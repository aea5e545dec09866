/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_session.h"

#include "base/int_math.h"
#include "models/dflash/dflash_state.h"
#include "models/transformer/engine/logits.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

int spec_dflash_session_init(const spec_model *model, void **ret_session, spec_error *error)
{
    spec_dflash_state *state = malloc(sizeof *state);
    *ret_session = NULL;
    if (state == NULL) return spec_no_memory(error);
    const int status = spec_dflash_state_init(state, (const spec_dflash_model *)model, error);
    if (status == GSL_SUCCESS)
        *ret_session = state;
    else
        free(state);
    return status;
}

void spec_dflash_session_free(const spec_model *model, void *data)
{
    (void)model;
    if (data == NULL) return;
    spec_dflash_state_free(data);
    free(data);
}

bool spec_dflash_session_share(const spec_model *model, void *data, const spec_model *target,
                               void *target_data)
{
    (void)model;
    return spec_target_reader_share(&((spec_dflash_state *)data)->reader, target, target_data);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns the token before the one that the row after `node` drafts. */
static int previous(const spec_dflash_state *state, const spec_score_request *request, int node)
{
    return node >= 0 ? request->token[node] : state->text[state->n_text - 1];
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Finds the k largest of n values, the largest first, the lowest index first among ties. */
static void find_largest(int *ret_index, int k, const float *value, int n)
{
    int held = 0;
    for (int i = 0; i < n; i++) {
        if (held == k && !(value[i] > value[ret_index[k - 1]])) continue;
        int at = held < k ? held++ : k - 1;
        for (; at > 0 && value[i] > value[ret_index[at - 1]]; at--)
            ret_index[at] = ret_index[at - 1];
        ret_index[at] = i;
    }
}

/* Computes the block of the settled text, and keeps the part of it that the rows need. */
static int hold(spec_dflash_state *state, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_dflash_model *m = state->model;
    const spec_dflash_shape *shape = &m->dflash.shape;
    const size_t reach = (size_t)m->model.reach, few = (size_t)shape->draft_vocab;
    if (state->held) return status;
    SPEC_TRY(spec_dflash_pass(state, error));
    const spec_forward *f = &state->forward;
    if (state->base != NULL) memcpy(state->base, f->logits, reach * few * sizeof *state->base);
    if (state->hidden != NULL)
        memcpy(state->hidden, f->normed, reach * (size_t)shape->shape.dim * sizeof *state->hidden);
    for (size_t d = 0; shape->kind == SPEC_DFLASH_LATTICE && d < reach; d++)
        find_largest(state->candidate + d * (size_t)shape->candidates, shape->candidates,
                     state->base + d * few, shape->draft_vocab);
    if (state->gate != NULL)
        memcpy(state->gate, state->other,
               reach * (size_t)shape->selector_rank * sizeof *state->gate);
    if (state->fixed != NULL) {
        for (size_t d = 0; d < reach; d++)
            state->row[d] = state->fixed + d * (size_t)m->model.vocab;
        SPEC_TRY(spec_dflash_state_rows(state, (int)reach, error));
    }
    state->held = true;
done:
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double *place_of(const spec_dflash_state *state, const spec_score_request *request, int row)
{
    return request->scratch + (size_t)row * (size_t)state->model->model.vocab;
}

static void plain_rows(const spec_dflash_state *state, const spec_score_request *request)
{
    const size_t vocab = (size_t)state->model->model.vocab;
    for (int i = request->first; i <= request->n_nodes; i++)
        memcpy(place_of(state, request, i),
               state->fixed + (size_t)spec_target_reader_depth(request, i - 1) * vocab,
               vocab * sizeof *request->scratch);
}

/* Returns the log-odds of the confidence at an offset after a token. */
static double confidence(const spec_dflash_state *state, int offset, const float *of_token)
{
    const spec_dflash_model *m = state->model;
    const int dim = m->dflash.shape.shape.dim, rank = m->dflash.shape.markov_rank;
    const float *weight = m->vector[SPEC_DFLASH_CONFIDENCE][0],
                *opt_bias = m->vector[SPEC_DFLASH_CONFIDENCE_BIAS][0],
                *h = state->hidden + (size_t)offset * (size_t)dim;
    double sum = opt_bias != NULL ? (double)*opt_bias : 0.0;
    for (int i = 0; i < dim; i++) sum += (double)weight[i] * (double)h[i];
    for (int i = 0; i < rank; i++) sum += (double)weight[dim + i] * (double)of_token[i];
    return sum;
}

/* Computes the logits of rows from..until-1, in one pass: those of the offset plus those of the
 * Markov head. */
static int markov_pass(spec_dflash_state *state, const spec_score_request *request, int from,
                       int until, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_forward *f = &state->forward;
    const spec_dflash_model *m = state->model;
    const spec_backend *on = m->base.backend;
    const size_t few = (size_t)m->dflash.shape.draft_vocab,
                 rank = (size_t)m->dflash.shape.markov_rank;
    state->batch.n = state->batch.first = 0;
    for (int i = from; i < until; i++) {
        const int u = state->batch.n++, offset = spec_target_reader_depth(request, i - 1);
        float *of_token = state->other + (size_t)u * rank;
        state->batch.position[u] = 0;
        state->row[u] = place_of(state, request, i);
        memcpy(f->logits + (size_t)u * few, state->base + (size_t)offset * few,
               few * sizeof *f->logits);
        spec_tensor_decode_row(of_token, &m->dflash.tensor[SPEC_DFLASH_MARKOV_IN][0],
                               previous(state, request, i - 1));
        state->declined = m->model.declines && confidence(state, offset, of_token) < m->least_logit;
    }
    on->begin(&f->queue, &state->batch, &state->kv, NULL, 0);
    on->matmul(&f->queue, f->logits, &m->matrix[SPEC_DFLASH_MARKOV_OUT][0], state->other, NULL,
               true, SPEC_COLUMNS_ALL);
    on->end(&f->queue);
    SPEC_TRY(on->wait(&f->queue, error));
    SPEC_TRY(spec_dflash_state_rows(state, state->batch.n, error));
done:
    return status;
}

static int markov_rows(spec_dflash_state *state, const spec_score_request *request,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = request->first; i <= request->n_nodes && status == GSL_SUCCESS;
         i += SPEC_COLUMNS_MAX)
        status = markov_pass(state, request, i,
                             spec_int_min(i + SPEC_COLUMNS_MAX, request->n_nodes + 1), error);
    return status;
}

/* Computes the row at an offset after a token; only the offset's candidates have probability. */
static int lattice_row(spec_dflash_state *state, double *row, int offset, int token,
                       spec_error *error)
{
    const spec_dflash_model *m = state->model;
    const spec_dflash *dflash = &m->dflash;
    const int rank = dflash->shape.selector_rank, k = dflash->shape.candidates;
    const int *candidate = state->candidate + (size_t)offset * (size_t)k;
    const float *logits = state->base + (size_t)offset * (size_t)dflash->shape.draft_vocab,
                *gate = state->gate + (size_t)offset * (size_t)rank;
    float *before = state->wide, *after = state->other, score[SPEC_DFLASH_CANDIDATES_MAX];
    int best, token_of[SPEC_DFLASH_CANDIDATES_MAX];
    spec_tensor_decode_row(before, &dflash->tensor[SPEC_DFLASH_PREDECESSOR][0], token);
    for (int c = 0; c < k; c++) {
        double sum = (double)logits[candidate[c]];
        token_of[c] = dflash->opt_token != NULL ? dflash->opt_token[candidate[c]] : candidate[c];
        spec_tensor_decode_row(after, &dflash->tensor[SPEC_DFLASH_SUCCESSOR][0], token_of[c]);
        for (int r = 0; r < rank; r++)
            sum += (double)after[r] * ((double)before[r] * (double)gate[r]);
        score[c] = (float)sum;
    }
    memset(row, 0, (size_t)m->model.vocab * sizeof *row);
    if (m->temperature == 0.0) {
        const int status = spec_logits_argmax(&best, score, 1, k, state->kernels, error);
        if (status == GSL_SUCCESS) row[token_of[best]] = 1.0;
        return status;
    }
    const int status =
        spec_logits_rows(&state->chosen, score, m->temperature, 1, k, state->kernels, NULL, error);
    for (int c = 0; c < k && status == GSL_SUCCESS; c++) row[token_of[c]] = state->chosen[c];
    return status;
}

static int lattice_rows(spec_dflash_state *state, const spec_score_request *request,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = request->first; i <= request->n_nodes && status == GSL_SUCCESS; i++)
        status = lattice_row(state, place_of(state, request, i),
                             spec_target_reader_depth(request, i - 1),
                             previous(state, request, i - 1), error);
    return status;
}

int spec_dflash_session_score(const spec_model *model, void *data,
                              const spec_score_request *request, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t n_text;
    const spec_dflash_model *m = (const spec_dflash_model *)model;
    spec_dflash_state *state = data;
    state->declined = false;
    SPEC_TRY(spec_transformer_text(m->target, state->next, &n_text, request->context,
                                   request->n_context, error));
    SPEC_TRY(spec_target_reader_check(&state->reader, model, m->path, (int)n_text, request, error));
    spec_dflash_state_settle(state, state->next, (int)n_text);
    status = hold(state, error);
    if (status != GSL_SUCCESS) spec_dflash_state_forget(state);
    SPEC_TRY(status);
    switch (m->dflash.shape.kind) {
    case SPEC_DFLASH_PLAIN: plain_rows(state, request); break;
    case SPEC_DFLASH_MARKOV: status = markov_rows(state, request, error); break;
    case SPEC_DFLASH_LATTICE: status = lattice_rows(state, request, error); break;
    }
    for (int i = request->first; i <= request->n_nodes; i++)
        request->ret_row[i] = place_of(state, request, i);
done:
    return status;
}

const double *spec_dflash_session_row(const spec_model *model, void *session, const int *context,
                                      size_t n, double *scratch, spec_error *error)
{
    const double *row;
    const int status = spec_dflash_session_score(
        model, session,
        &(spec_score_request){
            .context = context, .n_context = n, .ret_row = &row, .scratch = scratch},
        error);
    return status == GSL_SUCCESS ? row : NULL;
}

bool spec_dflash_session_declines(const spec_model *model, const void *session)
{
    (void)model;
    return ((const spec_dflash_state *)session)->declined;
}
