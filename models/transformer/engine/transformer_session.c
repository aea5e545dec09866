/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/transformer_session.h"

#include "models/transformer/engine/delta.h"
#include "models/transformer/engine/sequence.h"
#include "models/transformer/engine/taps.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A KV cache and the tokens in it. */
typedef struct {
    spec_kv kv;
    spec_sequence sequence;
} cache;

/* A request, and the part of it to compute: tokens of the text from `text_from` on, then nodes from
 * `node_from` on. Without scratch the logits are not made into rows. */
typedef struct {
    spec_score_request request;
    int text_from, node_from;
} work;

typedef struct session_data session_data;
struct session_data {
    const spec_transformer *model;
    spec_forward forward;
    cache own;
    session_data *opt_target; /* the session whose KV cache this one uses; it must own its cache */
    uint64_t followed;        /* the target's sequence.changes when this session last followed it */
    uint64_t replacements;    /* the model's `replacements` when the cache was computed */
    int *text;                /* (context) the begin-of-text token and the context */
    size_t n_text;
    int *path; /* of the batch */
    spec_batch batch;
    double **row;             /* (SPEC_COLUMNS_MAX) */
    work of;                  /* the score in progress; its last pass may still run */
    bool running, holds_text; /* holds_text: the whole text was already cached */
};

void spec_transformer_session_free(const spec_model *head, void *data)
{
    (void)head;
    session_data *session = data;
    if (session == NULL) return;
    const spec_weights *weights = session->forward.weights;
    spec_error unused;
    if (session->running) (void)spec_forward_wait(&session->forward, &unused);
    spec_forward_free(&session->forward); /* also waits for keys and values that are being moved */
    if (session->opt_target == NULL && weights != NULL)
        weights->backend->kv_free(weights->backend, &session->own.kv);
    spec_sequence_free(&session->own.sequence);
    free(session->text);
    free(session->path);
    free(session->row);
    free(session);
}

/* Allocates the KV cache for the longest text, so the message suggests a shorter context. */
static int keys_and_values(session_data *session, spec_error *error)
{
    const spec_transformer *model = session->model;
    const spec_backend *backend = model->weights->backend;
    spec_error why = {{0}};
    const int status = backend->kv_init(backend, &session->own.kv, &model->weights->shape,
                                        model->kv_type, session->own.sequence.slots, &why);
    if (status != GSL_ENOMEM)
        return status == GSL_SUCCESS ? status : spec_fail(error, status, "%s", why.text);
    return spec_fail(error, status,
                     "no room for the keys and values of a text of %d tokens: %.350s; a smaller "
                     "context= needs less",
                     model->context, why.text);
}

int spec_transformer_session_init(const spec_model *head, void **ret_session, spec_error *error)
{
    const spec_transformer *model = (const spec_transformer *)head;
    int status = GSL_SUCCESS;
    session_data *session = calloc(1, sizeof *session);
    *ret_session = NULL;
    if (session == NULL) return spec_no_memory(error);
    session->model = model;
    session->replacements = model->replacements;
    SPEC_TRY(spec_forward_init(&session->forward, model->weights, error));
    SPEC_TRY(spec_sequence_init(&session->own.sequence, model->context, error));
    /* A session with borrowed weights may later share the target's KV cache, so its own is
     * allocated on demand. */
    if (model->weights == &model->own_weights) SPEC_TRY(keys_and_values(session, error));
    session->text = malloc((size_t)model->context * sizeof *session->text);
    session->path = malloc((size_t)SPEC_COLUMNS_MAX * SPEC_NODES_MAX * sizeof *session->path);
    session->row = malloc(SPEC_COLUMNS_MAX * sizeof *session->row);
    if (session->text == NULL || session->path == NULL || session->row == NULL)
        SPEC_TRY(
            spec_fail(error, GSL_ENOMEM, "out of memory for a text of %d tokens", model->context));
    session->batch.path = session->path;
    *ret_session = session;
    session = NULL;
done:
    spec_transformer_session_free(head, session);
    return status;
}

