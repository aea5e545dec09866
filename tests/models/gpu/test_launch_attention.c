/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/launch_attention.h"
#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/product_kernels.h"
#include "tests/models/gpu/attention_case.h"
#include "tests/support/support.h"

#include <sys/wait.h>
#include <unistd.h>

static const spec_backend *const cpu = &spec_backend_cpu;

#define SHAPE(heads, kv_heads, hd)                                                                 \
    {                                                                                              \
        .dim = 64, .n_layers = 2, .n_heads = (heads), .n_kv_heads = (kv_heads), .head_dim = (hd),  \
        .ffn_dim = 40, .vocab = 1000, .context = 1024, .norm_eps = 1e-5f, .rope.base = 1e4         \
    }
static const spec_shape shapes[] = {SHAPE(4, 4, 24),  SHAPE(7, 1, 64),  SHAPE(8, 4, 8),
                                    SHAPE(4, 1, 128), SHAPE(2, 2, 256), SHAPE(3, 1, 6),
                                    SHAPE(12, 1, 36), SHAPE(40, 1, 16)};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], LONGEST = 2048, SLOTS = 1200 };
static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_BF16};

/* Values are up to 6. Matrix units truncate their sums: by 2e-6 if a sum were rounded once, 3.2e-6
 * on Hopper, 6e-6 on Ampere. */
static const double NEAR = 1e-5;

/* Stores sequence 0 in slots 0..n-1 of layer 1. */
static void read_text(attention_case *c, int n)
{
    for (int t = 0; t < n; t++) attention_fill(c, 1, t, 0, t);
}

/* Appends columns from..to-1 of the sequence. */
static void take_text(attention_case *c, attention_pass *pass, int from, int to)
{
    pass->batch.n = 0;
    for (int t = from; t < to; t++) attention_column(c, pass, t, t, &t, 1, 0);
}

static void near_truth(const attention_case *c, const attention_pass *pass, const float *o,
                       double tolerance)
{
    double truth[SPEC_HEAD_DIM_MAX];
    for (int u = 0; u < pass->batch.n; u++)
        for (int h = 0; h < c->shape.n_heads; h++) {
            attention_truth(c, truth, 1, pass, u, h);
            const float *head = o + (size_t)u * c->o_width + (size_t)(h * c->shape.head_dim);
            for (int d = 0; d < c->shape.head_dim; d++)
                if (!(fabs(truth[d] - (double)head[d]) < tolerance))
                    fail_msg("column %d, head %d, %d: %.9g, not %.9g", u, h, d, (double)head[d],
                             truth[d]);
        }
}

/* Second route: the definition in double precision, for floats and for keys and values rounded
 * beforehand. Values are up to 6. */
TEST(attention_agrees_with_double_precision, SLOW)
{
    static const int lengths[] = {1, 65, 257, 2, 15, 16, 17, 63, 64, 255, 256, 511, 513, 600};
    enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < 2 * N_SHAPES; k++) {
        attention_case c = attention_open(shapes[k / 2], types[k % 2], SLOTS, LONGEST);
        float *o = malloc(c.o_bytes);
        read_text(&c, 600);
        attention_upload(&c);
        for (size_t i = 0; i < (shapes[k / 2].head_dim <= 24 ? N_LENGTHS : 3); i++) {
            take_text(&c, &pass, lengths[i] < 3 ? 0 : lengths[i] - 3, lengths[i]);
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 1024, 8);
            near_truth(&c, &pass, o, NEAR);
            for (size_t b = (size_t)pass.batch.n * c.o_width * sizeof *o; b < c.o_bytes; b++)
                assert_int_equal(((unsigned char *)o)[b], 0xa5);
        }
        free(o);
        attention_close(&c);
    }
}

/* Compares with the CPU's own attention on the same queries, keys and values. */
TEST(attention_agrees_with_the_cpu, SLOW)
{
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < 2 * N_SHAPES; k++) {
        attention_case c = attention_open(shapes[k / 2], types[k % 2], SLOTS, LONGEST);
        float *o = malloc(c.o_bytes), *expected = malloc(c.o_bytes);
        spec_queue queue;
        spec_kv kv;
        spec_error error;
        assert_int_equal(cpu->queue_init(cpu, &queue, &c.shape, &error), GSL_SUCCESS);
        assert_int_equal(cpu->kv_init(cpu, &kv, &c.shape, SPEC_TENSOR_F32, SLOTS, &error),
                         GSL_SUCCESS);
        read_text(&c, 320);
        attention_upload(&c);
        for (int done = 0; done < 320; done += 64) {
            const bool compared = done == (k % 4 < 2 ? 256 : 0);
            take_text(&c, &pass, done, done + 64);
            cpu->begin(&queue, &pass.batch, &kv, NULL, 0);
            cpu->store(&queue, &kv, 1, c.qkv);
            if (compared) cpu->attend(&queue, expected, c.qkv, &kv, 1, NULL, NULL);
            cpu->end(&queue);
            if (!compared) continue;
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 512, 64);
            for (size_t i = 0; i < 64 * c.o_width; i++)
                assert_true(fabs((double)o[i] - (double)expected[i]) < NEAR);
        }
        cpu->kv_free(cpu, &kv);
        cpu->queue_free(&queue);
        free(o);
        free(expected);
        attention_close(&c);
    }
}

