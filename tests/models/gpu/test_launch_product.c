/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/half_float.h"
#include "base/int_math.h"
#include "models/gpu/launch_product.h"
#include "models/gpu/layout.h"
#include "models/transformer/kernels/panels.h"
#include "models/transformer/kernels/product.h"
#include "models/transformer/kernels/vector.h"
#include "tests/support/card_group.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = SPEC_COLUMNS_MAX, BLOCK = SPEC_TENSOR_BLOCK };

static void *workspace;
static const int buckets[] = {8, 16, 32, 64};
static const struct {
    int rows, cols;
} shapes[] = {{1, 1},    {3, 8},    {16, 32},  {5, 33},   {33, 31},
              {64, 172}, {40, 288}, {17, 640}, {130, 256}};

/* A matrix on the GPU with its weights as floats, and columns, as floats and as an operand, on the
 * host. */
typedef struct {
    spec_matrix w;
    spec_tensor tensor;
    float *weight; /* (rows, cols) */
    float *x;      /* (COLUMNS, cols) */
    float *seen;   /* x as the operand rounds it */
    float *bias;   /* (rows) */
    float *y;      /* (COLUMNS, rows), from the GPU */
    unsigned char *operand, *card_operand;
    size_t operand_bytes;
    float *card_bias, *card_y;
    pass_batch *card_batch;
} stage;

static void *filled(size_t bytes, int byte)
{
    void *const memory = malloc(bytes + 1);
    assert_non_null(memory);
    return memset(memory, byte, bytes + 1);
}

static void *on_card(size_t bytes, const void *opt_host)
{
    void *memory = allocated(bytes);
    if (opt_host != NULL) spec_card_put(card, memory, opt_host, bytes);
    return memory;
}

static float noise_float(uint64_t *noise)
{
    return (float)(log(table_uniform(noise)) * (table_uniform(noise) < 0.5 ? 1.0 : -1.0));
}

static size_t width_of(operand_format format, int cols)
{
    const int align = OPERAND_ALIGN(format);
    return (size_t)(spec_int_ceil_div(cols, align) * align);
}

static size_t bytes_of(operand_format format, int cols)
{
    const size_t all = COLUMNS * width_of(format, cols);
    return format == OPERAND_FLOATS ? all * sizeof(float)
           : format == OPERAND_BF16 ? all * sizeof(uint16_t)
                                    : all + all / BLOCK * sizeof(float);
}

/* Writes columns x[0..n-1] of an operand (pass_batch.h), and to `seen` the values it holds. */
static void write_operand(unsigned char *operand, operand_format format, float *seen,
                          const float *x, int cols, int n)
{
    const size_t all = (size_t)cols, width = width_of(format, cols);
    for (size_t u = 0; u < (size_t)n; u++, x += cols, seen += cols) {
        for (size_t k = 0; k < width && format == OPERAND_BF16; k++) {
            const uint16_t half = k < all ? spec_half_float_to_bf16(x[k]) : 0;
            ((uint16_t *)operand)[u * width + k] = half;
            if (k < all) seen[k] = spec_half_float_from_bf16(half);
        }
        if (format == OPERAND_FLOATS) {
            memcpy((float *)operand + u * width, x, all * sizeof *x);
            memcpy(seen, x, all * sizeof *x);
        }
        for (size_t k = 0; k < width && format == OPERAND_INT8; k += BLOCK) {
            float largest = 0.0f, *const scale = (float *)(operand + COLUMNS * width) +
                                                 (u * width + k) / BLOCK;
            bool finite = true;
            for (size_t j = k; j < k + BLOCK && j < all; j++) {
                largest = fmaxf(largest, fabsf(x[j]));
                finite = finite && isfinite(x[j]);
            }
            const bool zero = !(largest >= 0x1p-100f) || !finite;
            *scale = !finite ? NAN : zero ? 0.0f : largest / 127.0f;
            for (size_t j = k; j < k + BLOCK; j++) {
                const float q = j < all && !zero ? rintf(x[j] * (127.0f / largest)) : 0.0f;
                ((signed char *)operand)[u * width + j] = (signed char)q;
                if (j < all) seen[j] = q * *scale;
            }
        }
    }
}

