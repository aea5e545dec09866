/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention of models/train/graph.h: an item is a head of keys in one text, with its queries.
 * Scores are computed for BLOCK positions at a time, with the keys up to the last of these. */
#include "models/train/graph.h"

#include <assert.h>
#include <math.h>

enum { BLOCK = 56 }; /* a multiple of a tile's rows if these are 14 or 4 */

/* The rows of an item's text, one for each position, `stride` numbers apart. */
typedef struct {
    const spec_graph_attention_shape *shape;
    int text, kv_head, group; /* group: query heads that share the keys */
    /* number of keys that only their own position sees: those of the steps after step 0 */
    int own;
    size_t stride, out_stride;
    spec_real factor; /* of scores */
} item_view;

static item_view view_of(const spec_graph_operation *o, int item)
{
    const spec_graph_attention_shape *s = &o->attention;
    return (item_view){.shape = s,
                       .text = item / s->kv_heads,
                       .kv_head = item % s->kv_heads,
                       .group = s->heads / s->kv_heads,
                       .own = o->steps - 1,
                       .stride = (size_t)o->in[0]->cols,
                       .out_stride = (size_t)o->out->cols,
                       .factor = (spec_real)(1.0 / sqrt((double)s->head_dim))};
}

/* Returns the columns of a head in the rows of a text: heads 0.. of queries, then of keys, then of
 * values. */
static spec_real *head_at(const item_view *v, spec_real *rows, int head)
{
    return rows + (size_t)v->text * (size_t)v->shape->places * v->stride +
           (size_t)head * (size_t)v->shape->head_dim;
}

static spec_real *key_at(const item_view *v, spec_real *rows)
{
    return head_at(v, rows, v->shape->heads + v->kv_head);
}

static spec_real *value_at(const item_view *v, spec_real *rows)
{
    return head_at(v, rows, v->shape->heads + v->shape->kv_heads + v->kv_head);
}

static spec_real *out_at(const item_view *v, spec_real *rows, int head)
{
    return rows + (size_t)v->text * (size_t)v->shape->places * v->out_stride +
           (size_t)head * (size_t)v->shape->head_dim;
}

/* Returns the number of a position's weights: one per position, then one per own key. */
static size_t width_of(const item_view *v)
{
    return (size_t)(v->shape->places + v->own);
}

/* Returns the weights of a query head in one text, one line per position. */
static spec_real *weights_at(const item_view *v, spec_real *kept, int head)
{
    return kept + ((size_t)v->text * (size_t)v->shape->heads + (size_t)head) *
                      (size_t)v->shape->places * width_of(v);
}

/* Rotates all positions of a head; `sign` -1 rotates back. */
static void rotate(const item_view *v, spec_real *head, spec_real sign)
{
    const int half = v->shape->head_dim / 2, step = v->shape->pairs_adjacent ? 2 : 1,
              apart = v->shape->pairs_adjacent ? 1 : half;
    for (int t = 0; t < v->shape->places; t++, head += v->stride) {
        const spec_real *cosine = v->shape->cosine + (size_t)(t + v->own) * (size_t)half,
                        *sine = v->shape->sine + (size_t)(t + v->own) * (size_t)half;
        for (int i = 0; i < half; i++) {
            const spec_real a = head[i * step], b = head[i * step + apart], s = sign * sine[i];
            head[i * step] = a * cosine[i] - b * s;
            head[i * step + apart] = b * cosine[i] + a * s;
        }
    }
}

/* Softmax and its derivative need the weights of position t in one piece: those of positions 0..t,
 * and right after them those of its own keys. At all other times the latter are at the end of the
 * line, after zeros. */
static void bring_together(const item_view *v, spec_real *line, int t)
{
    for (int j = 0; j < v->own; j++) line[t + 1 + j] = line[v->shape->places + j];
}

static void take_apart(const item_view *v, spec_real *line, int t, int keys)
{
    for (int j = v->own - 1; j >= 0; j--) line[v->shape->places + j] = line[t + 1 + j];
    for (int i = t + 1; i < keys; i++) line[i] = 0;
}

