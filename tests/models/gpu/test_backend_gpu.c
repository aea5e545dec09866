/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the GPU backend through its table of operations: memory, matrices, and each operation
 * against the CPU backend. Passes are in test_passes_gpu.c, whole models in
 * test_transformer_gpu.c. */
#include "base/half_float.h"
#include "models/gpu/launch_product.h"
#include "models/gpu/layout.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/gpu/backend_gpu_case.h"
#include "tests/support/support.h"

#include <math.h>

/* ---- memory and matrices --------------------------------------------------------------------- */

TEST(memory_is_zeroed_and_copied)
{
    enum { N = 100003 };
    float *host = malloc(N * sizeof *host);
    char *memory = allocated(gpu, N * sizeof *host);
    gpu->get(gpu, host, memory, N * sizeof *host);
    for (int i = 0; i < N; i++) assert_true(host[i] == 0.0f);
    for (int i = 0; i < N; i++) host[i] = (float)i;
    gpu->put(gpu, memory, host, N * sizeof *host);
    float some[3];
    gpu->get(gpu, some, memory + 5 * sizeof *host, sizeof some);
    assert_true(some[0] == 5.0f && some[2] == 7.0f);
    gpu->free(gpu, memory);
    free(host);
    spec_matrix matrix = {0};
    spec_kv kv = {0};
    spec_queue queue = {.backend = gpu};
    gpu->free(gpu, NULL);
    gpu->matrix_free(gpu, &matrix);
    gpu->kv_free(gpu, &kv);
    gpu->queue_free(&queue);
    assert_string_equal(gpu->name, "gpu:0");
    assert_true(strlen(gpu->device) > 0 && gpu->half_kv == SPEC_TENSOR_BF16);
    assert_int_equal(gpu->check(gpu, 1000, NULL), GSL_SUCCESS);
    spec_error error = {""};
    assert_int_equal(gpu->check(gpu, (size_t)1 << 50, &error), GSL_ENOMEM);
    assert_non_null(strstr(error.text, "GiB"));
}

/* Makes a tensor of arbitrary floats. */
static spec_tensor tensor_of(spec_tensor_type type, int rows, int cols, uint64_t seed)
{
    float *row = malloc((size_t)cols * sizeof *row);
    char *data = malloc((size_t)rows * spec_tensor_row_bytes(type, cols));
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < cols; i++)
            row[i] = draw((uint64_t)i + (uint64_t)r * 0x10000 + (seed << 40));
        spec_tensor_row_write(data + (size_t)r * spec_tensor_row_bytes(type, cols), type, row,
                              cols);
    }
    free(row);
    return (spec_tensor){type, rows, cols, data};
}

static void same_rows(const spec_matrix *matrix, const spec_tensor *part, int n_parts)
{
    FREED char *data = malloc(matrix->bytes);
    float *is = malloc((size_t)matrix->cols * sizeof *is),
          *should = malloc((size_t)matrix->cols * sizeof *should);
    gpu->get(gpu, data, matrix->data, matrix->bytes);
    for (int p = 0, at = 0; p < n_parts; p++)
        for (int r = 0; r < part[p].rows; r++, at++) {
            spec_tensor_decode_row(should, &part[p], r);
            spec_layout_row(is, data, matrix->type, matrix->cols, at);
            assert_memory_equal(is, should, (size_t)matrix->cols * sizeof *is);
        }
    free(is);
    free(should);
}