/* Uploads columns x[0..n-1]; all other columns are NaN. */
static void put_operand(stage *s, int n)
{
    memset(s->operand, 0xff, s->operand_bytes);
    write_operand(s->operand, spec_launch_format(s->w.type), s->seen, s->x, s->w.cols, n);
    spec_card_put(card, s->card_operand, s->operand, s->operand_bytes);
}

/* Draws weights of every magnitude; quantised types get random bytes, among them -128. */
static void stage_init(stage *s, spec_tensor_type type, int rows, int cols, uint64_t *noise)
{
    const size_t row_bytes = spec_tensor_row_bytes(type, cols), n = (size_t)rows * (size_t)cols;
    unsigned char *const data = filled((size_t)rows * row_bytes, 0);
    *s = (stage){.w = {.type = type, .rows = rows, .cols = cols}};
    s->tensor = (spec_tensor){.type = type, .rows = rows, .cols = cols, .data = data};
    s->weight = filled(n * sizeof *s->weight, 0);
    s->x = filled((size_t)COLUMNS * (size_t)cols * sizeof *s->x, 0);
    s->seen = filled((size_t)COLUMNS * (size_t)cols * sizeof *s->seen, 0);
    s->bias = filled((size_t)rows * sizeof *s->bias, 0);
    s->y = filled((size_t)(COLUMNS * rows) * sizeof *s->y, 0);
    for (int i = 0; i < COLUMNS * cols; i++) s->x[i] = noise_float(noise);
    for (int r = 0; r < rows; r++) {
        unsigned char *const row = data + (size_t)r * row_bytes;
        s->bias[r] = noise_float(noise);
        for (int k = 0; k < cols; k++)
            s->weight[(size_t)r * (size_t)cols + (size_t)k] = noise_float(noise);
        spec_tensor_row_write(row, type, s->weight + (size_t)r * (size_t)cols, cols);
        const size_t block = type == SPEC_TENSOR_Q8_0 ? 34 : 18;
        for (size_t i = 0; i < row_bytes && spec_tensor_is_quantised(type); i++)
            if (i % block >= 2) row[i] = (unsigned char)(256.0 * table_uniform(noise));
        spec_tensor_decode_row(s->weight + (size_t)r * (size_t)cols, &s->tensor, r);
    }
    s->w.bytes = spec_layout_bytes(type, rows, cols);
    void *const tiles = filled(s->w.bytes, 0);
    assert_int_equal(spec_layout_pack(tiles, type, &s->tensor, 1, false, 0,
                                      spec_int_ceil_div(rows, SPEC_LAYOUT_ROWS), NULL),
                     GSL_SUCCESS);
    s->w.data = on_card(s->w.bytes, tiles);
    free(tiles);
    s->operand_bytes = bytes_of(spec_launch_format(type), cols);
    s->operand = filled(s->operand_bytes, 0);
    s->card_operand = on_card(s->operand_bytes, NULL);
    s->card_bias = on_card((size_t)rows * sizeof(float), s->bias);
    s->card_y = on_card((size_t)(COLUMNS * rows) * sizeof(float), NULL);
    s->card_batch = on_card(sizeof(pass_batch), NULL);
    put_operand(s, COLUMNS);
}

static void stage_free(stage *s)
{
    void *const host[] = {
        s->weight, s->x, s->seen, s->bias, s->y, s->operand, (void *)(uintptr_t)s->tensor.data};
    void *const there[] = {s->w.data, s->card_operand, s->card_bias, s->card_y, s->card_batch};
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) spec_card_free(card, there[i]);
}

static spec_launch launch_of(const stage *s, int bucket)
{
    return (spec_launch){.stream = stream, .batch = s->card_batch, .bucket = bucket};
}

/* Multiplies the first n columns into y, which is filled with 3.25 beforehand. */
static void multiply(stage *s, int n, int bucket, bool bias, bool add)
{
    const size_t values = (size_t)COLUMNS * (size_t)s->w.rows;
    FREED pass_batch *const batch = filled(sizeof *batch, 0);
    batch->n = n;
    for (size_t i = 0; i < values; i++) s->y[i] = 3.25f;
    spec_card_put(card, s->card_batch, batch, sizeof *batch);
    spec_card_put(card, s->card_y, s->y, values * sizeof *s->y);
    spec_launch_product(launch_of(s, bucket), s->card_y, &s->w, s->card_operand,
                        bias ? s->card_bias : NULL, add, workspace);
    assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
    spec_card_get(card, s->y, s->card_y, values * sizeof *s->y);
    for (size_t i = (size_t)n * (size_t)s->w.rows; i < values; i++) assert_same(s->y[i], 3.25f);
}

