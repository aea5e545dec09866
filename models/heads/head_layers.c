/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_layers.h"

#include <assert.h>

/* What one layer computes: the text's positions from text_from on, and then some nodes. The rows of
 * the last n_wanted columns go to `to`, row 0 after the text and row i + 1 after node i. */
typedef struct {
    int layer;
    int text_from;
    const int *node;
    int n_nodes, n_wanted;
    double *to;
} run;

/* Where the features of a pass come from: rows of the target's planes, of a plane of the head, or
 * of the mask's tables. -1: this feature comes from another of the sources. */
typedef struct {
    int target[SPEC_COLUMNS_MAX], own[SPEC_COLUMNS_MAX], mask[SPEC_COLUMNS_MAX];
    int plane[SPEC_COLUMNS_MAX]; /* of own */
    bool reads_target;
} sources;

#define MATRIX(part, l) (&state->model->weights.matrix[SPEC_HEAD_##part][l])
#define VECTOR(part, l) (state->model->weights.vector[SPEC_HEAD_##part][l])

static spec_head_kind kind_of(const spec_head_state *state)
{
    return state->model->head.shape.kind;
}

static bool is_nextn(const spec_head_state *state)
{
    return state->model->head.shape.nextn;
}

/* Returns whether each depth has its own layer. */
static bool has_modules(const spec_head_state *state)
{
    return kind_of(state) == SPEC_HEAD_MTP && state->model->head.shape.reach > 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns the first position of a text that has a column in a layer. A column needs a feature from
 * the previous layer, or from the target. Its slot is 0. With nextn the first position has zeros
 * instead. */
static int first_place(const spec_head_state *state, int layer)
{
    if (is_nextn(state)) return 0;
    return layer + (state->n_text > 1 ? 1 : 0);
}

/* Returns the number of slots of the text's columns; nodes follow them. */
static int text_slots(const spec_head_state *state, int layer)
{
    const int n = state->n_text - first_place(state, layer);
    return n > 0 ? n : 0;
}

/* Returns whether a node has a column in a layer. In layer l of MTP, the nodes down to depth l have
 * one. */
static bool has_column(const spec_head_state *state, int layer, int node)
{
    if (!has_modules(state)) return true;
    return state->depth[node] <= layer &&
           state->n_text - 1 + state->depth[node] >= first_place(state, layer);
}

static void add_text(spec_head_state *state, sources *from, int layer, int place)
{
    spec_batch *batch = &state->batch;
    const int u = batch->n++, begin = batch->path_begin[u],
              slot = place - first_place(state, layer);
    batch->token[u] = state->text[place];
    batch->position[u] = batch->slot[u] = batch->past[u] = slot;
    state->path[begin] = slot;
    batch->path_begin[u + 1] = begin + 1;
    const bool reads_target = layer == 0 || is_nextn(state);
    from->target[u] = reads_target ? spec_head_state_plane_row(state, place) : -1;
    from->own[u] = reads_target ? -1 : slot; /* the previous position in the previous layer */
    from->plane[u] = layer - 1;
    from->mask[u] = -1;
    from->reads_target = from->reads_target || reads_target;
}

static void add_node(spec_head_state *state, sources *from, int layer, int node)
{
    spec_batch *batch = &state->batch;
    const int u = batch->n++, begin = batch->path_begin[u], past = text_slots(state, layer);
    const bool masked = kind_of(state) == SPEC_HEAD_PARALLEL;
    int n = 0;
    for (int at = node; at >= 0 && has_column(state, layer, at); at = state->parent[at]) n++;
    for (int at = node, i = n; i > 0; at = state->parent[at]) state->path[begin + --i] = past + at;
    batch->token[u] = masked ? 0 : state->token[node];
    batch->position[u] = past + n - 1;
    batch->slot[u] = past + node;
    batch->past[u] = past;
    batch->path_begin[u + 1] = begin + n;
    const int plane = !has_modules(state) ? layer
                      : is_nextn(state)   ? state->depth[node] - 1
                                          : layer - 1;
    from->target[u] = -1;
    /* a node with parent -1 reads the text's last column */
    from->own[u] = masked ? -1 : text_slots(state, plane) + state->parent[node];
    from->plane[u] = plane;
    from->mask[u] = masked ? node + 1 : -1;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static const spec_matrix *embedding_of(const spec_head_state *state, int layer)
{
    if (!state->model->head.shape.own_embedding) return &state->model->target->weights->embedding;
    return is_nextn(state) ? MATRIX(EMBEDDING, layer) : &state->forward.weights->embedding;
}

/* Requests the outputs of the head's own columns, which the planes hold. */
static void ask_for_own(spec_head_state *state, const sources *from)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    int row[SPEC_COLUMNS_MAX];
    for (int plane = 0; plane < state->kv.n_taps; plane++) {
        bool has_any = false;
        for (int u = 0; u < state->batch.n; u++) {
            row[u] = from->plane[u] == plane ? from->own[u] : -1;
            has_any = has_any || row[u] >= 0;
        }
        if (has_any)
            on->gather(&f->queue, state->feature, state->kv.plane[plane], f->weights->shape.dim,
                       row);
    }
}

/* Requests embeddings in forward.x, and f, g or the previous layer's output in state->feature. */
static void ask_for_inputs(spec_head_state *state, const sources *from, int layer)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const spec_head_kind kind = kind_of(state);
    const int dim = f->weights->shape.dim;
    on->embed(&f->queue, f->x, embedding_of(state, layer));
    if (from->reads_target && (kind == SPEC_HEAD_EAGLE || kind == SPEC_HEAD_MTP)) {
        on->gather(&f->queue, state->feature, spec_head_state_plane(state, 0), dim, from->target);
        if (state->model->head.shape.normed_features || is_nextn(state))
            on->norm(&f->queue, state->feature, state->feature,
                     state->model->target->weights->final_norm, SPEC_COLUMNS_ALL, NULL);
    } else if (from->reads_target) {
        const spec_head_shape *shape = &state->model->head.shape;
        const int n = shape->n_taps, width = spec_head_target_dim(shape);
        for (int i = 0; i < n; i++) {
            on->gather(&f->queue, state->other, spec_head_state_plane(state, i), width,
                       from->target);
            on->join(&f->queue, state->wide, n * width, i * width, state->other, width);
        }
        if (shape->norm_before_fc)
            on->norm_wide(&f->queue, state->wide, state->wide, VECTOR(INPUT_NORM, 0), n * width);
        on->matmul(&f->queue, state->feature, MATRIX(FC, 0), state->wide, NULL, false,
                   SPEC_COLUMNS_ALL);
    }
    ask_for_own(state, from);
    if (kind != SPEC_HEAD_PARALLEL) return;
    on->gather(&f->queue, f->x, VECTOR(MASK_EMBEDDING, 0), dim, from->mask);
    on->gather(&f->queue, state->feature, VECTOR(MASK_STATE, 0), dim, from->mask);
}