bool spec_transformer_session_share(const spec_model *head, void *data, const spec_model *target,
                                    void *target_data)
{
    const spec_transformer *model = (const spec_transformer *)head;
    session_data *session = data, *other = target_data;
    if (target->kind->session_init != spec_transformer_session_init ||
        session->opt_target != NULL || other->opt_target != NULL ||
        model->weights != other->model->weights || model->context > other->model->context ||
        other->own.kv.data == NULL)
        return false;
    model->weights->backend->kv_free(model->weights->backend, &session->own.kv);
    session->own.kv = other->own.kv;
    session->own.kv.n_taps = 0; /* the target's own passes keep its hidden states */
    session->opt_target = other;
    session->followed = other->own.sequence.changes - 1;
    return true;
}

spec_forward *spec_transformer_session_forward(void *session)
{
    return &((session_data *)session)->forward;
}

uint64_t spec_transformer_session_experts(const spec_session *session)
{
    while (session->model->kind->session_base != NULL)
        session = session->model->kind->session_base(session->data);
    if (session->model->kind->session_init != spec_transformer_session_init) return 0;
    return ((const session_data *)session->data)->forward.experts;
}

const spec_kv *spec_transformer_session_kv(const void *session)
{
    return &((const session_data *)session)->own.kv;
}

