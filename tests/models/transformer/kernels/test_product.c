/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product.h"
#include "tests/support/near.h"
#include "tests/support/random_blocks.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct {
    int rows, cols;
} shapes[] = {{1, 1},    {1, 32},    {5, 3},     {15, 33},  {16, 64},  {17, 96},
              {33, 31},  {64, 172},  {105, 64},  {40, 288}, {16, 256}, {37, 512},
              {70, 768}, {300, 172}, {160, 1024} /* larger than the assumed L2 cache */};

/* A matrix, its weights as floats, its columns and their products. */
typedef struct {
    spec_matrix w;
    float *weight; /* (rows, cols) */
    float *x;      /* (SPEC_COLUMNS_MAX, cols) */
    float *bias;   /* (rows) */
    float *y[2];   /* (n, rows) */
} stage;

static void *filled(size_t n, size_t size, int byte)
{
    void *memory = malloc(n * size);
    assert_non_null(memory);
    return memset(memory, byte, n * size);
}

static float noise_float(uint64_t *noise)
{
    return (float)(log(table_uniform(noise)) * (table_uniform(noise) < 0.5 ? 1.0 : -1.0));
}

/* Draws weights of every magnitude; for quantised types random bytes, among them -128. */
static void stage_init(stage *s, spec_tensor_type type, int rows, int cols, uint64_t *noise)
{
    const size_t row_bytes = spec_tensor_row_bytes(type, cols), n = (size_t)rows * (size_t)cols;
    FREED unsigned char *data = filled((size_t)rows, row_bytes, 0);
    *s = (stage){.w = {.type = type, .rows = rows, .cols = cols}};
    s->weight = filled(n, sizeof *s->weight, 0);
    s->x = filled((size_t)SPEC_COLUMNS_MAX * (size_t)cols, sizeof *s->x, 0);
    s->bias = filled((size_t)rows, sizeof *s->bias, 0);
    for (size_t i = 0; i < n; i++) s->weight[i] = noise_float(noise);
    for (int i = 0; i < SPEC_COLUMNS_MAX * cols; i++) s->x[i] = noise_float(noise);
    for (int r = 0; r < rows; r++) {
        unsigned char *const row = data + (size_t)r * row_bytes;
        s->bias[r] = noise_float(noise);
        if (spec_tensor_is_quantised(type))
            random_blocks_fill(row, type, cols, noise);
        else
            spec_tensor_row_write(row, type, s->weight + r * cols, cols);
    }
    const spec_tensor part = {.type = type, .rows = rows, .cols = cols, .data = data};
    for (int r = 0; r < rows; r++) spec_tensor_decode_row(s->weight + r * cols, &part, r);
    s->w.bytes = (size_t)spec_panels_count(rows) * spec_panels_bytes(type, cols);
    /* Copies into an allocation of exactly this size, so that the address sanitizer sees reads past
     * it. */
    s->w.data = filled(s->w.bytes, 1, 0xff);
    assert_int_equal(spec_panels_pack(&s->w, &part, 1, 0, spec_panels_count(rows), NULL),
                     GSL_SUCCESS);
}

static void stage_free(stage *s)
{
    free(s->w.data);
    free(s->weight);
    free(s->x);
    free(s->bias);
}

/* Computes y (n, rows), which the caller frees, from columns x (n, cols) on one instruction set, in
 * two pieces of work. */
static float *product(const stage *s, spec_isa isa, const float *x, int n, bool biased, bool add)
{
    const spec_product_kernels *const kernels = spec_product_kernels_of(isa);
    const int cols = s->w.cols, pieces = spec_product_activation_pieces(cols),
              panels = spec_panels_count(s->w.rows);
    FREED void *activation = filled(1, spec_product_activation_bytes(cols, n), 0xff);
    float *y = filled((size_t)n * (size_t)s->w.rows, sizeof *y, 0x3f);
    spec_product_activation_fill(activation, kernels, s->w.type, x, cols, n, pieces / 2, pieces);
    spec_product_activation_fill(activation, kernels, s->w.type, x, cols, n, 0, pieces / 2);
    const spec_product_request request = {
        .y = y, .w = &s->w, .activation = activation, .opt_bias = biased ? s->bias : NULL,
        .add = add, .n = n};
    spec_product(&request, kernels, panels / 3, panels);
    spec_product(&request, kernels, 0, panels / 3);
    return y;
}