/* Returns the input of queries, keys and values; forward.x becomes the residual. */
static const float *ask_for_join(spec_head_state *state, int layer)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const int dim = f->weights->shape.dim;
    if (kind_of(state) == SPEC_HEAD_EAGLE) {
        on->join(&f->queue, state->wide, 2 * dim, 0, f->x, dim);
        on->join(&f->queue, state->wide, 2 * dim, dim, state->feature, dim);
        on->matmul(&f->queue, f->x, MATRIX(FC, 0), state->wide, VECTOR(FC_BIAS, 0), false,
                   SPEC_COLUMNS_ALL);
        return f->x;
    }
    on->norm(&f->queue, f->normed, f->x, VECTOR(EMBEDDING_NORM, layer), SPEC_COLUMNS_ALL, NULL);
    on->join(&f->queue, state->wide, 2 * dim, 0, f->normed, dim);
    on->norm(&f->queue, f->normed, state->feature, VECTOR(FEATURE_NORM, layer), SPEC_COLUMNS_ALL,
             NULL);
    on->join(&f->queue, state->wide, 2 * dim, dim, f->normed, dim);
    if (kind_of(state) == SPEC_HEAD_MTP) {
        on->matmul(&f->queue, f->x, MATRIX(PROJECTION, layer), state->wide, NULL, false,
                   SPEC_COLUMNS_ALL);
        on->norm(&f->queue, f->normed, f->x, f->weights->layer[layer].attention_norm,
                 SPEC_COLUMNS_ALL, NULL);
        return f->normed;
    }
    on->join(&f->queue, f->x, dim, 0,
             state->model->head.shape.norm_before_residual ? f->normed : state->feature, dim);
    return state->wide;
}

