/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole transformer passes on the GPU (or the simulated one). Logits are compared with the CPU's
 * and with double precision, with a tolerance per weight type. They must be bit-identical whatever
 * the number of columns in a pass, the slots of a tree, and whether a pass was recorded. */
#include "base/noise.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/backend_gpu_group.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

/* A model's weights on both devices. */
typedef struct {
    spec_model *model;
    spec_weights weights; /* the GPU's */
} pair;

static pair open_pair(const char *spec)
{
    pair p;
    spec_error error = {""};
    p.model = model_of(spec, NULL);
    if (spec_weights_init(&p.weights, spec_transformer_of(p.model)->checkpoint, SPEC_TENSOR_TYPES,
                          gpu, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    return p;
}

static void pair_free(pair *p)
{
    spec_weights_free(&p->weights);
    spec_model_close(p->model);
}

/* Computes the root mean square error of a row's logits over their spread, for the worst and for
 * the median row. */
typedef struct {
    double worst, middle;
} distance;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { TEXT = 48 };

static distance distance_of(const float *logits, const double *reference, int n, int vocab)
{
    double each[TEXT];
    for (int t = 0; t < n; t++)
        each[t] = reference_error(logits + (ptrdiff_t)t * vocab, reference + (ptrdiff_t)t * vocab,
                                  1, vocab);
    qsort(each, (size_t)n, sizeof *each, by_size);
    return (distance){each[n - 1], each[n / 2]};
}

/* The distances of the GPU from the CPU, and of both from double precision. */
static void measure(distance *from_host, distance *from_truth, distance *hosts, const pair *p,
                    spec_tensor_type kv, const int *token, int n, int columns)
{
    const spec_transformer *transformer = spec_transformer_of(p->model);
    const int vocab = p->model->vocab;
    const size_t all = (size_t)n * (size_t)vocab;
    float *card = malloc(all * sizeof *card), *host = malloc(all * sizeof *host);
    FREED double *reference = malloc(all * sizeof *reference);
    engine_pass(host, transformer->weights, token, n, SPEC_COLUMNS_MAX);
    engine_pass_with(card, &p->weights, kv, token, n, columns);
    reference_pass(reference, transformer->checkpoint, token, n, false);
    *from_truth = distance_of(card, reference, n, vocab);
    *hosts = distance_of(host, reference, n, vocab);
    for (size_t i = 0; i < all; i++) reference[i] = (double)host[i];
    *from_host = distance_of(card, reference, n, vocab);
    free(card);
    free(host);
}

/* Tolerances, relative to the spread of a row's logits. F32: another order of float sums. Q8_0 and
 * Q4_0: the same integers as on the CPU, until an activation is rounded differently to 8 bits; from
 * then on the errors differ but are equally small. F16 and BF16: activations enter products as
 * bf16. Keys and values in bf16 are rounded as much. */
static const struct {
    const char *type;
    double floats, halves; /* worst row, for keys and values as floats and in 16 bits */
    double middle;         /* median row, with floats */
} tolerances[] = {
    {"f32", 3e-6, 1e-2, 2e-6},   {"f16", 2e-2, 2e-2, 1e-2},   {"bf16", 2e-2, 2e-2, 1e-2},
    {"q8_0", 6e-2, 6e-2, 3e-2}, {"q4_0", 6e-2, 6e-2, 3e-2},
};

TEST(logits_agree_with_the_cpu_within_a_tolerance, SLOW)
{
    static const char *const shapes[] = {
        "dim=64&layers=4&heads=4&kv_heads=2&ffn=96&vocab=67&context=128",
        "dim=96&layers=3&heads=6&kv_heads=1&ffn=160&vocab=129&context=128"};
    for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++) {
        char spec[300];
        int token[TEXT];
        distance floats, halves, truth[2], hosts;
        snprintf(spec, sizeof spec, "random?%s&type=%s&seed=4", shapes[t % 2], tolerances[t].type);
        OWNED(pair) p = open_pair(spec);
        for (int i = 0; i < TEXT; i++)
            token[i] = (int)(spec_noise_word(5, (uint64_t)i) % (uint64_t)p.model->vocab);
        measure(&floats, &truth[0], &hosts, &p, SPEC_TENSOR_F32, token, TEXT, 64);
        measure(&halves, &truth[1], &hosts, &p, SPEC_TENSOR_BF16, token, TEXT, 13);
        printf("%-4s  from the processor's: worst %.1e, middle %.1e; with kv=bf16 %.1e, %.1e; from "
               "the truth: %.1e, "
               "kv=bf16 %.1e, the processor's %.1e\n",
               tolerances[t].type, floats.worst, floats.middle, halves.worst, halves.middle,
               truth[0].middle, truth[1].middle, hosts.middle);
        assert_true(floats.worst <= tolerances[t].floats && halves.worst <= tolerances[t].halves);
        assert_true(floats.middle <= tolerances[t].middle);
        if (t >= 3)
            assert_true(truth[0].middle < 1.3 * hosts.middle &&
                        truth[1].middle < 1.5 * hosts.middle);
    }
}

TEST(logits_of_trained_models_agree_with_the_cpu)
{
    static const char *const files[] = {"stories260K/stories260K.bin", "babyllama/target.bin"};
    for (int f = 0; f < 2; f++) {
        char path[1024], spec[1200];
        int token[TEXT] = {1};
        distance host, truth, hosts;
        spec_test_data(path, sizeof path, files[f]);
        snprintf(spec, sizeof spec, "llama2c:%s", path);
        OWNED(pair) p = open_pair(spec);
        const char story[] = "Once upon a time, there was a little girl named Lily. She loved to "
                             "play outside in the park.";
        const size_t n =
            spec_transformer_tokenize(p.model, story, strlen(story), token + 1, TEXT - 1);
        measure(&host, &truth, &hosts, &p, SPEC_TENSOR_F32, token, n < TEXT - 1 ? (int)n + 1 : TEXT,
                64);
        printf("%s: from the processor's %.1e, from the truth %.1e\n", files[f], host.worst,
               truth.worst);
        assert_true(host.worst <= 1e-5 && truth.worst <= 1e-5);
    }
}

/* -- invariance of logits -- */

#define SMALL "random?dim=32&layers=3&heads=4&kv_heads=2&ffn=64&vocab=37&context=300&seed=3&type="
enum { VOCAB = 37, SLOTS = 400, NODES = 20 };

typedef struct {
    spec_forward forward;
    spec_kv kv;
    spec_batch batch;
    int path[SPEC_COLUMNS_MAX * 64];
} session;

static const int sublayers[] = {0, 1, 2, 3, 4, 5};

static session *open_session(const spec_weights *weights, spec_tensor_type kv)
{
    session *s = calloc(1, sizeof *s);
    spec_error error = {""};
    assert_works(spec_forward_init(&s->forward, weights, &error));
    assert_int_equal(gpu->kv_init(gpu, &s->kv, &weights->shape, kv, SLOTS, &error), GSL_SUCCESS);
    s->batch.path = s->path;
    return s;
}

static void session_free(session *s)
{
    gpu->kv_free(gpu, &s->kv);
    spec_forward_free(&s->forward);
    free(s);
}

static int text_token(int place)
{
    return (place * place + 3 * place + 1) % VOCAB;
}

static void add_column(session *s, int token, int slot, int past, const int *way, int n_way)
{
    spec_batch *batch = &s->batch;
    const int u = batch->n++, begin = batch->path_begin[u];
    memcpy(s->path + begin, way, (size_t)n_way * sizeof *way);
    batch->token[u] = token;
    batch->slot[u] = slot;
    batch->past[u] = past;
    batch->position[u] = past + n_way - 1;
    batch->path_begin[u + 1] = begin + n_way;
}

/* Runs the pass over the added columns; returns logits of all wanted columns. */
static void run(session *s, int first, float *logits)
{
    s->batch.first = first;
    spec_forward_begin(&s->forward, &s->kv, &s->batch, sublayers, 6);
    assert_works(spec_forward_wait(&s->forward, &error));
    if (first < s->batch.n)
        gpu->get(gpu, logits, s->forward.logits,
                 (size_t)(s->batch.n - first) * VOCAB * sizeof *logits);
    s->batch.n = 0;
}

/* Runs tokens from..to-1 of the sequence, `columns` per pass; returns the logits of each token. */
static void read_text(session *s, float *logits, int from, int to, int columns)
{
    for (int done = from; done < to;) {
        int n = 0;
        for (; done < to && n < columns; done++, n++)
            add_column(s, text_token(done), done, done, &done, 1);
        run(s, 0, logits);
        logits += (size_t)n * VOCAB;
    }
}

TEST(a_row_does_not_depend_on_other_columns, SLOW)
{
    static const char *const types[] = {"f32", "f16", "bf16", "q8_0", "q4_0"};
    static const int columns[] = {1, 9, 26};
    for (int t = 0; t < 5; t++) {
        char spec[200];
        snprintf(spec, sizeof spec, SMALL "%s", types[t]);
        OWNED(pair) p = open_pair(spec);
        static float logits[2][26 * VOCAB], wanted[26 * VOCAB];
        for (int c = 0; c < 3; c++) {
            session *s = open_session(&p.weights, t % 2 == 0 ? SPEC_TENSOR_BF16 : SPEC_TENSOR_F32);
            read_text(s, logits[c > 0], 0, 26, columns[c]);
            if (c > 0) assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
            /* the same again, with fewer wanted columns */
            for (int at = 13; at < 26; at++) add_column(s, text_token(at), at, at, &at, 1);
            const int first = 6 * c;
            run(s, first, wanted);
            assert_memory_equal(wanted, logits[0] + (13 + first) * VOCAB,
                                (size_t)(13 - first) * VOCAB * sizeof *wanted);
            session_free(s);
        }
    }
}

static const int parent[NODES] = {-1, -1, 0, 1,  0,  2, 2,  5,  3,  7,
                                  9,  10, 4, 11, 13, 6, 14, 16, 17, 18};

static int way_to(int *way, int node, int past)
{
    int depth = 0;
    for (int at = node; at >= 0; at = parent[at]) depth++;
    for (int at = node, i = depth; at >= 0; at = parent[at]) way[--i] = past + at;
    return depth;
}

/* Runs a tree after a sequence, in one pass or in two. Each node's logits equal those of its path,
 * read token by token as a sequence. Then one path is kept, and the sequence continues from it. */
TEST(a_tree_equals_its_paths_and_a_kept_path_is_a_sequence, SLOW)
{
    static const char *const types[] = {"f32", "bf16", "q8_0"};
    static float tree[NODES * VOCAB], plain[VOCAB], scrap[256 * VOCAB];
    for (int t = 0; t < 3; t++)
        for (int cut = t == 0 ? 1 : 0; cut <= (t == 1 ? 0 : 1); cut++) {
            char spec[200];
            int way[NODES];
            const int past = t == 0 ? 252 : 30; /* a path then crosses a bucket's end */
            snprintf(spec, sizeof spec, SMALL "%s", types[t]);
            pair p = open_pair(spec);
            session *s = open_session(&p.weights, SPEC_TENSOR_BF16),
                    *straight = open_session(&p.weights, SPEC_TENSOR_BF16);
            read_text(s, scrap, 0, past, 64);
            read_text(straight, scrap, 0, past, 64);
            for (int node = 0, done = 0; node < NODES; node++) {
                add_column(s, 1 + node, past + node, past, way, way_to(way, node, past));
                if (node != (cut ? 7 : NODES - 1) && node != NODES - 1) continue;
                run(s, 0, tree + (size_t)done * VOCAB);
                done = node + 1;
            }
            for (int node = 1; node < NODES; node += 3) {
                const int depth = way_to(way, node, past);
                for (int i = 0; i < depth; i++) {
                    const int place = past + i;
                    add_column(straight, 1 + way[i] - past, place, place, &place, 1);
                    run(straight, 0, plain);
                }
                assert_memory_equal(plain, tree + (size_t)node * VOCAB, sizeof plain);
            }
            /* keeps the last path that was read as a sequence; its nodes are ascending in the
             * tree */
            const int depth = way_to(way, 19, past), at = past + depth;
            gpu->keep(&s->forward.queue, &s->kv, way, past, depth);
            assert_int_equal(way[depth - 1], past + 19);
            for (int i = 0; i < 2; i++) {
                session *const each = i == 0 ? s : straight;
                add_column(each, 5, at, at, &at, 1);
                run(each, 0, i == 0 ? scrap : plain);
            }
            assert_memory_equal(plain, scrap, sizeof plain);
            session_free(s);
            session_free(straight);
            pair_free(&p);
        }
}

SUITE(SIMULATOR, .setup = open_gpu, .teardown = close_gpu);
