/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"
#include "base/half_float.h"
#include "base/noise.h"
#include "models/transformer/engine/backend.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <sys/mman.h>

static const spec_backend *cpu; /* with as many threads as OpenMP has */

/* A reproducible number with a triangular law on (-2, 2). */
static float draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(2385, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

/* One session: keys and values of a text in slots 0.., followed by those of a tree. */
typedef struct {
    spec_shape shape;
    spec_queue queue;
    spec_attending how; /* sinks, and the window if the shape has one */
    int window, sink;   /* of all batches */
    spec_kv kv;
    float *qkv, *o;
    size_t width; /* floats of a row of qkv */
    spec_tensor_type rounded; /* keys and values are rounded to it before they are stored */
} session;

static const float sinks[] = {0.27f, -1.5f, 3.0f, 2.385f, 1.0f, -0.4f, 0.9f, 2.0f};

enum { SLOTS = 1700 };

static session open_session_of(spec_shape shape, spec_tensor_type kv_type)
{
    session s = {.shape = shape,
                 .width = (size_t)((shape.n_heads + 2 * shape.n_kv_heads) * shape.head_dim)};
    void *memory;
    spec_error error;
    if (shape.window > 0) s.how = (spec_attending){.has_window = true, .opt_sinks = sinks};
    assert_int_equal(cpu->queue_init(cpu, &s.queue, &shape, &error), GSL_SUCCESS);
    assert_int_equal(cpu->kv_init(cpu, &s.kv, &shape, kv_type, SLOTS, &error), GSL_SUCCESS);
    assert_int_equal(cpu->alloc(cpu, &memory, SPEC_COLUMNS_MAX * s.width * sizeof(float), &error),
                     GSL_SUCCESS);
    s.qkv = memory;
    assert_int_equal(cpu->alloc(cpu, &memory, SPEC_COLUMNS_MAX * s.width * sizeof(float), &error),
                     GSL_SUCCESS);
    s.o = memory;
    return s;
}

static session open_session(spec_shape shape)
{
    return open_session_of(shape, SPEC_TENSOR_F32);
}

static void session_free(session *s)
{
    cpu->free(cpu, s->qkv);
    cpu->free(cpu, s->o);
    cpu->kv_free(cpu, &s->kv);
    cpu->queue_free(&s->queue);
}

/* Queries, keys and values of the token at a position of text `text`; texts share nothing. */
static void fill(float *qkv, size_t width, int text, int position)
{
    for (size_t i = 0; i < width; i++)
        qkv[i] = draw(((uint64_t)text << 40) + ((uint64_t)position << 20) + i) *
                 (i % 7 == 0 ? 3.0f : 1.0f);
}

/* Rounds the keys and values of the first n rows of qkv. */
static void round_rows(session *s, int n)
{
    const size_t queries = (size_t)(s->shape.n_heads * s->shape.head_dim);
    for (int u = 0; u < n && s->rounded != SPEC_TENSOR_F32; u++)
        for (size_t i = queries; i < s->width; i++) {
            float *const x = &s->qkv[(size_t)u * s->width + i];
            *x = s->rounded == SPEC_TENSOR_F16
                     ? spec_half_float_from_f16(spec_half_float_to_f16(*x))
                     : spec_half_float_from_bf16(spec_half_float_to_bf16(*x));
        }
}

static void add_column(spec_batch *batch, int *path, int slot, int past, const int *way, int n_way)
{
    const int u = batch->n++, begin = batch->path_begin[u];
    memcpy(path + begin, way, (size_t)n_way * sizeof *way);
    batch->path = path;
    batch->past[u] = past;
    batch->slot[u] = slot;
    batch->position[u] = past + n_way - 1;
    batch->path_begin[u + 1] = begin + n_way;
}

/* Process tokens from..to-1 of text 0, in passes. */
static void read_text(session *s, int from, int to)
{
    for (int done = from; done < to;) {
        spec_batch batch = {.window = s->window, .sink = s->sink};
        int path[SPEC_COLUMNS_MAX];
        for (; done < to && batch.n < SPEC_COLUMNS_MAX; done++) {
            fill(s->qkv + (size_t)batch.n * s->width, s->width, 0, done);
            add_column(&batch, path, done, done, &done, 1);
        }
        spec_error error;
        round_rows(s, batch.n);
        cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
        for (int layer = 0; layer < s->shape.n_layers; layer++) {
            cpu->store(&s->queue, &s->kv, layer, s->qkv);
            cpu->attend(&s->queue, s->o, s->qkv, &s->kv, layer, &s->how, NULL);
        }
        cpu->end(&s->queue);
        assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
    }
}

static const spec_shape shapes[] = {
    {.dim = 96,
     .n_layers = 2,
     .n_heads = 4,
     .n_kv_heads = 4,
     .head_dim = 24,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
    {.dim = 448,
     .n_layers = 2,
     .n_heads = 7,
     .n_kv_heads = 1,
     .head_dim = 64,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
    {.dim = 64,
     .n_layers = 2,
     .n_heads = 8,
     .n_kv_heads = 4,
     .head_dim = 8,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 4096,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
    {.dim = 96,
     .n_layers = 2,
     .n_heads = 8,
     .n_kv_heads = 4,
     .head_dim = 24,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4,
     .window = 5,
     .window_rope.base = 1e3},
    {.dim = 448,
     .n_layers = 2,
     .n_heads = 7,
     .n_kv_heads = 1,
     .head_dim = 64,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4,
     .window = 300,
     .window_rope.base = 1e4},
    {.dim = 64,
     .n_layers = 2,
     .n_heads = 4,
     .n_kv_heads = 4,
     .head_dim = 8,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 4096,
     .norm_eps = 1e-5f,
     .rope.base = 1e4,
     .window = 256,
     .window_rope.base = 1e4},
    {.dim = 48, /* units of 32 columns, of which 42 leave the second unit unfilled */
     .n_layers = 2,
     .n_heads = 6,
     .n_kv_heads = 3,
     .head_dim = 8,
     .ffn_dim = 40,
     .vocab = 1000,
     .context = 1024,
     .norm_eps = 1e-5f,
     .rope.base = 1e4},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* Cases are the shapes, and then some of them with a window of the batch: within a block and beyond
 * it, with sinks in the window's first block or not, in layers with a window of their own or not.
 * 700 + 4 and 300 + 800 positions are more than some of the texts have. */
static const struct {
    int shape, window, sink;
} narrow[] = {{0, 1, 0},    {1, 100, 4}, {2, 256, 256}, {2, 300, 800}, {3, 2, 700},
              {4, 40, 720}, {4, 290, 4}, {5, 700, 4},   {6, 257, 259}};
enum { N_CASES = N_SHAPES + sizeof narrow / sizeof narrow[0] };

static spec_shape shape_of(size_t k)
{
    return shapes[k < N_SHAPES ? k : (size_t)narrow[k - N_SHAPES].shape];
}

static session open_case(size_t k)
{
    session s = open_session(shape_of(k));
    if (k < N_SHAPES) return s;
    s.window = narrow[k - N_SHAPES].window;
    s.sink = narrow[k - N_SHAPES].sink;
    return s;
}

/* Returns whether the last of n positions attends to position t. */
static bool is_seen(const session *s, int t, int n)
{
    const bool by_layer = s->shape.window == 0 || t >= n - s->shape.window;
    return by_layer && (s->window == 0 || t >= n - s->window || t < s->sink);
}

/* Second route: double precision, from the definition. */
TEST(attention_agrees_with_double_precision)
{
    static const int lengths[] = {1, 3, 255, 256, 257, 1000};
    for (size_t k = 0; k < N_CASES; k += spec_test_thread_stride()) {
        OWNED(session) s = open_case(k);
        const int hd = s.shape.head_dim, heads = s.shape.n_heads,
                  group = heads / s.shape.n_kv_heads;
        FREED float *row = malloc(s.width * sizeof *row);
        double *e = malloc(SLOTS * sizeof *e), mixed[64];
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            const int n = lengths[i], last = n - 1;
            read_text(&s, 0, last);
            read_text(&s, last, n);
            for (int h = 0; h < heads; h++) {
                const size_t key_at = (size_t)((heads + h / group) * hd);
                const size_t value_at = key_at + (size_t)((heads / group) * hd);
                double sum = s.how.opt_sinks != NULL ? exp((double)sinks[h]) : 0.0;
                memset(mixed, 0, sizeof mixed);
                for (int t = 0; t < n; t++) {
                    if (!is_seen(&s, t, n)) continue;
                    fill(row, s.width, 0, t);
                    double score = 0.0;
                    for (int d = 0; d < hd; d++)
                        score +=
                            (double)s.qkv[h * hd + d] * (double)row[key_at + (size_t)d] / sqrt(hd);
                    e[t] = exp(score);
                    sum += e[t];
                    for (int d = 0; d < hd; d++)
                        mixed[d] += e[t] * (double)row[value_at + (size_t)d];
                }
                for (int d = 0; d < hd; d++)
                    assert_true(fabs(mixed[d] / sum - (double)s.o[h * hd + d]) < 4e-6);
            }
        }
        free(e);
    }
}

/* A tree of NODES nodes after a text of `past` tokens; its columns use the slots after the text, in
 * the order of the nodes. Tokens are those of text `text` at their positions, so a path is a text.
 */
enum { NODES = 20 };
static const int parent[NODES] = {-1, -1, 0, 1,  0,  2, 2,  5,  3,  7,
                                  9,  10, 4, 11, 13, 6, 14, 16, 17, 18};

static int way_to(int *way, int node, int past)
{
    int depth = 0;
    for (int at = node; at >= 0; at = parent[at]) depth++;
    for (int at = node, i = depth; at >= 0; at = parent[at]) way[--i] = past + at;
    return depth;
}

static void score_tree(session *s, int past, int first, int end)
{
    spec_batch batch = {.window = s->window, .sink = s->sink};
    int path[NODES * NODES], way[NODES];
    spec_error error;
    for (int node = first; node < end; node++) {
        const int depth = way_to(way, node, past);
        fill(s->qkv + (size_t)batch.n * s->width, s->width, 1 + node, past + depth - 1);
        add_column(&batch, path, past + node, past, way, depth);
    }
    cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
    cpu->rope(&s->queue, s->qkv, &s->how);
    round_rows(s, batch.n);
    cpu->store(&s->queue, &s->kv, 1, s->qkv);
    cpu->attend(&s->queue, s->o, s->qkv, &s->kv, 1, &s->how, NULL);
    cpu->end(&s->queue);
    assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
}

/* A path as a text: token by token, each in the slot of its position. */
static void score_straight(session *s, int past, int node)
{
    int way[NODES];
    const int depth = way_to(way, node, past);
    for (int i = 0; i < depth; i++) {
        spec_batch batch = {.window = s->window, .sink = s->sink};
        int path[1], place = past + i;
        spec_error error;
        fill(s->qkv, s->width, 1 + way[i] - past, place);
        add_column(&batch, path, place, place, &place, 1);
        cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
        cpu->rope(&s->queue, s->qkv, &s->how);
        cpu->store(&s->queue, &s->kv, 1, s->qkv);
        cpu->attend(&s->queue, s->o, s->qkv, &s->kv, 1, &s->how, NULL);
        cpu->end(&s->queue);
        assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
    }
}

TEST(a_tree_in_its_slots_equals_its_paths_as_texts, SLOW)
{
    static const int pasts[] = {1, 30, 250, 256, 509, 700};
    for (size_t k = 0; k < N_CASES; k += spec_test_thread_stride()) {
        session tree = open_case(k), text = open_case(k);
        const size_t o = (size_t)(shape_of(k).n_heads * shape_of(k).head_dim);
        read_text(&tree, 0, 700);
        read_text(&text, 0, 700);
        for (size_t i = 0; i < sizeof pasts / sizeof pasts[0]; i += spec_test_thread_stride()) {
            /* Slots after the text hold stale values, which no column may read. */
            for (int cut = 1; cut <= NODES; cut += 9) { /* the tree in one pass, or in two */
                if (cut < NODES) score_tree(&tree, pasts[i], 0, cut);
                const int first = cut < NODES ? cut : 0;
                score_tree(&tree, pasts[i], first, NODES);
                for (int node = first; node < NODES; node += 3) {
                    score_straight(&text, pasts[i], node);
                    assert_memory_equal(text.o, tree.o + (size_t)(node - first) * o,
                                        o * sizeof *text.o);
                }
            }
            read_text(&tree, pasts[i], 700);
            read_text(&text, pasts[i], 700);
        }
        session_free(&tree);
        session_free(&text);
    }
}

/* Keys and values of 16 bits are rounded when they are stored, and then computed as floats, so all
 * bits are those of a cache of floats that is given rounded numbers. Rounding itself moves results
 * by at most `worst`, as measured, of values up to 6. */
TEST(a_cache_of_halves_is_one_of_rounded_floats)
{
    static const int lengths[] = {1, 64, 255, 257, 700};
    static const struct {
        spec_tensor_type type;
        double worst;
    } kinds[] = {{SPEC_TENSOR_F16, 0.005}, {SPEC_TENSOR_BF16, 0.05}};
    for (int kind = 0; kind < 2; kind++) {
        double worst = 0.0;
        for (size_t k = 0; k < N_SHAPES; k += spec_test_thread_stride()) {
            OWNED(session) half = open_session_of(shapes[k], kinds[kind].type);
            OWNED(session) rounded = open_session(shapes[k]);
            OWNED(session) floats = open_session(shapes[k]);
            const size_t o = (size_t)(shapes[k].n_heads * shapes[k].head_dim);
            rounded.rounded = kinds[kind].type;
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                read_text(&half, 0, lengths[i]);
                read_text(&rounded, 0, lengths[i]);
                read_text(&floats, 0, lengths[i]);
                const size_t n = (size_t)((lengths[i] - 1) % SPEC_COLUMNS_MAX + 1) * o;
                assert_memory_equal(half.o, rounded.o, n * sizeof *half.o);
                for (size_t j = 0; j < n; j++)
                    worst = fmax(worst, fabs((double)half.o[j] - (double)floats.o[j]));
            }
            int way[NODES];
            for (session *each = &half; each != NULL; each = each == &half ? &rounded : NULL) {
                score_tree(each, 700, 0, NODES);
                cpu->keep(&each->queue, &each->kv, way, 700, way_to(way, 18, 700));
                score_tree(each, 700 + way_to(way, 18, 700), 0, NODES);
            }
            assert_memory_equal(half.o, rounded.o, NODES * o * sizeof *half.o);
        }
        printf("%s: %.2g\n", spec_tensor_type_names[kinds[kind].type], worst);
        assert_true(worst > 0.1 * kinds[kind].worst && worst < kinds[kind].worst);
    }
}

/* Text 0's token at a position, after the number at `place` of its row was replaced, if any. */
static void read_token(session *s, int position, int place, float number)
{
    spec_batch batch = {.n = 0};
    int path[1];
    spec_error error;
    fill(s->qkv, s->width, 0, position);
    if (place >= 0) s->qkv[place] = number;
    add_column(&batch, path, position, position, &position, 1);
    cpu->begin(&s->queue, &batch, &s->kv, NULL, 0);
    cpu->store(&s->queue, &s->kv, 0, s->qkv);
    cpu->attend(&s->queue, s->o, s->qkv, &s->kv, 0, &s->how, NULL);
    cpu->end(&s->queue);
    assert_int_equal(cpu->wait(&s->queue, &error), GSL_SUCCESS);
}

/* A key of -inf could have a score of -inf, and so drop its token without an error. */
TEST(a_number_too_large_for_f16_is_seen_by_all_later_tokens)
{
    static const struct {
        spec_tensor_type type;
        float number;
        bool overflows;
    } cases[] = {{SPEC_TENSOR_F16, 65519.0f, false},
                 {SPEC_TENSOR_F16, 65520.0f, true},
                 {SPEC_TENSOR_F16, -65520.0f, true},
                 {SPEC_TENSOR_BF16, -65520.0f, false}};
    const spec_shape *shape = &shapes[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_value = 0; is_value < 2; is_value++) {
            OWNED(session) s = open_session_of(*shape, cases[i].type);
            const int head = shape->n_heads + is_value * shape->n_kv_heads;
            for (int position = 0; position < 20; position++) {
                const bool replaces = position == 5;
                read_token(&s, position, replaces ? head * shape->head_dim : -1, cases[i].number);
                assert_int_equal(isfinite(s.o[0]), position < 5 || !cases[i].overflows);
            }
        }
}

/* The results of several passes, to compare. */
static void compute(float *result, size_t k)
{
    OWNED(session) s = open_case(k);
    const size_t o = (size_t)(s.shape.n_heads * s.shape.head_dim);
    for (int done = 0; done < 320; done += SPEC_COLUMNS_MAX) {
        read_text(&s, done, done + SPEC_COLUMNS_MAX);
        memcpy(result, s.o, SPEC_COLUMNS_MAX * o * sizeof *result);
        result += SPEC_COLUMNS_MAX * o;
    }
    read_text(&s, 319, 320);
    memcpy(result, s.o, o * sizeof *result);
}

TEST(results_do_not_depend_on_threads_or_instructions, SLOW)
{
    static const int threads[] = {1, 2, 3, 5};
    for (size_t k = 0; k < N_CASES; k += spec_test_thread_stride()) {
        const size_t n = 321 * (size_t)(shape_of(k).n_heads * shape_of(k).head_dim);
        float *first = malloc(n * sizeof *first), *other = malloc(n * sizeof *other);
        omp_set_num_threads(1);
        compute(first, k);
        /* The last column occurs twice: among 64, and alone. */
        const size_t o = n / 321;
        assert_memory_equal(first + 319 * o, first + 320 * o, o * sizeof *first);
        for (size_t t = 1; t < 4; t++) {
            omp_set_num_threads(threads[t]);
            compute(other, k);
            assert_memory_equal(first, other, n * sizeof *first);
        }
        omp_set_num_threads(2);
        for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
            assert_int_equal(spec_cpu_limit(spec_cpu_isa_name(isa), NULL), GSL_SUCCESS);
            compute(other, k);
            assert_memory_equal(first, other, n * sizeof *first);
        }
        spec_cpu_limit(NULL, NULL);
        free(first);
        free(other);
    }
}

/* The columns of a pass, however many there are, have the bits that each has alone. */
TEST(a_column_does_not_depend_on_the_others)
{
    enum { BEFORE = 300 };
    spec_thread_pool *const pool = spec_context_pool(cpu->opt_context);
    const int size = spec_thread_pool_size(pool);
    for (size_t k = 0; k < N_CASES; k += spec_test_thread_stride()) {
        const size_t o = (size_t)(shape_of(k).n_heads * shape_of(k).head_dim);
        FREED float *alone = malloc(SPEC_COLUMNS_MAX * o * sizeof *alone);
        OWNED(session) s = open_case(k);
        read_text(&s, 0, BEFORE);
        for (int u = 0; u < SPEC_COLUMNS_MAX; u++) {
            read_text(&s, BEFORE + u, BEFORE + u + 1);
            memcpy(alone + (size_t)u * o, s.o, o * sizeof *alone);
        }
        for (int threads = 1; threads <= 5; threads += 4) {
            spec_thread_pool_set_size(pool, threads);
            for (int n = 1; n <= SPEC_COLUMNS_MAX; n++) {
                read_text(&s, BEFORE, BEFORE + n);
                assert_memory_equal(s.o, alone, (size_t)n * o * sizeof *alone);
            }
        }
        spec_thread_pool_set_size(pool, size);
    }
}

/* Attention of one column at the end of a long text reads what it sees alone: the other values may
 * be anything. */
TEST(nothing_outside_a_window_is_read)
{
    for (size_t k = 0; k < N_CASES; k += spec_test_thread_stride()) {
        const int n = 1000, layers = shape_of(k).n_layers;
        const size_t o = (size_t)(shape_of(k).n_heads * shape_of(k).head_dim);
        OWNED(session) s = open_case(k);
        if (s.shape.window == 0 && s.window == 0) continue;
        FREED float *before = malloc(o * sizeof *before);
        read_text(&s, 0, n);
        read_text(&s, n - 1, n);
        memcpy(before, s.o, o * sizeof *before);
        for (int seen = 0; seen <= 1; seen++) { /* of those that are seen, only the first one */
            for (int t = 0; t < n - 1; t++) {
                spec_batch batch = {.n = 0};
                int path[1];
                if (is_seen(&s, t, n) != seen) continue;
                for (size_t i = 0; i < s.width; i++) s.qkv[i] = NAN;
                add_column(&batch, path, t, t, &t, 1);
                cpu->begin(&s.queue, &batch, &s.kv, NULL, 0);
                for (int layer = 0; layer < layers; layer++)
                    cpu->store(&s.queue, &s.kv, layer, s.qkv);
                cpu->end(&s.queue);
                if (seen) break;
            }
            read_text(&s, n - 1, n);
            if (!seen) assert_memory_equal(before, s.o, o * sizeof *before);
        }
        assert_int_equal(isnan(s.o[0]), s.window != 1); /* a window of 1 is the column itself */
    }
}

/* The workspace fits the context that the model states; a longer text works, too. */
TEST(a_text_may_exceed_the_workspace)
{
    spec_shape short_one = shapes[2];
    short_one.context = 2;
    session s = open_session(short_one), wide = open_session(shapes[2]);
    read_text(&s, 0, 1600);
    read_text(&wide, 0, 1600);
    read_text(&s, 1600, 1601);
    read_text(&wide, 1600, 1601);
    assert_memory_equal(s.o, wide.o, (size_t)(s.shape.n_heads * s.shape.head_dim) * sizeof *s.o);
    session_free(&s);
    session_free(&wide);
}

/* A kept path equals a text read in place. */
TEST(kept_slots_move_in_order)
{
    session s = open_session(shapes[1]), text = open_session(shapes[1]);
    const int past = 254, node = 18;
    int way[NODES];
    read_text(&s, 0, past);
    read_text(&text, 0, past);
    score_tree(&s, past, 0, NODES);
    cpu->keep(&s.queue, &s.kv, way, past, way_to(way, node, past));
    score_straight(&text, past, node);
    const int at = past + way_to(way, node, past);
    for (session *each = &s; each != NULL; each = each == &s ? &text : NULL) {
        spec_batch batch = {.n = 0};
        int path[1];
        spec_error error;
        fill(each->qkv, each->width, 0, at);
        add_column(&batch, path, at, at, &at, 1);
        cpu->begin(&each->queue, &batch, &each->kv, NULL, 0);
        cpu->store(&each->queue, &each->kv, 1, each->qkv);
        cpu->attend(&each->queue, each->o, each->qkv, &each->kv, 1, &each->how, NULL);
        cpu->end(&each->queue);
        assert_int_equal(cpu->wait(&each->queue, &error), GSL_SUCCESS);
    }
    assert_memory_equal(s.o, text.o, (size_t)(s.shape.n_heads * s.shape.head_dim) * sizeof *s.o);
    session_free(&s);
    session_free(&text);
}

TEST(a_long_window_takes_no_memory_before_it_is_read)
{
    const spec_shape shape = {.dim = 4096,
                              .n_layers = 32,
                              .n_heads = 32,
                              .n_kv_heads = 8,
                              .head_dim = 128,
                              .ffn_dim = 40,
                              .vocab = 1000,
                              .context = 1 << 17,
                              .norm_eps = 1e-5f,
                              .rope.base = 1e4};
    spec_kv kv;
    spec_queue queue;
    spec_error error;
    assert_int_equal(cpu->kv_init(cpu, &kv, &shape, SPEC_TENSOR_F32, 1 << 17, &error),
                     GSL_SUCCESS); /* 34 GB */
    assert_int_equal(cpu->queue_init(cpu, &queue, &shape, &error), GSL_SUCCESS);
    cpu->queue_free(&queue);
    void *memory = kv.data;
    cpu->kv_free(cpu, &kv);
    assert_int_equal(msync(memory, 1, MS_ASYNC), -1); /* no memory is mapped there any more */
}

static int set_up(void **state)
{
    (void)state;
    cpu = spec_test_context(0)->cpu;
    return 0;
}

SUITE(.setup = set_up);
