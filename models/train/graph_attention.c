/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention of models/train/graph.h: an item is a head of keys in one text, with its queries.
 * Scores are computed for BLOCK places at a time with the keys up to the last of them. */
#include "models/train/graph.h"

#include <assert.h>
#include <math.h>

enum { BLOCK = 56 }; /* a multiple of a tile's rows where these are 14 or 4 */

/* The rows of an item's text, one for each place, `stride` numbers apart. */
typedef struct {
    const spec_graph_attention_shape *shape;
    int text, kv_head, group; /* group: query heads that share the keys */
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
                       .stride = (size_t)o->in[0]->cols,
                       .out_stride = (size_t)o->out->cols,
                       .factor = (spec_real)(1.0 / sqrt((double)s->head_dim))};
}

/* The columns of a head in the rows of a text: heads 0.. of queries, then of keys, then of
 * values. */
static spec_real *head_at(const item_view *v, spec_real *rows, int head)
{
    return rows + (size_t)v->text * (size_t)v->shape->places * v->stride +
           (size_t)head * (size_t)v->shape->head_dim;
}

static spec_real *out_at(const item_view *v, spec_real *rows, int head)
{
    return rows + (size_t)v->text * (size_t)v->shape->places * v->out_stride +
           (size_t)head * (size_t)v->shape->head_dim;
}

/* The weights of a query head in one text, (places, places). */
static spec_real *weights_at(const item_view *v, spec_real *kept, int head)
{
    const size_t places = (size_t)v->shape->places;
    return kept + ((size_t)v->text * (size_t)v->shape->heads + (size_t)head) * places * places;
}

/* Rotate all places of a head; `sign` -1 rotates back. */
static void rotate(const item_view *v, spec_real *head, spec_real sign)
{
    const int half = v->shape->head_dim / 2, step = v->shape->pairs_adjacent ? 2 : 1,
              apart = v->shape->pairs_adjacent ? 1 : half;
    for (int t = 0; t < v->shape->places; t++, head += v->stride) {
        const spec_real *cosine = v->shape->cosine + (size_t)t * (size_t)half,
                        *sine = v->shape->sine + (size_t)t * (size_t)half;
        for (int i = 0; i < half; i++) {
            const spec_real a = head[i * step], b = head[i * step + apart], s = sign * sine[i];
            head[i * step] = a * cosine[i] - b * s;
            head[i * step + apart] = b * cosine[i] + a * s;
        }
    }
}

static void attend(spec_graph *graph, spec_graph_operation *o, int item, spec_graph_worker *worker)
{
    const item_view v = view_of(o, item);
    const int places = v.shape->places, dim = v.shape->head_dim, heads = v.shape->heads;
    spec_real *key = head_at(&v, o->in[0]->value, heads + v.kv_head),
              *value = head_at(&v, o->in[0]->value, heads + v.shape->kv_heads + v.kv_head);
    rotate(&v, key, 1);
    for (int head = v.kv_head * v.group; head < (v.kv_head + 1) * v.group; head++) {
        spec_real *query = head_at(&v, o->in[0]->value, head),
                  *out = out_at(&v, o->out->value, head), *weight = weights_at(&v, o->kept, head);
        rotate(&v, query, 1);
        for (int t = 0; t < places; t += BLOCK) {
            const int n = places - t < BLOCK ? places - t : BLOCK, keys = t + n;
            spec_real *w = weight + (size_t)t * (size_t)places;
            spec_sgemm_run(&worker->sgemm,
                           &(spec_sgemm_product){n,
                                                 keys,
                                                 dim,
                                                 {query + (size_t)t * v.stride, v.stride, 1},
                                                 {key, 1, v.stride},
                                                 w,
                                                 (size_t)places,
                                                 false});
            for (int i = 0; i < n; i++) {
                spec_real *row = w + (size_t)i * (size_t)places;
                graph->elements->softmax(row, v.factor, t + i + 1);
                for (int j = t + i + 1; j < keys; j++) row[j] = 0;
            }
            spec_sgemm_run(&worker->sgemm, &(spec_sgemm_product){n,
                                                                 dim,
                                                                 keys,
                                                                 {w, (size_t)places, 1},
                                                                 {value, v.stride, 1},
                                                                 out + (size_t)t * v.out_stride,
                                                                 v.out_stride,
                                                                 false});
        }
    }
}

