/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"
#include "tests/models/transformer/engine/attention_session.h"

#include <math.h>
#include <omp.h>

/* The cases are the shapes, some of them with a window for the batch: within a block and beyond it,
 * with sinks in the window's first block or not, in layers with their own window or not. 700 + 4
 * and 300 + 800 positions are more than some of the texts have. */
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
            for (int cut = 1; cut <= NODES; cut += 9) { /* the tree in one pass or in two */
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

/* Collects the results of several passes, to compare them. */
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

/* However many columns a pass has, each has the same bits as alone. */
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
            for (int n = 1; n <= SPEC_COLUMNS_MAX; n += spec_test_stride(1)) {
                read_text(&s, BEFORE, BEFORE + n);
                assert_memory_equal(s.o, alone, (size_t)n * o * sizeof *alone);
            }
        }
        spec_thread_pool_set_size(pool, size);
    }
}

/* Attention of one column at the end of a long text reads only what it sees: the other values may
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
        for (int seen = 0; seen <= 1; seen++) { /* of the values that are seen, only the first
                                                 * one */
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
        assert_int_equal(isnan(s.o[0]), s.window != 1); /* with a window of 1 a column sees only
                                                         * itself */
    }
}

/* The workspace fits the context length that the model states, and a longer text works, too. */
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

SUITE(.setup = set_up);