/* Makes a tree of NODES nodes after `past` tokens of the sequence, with the nodes in slots in any
 * order. A node's token is that of sequence 1 + node, at its position. */
enum { NODES = 20 };
static const int parent[NODES] = {-1, -1, 0, 1,  0,  2, 2,  5,  3,  7,
                                  9,  10, 4, 11, 13, 6, 14, 16, 17, 18};

static int way_to(int *way, int node)
{
    int depth = 0;
    for (int at = node; at >= 0; at = parent[at]) depth++;
    for (int at = node, i = depth; at >= 0; at = parent[at]) way[--i] = at;
    return depth;
}

static void take_tree(attention_case *c, attention_pass *pass, int past, int turn)
{
    pass->batch.n = 0;
    for (int node = 0; node < NODES; node++) {
        int way[NODES];
        const int depth = way_to(way, node), slot = past + (node * turn) % (NODES + 3);
        for (int i = 0; i < depth; i++) way[i] = past + (way[i] * turn) % (NODES + 3);
        attention_fill(c, 1, slot, 1 + node, past + depth - 1);
        attention_column(c, pass, slot, past, way, depth, 1 + node);
    }
}

/* Makes the same path as a sequence with one column, its last node. */
static void take_way(attention_case *c, attention_pass *pass, int past, int node)
{
    int way[NODES];
    const int depth = way_to(way, node), slot = past + depth - 1;
    pass->batch.n = 0;
    for (int i = 0; i < depth; i++) attention_fill(c, 1, past + i, 1 + way[i], past + i);
    attention_column(c, pass, slot, slot, &slot, 1, 1 + node);
}

TEST(a_column_depends_on_its_text_alone, SLOW)
{
    static const int pasts[] = {59, 250, 0};
    enum { N_PASTS = sizeof pasts / sizeof pasts[0] };
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < 2 * N_SHAPES; k++) {
        attention_case c = attention_open(shapes[k / 2], types[k % 2], SLOTS, LONGEST);
        float *o = malloc(c.o_bytes), *other = malloc(c.o_bytes);
        const size_t bytes = c.o_width * sizeof *o;
        for (size_t i = 0; i < (shapes[k / 2].head_dim <= 16 ? N_PASTS : 1); i++) {
            read_text(&c, 280);
            take_tree(&c, &pass, pasts[i], 1);
            attention_upload(&c);
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 512, 32);
            near_truth(&c, &pass, o, NEAR);
            attention_attend(&c, other, 1, OPERAND_FLOATS, 1024, 64);
            assert_memory_equal(o, other, NODES * bytes);

            read_text(&c, 280);
            take_tree(&c, &pass, pasts[i], 5); /* in other slots */
            attention_upload(&c);
            attention_put(&c, &pass);
            attention_attend(&c, other, 1, OPERAND_FLOATS, 512, 32);
            assert_memory_equal(o, other, NODES * bytes);

            for (int node = 0; node < NODES; node += 6) {
                read_text(&c, 280);
                take_way(&c, &pass, pasts[i], node);
                attention_upload(&c);
                attention_put(&c, &pass);
                attention_attend(&c, other, 1, OPERAND_FLOATS, node % 4 == 0 ? 512 : 1024,
                                 node < 8 ? 8 : 64);
                assert_memory_equal(o + (size_t)node * c.o_width, other, bytes);
            }
        }
        free(o);
        free(other);
        attention_close(&c);
    }
}