static void attention_forward(spec_graph *graph, spec_graph_operation *o)
{
    spec_graph_share(graph, o, attend, o->attention.texts * o->attention.kv_heads);
}

/* Blocks run from the last to the first: the widest writes the gradients of all keys and values,
 * then the others add to them. */
static void attend_back(spec_graph *graph, spec_graph_operation *o, int item,
                        spec_graph_worker *worker)
{
    const item_view v = view_of(o, item);
    const int places = v.shape->places, dim = v.shape->head_dim, heads = v.shape->heads,
              of_values = heads + v.shape->kv_heads + v.kv_head;
    const spec_sgemm *sgemm = &worker->sgemm;
    spec_real *key = head_at(&v, o->in[0]->value, heads + v.kv_head),
              *value = head_at(&v, o->in[0]->value, of_values),
              *dkey = head_at(&v, o->in[0]->gradient, heads + v.kv_head),
              *dvalue = head_at(&v, o->in[0]->gradient, of_values), *const d = worker->room;
    bool add = false;
    for (int head = v.kv_head * v.group; head < (v.kv_head + 1) * v.group; head++) {
        spec_real *query = head_at(&v, o->in[0]->value, head),
                  *dquery = head_at(&v, o->in[0]->gradient, head),
                  *weight = weights_at(&v, o->kept, head);
        for (int t = (places - 1) / BLOCK * BLOCK; t >= 0; t -= BLOCK, add = true) {
            const int n = places - t < BLOCK ? places - t : BLOCK, keys = t + n;
            const size_t row = (size_t)places;
            const spec_real *w = weight + (size_t)t * row,
                            *dout = out_at(&v, o->out->gradient, head) + (size_t)t * v.out_stride;
            /* dvalue (+)= w^T dout; d = dout value^T, then the gradient of scores */
            spec_sgemm_run(
                sgemm,
                &(spec_sgemm_product){
                    keys, dim, n, {w, 1, row}, {dout, v.out_stride, 1}, dvalue, v.stride, add});
            spec_sgemm_run(
                sgemm,
                &(spec_sgemm_product){
                    n, keys, dim, {dout, v.out_stride, 1}, {value, 1, v.stride}, d, row, false});
            for (int i = 0; i < n; i++) {
                spec_real *line = d + (size_t)i * row;
                graph->elements->softmax_back(line, w + (size_t)i * row, v.factor, t + i + 1);
                for (int j = t + i + 1; j < keys; j++) line[j] = 0;
            }
            spec_sgemm_run(sgemm, &(spec_sgemm_product){n,
                                                        dim,
                                                        keys,
                                                        {d, row, 1},
                                                        {key, v.stride, 1},
                                                        dquery + (size_t)t * v.stride,
                                                        v.stride,
                                                        false});
            spec_sgemm_run(sgemm, &(spec_sgemm_product){keys,
                                                        dim,
                                                        n,
                                                        {d, 1, row},
                                                        {query + (size_t)t * v.stride, v.stride, 1},
                                                        dkey,
                                                        v.stride,
                                                        add});
        }
        rotate(&v, dquery, -1);
    }
    rotate(&v, dkey, -1);
}

static void attention_backward(spec_graph *graph, spec_graph_operation *o)
{
    const bool adds = spec_graph_adds(o->in[0]);
    assert(!adds); /* no other operation reads the queries, keys and values */
    (void)adds;
    spec_graph_share(graph, o, attend_back, o->attention.texts * o->attention.kv_heads);
}

spec_graph_node *spec_graph_attention(spec_graph *graph, spec_graph_node *qkv,
                                      const spec_graph_attention_shape *shape)
{
    static const spec_graph_kind kind = {attention_forward, attention_backward};
    const size_t places = (size_t)shape->places;
    assert(qkv->rows == shape->texts * shape->places &&
           qkv->cols == (shape->heads + 2 * shape->kv_heads) * shape->head_dim);
    spec_graph_operation *o =
        spec_graph_append(graph, &kind, qkv->rows, shape->heads * shape->head_dim);
    o->in[0] = qkv;
    o->attention = *shape;
    o->room = (size_t)shape->texts * (size_t)shape->heads * places * places;
    if (graph->room < BLOCK * places) graph->room = BLOCK * places;
    return o->out;
}
