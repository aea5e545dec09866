/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares norm and argmax on the GPU (or the simulated one) with the CPU's definitions. */
#include "base/half_float.h"
#include "base/noise.h"
#include "models/gpu/launch_columns.h"
#include "models/transformer/engine/logits.h"
#include "models/transformer/kernels/product.h"
#include "models/transformer/kernels/vector.h"
#include "tests/support/card_group.h"
#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

static float draw(uint64_t i)
{
    const uint64_t word = spec_noise_word(77, i);
    return (float)((double)(word >> 32) + (double)(word & 0xffffffff)) * 0x1p-31f - 2.0f;
}

static void wait_for_stream(void)
{
    assert_works(spec_stream_wait(stream, &error));
}

enum { FIRST = 3 };

/* Makes a batch of n columns; results from FIRST on are wanted. */
static pass_batch *batch_of(int n)
{
    pass_batch *batch = allocated(sizeof *batch);
    const int32_t head[2] = {n, FIRST};
    spec_card_put(card, batch, head, sizeof head);
    return batch;
}

static spec_launch launch_of(const pass_batch *batch, int bucket)
{
    return (spec_launch){.stream = stream, .batch = batch, .bucket = bucket};
}

static size_t width_of(operand_format format, int cols)
{
    const int align = OPERAND_ALIGN(format);
    return (size_t)((cols + align - 1) / align * align);
}

static size_t bytes_of(operand_format format, int cols)
{
    const size_t all = PASS_COLUMNS * width_of(format, cols);
    return format == OPERAND_FLOATS ? 4 * all
           : format == OPERAND_BF16 ? 2 * all
                                    : all + all / 32 * sizeof(float);
}

/* Returns element `at` of column u of an operand, including its padding. */
static double value_of(const void *operand, operand_format format, int cols, int u, size_t at)
{
    const size_t width = width_of(format, cols), i = (size_t)u * width + at;
    if (format == OPERAND_FLOATS) return (double)((const float *)operand)[i];
    if (format == OPERAND_BF16)
        return (double)spec_half_float_from_bf16(((const uint16_t *)operand)[i]);
    const float *scale =
        (const float *)(const void *)((const char *)operand + PASS_COLUMNS * width);
    return (double)scale[i / 32] * ((const signed char *)operand)[i];
}

/* Returns the error bound of an element: a few float roundings, and half a step of its format. */
static double tolerance(operand_format format, double value, double largest_of_block)
{
    const double rounding = 2e-6 * fabs(value) + 1e-12;
    if (format == OPERAND_BF16) return rounding + 0x1.01p-8 * fabs(value);
    return format == OPERAND_INT8 ? rounding + 0.501 * largest_of_block / 127.0 : rounding;
}

static void same_column(const void *operand, operand_format format, const float *expected, int cols,
                        int u)
{
    for (size_t at = 0; at < width_of(format, cols); at++) {
        double largest = 0.0;
        for (size_t k = at / 32 * 32; k < at / 32 * 32 + 32 && k < (size_t)cols; k++)
            largest = fmax(largest, fabs((double)expected[k]));
        const double should = at < (size_t)cols ? (double)expected[at] : 0.0;
        const double is = value_of(operand, format, cols, u, at);
        if (!(fabs(is - should) <= tolerance(format, should, largest)))
            fail_msg("format %d, column %d, value %zu of %d: %g, not %g", (int)format, u, at, cols,
                     is, should);
    }
}

static const int widths[] = {1, 8, 30, 64, 129, 288, 512, 516, 1000, 2047, 4100, 5003};
enum { WIDTHS = sizeof widths / sizeof *widths, MOST = 5003 };