TEST(a_prompt_of_64_equals_its_tokens_alone, SLOW)
{
    static const int firsts[] = {224, 0};
    enum { N_FIRSTS = sizeof firsts / sizeof firsts[0] };
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < 2 * N_SHAPES; k++) {
        attention_case c = attention_open(shapes[k / 2], types[k % 2], SLOTS, LONGEST);
        float *o = malloc(c.o_bytes), *other = malloc(c.o_bytes);
        read_text(&c, 300);
        attention_upload(&c);
        for (size_t i = 0; i < (shapes[k / 2].head_dim <= 16 ? N_FIRSTS : 1); i++) {
            take_text(&c, &pass, firsts[i], firsts[i] + 64);
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 512, 64);
            near_truth(&c, &pass, o, NEAR);
            for (int u = 0; u < 64; u += 30) {
                take_text(&c, &pass, firsts[i] + u, firsts[i] + u + 1);
                attention_put(&c, &pass);
                attention_attend(&c, other, 1, OPERAND_FLOATS, 512, 8);
                assert_memory_equal(o + (size_t)u * c.o_width, other, c.o_width * sizeof *o);
            }
        }
        free(o);
        free(other);
        attention_close(&c);
    }
}

/* If keys and values of one token are not finite, columns before it in the same blocks keep their
 * results. Tested for few and for many columns, and for parts of a chunk and of a stretch. */
TEST(a_token_that_is_not_finite_spoils_no_column_before_it, SLOW)
{
    static const float bad[] = {INFINITY, NAN};
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < 2 * N_SHAPES; k++) {
        const int bucket = k / 2 % 2 == 0 ? 8 : 64, longest = bucket == 8 ? 512 : 8192;
        attention_case c = attention_open(shapes[k / 2], types[k % 2], SLOTS, longest);
        float *o = malloc(c.o_bytes), *clean = malloc(c.o_bytes);
        const int first = 250, n = bucket == 8 ? 8 : 40, at = n - 3, head_dim = c.shape.head_dim;
        read_text(&c, first + n);
        attention_upload(&c);
        take_text(&c, &pass, first, first + n);
        attention_put(&c, &pass);
        attention_attend(&c, clean, 1, OPERAND_FLOATS, longest, bucket);
        for (int h = 0; h < c.shape.n_kv_heads; h++) {
            attention_row(&c, 1, h, 0, first + at)[head_dim / 2] = bad[k % 2];
            attention_row(&c, 1, h, 1, first + at)[head_dim - 1] = bad[k / 2 % 2];
        }
        attention_upload(&c);
        attention_attend(&c, o, 1, OPERAND_FLOATS, longest, bucket);
        assert_memory_equal(o, clean, (size_t)at * c.o_width * sizeof *o);
        for (int u = at; u < n; u++)
            for (int h = 1; h <= c.shape.n_heads; h++)
                assert_true(
                    isfinite((double)o[(size_t)u * c.o_width + (size_t)h * (size_t)head_dim - 1]) ==
                    0);
        free(o);
        free(clean);
        attention_close(&c);
    }
}

/* Sequences that are too long for one launch to handle in parts of a chunk. */
TEST(attention_covers_long_sequences, SLOW)
{
    static const int lengths[] = {4097, 16000};
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < 2; k++) {
        attention_case c = attention_open((spec_shape)SHAPE(2, 1, 8), types[k], 16000, 32768);
        float *o = malloc(c.o_bytes), *other = malloc(c.o_bytes);
        read_text(&c, 16000);
        attention_upload(&c);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            take_text(&c, &pass, lengths[i] - 2, lengths[i]);
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 32768, 8);
            near_truth(&c, &pass, o, NEAR);
            attention_attend(&c, other, 1, OPERAND_FLOATS, 32768, 64);
            assert_memory_equal(o, other, 2 * c.o_width * sizeof *o);
        }
        free(o);
        free(other);
        attention_close(&c);
    }
}

/* A launch for many columns of a very long sequence is split, each part as large as the workspace
 * allows. */
TEST(launches_are_split_where_parts_exceed_the_workspace)
{
    enum { VERY_LONG = 1 << 17 };
    const spec_shape shape = SHAPE(2, 2, 256);
    attention_pass pass = {.batch = {.n = 0}};
    assert_true(spec_launch_attend_bytes(&shape, VERY_LONG) <= (size_t)1 << 28);
    attention_case c = attention_open(shape, SPEC_TENSOR_BF16, 80, VERY_LONG);
    float *o = malloc(c.o_bytes), *other = malloc(c.o_bytes);
    read_text(&c, 70);
    attention_upload(&c);
    take_text(&c, &pass, 12, 70);
    attention_put(&c, &pass);
    attention_attend(&c, o, 1, OPERAND_FLOATS, VERY_LONG, 64);
    attention_attend(&c, other, 1, OPERAND_FLOATS, 128, 64);
    assert_memory_equal(o, other, c.o_bytes);
    free(o);
    free(other);
    attention_close(&c);
}

