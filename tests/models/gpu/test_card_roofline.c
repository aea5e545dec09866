/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"
#include "models/gpu/card_roofline.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_card *card;
    spec_stream *stream;
} bench;

static void expect(int status, const spec_error *error)
{
    if (status != GSL_SUCCESS) fail_msg("%s", error->text);
}

static bench open_bench(void)
{
    bench b;
    spec_error error = {{0}};
    expect(spec_card_open(&b.card, spec_test_context(0)->cards, 0, &error), &error);
    expect(spec_stream_init(&b.stream, b.card, &error), &error);
    return b;
}

static void bench_free(bench *b)
{
    spec_stream_free(b->stream);
    spec_card_close(b->card);
}

/* Uploads host memory to new GPU memory. */
static void *upload(const bench *b, const void *host, size_t bytes)
{
    void *memory;
    spec_error error = {{0}};
    expect(spec_card_alloc(b->card, &memory, bytes, &error), &error);
    if (host != NULL) spec_card_put(b->card, memory, host, bytes);
    return memory;
}

static void download(const bench *b, void *host, void *memory, size_t bytes)
{
    spec_error error = {{0}};
    expect(spec_stream_wait(b->stream, &error), &error);
    spec_card_get(b->card, host, memory, bytes);
    spec_card_free(b->card, memory);
}

/* Tries more blocks than pieces, as many, and fewer. */
TEST(every_word_is_read_once)
{
    enum { PIECES = 5, WORDS = PIECES * ROOFLINE_PIECE / 4, WARPS = ROOFLINE_THREADS / 32 };
    OWNED(bench) b = open_bench();
    uint32_t *word = malloc(WORDS * sizeof *word), expected = 0;
    for (int i = 0; i < WORDS; i++) expected += word[i] = (uint32_t)spec_noise_word(3, (uint64_t)i);
    void *memory = upload(&b, word, WORDS * sizeof *word);
    for (int blocks = 1; blocks <= 7; blocks += 2) {
        uint32_t sum[7 * WARPS], all = 0;
        void *sums = upload(&b, NULL, sizeof sum);
        SPEC_RUN(b.stream, roofline_read, blocks, 1, 1, .memory = memory, .pieces = PIECES,
                 .sum = sums);
        download(&b, sum, sums, sizeof sum);
        for (int i = 0; i < 7 * WARPS; i++) all += sum[i];
        assert_true(all == expected);
        assert_true(sum[0] != 0 && (blocks == 7 || sum[blocks * WARPS] == 0));
    }
    spec_card_free(b.card, memory);
    free(word);
}

/* Makes A (16, k) and B (k, 8) of small integers, their product, and their fragments as in
 * simt.h. */
typedef struct {
    int A[16][32], B[32][8], D[16][8];
    uint32_t operand[6][32];
} product;

static uint32_t bits_of(int value, bool int8)
{
    uint32_t bits;
    if (int8) return (uint32_t)value & 0xff;
    memcpy(&bits, &(float){(float)value}, sizeof bits);
    return bits >> 16; /* exact in bf16's 8 bits */
}

static void draw_product(product *p, int k, bool int8)
{
    const int each = int8 ? 4 : 2, bits = int8 ? 8 : 16; /* numbers per word */
    uint64_t at = 0;
    *p = (product){0};
    for (int i = 0; i < 16; i++)
        for (int c = 0; c < k; c++) p->A[i][c] = (int)(spec_noise_word(5, at++) % 17) - 8;
    for (int c = 0; c < k; c++)
        for (int i = 0; i < 8; i++) p->B[c][i] = (int)(spec_noise_word(5, at++) % 17) - 8;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            for (int c = 0; c < k; c++) p->D[i][j] += p->A[i][c] * p->B[c][j];
    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < each; e++) {
            const int g = lane / 4, c = lane % 4 * each + e, half = k / 2;
            p->operand[0][lane] |= bits_of(p->A[g][c], int8) << (e * bits);
            p->operand[1][lane] |= bits_of(p->A[g + 8][c], int8) << (e * bits);
            p->operand[2][lane] |= bits_of(p->A[g][c + half], int8) << (e * bits);
            p->operand[3][lane] |= bits_of(p->A[g + 8][c + half], int8) << (e * bits);
            p->operand[4][lane] |= bits_of(p->B[c][g], int8) << (e * bits);
            p->operand[5][lane] |= bits_of(p->B[c + half][g], int8) << (e * bits);
        }
}

static int expected_sum(const product *p, int thread, int rounds)
{
    const int g = thread % 32 / 4, q = thread % 4;
    return rounds * ROOFLINE_SUMS *
           (p->D[g][2 * q] + p->D[g][2 * q + 1] + p->D[g + 8][2 * q] + p->D[g + 8][2 * q + 1]);
}