/* Returns the error bound for k products and sums, each rounded to float, in any order; twice that,
 * since tensor cores truncate. In quantised types a block is one exact sum, with one more rounding
 * for the product of scales. */
static double bound(const stage *s, double magnitude)
{
    return 2.0 * (s->w.cols + 8) * (double)FLT_EPSILON * magnitude;
}

/* Computes element r of column u without bias in double precision, and the sum of the
 * magnitudes. */
static double exact(const stage *s, int r, int u, double *ret_magnitude)
{
    const int cols = s->w.cols;
    double sum = 0.0, magnitude = 0.0;
    for (int k = 0; k < cols; k++) {
        const double product = (double)s->weight[r * cols + k] * (double)s->seen[u * cols + k];
        sum += product;
        magnitude += fabs(product);
    }
    *ret_magnitude = magnitude;
    return sum;
}

TEST(products_agree_with_double_precision)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const int rows = shapes[i].rows, cols = shapes[i].cols, b = (int)(i + type) % 4;
            const int n = i % 2 == 0 ? buckets[b] : buckets[b] - 5;
            if (spec_tensor_row_bytes(type, cols) == 0) continue;
            OWNED(stage) s;
            stage_init(&s, type, rows, cols, &noise);
            const bool bias = i % 3 != 0, add = i % 4 == 1;
            multiply(&s, n, buckets[b], bias, add);
            for (int u = 0; u < n; u++) {
                for (int r = 0; r < rows; r++) {
                    double magnitude, sum = exact(&s, r, u, &magnitude);
                    sum += (bias ? (double)s.bias[r] : 0.0) + (add ? 3.25 : 0.0);
                    magnitude += 3.25 + fabs((double)s.bias[r]);
                    assert_within((double)s.y[u * rows + r], sum, bound(&s, magnitude));
                }
            }
        }
    }
}

TEST(a_column_does_not_depend_on_its_neighbours)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const int rows = 35, cols = 416;
        OWNED(stage) s;
        stage_init(&s, type, rows, cols, &noise);
        multiply(&s, COLUMNS, 64, true, true);
        FREED float *const all = filled((size_t)(COLUMNS * rows) * sizeof *all, 0);
        memcpy(all, s.y, (size_t)(COLUMNS * rows) * sizeof *all);
        for (int b = 0; b < 4; b++) {
            for (int n = b == 0 ? 1 : buckets[b - 1]; n <= buckets[b];
                 n += buckets[b] / 8 + (n == 1)) {
                put_operand(&s, n);
                multiply(&s, n, buckets[b], true, true);
                assert_memory_equal(s.y, all, (size_t)(n * rows) * sizeof *all);
            }
        }
    }
}

/* There are so many groups of columns that every warp reuses its ring slots, in all types: of 8
 * parts of a sum, some have one group more than Q4_0 has slots. */
TEST(long_sums_agree_with_double_precision_in_all_buckets)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const int rows = 21, cols = 8 * 4 * 128 + 288, n = 5;
        OWNED(stage) s;
        stage_init(&s, type, rows, cols, &noise);
        multiply(&s, n, 8, false, false);
        for (int u = 0; u < n; u++) {
            for (int r = 0; r < rows; r++) {
                double magnitude;
                const double sum = exact(&s, r, u, &magnitude);
                /* This is far below the worst-case bound, so that a missing group shows. */
                assert_within((double)s.y[u * rows + r], sum, 1e-5 * magnitude);
            }
        }
        FREED float *const once = filled((size_t)(n * rows) * sizeof *once, 0);
        memcpy(once, s.y, (size_t)(n * rows) * sizeof *once);
        for (int b = 1; b < 4; b++) {
            multiply(&s, n, buckets[b], false, false);
            assert_memory_equal(s.y, once, (size_t)(n * rows) * sizeof *once);
        }
    }
}

/* Sums of matrices with more rows have 4, 2 or 1 parts, made in one to four blocks: results are the
 * same for all buckets, and again after the workspace has been used. */