/* A matrix of 40 MB takes three pieces of 16 MB; the next one uses part of a piece. */
TEST(a_matrix_is_uploaded_whole_in_any_number_of_pieces)
{
    const spec_tensor large[] = {tensor_of(SPEC_TENSOR_F32, 2001, 2500, 1),
                                 tensor_of(SPEC_TENSOR_F32, 2000, 2500, 2)};
    const spec_tensor small[] = {tensor_of(SPEC_TENSOR_Q8_0, 5, 64, 3),
                                 tensor_of(SPEC_TENSOR_Q8_0, 20, 64, 4)};
    spec_matrix matrix[2];
    spec_error error = {""};
    assert_int_equal(gpu->matrix_init(gpu, &matrix[0], SPEC_TENSOR_F32, large, 2, false, &error),
                     GSL_SUCCESS);
    assert_int_equal(gpu->matrix_init(gpu, &matrix[1], SPEC_TENSOR_Q8_0, small, 2, false, &error),
                     GSL_SUCCESS);
    assert_true(matrix[0].rows == 4001 && matrix[1].rows == 25 && matrix[1].cols == 64);
    assert_int_equal(matrix[1].bytes, gpu->matrix_bytes(SPEC_TENSOR_Q8_0, 25, 64));
    same_rows(&matrix[0], large, 2);
    same_rows(&matrix[1], small, 2);
    for (int i = 0; i < 2; i++) {
        gpu->matrix_free(gpu, &matrix[i]);
        free((void *)large[i].data);
        free((void *)small[i].data);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

enum { DIM = 96, FFN = 160, VOCAB = 300 };
static const spec_shape shape = {.dim = DIM,
                                 .n_layers = 2,
                                 .n_heads = 6,
                                 .n_kv_heads = 2,
                                 .head_dim = 16,
                                 .ffn_dim = FFN,
                                 .vocab = VOCAB,
                                 .context = 300,
                                 .norm_eps = 1e-5f,
                                 .rope.base = 1e4};

/* The buffers of both backends: float *on[0] is the CPU's. */
typedef struct {
    spec_queue queue;
    spec_kv kv;
    spec_matrix matrix, gate_up, down;
    float *x, *y, *h, *gated, *z, *gain, *bias, *qkv, *mixed;
} side;

static void open_side(side *s, const spec_backend *on, spec_tensor_type type, spec_tensor_type kv,
                      const spec_tensor *w, const spec_tensor *down)
{
    spec_error error = {""};
    *s = (side){0};
    assert_int_equal(on->queue_init(on, &s->queue, &shape, &error), GSL_SUCCESS);
    assert_int_equal(on->kv_init(on, &s->kv, &shape, kv, SLOTS, &error), GSL_SUCCESS);
    assert_int_equal(on->matrix_init(on, &s->matrix, type, w, 1, false, &error), GSL_SUCCESS);
    spec_tensor half[2] = {*w, *w};
    half[0].rows = half[1].rows = FFN;
    half[1].data = (const char *)w->data + FFN * spec_tensor_row_bytes(w->type, DIM);
    assert_int_equal(on->matrix_init(on, &s->gate_up, type, half, 2, true, &error), GSL_SUCCESS);
    assert_int_equal(on->matrix_init(on, &s->down, type, down, 1, false, &error), GSL_SUCCESS);
    float **const buffer[] = {&s->x,    &s->y,    &s->h,   &s->gated, &s->z,
                              &s->gain, &s->bias, &s->qkv, &s->mixed};
    const int width[] = {DIM, DIM, 2 * FFN, FFN, DIM, DIM, 2 * FFN, 10 * 16, 6 * 16};
    for (int i = 0; i < 9; i++) *buffer[i] = allocated(on, on->columns_bytes(width[i]));
}

static void side_free(side *s)
{
    const spec_backend *on = s->queue.backend;
    float *const buffer[] = {s->x, s->y, s->h, s->gated, s->z, s->gain, s->bias, s->qkv, s->mixed};
    for (int i = 0; i < 9; i++) on->free(on, buffer[i]);
    on->matrix_free(on, &s->matrix);
    on->matrix_free(on, &s->gate_up);
    on->matrix_free(on, &s->down);
    on->kv_free(on, &s->kv);
    on->queue_free(&s->queue);
}

/* Reads the operand that the GPU wrote for a reader, as floats, and gives it to the CPU. */
static void read_operand(float *x, const void *there, spec_tensor_type reader, int cols, int n)
{
    const operand_format format = spec_launch_format(reader);
    const int align = OPERAND_ALIGN(format);
    const size_t width = (size_t)((cols + align - 1) / align * align),
                 bytes = gpu->columns_bytes(cols);
    FREED char *operand = malloc(bytes);
    gpu->get(gpu, operand, there, bytes);
    const float *floats = (const float *)(const void *)operand;
    const float *scale = (const float *)(const void *)(operand + PASS_COLUMNS * width);
    for (size_t u = 0; u < (size_t)n; u++)
        for (size_t i = 0; i < (size_t)cols; i++) {
            const size_t from = u * width + i;
            float *to = &x[u * (size_t)cols + i];
            if (format == OPERAND_FLOATS) *to = floats[from];
            if (format == OPERAND_BF16)
                *to = spec_half_float_from_bf16(((const uint16_t *)(const void *)operand)[from]);
            if (format == OPERAND_INT8)
                *to = scale[from / 32] * (float)((const signed char *)operand)[from];
        }
}

/* Asserts that columns agree within `tolerance` times their norm. */
static void near_columns(const char *what, const float *is, const float *should, int width, int n,
                         double tolerance)
{
    for (int u = 0; u < n; u++, is += width, should += width) {
        double size = 0.0, off = 0.0;
        for (int i = 0; i < width; i++) {
            size += (double)should[i] * (double)should[i];
            off += ((double)is[i] - (double)should[i]) * ((double)is[i] - (double)should[i]);
        }
        if (!(sqrt(off) <= tolerance * sqrt(size)))
            fail_msg("%s, column %d: off by %g of %g", what, u, sqrt(off), sqrt(size));
    }
}

static void both_put(side *s, float *const to[2], const float *host, size_t n)
{
    for (int i = 0; i < 2; i++)
        s[i].queue.backend->put(s[i].queue.backend, to[i], host, n * sizeof *host);
}

/* Runs the operations of a layer. The CPU's operations start from the GPU's previous result, so
 * that errors do not add up. Tolerances: the order of float sums (1e-6), keys and values in bf16
 * (4e-3). */
static void layer_of(side *s, const spec_batch *batch, spec_tensor_type type, double kv_tolerance)
{
    const size_t n = (size_t)batch->n, most = PASS_COLUMNS * 2 * FFN;
    const int wanted = batch->n - batch->first;
    float *is = malloc(most * sizeof *is), *should = malloc(most * sizeof *should);
    side *const c = &s[0], *const g = &s[1];
    for (int i = 0; i < 2; i++) {
        const spec_backend *on = s[i].queue.backend;
        assert_false(on->begin(&s[i].queue, batch, &s[i].kv, NULL, 0));
        on->embed(&s[i].queue, s[i].x, &s[i].matrix);
        on->norm(&s[i].queue, s[i].y, s[i].x, s[i].gain, SPEC_COLUMNS_ALL, &s[i].matrix);
    }
    gpu->get(gpu, is, g->x, n * DIM * sizeof *is);
    cpu->get(cpu, should, c->x, n * DIM * sizeof *should);
    assert_memory_equal(is, should, n * DIM * sizeof *is);
    read_operand(c->y, g->y, type, DIM, batch->n);
    for (int i = 0; i < 2; i++) {
        const spec_backend *on = s[i].queue.backend;
        on->matmul(&s[i].queue, s[i].h, &s[i].matrix, s[i].y, s[i].bias, false, SPEC_COLUMNS_ALL);
    }
    gpu->get(gpu, is, g->h, n * 2 * FFN * sizeof *is);
    near_columns("matmul", is, c->h, 2 * FFN, batch->n, 2e-6);
    for (int i = 0; i < 2; i++) {
        const spec_backend *on = s[i].queue.backend;
        on->matmul_gated(&s[i].queue, s[i].gated, s[i].h, &s[i].gate_up, s[i].y, &s[i].down);
    }
    read_operand(should, g->gated, type, FFN, batch->n);
    near_columns("gate", should, c->gated, FFN, batch->n, type == SPEC_TENSOR_F32 ? 3e-6 : 2e-2);
    memcpy(c->gated, should, n * FFN * sizeof *should);
    for (int i = 0; i < 2; i++) {
        const spec_backend *on = s[i].queue.backend;
        on->matmul(&s[i].queue, s[i].x, &s[i].down, s[i].gated, NULL, true, SPEC_COLUMNS_ALL);
    }
    gpu->get(gpu, is, g->x, n * DIM * sizeof *is);
    near_columns("matmul on top", is, c->x, DIM, batch->n, 2e-6);
    memcpy(c->x, is, n * DIM * sizeof *is);
    for (int i = 0; i < 2; i++) {
        const spec_backend *on = s[i].queue.backend;
        on->norm(&s[i].queue, s[i].y, s[i].x, s[i].gain, SPEC_COLUMNS_WANTED, NULL);
        on->rope(&s[i].queue, s[i].qkv, NULL);
        on->store(&s[i].queue, &s[i].kv, 1, s[i].qkv);
        on->attend(&s[i].queue, s[i].mixed, s[i].qkv, &s[i].kv, 1, NULL, NULL);
        on->end(&s[i].queue);
        wait_for(&s[i].queue);
    }
    gpu->get(gpu, is, g->y, (size_t)wanted * DIM * sizeof *is);
    near_columns("norm", is, c->y, DIM, wanted, 1e-6);
    gpu->get(gpu, is, g->mixed, n * DIM * sizeof *is);
    near_columns("attend", is, c->mixed, DIM, batch->n, kv_tolerance);
    free(is);
    free(should);
}

TEST(operations_equal_the_cpus)
{
    static const int counts[] = {1, 5, 8, 13, 64};
    float host[PASS_COLUMNS * 10 * 16];
    for (spec_tensor_type type = 0; (int)type < SPEC_LAYOUT_TYPES; type++) {
        const spec_tensor w = tensor_of(type, 2 * FFN, DIM, 5), down = tensor_of(type, DIM, FFN, 6);
        const bool bf16 = type % 2 == 1;
        side s[2];
        open_side(&s[0], cpu, type, SPEC_TENSOR_F32, &w, &down);
        open_side(&s[1], gpu, type, bf16 ? SPEC_TENSOR_BF16 : SPEC_TENSOR_F32, &w, &down);
        for (int i = 0; i < 2 * FFN; i++) host[i] = draw((uint64_t)i + 77);
        both_put(s, (float *const[]){s[0].gain, s[1].gain}, host, DIM);
        both_put(s, (float *const[]){s[0].bias, s[1].bias}, host, 2 * FFN);
        for (int k = 0, at = 0; k < 5; at += counts[k++]) {
            int path[PASS_COLUMNS];
            const spec_batch batch = text_batch(VOCAB, counts[k], counts[k] / 3, at, path);
            for (int i = 0; i < counts[k] * 10 * 16; i++)
                host[i] = draw((uint64_t)i + ((uint64_t)at << 20));
            both_put(s, (float *const[]){s[0].qkv, s[1].qkv}, host, (size_t)counts[k] * 10 * 16);
            layer_of(s, &batch, type, bf16 ? 6e-3 : 2e-6);
        }
        side_free(&s[0]);
        side_free(&s[1]);
        free((void *)w.data);
        free((void *)down.data);
    }
}

/* More than 8 MB of rows, which takes several copies; one row that is not finite is reported. */
TEST(results_from_logits_equal_the_cpus)
{
    static const int vocabularies[] = {VOCAB, 40001};
    for (int v = 0; v < 2; v++) {
        spec_shape wide = shape;
        wide.vocab = vocabularies[v];
        const size_t vocab = (size_t)wide.vocab, n = v == 0 ? PASS_COLUMNS : 30, all = n * vocab;
        float *logits = malloc(all * sizeof *logits), *there = allocated(gpu, all * sizeof *logits);
        double *rows = malloc(2 * all * sizeof *rows), *row[2][PASS_COLUMNS];
        int token[2][PASS_COLUMNS];
        spec_error error = {""};
        spec_queue queue[2];
        for (size_t i = 0; i < all; i++) logits[i] = 6.0f * draw(i);
        for (int i = 0; i < 2; i++)
            for (size_t u = 0; u < n; u++) row[i][u] = rows + ((size_t)i * n + u) * vocab;
        assert_int_equal(cpu->queue_init(cpu, &queue[0], &wide, &error), GSL_SUCCESS);
        assert_int_equal(gpu->queue_init(gpu, &queue[1], &wide, &error), GSL_SUCCESS);
        gpu->put(gpu, there, logits, all * sizeof *logits);
        for (int i = 0; i < 2; i++) {
            const spec_backend *on = queue[i].backend;
            assert_int_equal(
                on->argmax(&queue[i], token[i], i == 0 ? logits : there, (int)n, &error),
                GSL_SUCCESS);
            assert_int_equal(
                on->rows(&queue[i], row[i], i == 0 ? logits : there, 0.7, (int)n, &error),
                GSL_SUCCESS);
        }
        assert_memory_equal(token[0], token[1], n * sizeof(int));
        for (size_t i = 0; i < all; i++) assert_true(rows[i] == rows[all + i]);
        logits[all - 3] = INFINITY;
        gpu->put(gpu, there, logits, all * sizeof *logits);
        assert_int_equal(gpu->argmax(&queue[1], token[1], there, (int)n, &error), GSL_EDOM);
        assert_int_equal(gpu->rows(&queue[1], row[1], there, 0.7, (int)n, &error), GSL_EDOM);
        assert_non_null(strstr(error.text, "not finite"));
        assert_int_equal(gpu->argmax(&queue[1], token[1], there, (int)n - 1, &error), GSL_SUCCESS);
        cpu->queue_free(&queue[0]);
        gpu->queue_free(&queue[1]);
        gpu->free(gpu, there);
        free(logits);
        free(rows);
    }
}

/* Through the table: a token matches the row of `rows` for a uniform number, and a chain is
 * verified. */
TEST(tokens_are_drawn_from_the_rows)
{
    enum { N = 3 };
    float logits[(N + 1) * VOCAB];
    double row[VOCAB], *into[] = {row};
    spec_queue queue;
    spec_error error = {""};
    void *law[N];
    int token[N];
    for (int i = 0; i < (N + 1) * VOCAB; i++) logits[i] = 3.0f * draw((uint64_t)i + 5);
    float *there = allocated(gpu, sizeof logits);
    gpu->put(gpu, there, logits, sizeof logits);
    assert_int_equal(gpu->queue_init(gpu, &queue, &shape, &error), GSL_SUCCESS);
    const spec_transform transform = {.temperature = 0.8, .top_p = 1.0};
    const double uniform[] = {0.27, 0.9385, 1e-9, 0.6, 0.1};
    for (int i = 0; i < N; i++) {
        law[i] = allocated(gpu, gpu->law_bytes(VOCAB));
        const float *own = there + i * VOCAB;
        const spec_draw_request request = {.n = 1,
                                           .law = &law[i],
                                           .transform = &transform,
                                           .opt_uniform = &uniform[i],
                                           .logits = own};
        assert_works(gpu->draw(&queue, &request, 0, &error));
        assert_works(gpu->drawn(&queue, &token[i], 1, &error));
        assert_int_equal(gpu->rows(&queue, into, own, 0.8, 1, &error), GSL_SUCCESS);
        double sum = 0.0;
        int should = 0;
        while ((sum += row[should]) <= uniform[i]) should++;
        assert_int_equal(token[i], should);
    }
    double chance[N];
    spec_chain_outcome outcome = {.chance = chance};
    const spec_chain_request request = {
        .token = token, .n = N, .law = law, .transform = &transform, .uniform = uniform};
    assert_int_equal(gpu->verify(&queue, &outcome, there, &request, &error), GSL_SUCCESS);
    /* The target's rows equal the draft's, so all tokens are accepted, and one uniform number draws
     * the bonus. */
    assert_int_equal(outcome.n_accepted, N);
    assert_int_equal(outcome.used, 1);
    assert_true(outcome.token >= 0 && outcome.token < VOCAB && chance[N - 1] == 1.0);
    for (int i = 0; i < N; i++) gpu->free(gpu, law[i]);
    gpu->free(gpu, there);
    gpu->queue_free(&queue);
}

SUITE(SIMULATOR, .setup = open_gpu, .teardown = close_gpu);