static void attend(spec_graph *graph, spec_graph_operation *o, int item, spec_graph_worker *worker)
{
    const item_view v = view_of(o, item);
    const int places = v.shape->places, dim = v.shape->head_dim;
    const size_t width = width_of(&v);
    spec_graph_node *const last = o->in[v.own];
    spec_real *key = key_at(&v, o->in[0]->value), *value = value_at(&v, o->in[0]->value);
    rotate(&v, key_at(&v, last->value), 1);
    for (int head = v.kv_head * v.group; head < (v.kv_head + 1) * v.group; head++) {
        spec_real *query = head_at(&v, last->value, head), *out = out_at(&v, o->out->value, head),
                  *weight = weights_at(&v, o->kept, head);
        rotate(&v, query, 1);
        for (int first = 0; first < places; first += BLOCK) {
            const int n = places - first < BLOCK ? places - first : BLOCK, keys = first + n;
            spec_real *w = weight + (size_t)first * width;
            spec_sgemm_run(&worker->sgemm,
                           &(spec_sgemm_product){n,
                                                 keys,
                                                 dim,
                                                 {query + (size_t)first * v.stride, v.stride, 1},
                                                 {key, 1, v.stride},
                                                 w,
                                                 width,
                                                 false});
            for (int t = first; t < keys; t++) {
                spec_real *line = weight + (size_t)t * width;
                const size_t at = (size_t)t * v.stride;
                for (int j = 0; j < v.own; j++)
                    line[t + 1 + j] =
                        graph->elements->dot(query + at, key_at(&v, o->in[j + 1]->value) + at, dim);
                graph->elements->softmax(line, v.factor, t + 1 + v.own);
                take_apart(&v, line, t, keys);
            }
            spec_sgemm_run(&worker->sgemm, &(spec_sgemm_product){n,
                                                                 dim,
                                                                 keys,
                                                                 {w, width, 1},
                                                                 {value, v.stride, 1},
                                                                 out + (size_t)first * v.out_stride,
                                                                 v.out_stride,
                                                                 false});
        }
        for (int j = 0; j < v.own; j++)
            for (int t = 0; t < places; t++)
                graph->elements->scaled(out + (size_t)t * v.out_stride,
                                        weight[(size_t)t * width + (size_t)(places + j)],
                                        value_at(&v, o->in[j + 1]->value) + (size_t)t * v.stride,
                                        dim, true);
    }
}

static void attention_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, attend, o->attention.texts * o->attention.kv_heads);
}

/* Computes the gradients of a position's scores from those of its weights in d, then the gradients
 * of its own keys and values. Leaves d in one piece. */
static void own_back(spec_graph *graph, spec_graph_operation *o, const item_view *v, int t,
                     int head, spec_real *d, bool is_first_head)
{
    const spec_elements *e = graph->elements;
    const int dim = v->shape->head_dim;
    const size_t at = (size_t)t * v->stride;
    const spec_real *query = head_at(v, o->in[v->own]->value, head) + at,
                    *dout = out_at(v, o->out->gradient, head) + (size_t)t * v->out_stride;
    spec_real *w = weights_at(v, o->kept, head) + (size_t)t * width_of(v);
    bring_together(v, w, t);
    for (int j = 0; j < v->own; j++)
        d[t + 1 + j] = e->dot(dout, value_at(v, o->in[j + 1]->value) + at, dim);
    e->softmax_back(d, w, v->factor, t + 1 + v->own);
    for (int j = 0; j < v->own; j++) {
        spec_real *rows = o->in[j + 1]->gradient;
        const bool add = !is_first_head || o->step_adds[j + 1];
        e->scaled(key_at(v, rows) + at, d[t + 1 + j], query, dim, add);
        e->scaled(value_at(v, rows) + at, w[t + 1 + j], dout, dim, add);
    }
}

/* We go from the last block to the first, because the last one sees all keys: it writes the
 * gradients of all keys and values, and the others add to them. */