/* With nextn the outputs of all columns are normed already. */
static void ask_for_logits(spec_head_state *state, int layer)
{
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const spec_weights *own = f->weights, *target = state->model->target->weights;
    const spec_head_shape *shape = &state->model->head.shape;
    const size_t first = (size_t)state->batch.first * (size_t)shape->shape.dim;
    const float *input = f->normed;
    if (shape->nextn)
        input = f->normed + first;
    else if (shape->normed_features)
        input = f->x + first;
    else
        on->norm(&f->queue, f->normed, f->x,
                 shape->kind == SPEC_HEAD_EAGLE ? target->final_norm : own->final_norm,
                 SPEC_COLUMNS_WANTED, NULL);
    const spec_matrix *output = spec_head_has_target_output(shape) ? &target->output
                                : shape->nextn                     ? MATRIX(OUTPUT, layer)
                                                                   : &own->output;
    on->matmul(&f->queue, f->logits, output, input, NULL, false, SPEC_COLUMNS_WANTED);
}

static int pass(spec_head_state *state, const sources *from, const run *of, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_forward *f = &state->forward;
    const spec_backend *on = f->weights->backend;
    const int n_rows = state->batch.n - state->batch.first;
    const int sublayer[] = {2 * of->layer, 2 * of->layer + 1};
    on->begin(&f->queue, &state->batch, &state->kv, sublayer, 2);
    ask_for_inputs(state, from, of->layer);
    const float *input = ask_for_join(state, of->layer);
    spec_forward_layer(f, &state->kv, of->layer, input);
    if (is_nextn(state))
        on->norm(&f->queue, f->normed, f->x, VECTOR(FINAL_NORM, of->layer), SPEC_COLUMNS_ALL, NULL);
    on->tap(&f->queue, &state->kv, of->layer, is_nextn(state) ? f->normed : f->x);
    if (n_rows > 0) ask_for_logits(state, of->layer);
    on->end(&f->queue);
    SPEC_TRY(on->wait(&f->queue, error));
    if (n_rows > 0) SPEC_TRY(spec_head_state_rows(state, n_rows, error));
done:
    return status;
}