int spec_transformer_session_tap(void *data, const int *tap, int n, spec_error *error)
{
    session_data *session = data;
    spec_kv *kv = &session->own.kv;
    const spec_weights *weights = session->model->weights;
    const spec_backend *backend = weights->backend;
    int status = GSL_SUCCESS, all[SPEC_TAPS_MAX], n_all = kv->n_taps;
    assert(!session->running && session->opt_target == NULL && kv->data != NULL);
    if (backend->taps_init == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "a draft head needs a target on the CPU; open it with device=cpu");
    memcpy(all, kv->tap, (size_t)n_all * sizeof *all);
    for (int i = 0; i < n; i++) {
        if (spec_taps_find(kv, tap[i]) >= 0) continue;
        if (n_all == SPEC_TAPS_MAX)
            return spec_fail(error, GSL_EINVAL, "draft heads read at most %d layers of a target",
                             SPEC_TAPS_MAX);
        all[n_all++] = tap[i];
    }
    if (n_all == kv->n_taps) return GSL_SUCCESS;
    SPEC_TRY(spec_forward_wait(&session->forward, error));
    spec_sequence_forget(&session->own.sequence);
    SPEC_TRY(backend->taps_init(backend, kv, all, n_all, weights->shape.dim, error));
done:
    return status;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Keeps the part of the cache that the text needs. */
static void settle(session_data *session, cache *cached)
{
    int from[SPEC_NODES_MAX], to;
    const int kept =
        spec_sequence_settle(from, &to, &cached->sequence, session->text, session->n_text);
    const spec_backend *backend = session->forward.weights->backend;
    if (kept > 0) backend->keep(&session->forward.queue, &cached->kv, from, to, kept);
    if (backend->resume != NULL)
        cached->sequence.length = backend->resume(&cached->kv, cached->sequence.length);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int parent_of(const work *of, int node)
{
    return of->request.opt_parent != NULL ? of->request.opt_parent[node] : node - 1;
}

/* Returns the depth of the deepest node, in tokens. */
static int deepest(const work *of)
{
    int deep = 0;
    for (int node = 0; node < of->request.n_nodes; node++) {
        int depth = 0;
        for (int at = node; at >= 0; at = parent_of(of, at)) depth++;
        if (depth > deep) deep = depth;
    }
    return deep;
}

/* If texts do not begin with the begin-of-text token, only the row after the empty context is
 * computed from it. The nodes then form a text of their own, as they will in the next context. */
bool spec_transformer_session_begins_anew(const void *session, size_t n)
{
    return n == 0 && !((const session_data *)session)->model->checkpoint->adds_begin;
}

static bool nodes_are_text(const session_data *session, const work *of)
{
    return spec_transformer_session_begins_anew(session, of->request.n_context);
}

static void add_text(session_data *session, int place)
{
    spec_batch *batch = &session->batch;
    const int u = batch->n++, begin = batch->path_begin[u];
    batch->token[u] = session->text[place];
    batch->position[u] = batch->slot[u] = batch->past[u] = place;
    session->path[begin] = place;
    batch->path_begin[u + 1] = begin + 1;
}

static void add_node(session_data *session, const work *of, int node)
{
    spec_batch *batch = &session->batch;
    const int u = batch->n++, begin = batch->path_begin[u], slot = (int)session->n_text,
              past = nodes_are_text(session, of) ? 0 : slot;
    int depth = 0;
    for (int at = node; at >= 0; at = parent_of(of, at)) depth++;
    for (int at = node, i = depth; at >= 0; at = parent_of(of, at))
        session->path[begin + --i] = slot + at;
    batch->token[u] = of->request.token[node];
    batch->position[u] = past + depth - 1;
    batch->slot[u] = slot + node;
    batch->past[u] = past;
    batch->path_begin[u + 1] = begin + depth;
}

/* Begins a pass for columns from..until-1 of the work. */
static void begin_pass(session_data *session, const spec_transformer *model, const work *of,
                       int from, int until)
{
    spec_batch *batch = &session->batch;
    const int n_text = (int)session->n_text - of->text_from;
    int n_rows = 0;
    batch->n = 0;
    batch->n_text = (int)session->n_text;
    batch->window = model->window;
    batch->sink = model->sink;
    for (int i = from; i < until; i++) {
        const int node = i - n_text + of->node_from;
        if (i < n_text)
            add_text(session, of->text_from + i);
        else
            add_node(session, of, node);
        const int row = i < n_text ? (i == n_text - 1 ? 0 : -1) : node + 1;
        if (row < of->request.first) continue;
        if (of->request.scratch != NULL)
            of->request.ret_row[row] = session->row[n_rows] =
                of->request.scratch + (size_t)row * (size_t)model->head.vocab;
        n_rows++;
    }
    batch->first = batch->n - n_rows;
    spec_forward_begin(&session->forward, &session->own.kv, batch, model->sublayer,
                       model->n_sublayers);
}

/* Ends a pass. Making rows waits for it; without scratch the caller samples from the logits, and
 * that waits for it. */
static int end_pass(session_data *session, const spec_transformer *model, const work *of,
                    spec_error *error)
{
    const int n_rows = session->batch.n - session->batch.first;
    if (n_rows == 0) return spec_forward_wait(&session->forward, error);
    if (of->request.scratch == NULL) return GSL_SUCCESS;
    return spec_forward_rows(&session->forward, session->row, model->temperature, n_rows, error);
}

/* Runs all passes, SPEC_COLUMNS_MAX tokens each; the last may still run. The first pass is the
 * short one, so that usually all rows of a draft come from the last pass. */
static int begin_passes(session_data *session, const spec_transformer *model, const work *of,
                        spec_error *error)
{
    const int n = (int)session->n_text - of->text_from + of->request.n_nodes - of->node_from;
    for (int from = 0, until = (n - 1) % SPEC_COLUMNS_MAX + 1; from < n;
         from = until, until += SPEC_COLUMNS_MAX) {
        const int status = from > 0 ? end_pass(session, model, of, error) : GSL_SUCCESS;
        if (status != GSL_SUCCESS) return status;
        begin_pass(session, model, of, from, until);
    }
    return GSL_SUCCESS;
}

/* Makes the target compute the text except for its last token, unless it has done so already. Rows
 * then do not depend on the order of calls. */
int spec_transformer_session_follow(void *data, const int *text, size_t n, spec_error *error)
{
    session_data *session = data;
    spec_sequence *cached = &session->own.sequence;
    assert(!session->running && session->opt_target == NULL);
    memcpy(session->text, text, n * sizeof *text);
    session->n_text = n;
    settle(session, &session->own);
    session->n_text--;
    const work of = {.text_from = cached->length, .request.first = 1};
    int status = begin_passes(session, session->model, &of, error);
    /* otherwise we still have to wait for moved slots */
    const bool runs = (int)session->n_text > of.text_from;
    if (status == GSL_SUCCESS)
        status = runs ? end_pass(session, session->model, &of, error)
                      : spec_forward_wait(&session->forward, error);
    if (status == GSL_SUCCESS)
        spec_sequence_append(cached, session->text + of.text_from,
                             (int)session->n_text - of.text_from);
    else
        spec_sequence_forget(cached);
    return status;
}

/* Makes the session follow the target's cache, which it shares: it continues from there, and writes
 * to slots that the target will overwrite. */
static int follow(session_data *session, spec_error *error)
{
    session_data *target = session->opt_target;
    const int status =
        spec_transformer_session_follow(target, session->text, session->n_text, error);
    spec_sequence_follow(&session->own.sequence, &target->own.sequence);
    session->followed = target->own.sequence.changes;
    return status;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Begins to compute what is not cached. */
static int begin_score(session_data *session, const spec_transformer *model, work *of,
                       spec_error *error)
{
    spec_sequence *sequence = &session->own.sequence;
    int status = GSL_SUCCESS;
    if (session->replacements != model->replacements) spec_sequence_forget(sequence);
    session->replacements = model->replacements;
    const bool in_step = session->opt_target == NULL ||
                         session->followed == session->opt_target->own.sequence.changes;
    const int held =
        of->request.first > 0 && in_step
            ? spec_sequence_matches(sequence, session->text, session->n_text, of->request.token,
                                    of->request.opt_parent, of->request.n_nodes)
            : -1;
    if (held < 0 && session->opt_target != NULL) SPEC_TRY(follow(session, error));
    session->holds_text = held >= 0;
    if (held >= 0) {
        of->text_from = (int)session->n_text;
        of->node_from = held < of->request.first ? held : of->request.first - 1;
    } else {
        if (session->own.kv.data == NULL) SPEC_TRY(keys_and_values(session, error));
        settle(session, &session->own);
        of->text_from = sequence->length;
    }
    status = begin_passes(session, model, of, error);
    if (status != GSL_SUCCESS) spec_sequence_forget(sequence);
done:
    return status;
}

int spec_transformer_session_score_begin(const spec_model *head, void *data,
                                         const spec_score_request *request, spec_error *error)
{
    const spec_transformer *model = (const spec_transformer *)head;
    session_data *session = data;
    work of = {.request = *request};
    const int n_nodes = request->n_nodes;
    const size_t n = request->n_context;
    int status = GSL_SUCCESS;
    assert(!session->running &&
           (request->scratch != NULL || n_nodes - request->first < SPEC_COLUMNS_MAX));
    SPEC_TRY(
        spec_transformer_text(model, session->text, &session->n_text, request->context, n, error));
    for (int i = 0; i < n_nodes; i++)
        assert(request->token[i] >= SPEC_TOKEN_DRAWN && request->token[i] < head->vocab &&
               parent_of(&of, i) < i);
    if (session->n_text + (size_t)n_nodes > (size_t)model->context &&
        session->n_text + (size_t)deepest(&of) > (size_t)model->context)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a draft of %d tokens after %zu is too long: the model's context is %d",
                           deepest(&of), n, head->window));
    if (model->checkpoint->shape.delta.n_layers > 0 && n_nodes > SPEC_DELTA_DEPTH &&
        deepest(&of) > SPEC_DELTA_DEPTH)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a draft of %d tokens is too long: a model with recurrent layers takes "
                           "at most %d",
                           deepest(&of), SPEC_DELTA_DEPTH));
    SPEC_TRY(begin_score(session, model, &of, error));
    session->of = of;
    session->running = true;