static void attend_back(spec_graph *graph, spec_graph_operation *o, int item,
                        spec_graph_worker *worker)
{
    const item_view v = view_of(o, item);
    const int places = v.shape->places, dim = v.shape->head_dim, of_first = v.kv_head * v.group;
    const size_t width = width_of(&v);
    const spec_sgemm *sgemm = &worker->sgemm;
    spec_graph_node *const last = o->in[v.own];
    spec_real *key = key_at(&v, o->in[0]->value), *value = value_at(&v, o->in[0]->value),
              *dkey = key_at(&v, o->in[0]->gradient),
              *dvalue = value_at(&v, o->in[0]->gradient), *const d = worker->room;
    bool add = o->step_adds[0];
    for (int head = of_first; head < of_first + v.group; head++) {
        spec_real *query = head_at(&v, last->value, head),
                  *dquery = head_at(&v, last->gradient, head),
                  *weight = weights_at(&v, o->kept, head);
        for (int first = (places - 1) / BLOCK * BLOCK; first >= 0; first -= BLOCK, add = true) {
            const int n = places - first < BLOCK ? places - first : BLOCK, keys = first + n;
            const spec_real *w = weight + (size_t)first * width,
                            *dout =
                                out_at(&v, o->out->gradient, head) + (size_t)first * v.out_stride;
            /* dvalue (+)= w^T dout; d = dout value^T, then the gradient of scores */
            spec_sgemm_run(
                sgemm,
                &(spec_sgemm_product){
                    keys, dim, n, {w, 1, width}, {dout, v.out_stride, 1}, dvalue, v.stride, add});
            spec_sgemm_run(
                sgemm,
                &(spec_sgemm_product){
                    n, keys, dim, {dout, v.out_stride, 1}, {value, 1, v.stride}, d, width, false});
            for (int t = first; t < keys; t++) {
                spec_real *line = d + (size_t)(t - first) * width;
                own_back(graph, o, &v, t, head, line, head == of_first);
                take_apart(&v, line, t, keys);
            }
            spec_sgemm_run(sgemm, &(spec_sgemm_product){n,
                                                        dim,
                                                        keys,
                                                        {d, width, 1},
                                                        {key, v.stride, 1},
                                                        dquery + (size_t)first * v.stride,
                                                        v.stride,
                                                        false});
            spec_sgemm_run(sgemm,
                           &(spec_sgemm_product){keys,
                                                 dim,
                                                 n,
                                                 {d, 1, width},
                                                 {query + (size_t)first * v.stride, v.stride, 1},
                                                 dkey,
                                                 v.stride,
                                                 add});
            for (int j = 0; j < v.own; j++)
                for (int t = first; t < keys; t++)
                    graph->elements->scaled(dquery + (size_t)t * v.stride,
                                            d[(size_t)(t - first) * width + (size_t)(places + j)],
                                            key_at(&v, o->in[j + 1]->value) + (size_t)t * v.stride,
                                            dim, true);
        }
        rotate(&v, dquery, -1);
    }
    rotate(&v, key_at(&v, last->gradient), -1); /* the later steps have already added to it */
}

static void attention_backward(spec_graph *graph, spec_graph_operation *o)
{
    for (int i = 0; i < o->steps; i++) o->step_adds[i] = spec_graph_adds(o->in[i]);
    spec_graph_share(graph, o, attend_back, o->attention.texts * o->attention.kv_heads);
}

spec_graph_node *spec_graph_attention(spec_graph *graph, spec_graph_node *const *qkv, int steps,
                                      const spec_graph_attention_shape *shape)
{
    static const spec_graph_kind kind = {attention_forward, attention_backward};
    assert(steps >= 1 && steps <= SPEC_GRAPH_INPUTS);
    const size_t places = (size_t)shape->places, width = places + (size_t)steps - 1;
    spec_graph_operation *o =
        spec_graph_append(graph, &kind, qkv[0]->rows, shape->heads * shape->head_dim);
    for (int i = 0; i < steps; i++) {
        assert(qkv[i]->rows == shape->texts * shape->places &&
               qkv[i]->cols == (shape->heads + 2 * shape->kv_heads) * shape->head_dim);
        o->in[i] = qkv[i];
    }
    o->steps = steps;
    o->attention = *shape;
    o->room = (size_t)shape->texts * (size_t)shape->heads * places * width;
    if (graph->room < BLOCK * width) graph->room = BLOCK * width;
    return o->out;
}
