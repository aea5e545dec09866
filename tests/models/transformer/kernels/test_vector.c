/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/vector.h"

#include "base/noise.h"
#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 1100 };

/* Uniform on (-1, 1). */
static float uniform(uint64_t i)
{
    return (float)((double)(spec_noise_word(2385, i) >> 11) * 0x1p-52 - 1.0);
}

static void fill(float *x, int n, uint64_t first, float scale)
{
    for (int i = 0; i < n; i++) x[i] = scale * uniform(first + (uint64_t)i);
}

static const int lengths[] = {1,  2,  7,   15,  16,  17,  31,  48,  63,
                              64, 65, 100, 255, 256, 257, 511, 512, 1000};

/* Runs `check` with every kernel of this machine, against the reference. */
static void with_each(void (*check)(const spec_vector_kernels *fast, int n), int longest)
{
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            if (lengths[i] <= longest) check(spec_vector_kernels_of(isa), lengths[i]);
}

static const spec_vector_kernels *const ref = &spec_vector_kernels_ref;

/* ---- exponentials ---------------------------------------------------------------------------- */

TEST(exponentials_are_those_of_libm_to_the_last_bits)
{
    double worst = 0.0;
    for (int i = 0; i <= 400000; i++) {
        const float x = (float)(-86.9 + 175.6 * i / 400000.0);
        worst = fmax(worst, fabs((double)spec_vector_exp(x) / exp((double)x) - 1.0));
    }
    assert_true(worst < 1.2e-7);
    assert_true(spec_vector_exp(0.0f) == 1.0f && spec_vector_exp(-0.0f) == 1.0f);
    assert_true(spec_vector_exp(-88.0f) == 0.0f && spec_vector_exp(-INFINITY) == 0.0f);
    assert_true(spec_vector_exp(88.72f) < INFINITY && spec_vector_exp(89.0f) == INFINITY);
    assert_true(spec_vector_exp(INFINITY) == INFINITY && isnan(spec_vector_exp(NAN)));

    static float x[SPEC_VECTOR_EXPS];
    static double e[SPEC_VECTOR_EXPS];
    long double worst_double = 0.0L;
    for (int part = 0; part < 400; part++) {
        for (int i = 0; i < SPEC_VECTOR_EXPS; i++)
            x[i] = 705.0f * (uniform((uint64_t)(part * 512 + i)) - 1.0f) / 2.0f;
        const double sum = ref->exps(e, x, 0.0f, 1.0, SPEC_VECTOR_EXPS);
        long double expected = 0.0L;
        for (int i = 0; i < SPEC_VECTOR_EXPS; i++) {
            const long double truth = expl((long double)x[i]);
            worst_double = fmaxl(worst_double, fabsl((long double)e[i] / truth - 1.0L));
            expected += truth;
        }
        assert_true(fabsl((long double)sum / expected - 1.0L) < 4e-15L);
    }
    printf("exp: float %.3g, double %.3Lg\n", worst, worst_double);
    assert_true(worst_double < 4e-16L);
    const float far[] = {-708.1f, -1e30f, -708.0f, -0.0f};
    ref->exps(e, far, 0.0f, 1.0, 4);
    assert_true(e[0] == 0.0 && e[1] == 0.0 && e[2] > 0.0 && e[3] == 1.0);
}

static void check_exps(const spec_vector_kernels *fast, int n)
{
    static float x[MOST];
    static double e[2][MOST];
    static const double factors[] = {1.0, 0.27, 200.0, 1e-300, 1e300, 0.0};
    for (int k = 0; k < 6; k++) {
        fill(x, n, (uint64_t)n, k == 2 ? 20.0f : 3.0f);
        x[n / 2] = -FLT_MAX;
        const double sum = ref->exps(e[0], x, 20.0f, factors[k], n);
        assert_true(fast->exps(e[1], x, 20.0f, factors[k], n) == sum);
        assert_memory_equal(e[0], e[1], (size_t)n * sizeof e[0][0]);
        ref->scale(e[0], 0.27, n);
        fast->scale(e[1], 0.27, n);
        assert_memory_equal(e[0], e[1], (size_t)n * sizeof e[0][0]);
    }
}

/* ---- norm, gate, rotation -------------------------------------------------------------------- */