TEST(every_instruction_set_and_number_of_columns_gives_the_same_bytes, SLOW)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; type < SPEC_TENSOR_TYPES; type++) {
        for (size_t i = 0; i < LENGTH(shapes); i++) {
            const int rows = shapes[i].rows, cols = shapes[i].cols;
            if (spec_tensor_row_bytes(type, cols) == 0) continue;
            stage s;
            stage_init(&s, type, rows, cols, &noise);
            for (int way = 0; way < 4; way++) {
                const bool biased = way & 1, add = way & 2;
                if (way > 0 && i % 4 != (size_t)way) continue;
                /* Computes one column at a time, by definition. */
                FREED float *expected =
                    filled(SPEC_COLUMNS_MAX * (size_t)rows, sizeof *expected, 0);
                for (int u = 0; u < SPEC_COLUMNS_MAX; u++) {
                    FREED float *one =
                        product(&s, SPEC_ISA_PORTABLE, s.x + u * cols, 1, biased, add);
                    memcpy(expected + u * rows, one, (size_t)rows * sizeof *one);
                }
                for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
                    for (int n = 1; n <= SPEC_COLUMNS_MAX; n += n < 17 ? 1 : n == 17 ? 23 : 24) {
                        FREED float *got = product(&s, isa, s.x, n, biased, add);
                        if (memcmp(got, expected, (size_t)(n * rows) * sizeof *got) != 0) {
                            fail_msg("%s, %s, %d x %d, n = %d, %s%s", spec_tensor_type_names[type],
                                     spec_cpu_isa_name(isa), rows, cols, n, biased ? "bias " : "",
                                     add ? "add" : "");
                        }
                    }
                }
            }
            stage_free(&s);
        }
    }
}

/* Returns the largest magnitude that is added for a weight: if there is a minimum, its two terms
 * may cancel. */
static double term_of(spec_tensor_type type, float weight)
{
    return type == SPEC_TENSOR_Q4_K || type == SPEC_TENSOR_Q5_K ? 0x1p-4 * 63.0 * 32.0
                                                                : fabs((double)weight);
}

/* Computes the bound in double precision. Each fused operation rounds once, relative to the sum so
 * far, which is at most the sum of magnitudes. A quantised x is off by half a step, max|x| / 254 in
 * its block, and scales are rounded once. */
TEST(results_are_within_their_error_bound_of_double_precision)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; type < SPEC_TENSOR_TYPES; type++) {
        const bool blocks = spec_tensor_is_quantised(type);
        for (size_t i = 0; i < LENGTH(shapes); i++) {
            const int rows = shapes[i].rows, cols = shapes[i].cols, n = 3;
            if (spec_tensor_row_bytes(type, cols) == 0) continue;
            OWNED(stage) s;
            stage_init(&s, type, rows, cols, &noise);
            FREED float *got = product(&s, spec_cpu_best_isa(), s.x, n, true, false);
            for (int u = 0; u < n; u++) {
                for (int r = 0; r < rows; r++) {
                    const float *const x = s.x + u * cols, *const w = s.weight + r * cols;
                    double sum = s.bias[r], magnitude = fabs((double)s.bias[r]), half_steps = 0.0;
                    for (int k = 0; k < cols; k++) {
                        double most = 0.0;
                        for (int j = k / 32 * 32; j < cols && j < k / 32 * 32 + 32; j++)
                            most = fmax(most, fabs((double)x[j]));
                        sum += (double)w[k] * (double)x[k];
                        magnitude += term_of(type, w[k]) * (blocks ? most : fabs((double)x[k]));
                        half_steps += fabs((double)w[k]) * most / 254.0;
                    }
                    const double operations = (blocks ? cols / 16 + 3 : cols) + 1;
                    assert_within((double)got[u * rows + r], sum,
                                  1.001 * operations * 0x1p-24 * magnitude +
                                      (blocks ? 1.001 * half_steps : 0.0));
                }
            }
        }
    }
}

/* Known by hand: bytes 127 and -64 (63.5 is a tie, to even), 0 and 1, with scale 127/127 and 2/127.
 */
TEST(a_column_is_rounded_to_bytes_by_blocks)
{
    enum { COLS = 64 };
    float x[COLS] = {0.0f}, w[COLS];
    x[0] = 127.0f, x[1] = -63.5f, x[2] = 0.5f, x[3] = 1.5f, x[40] = -2.0f, x[63] = 1.0f;
    for (int k = 0; k < COLS; k++) w[k] = k == 32 ? 127.0f : (float)(k % 7 - 3);
    w[0] = 127.0f;
    unsigned char row[2 * 34];
    spec_tensor_row_write(row, SPEC_TENSOR_Q8_0, w, COLS);
    stage s = {.w = {.type = SPEC_TENSOR_Q8_0, .rows = 1, .cols = COLS}};
    s.w.data = filled(1, spec_panels_bytes(SPEC_TENSOR_Q8_0, COLS), 0);
    const spec_tensor part = {.type = SPEC_TENSOR_Q8_0, .rows = 1, .cols = COLS, .data = row};
    assert_int_equal(spec_panels_pack(&s.w, &part, 1, 0, 1, NULL), GSL_SUCCESS);
    const float first = 127.0f * 127.0f - 64.0f * w[1] + 2.0f * w[3];
    const float second = -127.0f * w[40] + 64.0f * w[63];
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
        FREED float *y = product(&s, isa, x, 1, false, false);
        assert_true(*y == fmaf(second, 2.0f / 127.0f, first));
    }
    free(s.w.data);
}