/* Computes results for a tree and a prompt in a process of its own, with the given order of threads
 * and blocks. */
static void put_results(int to, const char *order)
{
    attention_pass pass = {.batch = {.n = 0}};
    setenv("SIM_ORDER", order, 1);
    for (size_t k = 0; k < 4; k++) {
        attention_case c = attention_open(shapes[k / 2], types[k % 2], SLOTS, LONGEST);
        float *o = malloc(c.o_bytes);
        for (int tree = 0; tree < 2; tree++) {
            read_text(&c, 300);
            if (tree)
                take_tree(&c, &pass, 240, 5);
            else
                take_text(&c, &pass, 236, 300);
            attention_upload(&c);
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 512, 64);
            assert_int_equal(write(to, o, c.o_bytes), c.o_bytes);
        }
        free(o);
        attention_close(&c);
    }
}

static char *results_in_order(size_t *ret_n, const char *order)
{
    enum { MOST = 1 << 20 };
    char *text = malloc(MOST);
    int ends[2], status;
    *ret_n = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        put_results(ends[1], order);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n = 1; n > 0; *ret_n += (size_t)n) n = read(ends[0], text + *ret_n, MOST - *ret_n);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return text;
}

/* This must be the first test, because the driver must not have been loaded before. */
TEST(results_do_not_depend_on_the_order_of_threads_and_blocks, SLOW)
{
    if (spec_card_is_real()) skip();
    size_t n, m;
    FREED char *forward = results_in_order(&n, "forward");
    static const char *const orders[] = {"reverse", "shuffled"};
    for (int i = 0; i < 2; i++) {
        FREED char *other = results_in_order(&m, orders[i]);
        assert_true(n > 0 && n == m);
        assert_memory_equal(forward, other, n);
    }
}

/* ---- formats --------------------------------------------------------------------------------- */

/* Row u of an operand of blocks equals the CPU's result for the floats, with zeros after it. */
static void same_blocks(const attention_case *c, const unsigned char *operand, const float *row,
                        size_t u)
{
    const size_t padded = (c->o_width + 127) / 128 * 128, blocks = padded / 32;
    const unsigned char *scales = operand + PASS_COLUMNS * padded;
    float *x = calloc(padded, sizeof *x), scale, expected;
    FREED unsigned char *block = malloc(blocks * SPEC_PRODUCT_X);
    memcpy(x, row, c->o_width * sizeof *x);
    spec_product_activation_fill(block, spec_product_kernels_of(SPEC_ISA_PORTABLE),
                                 SPEC_TENSOR_Q8_0, x, (int)padded, 1, 0, (int)blocks);
    for (size_t b = 0; b < blocks; b++) {
        assert_memory_equal(operand + u * padded + 32 * b, block + SPEC_PRODUCT_X * b, 32);
        memcpy(&expected, block + SPEC_PRODUCT_X * b + 32, sizeof expected);
        memcpy(&scale, scales + (u * blocks + b) * sizeof scale, sizeof scale);
        if (isnan(expected))
            assert_true(isnan(scale));
        else
            assert_memory_equal(&scale, &expected, sizeof scale);
    }
    free(x);
}