static void check_norm(const spec_vector_kernels *fast, int n)
{
    static float x[MOST], gain[MOST], y[2][MOST];
    fill(x, n, 1, 2.385f);
    fill(gain, n, 5000, 1.0f);
    ref->norm(y[0], x, gain, 1e-5f, n);
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    for (int i = 0; i < n; i++) {
        const double truth = (double)x[i] / sqrt(sum / n + (double)1e-5f) * (double)gain[i];
        assert_true(fabs((double)y[0][i] - truth) <= 2.0 * FLT_EPSILON * fabs(truth));
    }
    fast->norm(y[1], x, gain, 1e-5f, n);
    assert_memory_equal(y[0], y[1], (size_t)n * sizeof y[0][0]);
    fast->norm(x, x, gain, 1e-5f, n); /* in place */
    assert_memory_equal(y[0], x, (size_t)n * sizeof y[0][0]);
}

static void check_gate(const spec_vector_kernels *fast, int n)
{
    static float a[MOST], b[MOST], y[2][MOST];
    fill(a, n, 1, 20.0f);
    fill(b, n, 5000, 1.0f);
    static const float edges[] = {0.0f,   -0.0f, 100.0f,  -87.0f, -89.0f,
                                  -1e30f, 1e30f, FLT_MIN, -1e-30f};
    for (int i = 0; i < 9 && 3 * i < n; i++) a[3 * i] = edges[i];
    ref->gate(y[0], a, b, n);
    for (int i = 0; i < n; i++) {
        const double truth = (double)a[i] / (1.0 + exp(-(double)a[i])) * (double)b[i];
        assert_true(fabs((double)y[0][i] - truth) <= 4.0 * FLT_EPSILON * fabs(truth) + 4e-37);
    }
    fast->gate(y[1], a, b, n);
    assert_memory_equal(y[0], y[1], (size_t)n * sizeof y[0][0]);
}

static void check_gelu_gate(const spec_vector_kernels *fast, int n)
{
    static float a[MOST], b[MOST], y[2][MOST];
    fill(a, n, 1, 6.0f);
    fill(b, n, 5000, 1.0f);
    static const float edges[] = {0.0f, -0.0f, 100.0f, -6.9f, -30.0f, -1e30f, 1e30f, -1e-30f};
    for (int i = 0; i < 8 && 3 * i < n; i++) a[3 * i] = edges[i];
    ref->gelu_gate(y[0], a, b, n);
    for (int i = 0; i < n; i++) {
        const double x = (double)a[i], z = sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
        const double truth = 0.5 * x * (1.0 + tanh(z)) * (double)b[i];
        /* 1 + tanh(z) cancels for z < 0; the kernel's formula does not */
        assert_true(fabs((double)y[0][i] - truth) <= 8.0 * FLT_EPSILON * fabs(truth) + 4e-7);
        if (x < 0.0 && x > -6.0) {
            const double exact = x / (1.0 + exp(-2.0 * z)) * (double)b[i];
            assert_true(fabs((double)y[0][i] - exact) <= 32.0 * FLT_EPSILON * fabs(exact));
        }
    }
    fast->gelu_gate(y[1], a, b, n);
    assert_memory_equal(y[0], y[1], (size_t)n * sizeof y[0][0]);
}

static void check_cap(const spec_vector_kernels *fast, int n)
{
    static float x[2][MOST], before[MOST];
    fill(before, n, 1, 60.0f);
    static const float edges[] = {0.0f, 1e30f, -1e30f, 1e-3f, -300.0f};
    for (int i = 0; i < 5 && 3 * i < n; i++) before[3 * i] = edges[i];
    memcpy(x[0], before, sizeof before);
    memcpy(x[1], before, sizeof before);
    ref->cap(x[0], 23.85f, n);
    for (int i = 0; i < n; i++) {
        const double most = (double)23.85f, truth = most * tanh((double)before[i] / most);
        assert_true(fabs((double)x[0][i] - truth) <= 4.0 * FLT_EPSILON * most);
    }
    fast->cap(x[1], 23.85f, n);
    assert_memory_equal(x[0], x[1], (size_t)n * sizeof x[0][0]);
}

