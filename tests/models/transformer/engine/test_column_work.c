/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares rotation, norms of heads and gates with their definitions in double precision. */
#include "models/transformer/engine/column_work.h"

#include "base/cpu.h"
#include "base/noise.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 4, HEAD = 24, PAIRS = HEAD / 2, ALL = HEADS + 2 * KV_HEADS };

/* Returns a reproducible number with a triangular law on (-2, 2). */
static float draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(2385, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

static spec_shape some_shape(void)
{
    return (spec_shape){.dim = 40,
                        .n_layers = 1,
                        .n_heads = HEADS,
                        .n_kv_heads = KV_HEADS,
                        .head_dim = HEAD,
                        .ffn_dim = 40,
                        .vocab = 10,
                        .context = 4000,
                        .norm_eps = 1e-5f,
                        .rope.base = 1e4};
}

/* Heads `before` and, rotated for a position, `after`. */
typedef struct {
    float before[ALL * HEAD], after[ALL * HEAD];
} heads;

static heads turned(const spec_shape *shape, const spec_attending *opt_how, int position)
{
    const spec_backend *cpu = spec_test_context(0)->cpu;
    const spec_batch batch = {.n = 1, .position = {position}};
    spec_queue queue;
    spec_error error;
    heads h;
    for (uint64_t i = 0; i < ALL * HEAD; i++) h.before[i] = draw(i);
    memcpy(h.after, h.before, sizeof h.after);
    assert_int_equal(cpu->queue_init(cpu, &queue, shape, &error), GSL_SUCCESS);
    cpu->begin(&queue, &batch, NULL, NULL, 0);
    cpu->rope(&queue, h.after, opt_how);
    cpu->end(&queue);
    cpu->queue_free(&queue);
    return h;
}

/* Positions rotate queries and keys, but not values. */
TEST(positions_turn_queries_and_keys)
{
    const int at = 2385;
    float factor[PAIRS];
    for (int i = 0; i < PAIRS; i++) factor[i] = 1.0f + 0.27f * (float)i;
    spec_shape shape = some_shape();
    for (int scaled = 0; scaled < 2; scaled++) {
        shape.rope.opt_factor = scaled ? factor : NULL;
        const heads h = turned(&shape, NULL, at);
        for (int k = 0; k < (HEADS + KV_HEADS) * PAIRS; k++) {
            const int i = k % PAIRS;
            const double a = (double)h.before[2 * k], b = (double)h.before[2 * k + 1],
                         angle =
                             at * pow(1e4, -2.0 * i / HEAD) / (scaled ? (double)factor[i] : 1.0);
            assert_true(fabs((double)h.after[2 * k] - (a * cos(angle) - b * sin(angle))) < 2e-6);
            assert_true(fabs((double)h.after[2 * k + 1] - (a * sin(angle) + b * cos(angle))) <
                        2e-6);
        }
        const int values = (HEADS + KV_HEADS) * HEAD;
        assert_memory_equal(h.before + values, h.after + values, KV_HEADS * HEAD * sizeof(float));
    }
}

/* Heads are normalised with the model's epsilon before their rotation, and rotated vectors have the
 * embedding's magnitude; values stay unchanged. */
TEST(heads_are_normed_before_they_turn)
{
    const int at = 27;
    float gain[2][HEAD];
    spec_shape shape = some_shape();
    shape.window = 300;
    shape.window_rope.base = 1e3;
    shape.norm_eps = 0.27f;
    shape.rope.magnitude = shape.window_rope.magnitude = 1.5f;
    shape.rope_pairs = SPEC_ROPE_HALVES;
    for (int i = 0; i < 2 * HEAD; i++) gain[i / HEAD][i % HEAD] = 0.5f + 0.1f * (float)i;
    for (int windowed = 0; windowed < 2; windowed++) {
        const spec_attending how = {
            .opt_query_norm = gain[0], .opt_key_norm = gain[1], .has_window = windowed != 0};
        const heads all = turned(&shape, &how, at);
        for (int h = 0; h < ALL; h++) {
            const float *from = all.before + h * HEAD, *to = all.after + h * HEAD;
            const float *by = gain[h < HEADS ? 0 : 1];
            double squares = 0.0;
            for (int i = 0; i < HEAD; i++) squares += (double)from[i] * (double)from[i];
            const double factor = 1.0 / sqrt(squares / HEAD + (double)shape.norm_eps);
            for (int i = 0; i < PAIRS && h < HEADS + KV_HEADS; i++) {
                const double a = (double)from[i] * factor * (double)by[i],
                             b = (double)from[i + PAIRS] * factor * (double)by[i + PAIRS],
                             angle = at * pow(windowed ? 1e3 : 1e4, -2.0 * i / HEAD);
                assert_true(fabs((double)to[i] - 1.5 * (a * cos(angle) - b * sin(angle))) < 4e-6);
                assert_true(fabs((double)to[i + PAIRS] - 1.5 * (a * sin(angle) + b * cos(angle))) <
                            4e-6);
            }
            if (h >= HEADS + KV_HEADS) assert_memory_equal(from, to, HEAD * sizeof *to);
        }
    }
}

static double gate_by_definition(spec_gate gate, double a, double b)
{
    const double pi = 3.14159265358979323846;
    switch (gate) {
    case SPEC_GATE_SILU: return a / (1.0 + exp(-a)) * b;
    case SPEC_GATE_GELU:
        return 0.5 * a * (1.0 + tanh(sqrt(2.0 / pi) * (a + 0.044715 * a * a * a))) * b;
    case SPEC_GATE_CLAMPED: a = fmin(a, 7.0), b = fmin(fmax(b, -7.0), 7.0); break;
    }
    return a / (1.0 + exp(-1.702 * a)) * (b + 1.0);
}

/* More columns than fit on the stack at once, computed in place; both factors go beyond the
 * clamps. */
TEST(gates_are_their_definitions)
{
    enum { N = 300 };
    static const spec_gate gates[] = {SPEC_GATE_SILU, SPEC_GATE_GELU, SPEC_GATE_CLAMPED};
    for (int g = 0; g < 3; g++) {
        float a[N], b[N], first[N];
        for (int isa = 0; isa <= (int)spec_cpu_best_isa(); isa++) {
            double worst = 0.0;
            for (uint64_t i = 0; i < N; i++) {
                a[i] = 6.0f * draw(i);
                b[i] = 6.0f * draw(N + i);
            }
            spec_column_work_gate_of(a, a, b, N, gates[g], spec_vector_kernels_of((spec_isa)isa));
            for (uint64_t i = 0; i < N; i++) {
                const double x = (double)(6.0f * draw(i)), y = (double)b[i],
                             wanted = gate_by_definition(gates[g], x, y);
                worst = fmax(worst, fabs((double)a[i] - wanted) / (1.0 + fabs(wanted)));
            }
            printf("gate %d: error %.2g\n", g, worst);
            assert_true(worst < 5e-7);
            if (isa == 0) memcpy(first, a, sizeof first);
            assert_memory_equal(first, a, sizeof first);
        }
    }
}

TEST(clamps_keep_what_is_no_number)
{
    const spec_vector_kernels *kernels = spec_vector_kernels_of(spec_cpu_best_isa());
    float a[] = {NAN, 1.0f, INFINITY}, y[3];
    const float b[] = {1.0f, NAN, INFINITY};
    spec_column_work_gate_of(y, a, b, 3, SPEC_GATE_CLAMPED, kernels);
    assert_true(isnan(y[0]) && isnan(y[1]));
    assert_true(fabs((double)y[2] - gate_by_definition(SPEC_GATE_CLAMPED, 7.0, 7.0)) < 1e-4);
}