/* The first pass is the short one, so that usually all rows come from the last pass. */
static int run_layer(spec_head_state *state, const run *of, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int n_text = state->n_text > of->text_from ? state->n_text - of->text_from : 0,
              n = n_text + of->n_nodes;
    sources from;
    for (int at = 0, until = (n - 1) % SPEC_COLUMNS_MAX + 1; at < n;
         at = until, until += SPEC_COLUMNS_MAX) {
        int n_rows = 0;
        state->batch.n = 0;
        from.reads_target = false;
        for (int i = at; i < until; i++) {
            const int node = i < n_text ? -1 : of->node[i - n_text];
            if (node < 0)
                add_text(state, &from, of->layer, of->text_from + i);
            else
                add_node(state, &from, of->layer, node);
            if (i < n - of->n_wanted) continue;
            state->row[n_rows++] = of->to + (size_t)(node + 1) * (size_t)state->model->model.vocab;
        }
        state->batch.first = state->batch.n - n_rows;
        SPEC_TRY(pass(state, &from, of, error));
    }
done:
    return status;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Appends the nodes of a depth from `from` on to the list; *ret_wanted counts those with a
 * requested row. */
static int list_depth(int *ret_wanted, int *node, const spec_head_state *state, int depth, int from,
                      int first)
{
    int n = 0;
    *ret_wanted = 0;
    for (int i = from; i < state->n_nodes; i++) {
        if (state->depth[i] != depth) continue;
        node[n++] = i;
        *ret_wanted += i + 1 >= first;
    }
    return n;
}

/* A node's feature is its parent's output, so each depth takes a pass. */
static int eagle(spec_head_state *state, const spec_score_request *request, spec_error *error)
{
    int status = GSL_SUCCESS, node[SPEC_NODES_MAX];
    run of = {.node = node, .to = request->scratch, .n_wanted = request->first == 0};
    of.text_from = most(state->length[0], first_place(state, 0));
    SPEC_TRY(run_layer(state, &of, error));
    of.text_from = state->n_text;
    for (int depth = 1, left = state->n_nodes - state->seen[0]; left > 0; depth++) {
        of.n_nodes = list_depth(&of.n_wanted, node, state, depth, state->seen[0], request->first);
        SPEC_TRY(run_layer(state, &of, error));
        left -= of.n_nodes;
    }
    state->length[0] = state->n_text;
    state->seen[0] = state->n_nodes;
done:
    return status;
}

/* Layer l computes the rows after nodes of depth l. It reads the previous layer at the previous
 * positions. */
static int mtp(spec_head_state *state, const spec_score_request *request, spec_error *error)
{
    int status = GSL_SUCCESS, node[SPEC_NODES_MAX], deepest = 0;
    for (int i = most(request->first - 1, 0); i < state->n_nodes; i++)
        deepest = most(deepest, state->depth[i]);
    for (int l = 0; l <= deepest; l++) {
        run of = {.layer = l, .node = node, .to = request->scratch};
        of.text_from = most(state->length[l], first_place(state, l));
        for (int depth = 1; depth <= l; depth++) {
            const int n = list_depth(&of.n_wanted, node + of.n_nodes, state, depth, state->seen[l],
                                     request->first);
            if (n > 0 && has_column(state, l, node[of.n_nodes])) of.n_nodes += n;
        }
        if (l == 0) of.n_wanted = request->first == 0;
        SPEC_TRY(run_layer(state, &of, error));
        state->length[l] = state->n_text;
        state->seen[l] = state->n_nodes;
    }
done:
    return status;
}

/* The masks form a chain of nodes. They run in one pass with the last column of the text, whatever
 * the tree is. */
static int parallel(spec_head_state *state, spec_error *error)
{
    int status = GSL_SUCCESS, node[SPEC_HEAD_REACH_MAX];
    const int reach = state->model->head.shape.reach;
    if (state->held) return status;
    state->n_nodes = reach - 1;
    for (int i = 0; i < reach - 1; i++) {
        node[i] = i;
        state->parent[i] = i - 1;
    }
    SPEC_TRY(run_layer(state,
                       &(run){.text_from = most(state->length[0], first_place(state, 0)),
                              .node = node,
                              .n_nodes = reach - 1,
                              .n_wanted = reach,
                              .to = state->fixed},
                       error));
    state->length[0] = state->n_text;
    state->held = true;
done:
    return status;
}

int spec_head_layers_rows(spec_head_state *state, const spec_score_request *request,
                          spec_error *error)
{
    /* positions whose state need not be read again */
    int status = GSL_SUCCESS, known = state->length[0];
    for (int l = 1; is_nextn(state) && l < state->model->head.shape.shape.n_layers; l++)
        if (state->length[l] < known) known = state->length[l];
    if (known < state->n_text && !state->held)
        SPEC_TRY(spec_target_reader_follow(&state->reader, state->text, state->n_text, error));
    if (kind_of(state) == SPEC_HEAD_PARALLEL) return parallel(state, error);
    status = has_modules(state) ? mtp(state, request, error) : eagle(state, request, error);
done:
    return status;
}