static void check_rotate(const spec_vector_kernels *fast, int n)
{
    static float head[2][2 * MOST], cosine[MOST], sine[MOST], before[2 * MOST];
    fill(before, 2 * n, 1, 2.385f);
    for (int i = 0; i < n; i++) {
        cosine[i] = (float)cos(0.27 * i);
        sine[i] = (float)sin(0.27 * i);
    }
    for (int pairs = SPEC_ROPE_ADJACENT; pairs <= SPEC_ROPE_HALVES; pairs++) {
        memcpy(head[0], before, sizeof before);
        memcpy(head[1], before, sizeof before);
        ref->rotate(head[0], cosine, sine, (spec_rope_pairs)pairs, 2 * n);
        fast->rotate(head[1], cosine, sine, (spec_rope_pairs)pairs, 2 * n);
        assert_memory_equal(head[0], head[1], sizeof before);
        for (int i = 0; i < n; i++) {
            const int at = pairs == SPEC_ROPE_ADJACENT ? 2 * i : i,
                      with = pairs == SPEC_ROPE_ADJACENT ? at + 1 : i + n;
            const double a = (double)before[at], b = (double)before[with], angle = 0.27 * i;
            assert_true(fabs((double)head[0][at] - (a * cos(angle) - b * sin(angle))) < 1e-6);
            assert_true(fabs((double)head[0][with] - (a * sin(angle) + b * cos(angle))) < 1e-6);
        }
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

enum {
    WIDTH_MOST = 256,
    HEADS_MOST = 8,
    BLOCK = SPEC_VECTOR_BLOCK,
    ROW = SPEC_VECTOR_ROW,
    TILE = SPEC_VECTOR_LANES
};

static void check_attention(const spec_vector_kernels *fast, int n)
{
    static float key[BLOCK * WIDTH_MOST], query[HEADS_MOST * WIDTH_MOST];
    static float weight[2][HEADS_MOST * ROW], mixed[2][HEADS_MOST * WIDTH_MOST];
    static const int widths[] = {16, 64, 80, 128, 256}, heads[] = {1, 2, 3, 7, 8};
    const int tiles = (n + TILE - 1) / TILE;
    const spec_vector_ahead nowhere = {(const void *)(uintptr_t)8, (size_t)n};
    for (int w = 0; w < 5; w++)
        for (int k = 0; k < 5; k++) {
            const int width = widths[w], used = heads[k] * width;
            fill(key, BLOCK * width, 1, 1.0f);
            fill(query, used, 2 << 20, 28.6f / (float)width);
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < heads[k] * ROW; j++)
                    weight[i][j] = 27.0f; /* elements to which no score is written */
                fill(mixed[i], used, 3 << 20, 1.0f);
            }
            ref->score(weight[0], query, heads[k], width, key, tiles, nowhere);
            fast->score(weight[1], query, heads[k], width, key, tiles, nowhere);
            assert_memory_equal(weight[0], weight[1], (size_t)heads[k] * ROW * sizeof weight[0][0]);
            for (int t = 0; t < TILE * tiles; t++) { /* the last query's scores by definition */
                double sum = 0.0;
                for (int d = 0; d < width; d++)
                    sum += (double)query[used - width + d] *
                           (double)key[(t / TILE * width + d) * TILE + t % TILE];
                assert_true(fabs(sum - (double)weight[0][(heads[k] - 1) * ROW + t]) < 1e-4);
            }
            for (int h = 0; h < heads[k]; h++) {
                float largest[2], sum[2];
                ref->weigh(&largest[0], &sum[0], weight[0] + h * ROW, n);
                fast->weigh(&largest[1], &sum[1], weight[1] + h * ROW, n);
                assert_true(largest[0] == largest[1] && sum[0] == sum[1]);
                assert_memory_equal(weight[0] + h * ROW, weight[1] + h * ROW,
                                    (size_t)n * sizeof weight[0][0]);
            }
            ref->mix(mixed[0], weight[0], heads[k], width, key, n, nowhere);
            fast->mix(mixed[1], weight[1], heads[k], width, key, n, nowhere);
            assert_memory_equal(mixed[0], mixed[1], (size_t)used * sizeof mixed[0][0]);
        }
}