done:
    return status;
}

int spec_transformer_session_score_end(const spec_model *head, void *data, spec_error *error)
{
    session_data *session = data;
    spec_sequence *sequence = &session->own.sequence;
    const work *of = &session->of;
    assert(session->running);
    session->running = false;
    const int status = end_pass(session, (const spec_transformer *)head, of, error);
    if (status == GSL_SUCCESS && !session->holds_text)
        spec_sequence_append(sequence, session->text + of->text_from,
                             (int)session->n_text - of->text_from);
    if (status == GSL_SUCCESS && !(nodes_are_text(session, of) && of->request.n_nodes > 0))
        spec_sequence_grow(sequence, of->request.token, of->request.opt_parent, of->node_from,
                           of->request.n_nodes);
    else
        spec_sequence_forget(sequence);
    return status;
}

void spec_transformer_session_name(void *data, const int *token)
{
    spec_sequence *sequence = &((session_data *)data)->own.sequence;
    memcpy(sequence->node, token, (size_t)sequence->n_nodes * sizeof *token);
}

int spec_transformer_session_score(const spec_model *head, void *data,
                                   const spec_score_request *request, spec_error *error)
{
    const int status = spec_transformer_session_score_begin(head, data, request, error);
    return status == GSL_SUCCESS ? spec_transformer_session_score_end(head, data, error) : status;
}

const double *spec_transformer_session_row(const spec_model *model, void *session,
                                           const int *context, size_t n, double *scratch,
                                           spec_error *error)
{
    const double *row;
    const int status = spec_transformer_session_score(
        model, session,
        &(spec_score_request){
            .context = context, .n_context = n, .ret_row = &row, .scratch = scratch},
        error);
    return status == GSL_SUCCESS ? row : NULL;
}