TEST(operands_equal_the_cpus)
{
    attention_pass pass = {.batch = {.n = 0}};
    for (size_t k = 0; k < N_SHAPES; k++) {
        attention_case c = attention_open(shapes[k], SPEC_TENSOR_F32, SLOTS, LONGEST);
        float *o = malloc(c.o_bytes);
        unsigned char *operand = malloc(c.o_bytes);
        read_text(&c, 96);
        for (int t = 0; t < 96; t++) /* of all magnitudes, down to blocks that count as zeros */
            for (int d = 0; d < c.shape.head_dim; d++)
                *(attention_row(&c, 1, 0, 1, t) + d) *= ldexpf(1.0f, t < 32   ? 0
                                                                     : t < 64 ? 40
                                                                              : -102);
        attention_row(&c, 1, 0, 1, 95)[c.shape.head_dim - 1] = INFINITY;
        attention_upload(&c);
        for (int from = 0; from < 96; from += 29) {
            take_text(&c, &pass, from, from + 9);
            /* each column attends to itself alone, so o is its value */
            for (int u = 0; u < 9; u++) pass.batch.past[u] = 0;
            attention_put(&c, &pass);
            attention_attend(&c, o, 1, OPERAND_FLOATS, 256, 16);
            attention_attend(&c, operand, 1, OPERAND_INT8, 256, 16);
            for (size_t u = 0; u < 9; u++) same_blocks(&c, operand, o + u * c.o_width, u);
            attention_attend(&c, operand, 1, OPERAND_BF16, 256, 16);
            const size_t padded = (c.o_width + 31) / 32 * 32;
            for (size_t i = 0; i < 9 * padded; i++) {
                const float x = i % padded < c.o_width
                                    ? attention_bf16(o[i / padded * c.o_width + i % padded])
                                    : 0.0f;
                assert_memory_equal(operand + 2 * i, (const char *)&x + 2, 2);
            }
            assert_int_equal(operand[18 * padded], 0xa5);
        }
        free(o);
        free(operand);
        attention_close(&c);
    }
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* Rotates as on the CPU: the same bits on the GPU; all other slots are unchanged. */
TEST(place_rotates_and_stores_as_the_cpu_does)
{
    static const int positions[] = {0, 1, 27, 2385, 131071};
    for (size_t k = 0; k < 4 * N_SHAPES; k++) {
        spec_shape shape = shapes[k / 4];
        shape.rope_pairs = k / 2 % 2 == 0 ? SPEC_ROPE_ADJACENT : SPEC_ROPE_HALVES;
        attention_case c = attention_open(shape, types[k % 2], 80, 256);
        attention_pass pass = {.batch = {.n = 0}};
        spec_queue queue;
        spec_error error;
        assert_int_equal(cpu->queue_init(cpu, &queue, &shape, &error), GSL_SUCCESS);
        for (int t = 0; t < 80; t++) attention_fill(&c, 0, t, 7, t);
        read_text(&c, 80);
        attention_upload(&c);
        for (int u = 0; u < 5; u++) {
            const int slot = 70 - 11 * u;
            attention_column(&c, &pass, slot, slot, &slot, 1, 2);
            for (size_t i = 0; i < c.width; i++)
                c.qkv[(size_t)u * c.width + i] = attention_draw(1000 * (uint64_t)u + i);
            pass.batch.position[u] = positions[u];
        }
        attention_put(&c, &pass);
        const spec_launch launch = {.stream = c.stream, .batch = c.batch, .bucket = 8};
        spec_launch_angles(launch, c.angles, c.frequency, shape.head_dim / 2);
        spec_launch_place(launch, &c.kv, 1, c.card_qkv, shape.n_heads, c.angles, shape.rope_pairs);
        attention_wait(&c);
        float *rotated = malloc(PASS_COLUMNS * c.width * sizeof *rotated);
        spec_card_get(c.card, rotated, c.card_qkv, PASS_COLUMNS * c.width * sizeof *rotated);
        cpu->begin(&queue, &pass.batch, NULL, NULL, 0);
        cpu->rope(&queue, c.qkv, NULL);
        cpu->end(&queue);
        assert_memory_equal(rotated, c.qkv, PASS_COLUMNS * c.width * sizeof *rotated);
        for (size_t u = 0; u < 5; u++)
            for (int h = 0; h < 2 * shape.n_kv_heads; h++)
                for (int d = 0; d < shape.head_dim; d++)
                    attention_row(&c, 1, h % shape.n_kv_heads, h >= shape.n_kv_heads,
                                  pass.batch.slot[u])[d] =
                        attention_kept(
                            &c,
                            rotated[u * c.width + c.o_width + (size_t)(h * shape.head_dim + d)]);
        attention_same(&c);
        free(rotated);
        cpu->queue_free(&queue);
        attention_close(&c);
    }
}

TEST(kept_slots_move_in_order)
{
    static const int from[] = {3,  4,  7,  8,  9,  10, 30, 31, 32, 33, 34,
                               35, 36, 37, 38, 39, 40, 41, 61, 62, 99};
    enum { N = sizeof from / sizeof from[0] };
    for (size_t k = 0; k < 2 * N_SHAPES; k++) {
        attention_case c = attention_open(shapes[k / 2], types[k % 2], 100, 256);
        int *on_card = attention_alloc(&c, sizeof from);
        spec_card_put(c.card, on_card, from, sizeof from);
        for (int n = 0; n <= N; n += 7) {
            for (int t = 0; t < 100; t++) {
                attention_fill(&c, 0, t, 3, t);
                attention_fill(&c, 1, t, 4, t);
            }
            attention_upload(&c);
            spec_launch_keep(c.stream, &c.kv, on_card, 3, n);
            attention_wait(&c);
            for (int i = 0; i < n; i++) {
                attention_fill(&c, 0, 3 + i, 3, from[i]);
                attention_fill(&c, 1, 3 + i, 4, from[i]);
            }
            attention_same(&c);
        }
        spec_card_free(c.card, on_card);
        attention_close(&c);
    }
}

SUITE(SIMULATOR);