/* All 16-bit numbers, and floats around the middle between each two. */
static void check_halves(const spec_vector_kernels *fast, int n)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_F16, SPEC_TENSOR_BF16};
    enum { ALL = 1 << 16 };
    static uint16_t half[ALL], narrow[2][ALL];
    static float value[2][ALL];
    if (n != lengths[0]) return;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < ALL; i++) half[i] = (uint16_t)i;
        ref->widen(value[0], half, types[k], ALL);
        fast->widen(value[1], half, types[k], ALL);
        for (int i = 0; i < ALL; i++)
            assert_true(isnan(value[0][i]) ? isnan(value[1][i])
                                           : memcmp(&value[0][i], &value[1][i], 4) == 0);
        for (uint32_t rest = 0; rest < 5; rest++) { /* below, at and above the middle */
            for (int i = 0; i < ALL; i++) {
                const uint32_t middle = types[k] == SPEC_TENSOR_F16 ? 0x1000 : 0x8000;
                uint32_t bits;
                memcpy(&bits, &value[0][i], sizeof bits);
                bits += rest == 4 ? 0x4001 : (middle - 1 + rest) * (rest > 0);
                memcpy(&value[1][i], &bits, sizeof bits);
            }
            ref->narrow(narrow[0], value[1], types[k], ALL);
            fast->narrow(narrow[1], value[1], types[k], ALL);
            for (int i = 0; i < ALL; i++) {
                assert_int_equal(narrow[0][i], narrow[1][i]);
                if (rest == 0 && !isnan(value[0][i])) assert_int_equal(narrow[0][i], i);
            }
        }
    }
}

/* If a score is NaN or infinite, only its own weight and the sum are NaN, and the largest of the
 * others is found. */
static void check_broken_scores(const spec_vector_kernels *fast, int n)
{
    static const float broken[] = {NAN, -NAN, -INFINITY};
    float score[BLOCK], weight[2][BLOCK], largest[2], sum[2];
    fill(score, n, 2385, 5.0f);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i += 1 + n / 9) {
            const float before = score[i];
            score[i] = broken[k];
            memcpy(weight[0], score, (size_t)n * sizeof *score);
            memcpy(weight[1], score, (size_t)n * sizeof *score);
            ref->weigh(&largest[0], &sum[0], weight[0], n);
            fast->weigh(&largest[1], &sum[1], weight[1], n);
            assert_true(largest[0] == largest[1] && (n == 1 || isfinite(largest[0])));
            assert_true(isnan(sum[0]) ? isnan(sum[1]) : sum[0] == sum[1]);
            for (int j = 0; j < n; j++) {
                if (isnan(score[j])) assert_true(isnan(weight[0][j]) && isnan(weight[1][j]));
                else if (n > 1) assert_true(weight[0][j] == weight[1][j]);
            }
            score[i] = before;
        }
}

/* ---- logits ---------------------------------------------------------------------------------- */

static void check_largest(const spec_vector_kernels *fast, int n)
{
    static float x[MOST];
    float found[2];
    fill(x, n, 27, 1e30f);
    assert_true(ref->largest(&found[0], x, n) && fast->largest(&found[1], x, n));
    assert_true(found[0] == found[1]);
    int index = 0;
    while (x[index] != found[0]) index++;
    assert_int_equal(ref->find(x, found[0], n), index);
    assert_int_equal(fast->find(x, found[0], n), index);
    for (int i = 0; i < n; i++) assert_true(x[i] <= found[0]);
    for (int i = index; i < n; i += 3) x[i] = found[0]; /* ties */
    assert_int_equal(fast->find(x, found[0], n), index);
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i += 1 + n / 9) {
            const float before = x[i];
            x[i] = broken[k];
            assert_false(ref->largest(&found[0], x, n));
            assert_false(fast->largest(&found[1], x, n));
            x[i] = before;
        }
}

#define EACH(name, check, longest)                                                                 \
    TEST(name) { with_each(check, longest); }
EACH(sums_of_exponentials_are_the_same_everywhere, check_exps, SPEC_VECTOR_EXPS)
EACH(norms_are_right_and_the_same_everywhere, check_norm, MOST)
EACH(gates_are_right_and_the_same_everywhere, check_gate, MOST)
EACH(gelu_gates_are_right_and_the_same_everywhere, check_gelu_gate, MOST)
EACH(caps_are_right_and_the_same_everywhere, check_cap, MOST)
EACH(rotations_are_right_and_the_same_everywhere, check_rotate, 128)
EACH(attention_is_the_same_everywhere, check_attention, BLOCK)
EACH(halves_are_the_same_everywhere, check_halves, 1)
EACH(broken_scores_are_weighed_the_same_everywhere, check_broken_scores, BLOCK)
EACH(the_largest_is_found_first_and_what_is_not_finite_is_seen, check_largest, MOST)