TEST(parts_of_a_sum_are_added_in_one_order, SLOW)
{
    uint64_t noise = spec_test_seed();
    static const struct {
        int rows;
        spec_tensor_type type;
    } cases[] = {{8209, SPEC_TENSOR_BF16},
                 {8209, SPEC_TENSOR_Q8_0},
                 {16400, SPEC_TENSOR_Q4_0},
                 {32785, SPEC_TENSOR_F16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int rows = cases[i].rows, n = 7,
                  cols = spec_tensor_is_quantised(cases[i].type) ? 288 : 72;
        OWNED(stage) s;
        stage_init(&s, cases[i].type, rows, cols, &noise);
        multiply(&s, n, 8, true, false);
        FREED float *const once = filled((size_t)(n * rows) * sizeof *once, 0);
        memcpy(once, s.y, (size_t)(n * rows) * sizeof *once);
        for (int b = 1; b < 4; b++) {
            multiply(&s, n, buckets[b], true, false);
            assert_memory_equal(s.y, once, (size_t)(n * rows) * sizeof *once);
        }
        for (int r = 0; r < rows; r += r % 16 == 0 ? 15 : 113) {
            for (int u = 0; u < n; u++) {
                const double bias = (double)s.bias[r];
                double magnitude;
                const double sum = exact(&s, r, u, &magnitude);
                assert_within((double)s.y[u * rows + r], sum + bias,
                              bound(&s, magnitude + fabs(bias)));
            }
        }
    }
}

TEST(a_column_that_is_not_finite_spoils_no_other)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const int rows = 19, cols = 160, n = 11;
        OWNED(stage) s;
        stage_init(&s, type, rows, cols, &noise);
        multiply(&s, n, 16, false, false);
        FREED float *const finite = filled((size_t)(n * rows) * sizeof *finite, 0);
        memcpy(finite, s.y, (size_t)(n * rows) * sizeof *finite);
        s.x[3 * cols + 70] = NAN;
        s.x[9 * cols + 159] = INFINITY;
        put_operand(&s, n);
        multiply(&s, n, 16, false, false);
        for (int u = 0; u < n; u++) {
            for (int r = 0; r < rows; r++) {
                if (u == 3 || (u == 9 && spec_tensor_is_quantised(type)))
                    assert_nan((double)s.y[u * rows + r]);
                else if (u != 9)
                    assert_same((double)s.y[u * rows + r], (double)finite[u * rows + r]);
            }
        }
    }
}

/* ---- gated ----------------------------------------------------------------------------------- */

/* Gives every NaN the same bits, since a GPU's differ from the processor's. INT8 always has the
 * same. */
static void settle_nans(unsigned char *operand, operand_format format, size_t bytes)
{
    uint16_t half;
    float value;
    for (size_t i = 0; i < bytes && format == OPERAND_BF16; i += sizeof half) {
        memcpy(&half, operand + i, sizeof half);
        if ((half & 0x7fff) > 0x7f80) half = 0x7fc0;
        memcpy(operand + i, &half, sizeof half);
    }
    for (size_t i = 0; i < bytes && format == OPERAND_FLOATS; i += sizeof value) {
        memcpy(&value, operand + i, sizeof value);
        if (isnan(value)) value = NAN;
        memcpy(operand + i, &value, sizeof value);
    }
}

/* Takes the halves of the matrix as gate and up, and compares the gated product of the first n
 * columns bit for bit with the CPU's gate of the plain product. Bytes of other columns must keep
 * their values. */