TEST(norms_equal_the_cpus)
{
    const spec_vector_kernels *kernels = &spec_vector_kernels_ref;
    static const int counts[] = {5, 8, 17};
    float *x = malloc(PASS_COLUMNS * MOST * sizeof *x), *y = malloc(MOST * sizeof *y),
          *gain = malloc(MOST * sizeof *gain);
    FREED char *operand = malloc(PASS_COLUMNS * (MOST + 128) * sizeof(float));
    for (int w = 0; w < WIDTHS; w++)
        for (int k = 0; k < 3; k++)
            for (operand_format format = OPERAND_FLOATS; format <= OPERAND_INT8; format++) {
                const int dim = widths[w], n = counts[k], bucket = n <= 8 ? 8 : 32;
                const bool wanted = (w + k) % 2 == 1;
                const size_t all = (size_t)n * (size_t)dim;
                for (size_t i = 0; i < all; i++)
                    x[i] = draw(i + (size_t)w) * (i % 11 == 0 ? 30.0f : 1.0f);
                for (int i = 0; i < dim; i++) gain[i] = draw((uint64_t)i + 1000000);
                void *x_there = allocated(all * sizeof *x),
                     *gain_there = allocated((size_t)dim * sizeof *gain);
                void *y_there = allocated(bytes_of(format, dim));
                pass_batch *batch = batch_of(n);
                spec_card_put(card, x_there, x, all * sizeof *x);
                spec_card_put(card, gain_there, gain, (size_t)dim * sizeof *gain);
                spec_launch launch = launch_of(batch, bucket);
                launch.wanted = wanted;
                spec_launch_norm(launch, y_there, x_there, gain_there, dim, 1e-5f, format);
                wait_for_stream();
                spec_card_get(card, operand, y_there, bytes_of(format, dim));
                for (int u = 0; u < n - (wanted ? FIRST : 0); u++) {
                    kernels->norm(y, x + (size_t)(u + (wanted ? FIRST : 0)) * (size_t)dim, gain,
                                  1e-5f, dim);
                    same_column(operand, format, y, dim, u);
                }
                void *const there[] = {x_there, gain_there, y_there, batch};
                for (int i = 0; i < 4; i++) spec_card_free(card, there[i]);
            }
    free(x);
    free(y);
    free(gain);
}

/* A column has the same bits alone, among others, in any bucket, and in place. */
TEST(a_norm_depends_on_its_column_alone)
{
    static const int dims[] = {288, 2052};
    for (int d = 0; d < 2; d++) {
        const size_t dim = (size_t)dims[d];
        float *x = malloc(PASS_COLUMNS * dim * sizeof *x),
              *y = malloc(PASS_COLUMNS * dim * sizeof *y);
        FREED float *one = malloc(dim * sizeof *one);
        for (size_t i = 0; i < PASS_COLUMNS * dim; i++) x[i] = draw(i);
        float *there = allocated(PASS_COLUMNS * dim * sizeof *x),
              *out = allocated(PASS_COLUMNS * dim * sizeof *x);
        float *gain = allocated(dim * sizeof *gain);
        pass_batch *all = batch_of(PASS_COLUMNS), *single = batch_of(1);
        spec_card_put(card, there, x, PASS_COLUMNS * dim * sizeof *x);
        spec_card_put(card, gain, x, dim * sizeof *x);
        for (int u = 0; u < PASS_COLUMNS; u += 21) {
            spec_launch_norm(launch_of(single, 8), out, there + (size_t)u * dim, gain, (int)dim,
                             1e-6f, OPERAND_FLOATS);
            wait_for_stream();
            spec_card_get(card, one, out, dim * sizeof *one);
            memcpy(y + (size_t)u * dim, one, dim * sizeof *one);
        }
        spec_launch_norm(launch_of(all, 64), there, there, gain, (int)dim, 1e-6f, OPERAND_FLOATS);
        wait_for_stream();
        spec_card_get(card, x, there, PASS_COLUMNS * dim * sizeof *x);
        for (size_t u = 0; u < PASS_COLUMNS; u += 21)
            assert_memory_equal(x + u * dim, y + u * dim, dim * sizeof *x);
        void *const memory[] = {there, out, gain, all, single};
        for (int i = 0; i < 5; i++) spec_card_free(card, memory[i]);
        free(x);
        free(y);
    }
}

/* Columns beyond the batch are unchanged, and a column that is not finite stays so. */
TEST(columns_that_are_not_finite_stay_so)
{
    enum { DIM = 600, N = 4 };
    static const float bad[N] = {NAN, INFINITY, 1e30f, 1.0f};
    float x[N * DIM], gain[DIM], y[(N + 1) * DIM];
    for (int i = 0; i < N * DIM; i++) x[i] = draw((uint64_t)i);
    for (int i = 0; i < DIM; i++) gain[i] = 1.27f;
    for (int u = 0; u < N; u++) x[u * DIM + 517] = bad[u];
    for (int i = 0; i < (N + 1) * DIM; i++) y[i] = 2.385f;
    float *x_there = allocated(sizeof x), *gain_there = allocated(sizeof gain),
          *y_there = allocated(sizeof y);
    pass_batch *batch = batch_of(N);
    spec_card_put(card, x_there, x, sizeof x);
    spec_card_put(card, gain_there, gain, sizeof gain);
    spec_card_put(card, y_there, y, sizeof y);
    spec_launch_norm(launch_of(batch, 8), y_there, x_there, gain_there, DIM, 1e-5f, OPERAND_FLOATS);
    wait_for_stream();
    spec_card_get(card, y, y_there, sizeof y);
    for (int u = 0; u < N; u++)
        for (int i = 0; i < DIM; i++) assert_int_equal(isfinite(y[u * DIM + i]) != 0, u == 3);
    for (int i = 0; i < DIM; i++) assert_true(y[N * DIM + i] == 2.385f);
    void *const memory[] = {x_there, gain_there, y_there, batch};
    for (int i = 0; i < 4; i++) spec_card_free(card, memory[i]);
}