/* If scales and steps of x are 1, every operation is exact, and so is the result. */
TEST(integers_are_multiplied_exactly)
{
    enum { ROWS = 21, COLS = 512, N = 7 };
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = SPEC_TENSOR_Q8_0; type < SPEC_TENSOR_TYPES; type++) {
        const size_t row_bytes = spec_tensor_row_bytes(type, COLS), at[2] = {0, 2},
                     block = spec_tensor_row_bytes(type, spec_tensor_block_weights(type));
        FREED unsigned char *data = filled(ROWS, row_bytes, 0);
        for (int r = 0; r < ROWS; r++) {
            random_blocks_fill(data + (size_t)r * row_bytes, type, COLS, &noise);
            for (size_t i = 0; i < row_bytes; i += block) {
                unsigned char *const of = data + (size_t)r * row_bytes + i;
                const uint16_t one = 0x3c00;
                memcpy(of + (type == SPEC_TENSOR_Q6_K ? 208 : at[0]), &one, sizeof one);
                if (type == SPEC_TENSOR_Q4_K || type == SPEC_TENSOR_Q5_K)
                    memcpy(of + at[1], &one, sizeof one);
            }
        }
        const spec_tensor part = {.type = type, .rows = ROWS, .cols = COLS, .data = data};
        stage s = {.w = {.type = type, .rows = ROWS, .cols = COLS}};
        s.w.data = filled(2, spec_panels_bytes(type, COLS), 0xff);
        assert_int_equal(spec_panels_pack(&s.w, &part, 1, 0, 2, NULL), GSL_SUCCESS);
        float x[N * COLS], w[COLS];
        for (int i = 0; i < N * COLS; i++)
            x[i] = i % 32 == 13 ? (i % 64 == 13 ? 127.0f : -127.0f)
                                : floorf((float)(7.0 * table_uniform(&noise))) - 3.0f;
        for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
            FREED float *got = product(&s, isa, x, N, false, false);
            for (int r = 0; r < ROWS; r++) {
                spec_tensor_decode_row(w, &part, r);
                for (int u = 0; u < N; u++) {
                    double sum = 0.0;
                    for (int k = 0; k < COLS; k++) sum += (double)w[k] * (double)x[u * COLS + k];
                    assert_true((double)got[u * ROWS + r] == sum);
                }
            }
        }
        free(s.w.data);
    }
}

/* Zeros, denormals, the largest floats, infinities and NaN give the same bytes, or NaN, on every
 * instruction set, without a trap. */
TEST(odd_values_are_the_same_on_all)
{
    static const float odd[] = {0.0f,      -0.0f,       0x1p-149f, 0x1p-126f, -0x1p-101f,
                                0x1p-100f, 0x1.fp-100f, 1e-30f,    0x1p127f,  FLT_MAX,
                                -FLT_MAX,  INFINITY,    -INFINITY, NAN};
    enum { ROWS = 19 };
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; type < SPEC_TENSOR_TYPES; type++) {
        const int COLS = spec_tensor_block_weights(type) > 64 ? 256 : 64;
        OWNED(stage) s;
        stage_init(&s, type, ROWS, COLS, &noise);
        for (size_t a = 0; a < LENGTH(odd); a++) {
            const int n = 5;
            for (int u = 0; u < n; u++) {
                for (int k = 0; k < COLS; k++)
                    s.x[u * COLS + k] = u == 0 || (u == 1 && k == 37) ? odd[a] : s.x[k];
            }
            for (int k = 0; k < COLS; k++) s.x[2 * COLS + k] = 1e-31f * noise_float(&noise);
            for (int k = 0; k < COLS; k++) s.x[3 * COLS + k] = 1e37f * noise_float(&noise);
            FREED float *expected = product(&s, SPEC_ISA_PORTABLE, s.x, n, false, false);
            for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
                FREED float *got = product(&s, isa, s.x, n, false, false);
                for (int i = 0; i < n * ROWS; i++) {
                    if (isnan(expected[i])) assert_true(isnan(got[i]));
                    else assert_memory_equal(&got[i], &expected[i], sizeof *got);
                    if (i < 2 * ROWS && !isfinite(odd[a])) assert_true(!isfinite(got[i]));
                    if (i < ROWS && fabsf(odd[a]) < 1e-25f) {
                        double sum = 0.0, magnitude = 0.0;
                        const bool some = fabsf(odd[a]) >= 0x1p-100f || type < SPEC_TENSOR_Q8_0;
                        for (int k = 0; k < COLS; k++) {
                            sum += some ? (double)s.weight[i * COLS + k] * (double)odd[a] : 0.0;
                            magnitude +=
                                term_of(type, s.weight[i * COLS + k]) * fabs((double)odd[a]);
                        }
                        assert_within((double)got[i], sum,
                                      some ? 1e-5 * magnitude + COLS * 0x1p-149 : 0.0);
                    }
                }
            }
        }
    }
}