static void check_gated(stage *s, int n, operand_format format)
{
    const int ffn = s->w.rows / 2, tiles = spec_int_ceil_div(s->w.rows, SPEC_LAYOUT_ROWS);
    const size_t half = (size_t)ffn * spec_tensor_row_bytes(s->w.type, s->w.cols),
                 bytes = bytes_of(format, ffn), values = (size_t)(n * ffn);
    spec_tensor part[2] = {s->tensor, s->tensor};
    part[0].rows = part[1].rows = ffn;
    part[1].data = (const char *)s->tensor.data + half;
    FREED void *const packed = filled(s->w.bytes, 0);
    FREED unsigned char *const expected = filled(bytes, 0x5a), *const got = filled(bytes, 0x5a);
    FREED float *const gated = filled(values * sizeof *gated, 0), *const seen = filled(
                                                                      values * sizeof *seen, 0);
    assert_int_equal(spec_layout_pack(packed, s->w.type, part, 2, true, 0, tiles, NULL),
                     GSL_SUCCESS);
    spec_matrix w = s->w;
    w.data = on_card(w.bytes, packed);
    void *const there = on_card(bytes, NULL);
    for (int b = 0; b < 4; b++) {
        if (buckets[b] < n) continue;
        multiply(s, n, buckets[b], false, false);
        for (int u = 0; u < n; u++)
            spec_vector_kernels_ref.gate(gated + u * ffn, s->y + 2 * u * ffn,
                                         s->y + (2 * u + 1) * ffn, ffn);
        memset(expected, 0x5a, bytes);
        write_operand(expected, format, seen, gated, ffn, n);
        memset(got, 0x5a, bytes);
        spec_card_put(card, there, got, bytes);
        spec_launch_product_gated(launch_of(s, buckets[b]), there, &w, s->card_operand, format,
                                  workspace);
        assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
        spec_card_get(card, got, there, bytes);
        settle_nans(got, format, bytes);
        settle_nans(expected, format, bytes);
        assert_memory_equal(got, expected, bytes);
    }
    spec_card_free(card, w.data);
    spec_card_free(card, there);
}

TEST(gated_products_equal_the_cpus_gate)
{
    static const int widths[] = {1, 7, 8, 33, 68, 130, 288};
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++)
        for (int i = 0; i < 7; i++) {
            const int cols = spec_tensor_is_quantised(type) ? 160 : 36 - i;
            OWNED(stage) s;
            stage_init(&s, type, 2 * widths[i], cols, &noise);
            for (operand_format format = OPERAND_FLOATS; format <= OPERAND_INT8; format++)
                check_gated(&s, i % 2 == 0 ? 3 : 14, format);
        }
}

/* Sums of 4, 2 and 1 parts, as in parts_of_a_sum_are_added_in_one_order. */
TEST(gated_products_of_any_number_of_parts_equal_the_cpus_gate, SLOW)
{
    static const int widths[] = {4105, 8200, 16393};
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        OWNED(stage) s;
        stage_init(&s, type, 2 * widths[type % 3], 32, &noise);
        check_gated(&s, 3, type % 2 == 0 ? OPERAND_FLOATS : OPERAND_BF16);
        check_gated(&s, 2, OPERAND_INT8);
    }
}

/* A gate that overflows, and one that is not a number, leave other columns and blocks alone. */
TEST(a_gate_that_is_not_finite_stays_so)
{
    uint64_t noise = spec_test_seed();
    OWNED(stage) s;
    stage_init(&s, SPEC_TENSOR_F32, 2 * 70, 8, &noise);
    s.x[3] = NAN;
    s.x[8 + 5] = INFINITY;
    for (int k = 0; k < 8; k++) s.x[2 * 8 + k] = 300.0f;
    put_operand(&s, 4);
    for (operand_format format = OPERAND_FLOATS; format <= OPERAND_INT8; format++)
        check_gated(&s, 4, format);
}