/* -- uploads -- */

/* The host's memory is overwritten at once, and the word behind each upload keeps its value. */
TEST(uploads_of_any_size_are_read_when_they_are_asked_for)
{
    static const size_t sizes[] = {0, 1, 127, 129, 1000, 1001, 2500};
    uint32_t word[2501], back[2501], *there = allocated(sizeof word);
    for (int s = 0; s < 7; s++) {
        const size_t n = sizes[s];
        memset(back, 0xab, sizeof back);
        spec_card_put(card, there, back, sizeof back);
        for (size_t i = 0; i < n; i++) word[i] = (uint32_t)spec_noise_word(5, i + n);
        spec_launch_write(stream, there, word, n * sizeof *word);
        memset(word, 0, sizeof word);
        wait_for_stream();
        spec_card_get(card, back, there, sizeof back);
        for (size_t i = 0; i < n; i++) assert_true(back[i] == (uint32_t)spec_noise_word(5, i + n));
        assert_true(back[n] == 0xabababab);
    }
    spec_card_free(card, there);
}

/* ---- logits ---------------------------------------------------------------------------------- */

static const int vocabularies[] = {1, 2, 37, 511, 512, 513, 1024, 5000, 32003};
enum { VOCABULARIES = sizeof vocabularies / sizeof *vocabularies, ROWS = 3, VOCAB_MOST = 32003 };

/* Makes logits with a peak and some ties. */
static void fill_logits(float *logits, int vocab, uint64_t seed)
{
    for (int i = 0; i < ROWS * vocab; i++)
        logits[i] = rintf(40.0f * draw((uint64_t)i + (seed << 32))) / (i % 2 == 0 ? 8.0f : 4.0f);
}

TEST(the_largest_logit_is_found)
{
    FREED float *logits = malloc(ROWS * VOCAB_MOST * sizeof *logits);
    for (int v = 0; v < VOCABULARIES; v++) {
        const int vocab = vocabularies[v];
        const size_t bytes = (size_t)(ROWS * vocab) * sizeof *logits;
        float *there = allocated(bytes);
        int *token_there = allocated(ROWS * sizeof *token_there), token[ROWS], expected[ROWS];
        void *workspace = allocated(spec_launch_logits_bytes(vocab, ROWS));
        for (uint64_t seed = 0; seed < 4; seed++) {
            fill_logits(logits, vocab, seed);
            if (seed == 1)
                logits[vocab / 3] = logits[vocab - 1] =
                    99.0f; /* ties far apart: the first one wins */
            if (seed == 2)
                logits[2 * vocab + vocab / 2] = -FLT_MAX, logits[vocab] = 0.0f,
                                           logits[vocab + vocab / 2] = -0.0f;
            if (seed == 3)
                for (int i = 0; i < vocab; i++) logits[i] = -FLT_MAX;
            spec_card_put(card, there, logits, bytes);
            spec_launch_argmax(stream, token_there, there, vocab, ROWS, workspace);
            wait_for_stream();
            spec_card_get(card, token, token_there, sizeof token);
            assert_int_equal(
                spec_logits_argmax(expected, logits, ROWS, vocab, &spec_vector_kernels_ref, NULL),
                GSL_SUCCESS);
            assert_memory_equal(token, expected, sizeof token);
        }
        spec_card_free(card, there);
        spec_card_free(card, token_there);
        spec_card_free(card, workspace);
    }
}

TEST(a_row_that_is_not_finite_has_no_largest)
{
    FREED float *logits = malloc(ROWS * VOCAB_MOST * sizeof *logits);
    for (int v = 0; v < VOCABULARIES; v++) {
        const int vocab = vocabularies[v];
        const size_t bytes = (size_t)(ROWS * vocab) * sizeof *logits;
        float *there = allocated(bytes);
        int *token_there = allocated(ROWS * sizeof *token_there), token[ROWS];
        void *workspace = allocated(spec_launch_logits_bytes(vocab, ROWS));
        fill_logits(logits, vocab, 7);
        logits[0] = v % 2 == 0 ? NAN : -INFINITY;
        spec_card_put(card, there, logits, bytes);
        spec_launch_argmax(stream, token_there, there, vocab, ROWS, workspace);
        wait_for_stream();
        spec_card_get(card, token, token_there, sizeof token);
        assert_true(token[0] == -1 && token[1] >= 0 && token[2] >= 0);
        spec_card_free(card, there);
        spec_card_free(card, token_there);
        spec_card_free(card, workspace);
    }
}

SUITE(SIMULATOR, .setup = open_card, .teardown = close_card);