TEST(every_round_is_multiplied)
{
    enum { BLOCKS = 2, N = BLOCKS * ROOFLINE_THREADS, ROUNDS = 7 };
    OWNED(bench) b = open_bench();
    product p;
    float floats[N];
    int32_t integers[N];
    draw_product(&p, 16, false);
    void *operand = upload(&b, p.operand, sizeof p.operand), *sum = upload(&b, NULL, sizeof floats);
    SPEC_RUN(b.stream, roofline_bf16, BLOCKS, 1, 1, .operand = operand, .rounds = ROUNDS,
             .sum = sum);
    download(&b, floats, sum, sizeof floats);
    for (int i = 0; i < N; i++) assert_true(floats[i] == (float)expected_sum(&p, i, ROUNDS));
    draw_product(&p, 32, true);
    spec_card_put(b.card, operand, p.operand, sizeof p.operand);
    sum = upload(&b, NULL, sizeof integers);
    SPEC_RUN(b.stream, roofline_int8, BLOCKS, 1, 1, .operand = operand, .rounds = ROUNDS,
             .sum = sum);
    download(&b, integers, sum, sizeof integers);
    for (int i = 0; i < N; i++) assert_int_equal(integers[i], expected_sum(&p, i, ROUNDS));
    spec_card_free(b.card, operand);
}

TEST(an_empty_kernel_runs)
{
    uint32_t seen[4] = {0};
    OWNED(bench) b = open_bench();
    void *memory = upload(&b, NULL, sizeof seen);
    SPEC_RUN(b.stream, roofline_nothing, 3, 1, 1, .opt_seen = memory);
    SPEC_RUN(b.stream, roofline_nothing, 4, 1, 1, .opt_seen = NULL);
    download(&b, seen, memory, sizeof seen);
    assert_true(seen[0] == 1 && seen[1] == 1 && seen[2] == 1 && seen[3] == 0);
}

static bool is_positive(double x)
{
    return x > 0.0 && isfinite(x);
}

/* We measure twice, since the first call must release its memory; the simulator checks that when
 * the GPU is closed. */
TEST(the_roofline_is_measured)
{
    OWNED(bench) b = open_bench();
    spec_roofline roofline;
    spec_error error = {{0}};
    for (int i = 0; i < 2; i++) {
        expect(spec_card_roofline(&roofline, b.card, &error), &error);
        assert_true(is_positive(roofline.read) && is_positive(roofline.bf16) &&
                    is_positive(roofline.int8) && is_positive(roofline.launch));
        print_message("reads %.4g GB/s, %.4g TFLOP/s in bf16, %.4g TOP/s in int8, %.3g us from "
                      "kernel to kernel\n",
                      1e-9 * roofline.read, 1e-12 * roofline.bf16, 1e-12 * roofline.int8,
                      1e6 * roofline.launch);
    }
}

/* Returns the free memory, up to 64 KiB less. */
static size_t free_bytes(spec_card *card)
{
    size_t fits = 0, too_much = spec_card_memory(card) + 1;
    while (too_much - fits > 1 << 16) {
        const size_t middle = fits + (too_much - fits) / 2;
        *(spec_card_check(card, middle, NULL) == GSL_SUCCESS ? &fits : &too_much) = middle;
    }
    return fits;
}

/* With hardly any free memory, bandwidth is not measured, since the cache would serve the reads: a
 * quarter of the free memory is less than four caches. Other programs may use the GPU: here a part
 * of its memory is taken first. */
TEST(a_full_card_is_not_measured_from_its_cache)
{
    OWNED(bench) b = open_bench();
    spec_roofline roofline;
    spec_error error;
    const size_t limit = 16 * spec_card_cache(b.card), least = limit - (1 << 20);
    void *memory = NULL, *other = NULL;
    expect(spec_card_alloc(b.card, &other, spec_card_memory(b.card) / 50, &error), &error);
    expect(spec_card_alloc(b.card, &memory, free_bytes(b.card) - least, &error), &error);
    assert_int_equal(spec_card_check(b.card, limit, NULL), GSL_ENOMEM);
    expect(spec_card_roofline(&roofline, b.card, &error), &error);
    assert_true(roofline.read == 0.0 && is_positive(roofline.bf16));
    spec_card_free(b.card, memory);
    spec_card_free(b.card, other);
}

TEST(a_failed_gpu_reports_its_failure)
{
    if (spec_card_is_real()) skip();
    setenv("SIM_FAULT_AT", "3", 1);
    bench b = open_bench();
    spec_roofline roofline;
    spec_error error = {{0}};
    assert_true(spec_card_roofline(&roofline, b.card, &error) != GSL_SUCCESS);
    assert_non_null(strstr(error.text, "GPU 0"));
    assert_true(roofline.read == 0.0 && roofline.launch == 0.0);
    bench_free(&b);
    unsetenv("SIM_FAULT_AT");
}

static int set_up(void **state)
{
    (void)state;
    if (!spec_card_is_real()) setenv("SIM_MEMORY", "134217728", 1);
    return 0;
}

SUITE(SIMULATOR, .setup = set_up);