/* The CPU multiplies the same rounded blocks, exactly, and adds them in another order. */
TEST(quantised_products_equal_the_cpus)
{
    uint64_t noise = spec_test_seed();
    const spec_product_kernels *const kernels = spec_product_kernels_of(SPEC_ISA_PORTABLE);
    for (spec_tensor_type type = SPEC_TENSOR_Q8_0; type <= SPEC_TENSOR_Q4_0; type++) {
        const int rows = 40, cols = 32, wide = 1056, n = 9;
        for (int c = 0; c < 2; c++) {
            const int width = c == 0 ? cols : wide, panels = spec_panels_count(rows);
            OWNED(stage) s;
            stage_init(&s, type, rows, width, &noise);
            multiply(&s, n, 16, true, true);
            spec_matrix host = {.type = type, .rows = rows, .cols = width};
            host.bytes = (size_t)panels * spec_panels_bytes(type, width);
            host.data = aligned_alloc(SPEC_PANEL_ALIGNMENT, (host.bytes + 63) / 64 * 64);
            assert_int_equal(spec_panels_pack(&host, &s.tensor, 1, 0, panels, NULL), GSL_SUCCESS);
            void *const activation = filled(spec_product_activation_bytes(width, n), 0);
            float *const y = filled((size_t)(n * rows) * sizeof *y, 0);
            for (int i = 0; i < n * rows; i++) y[i] = 3.25f;
            spec_product_activation_fill(activation, kernels, type, s.x, width, n, 0,
                                         spec_product_activation_pieces(width));
            const spec_product_request request = {y, &host, activation, s.bias, true, n, 0};
            spec_product(&request, kernels, 0, panels);
            for (int u = 0; u < n; u++) {
                for (int r = 0; r < rows; r++) {
                    double magnitude = 0.0;
                    for (int k = 0; k < width; k++)
                        magnitude +=
                            fabs((double)s.weight[r * width + k] * (double)s.seen[u * width + k]);
                    /* With one block the bits are equal. Otherwise there is one rounding per block
                     * on either side. */
                    const double tolerance =
                        c == 0 ? 0.0 : width / BLOCK * (double)FLT_EPSILON * magnitude;
                    assert_within((double)s.y[u * rows + r], (double)y[u * rows + r], tolerance);
                }
            }
            free(y);
            free(activation);
            free(host.data);
        }
    }
}

TEST(only_wanted_columns_are_multiplied)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const int rows = 19, cols = 64;
        OWNED(stage) s;
        stage_init(&s, type, rows, cols, &noise);
        multiply(&s, 3, 8, false, false);
        FREED float *const three = filled((size_t)(3 * rows) * sizeof *three, 0);
        memcpy(three, s.y, (size_t)(3 * rows) * sizeof *three);
        for (int first = 6; first <= 9; first += 3) {
            FREED pass_batch *const batch = filled(sizeof *batch, 0);
            batch->n = 9;
            batch->first = first;
            for (int i = 0; i < COLUMNS * rows; i++) s.y[i] = 3.25f;
            spec_card_put(card, s.card_batch, batch, sizeof *batch);
            spec_card_put(card, s.card_y, s.y, (size_t)(COLUMNS * rows) * sizeof *s.y);
            spec_launch launch = launch_of(&s, 8);
            launch.wanted = true;
            spec_launch_product(launch, s.card_y, &s.w, s.card_operand, NULL, false, workspace);
            assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
            spec_card_get(card, s.y, s.card_y, (size_t)(COLUMNS * rows) * sizeof *s.y);
            const int n = 9 - first;
            assert_memory_equal(s.y, three, (size_t)(n * rows) * sizeof *three);
            for (int i = n * rows; i < COLUMNS * rows; i++) assert_same((double)s.y[i], 3.25);
        }
    }
}

TEST(embedded_tokens_are_rows_of_the_table)
{
    uint64_t noise = spec_test_seed();
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const int rows = 37, cols = 288, n = 7;
        OWNED(stage) s;
        stage_init(&s, type, rows, cols, &noise);
        FREED pass_batch *const batch = filled(sizeof *batch, 0);
        FREED float *const x = filled((size_t)(COLUMNS * cols) * sizeof *x, 0xff);
        void *const card_x = on_card((size_t)(COLUMNS * cols) * sizeof *x, x);
        batch->n = n;
        for (int u = 0; u < n; u++) batch->token[u] = (u * 17 + 36) % rows;
        spec_card_put(card, s.card_batch, batch, sizeof *batch);
        spec_launch_embed(launch_of(&s, 8), card_x, &s.w);
        assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
        spec_card_get(card, x, card_x, (size_t)(COLUMNS * cols) * sizeof *x);
        for (int u = 0; u < n; u++)
            assert_memory_equal(x + u * cols, s.weight + batch->token[u] * cols,
                                (size_t)cols * sizeof *x);
        for (int i = n * cols; i < COLUMNS * cols; i++) assert_nan((double)x[i]);
        spec_card_free(card, card_x);
    }
}

static int open_workspace(void **state)
{
    if (open_card(state) != 0) return -1;
    workspace = allocated(spec_launch_product_bytes());
    return 0;
}

static int close_workspace(void **state)
{
    spec_card_free(card, workspace);
    return close_card(state);
}

SUITE(SIMULATOR, .setup = open_workspace, .teardown = close_workspace);
