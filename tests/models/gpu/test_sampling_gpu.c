/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks sampling on the GPU, or the simulated one: the laws it draws from, and rejected input.
 * tests/sim/test_chain_device.c compares its token rule with the host's. */
#include "base/noise.h"
#include "models/gpu/sampling_gpu.h"
#include "models/transformer/kernels/vector.h"
#include "tests/support/card_group.h"
#include "tests/support/sampled_rows.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* A vocabulary, with logits and a law on the GPU. */
typedef struct {
    int vocab;
    spec_sampling_gpu *sampling;
    float *logits, *there;
    void *law;
    char *law_here;
    double *row, *expected;
} bench;

static bench bench_of(int vocab)
{
    const size_t n = (size_t)vocab;
    bench b = {.vocab = vocab};
    assert_works(spec_sampling_gpu_init(&b.sampling, stream, vocab, NULL, vocab % 2 == 0, &error));
    b.logits = malloc(n * sizeof *b.logits);
    b.there = allocated(n * sizeof *b.there);
    b.law = allocated(spec_sampling_gpu_law_bytes(vocab));
    b.law_here = malloc(spec_sampling_gpu_law_bytes(vocab));
    b.row = malloc(n * sizeof *b.row);
    b.expected = malloc(n * sizeof *b.expected);
    return b;
}

static void bench_free(bench *b)
{
    spec_sampling_gpu_free(b->sampling);
    spec_card_free(card, b->there);
    spec_card_free(card, b->law);
    free(b->logits);
    free(b->law_here);
    free(b->row);
    free(b->expected);
}

static int draw(bench *b, const spec_transform *transform, double uniform)
{
    spec_card_put(card, b->there, b->logits, (size_t)b->vocab * sizeof *b->logits);
    return sampled_token(b->sampling, b->law, b->there, transform, uniform);
}

/* Computes the row of the stored law from its logits, as its header defines. */
static void row_of_law(bench *b)
{
    sampling_law law;
    spec_card_get(card, b->law_here, b->law, spec_sampling_gpu_law_bytes(b->vocab));
    memcpy(&law, b->law_here, sizeof law);
    const float *logits = (const float *)(const void *)(b->law_here + SAMPLING_LAW_BYTES);
    assert_memory_equal(logits, b->logits, (size_t)b->vocab * sizeof *logits);
    for (int i = 0; i < b->vocab; i++) {
        double p;
        spec_vector_kernels_ref.exps(&p, logits + i, law.largest, law.factor, 1);
        p = p * law.scale / law.rest[0] / law.rest[1];
        const bool stays = logits[i] > law.cut || (logits[i] == law.cut && i <= law.last);
        b->row[i] = stays && p >= law.least ? p / law.rest[2] : 0.0;
        if (law.hot >= 0) b->row[i] = i == law.hot;
    }
}

static void describe(const bench *b, int family, const spec_transform *t)
{
    printf("V = %d, family %d, temperature %g, top_k %d, top_p %.17g, min_p %g, %s\n", b->vocab,
           family, t->temperature, t->top_k, t->top_p, t->min_p, t->chained ? "chained" : "joint");
}

TEST(laws_equal_the_cpus_rows_bit_for_bit, STATISTICS)
{
    static const int vocab[] = {1,   2,   3,   5,   17,   64,   127,  128,  129, 200,
                                511, 512, 513, 640, 1000, 1024, 1025, 1500, 2300};
    uint64_t cases = 0;
    for (size_t v = 0; v < sizeof vocab / sizeof *vocab; v++) {
        OWNED(bench) b = bench_of(vocab[v]);
        const uint64_t rounds = spec_test_samples(vocab[v] < 600 ? 12 : 4);
        for (uint64_t round = 0; round < rounds; round++)
            for (int family = 0; family < SAMPLED_FAMILIES; family++) {
                const uint64_t key = (round * SAMPLED_FAMILIES + (uint64_t)family) * 64 + v;
                const spec_transform transform = sampled_transform(b.vocab, key);
                sampled_logits(b.logits, b.vocab, (sampled_family)family, key);
                const double uniform = (double)(spec_noise_word(9, key) >> 11) * 0x1p-53;
                const int token = draw(&b, &transform, uniform);
                row_of_law(&b);
                sampled_row(b.expected, b.logits, b.vocab, &transform);
                if (memcmp(b.row, b.expected, (size_t)b.vocab * sizeof *b.row) != 0) {
                    describe(&b, family, &transform);
                    for (int i = 0; i < b.vocab; i++)
                        if (b.row[i] != b.expected[i])
                            fail_msg("token %d of logit %.9g: %.17g, not %.17g", i,
                                     (double)b.logits[i], b.row[i], b.expected[i]);
                }
                if (!(b.expected[token] > 0.0)) fail_msg("token %d has no probability", token);
                cases++;
            }
    }
    printf("%llu laws\n", (unsigned long long)cases);
}

/* Uses real vocabulary sizes, so that another order of sums of 2^17 terms would show. */
TEST(laws_of_large_vocabularies_equal_the_cpus_rows, STATISTICS)
{
    static const int vocab[] = {32000, 128000};
    double worst = 0.0;
    for (int v = 0; v < 2; v++) {
        OWNED(bench) b = bench_of(vocab[v]);
        for (int family = 0; family < SAMPLED_FAMILIES; family++)
            for (uint64_t kind = 0; kind < spec_test_samples(2); kind++) {
                spec_transform transform = SPEC_TRANSFORM_NONE;
                if (kind > 0) transform = sampled_transform(b.vocab, kind * 8 + (uint64_t)family);
                sampled_logits(b.logits, b.vocab, (sampled_family)family, kind);
                const int token = draw(&b, &transform, 0.27);
                row_of_law(&b);
                sampled_row(b.expected, b.logits, b.vocab, &transform);
                double off = 0.0, before = 0.0;
                for (int i = 0; i < b.vocab; i++) off += fabs(b.row[i] - b.expected[i]) / 2.0;
                worst = fmax(worst, off);
                if (off > 0.0) describe(&b, family, &transform);
                for (int i = 0; i < token; i++) before += b.expected[i];
                assert_true(before <= 0.27 + 1e-12 && before + b.expected[token] > 0.27 - 1e-12);
            }
    }
    printf("total variation at most %.2g\n", worst);
    assert_true(worst <= 0x1p-52);
}

/* Uses filters with more ties at the cut than the candidate list holds, and laws with all mass on
 * two tokens. */
TEST(cuts_among_many_ties_are_found_by_scanning_the_row)
{
    OWNED(bench) b = bench_of(3 * SAMPLING_CANDIDATES);
    for (int kind = 0; kind < 8; kind++) {
        spec_transform transform = SPEC_TRANSFORM_NONE;
        for (int i = 0; i < b.vocab; i++)
            b.logits[i] = kind < 4 ? (float)(i % 2) : (float)(i % 7 == 3) * 1e-3f;
        if (kind % 4 != 0) transform.top_p = kind % 4 == 3 ? 0.999 : 0.31;
        if (kind % 4 != 1) transform.top_k = kind % 4 == 2 ? 1 : 3500;
        transform.chained = kind == 3;
        draw(&b, &transform, 0.5);
        row_of_law(&b);
        sampled_row(b.expected, b.logits, b.vocab, &transform);
        if (memcmp(b.row, b.expected, (size_t)b.vocab * sizeof *b.row) != 0) {
            describe(&b, kind, &transform);
            fail_msg("another row");
        }
    }
}

TEST(launches_run_directly_if_recording_fails)
{
    enum { VOCAB = 40 };
    if (spec_card_is_real()) skip();
    spec_sampling_gpu *sampling;
    float logits[VOCAB], *there = allocated(sizeof logits);
    void *law = allocated(spec_sampling_gpu_law_bytes(VOCAB));
    int token[3];
    sampled_logits(logits, VOCAB, SAMPLED_NORMAL, 3);
    spec_card_put(card, there, logits, sizeof logits);
    assert_works(spec_sampling_gpu_init(&sampling, stream, VOCAB, NULL, true, &error));
    const spec_transform plain = SPEC_TRANSFORM_NONE;
    for (int i = 0; i < 3; i++) {
        if (i == 0) setenv("SIM_FAIL", "cuGraphInstantiateWithFlags:2", 1);
        token[i] = sampled_token(sampling, law, there, &plain, 0.7);
        unsetenv("SIM_FAIL");
        assert_int_equal(token[i], token[0]);
    }
    spec_sampling_gpu_free(sampling);
    assert_works(spec_sampling_gpu_init(&sampling, stream, VOCAB, NULL, false, &error));
    assert_int_equal(sampled_token(sampling, law, there, &plain, 0.7), token[0]);
    spec_sampling_gpu_free(sampling);
    spec_card_free(card, there);
    spec_card_free(card, law);
}

/* Each kind of filters needs its own recording, and there are more kinds than recordings are
 * kept. */
TEST(recorded_or_not_the_tokens_are_the_same)
{
    enum { VOCAB = 40, ROWS = 40 };
    spec_sampling_gpu *with, *without;
    float logits[(ROWS + 1) * VOCAB], *there = allocated(sizeof logits);
    void *law[ROWS];
    int token[ROWS];
    double uniform[ROWS + 2];
    assert_works(spec_sampling_gpu_init(&with, stream, VOCAB, NULL, true, &error));
    assert_works(spec_sampling_gpu_init(&without, stream, VOCAB, NULL, false, &error));
    sampled_logits(logits, (ROWS + 1) * VOCAB, SAMPLED_NORMAL, 3);
    spec_card_put(card, there, logits, sizeof logits);
    for (int i = 0; i < ROWS + 2; i++)
        uniform[i] = (double)(spec_noise_word(4, (uint64_t)i) >> 11) * 0x1p-53;
    const spec_transform plain = SPEC_TRANSFORM_NONE;
    for (int i = 0; i < ROWS; i++) {
        law[i] = allocated(spec_sampling_gpu_law_bytes(VOCAB));
        token[i] = sampled_token(with, law[i], there + (i + i % 3 / 2) * VOCAB, &plain, uniform[i]);
    }
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n <= ROWS; n++) {
            const spec_transform transform =
                n % 5 == 0 ? plain : sampled_transform(VOCAB, (uint64_t)n);
            double chance[2][ROWS];
            spec_chain_outcome out[2] = {{.chance = chance[0]}, {.chance = chance[1]}};
            const spec_chain_request request = {
                .token = token, .n = n, .law = law, .transform = &transform, .uniform = uniform};
            for (int i = 0; i < 2; i++)
                assert_works(spec_sampling_gpu_verify(i == 0 ? with : without, &out[i], there,
                                                      &request, &error));
            assert_int_equal(out[0].n_accepted, out[1].n_accepted);
            assert_int_equal(out[0].token, out[1].token);
            assert_int_equal(out[0].used, out[1].used);
            assert_memory_equal(chance[0], chance[1], (size_t)n * sizeof(double));
            for (int i = out[0].n_accepted + 1; i < n; i++) assert_true(chance[0][i] == 0.0);
        }
    for (int i = 0; i < ROWS; i++) spec_card_free(card, law[i]);
    spec_card_free(card, there);
    spec_sampling_gpu_free(with);
    spec_sampling_gpu_free(without);
}

TEST(logits_that_are_not_finite_are_refused)
{
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    OWNED(bench) b = bench_of(1300);
    void *laws[] = {b.law, b.law};
    float *rows = allocated(3 * 1300 * sizeof *rows);
    for (int kind = 0; kind < 18; kind++) {
        spec_transform transform = SPEC_TRANSFORM_NONE;
        const int tokens[] = {1, 2};
        const double uniform[] = {0.1, 0.2, 0.3, 0.4};
        double chance[2];
        spec_chain_outcome outcome = {.n_accepted = 7, .token = 7, .used = 7, .chance = chance};
        const spec_chain_request request = {
            .token = tokens, .n = 2, .law = laws, .transform = &transform, .uniform = uniform};
        if (kind / 3 % 3 == 1) transform.top_p = 0.9;
        if (kind / 3 % 3 == 2) transform.temperature = 0.0;
        sampled_logits(b.logits, b.vocab, SAMPLED_NORMAL, 5);
        for (int i = 0; i < 3; i++)
            spec_card_put(card, rows + i * 1300, b.logits, 1300 * sizeof *b.logits);
        draw(&b, &transform, 0.5);
        b.logits[kind < 9 ? 1299 : 0] = broken[kind % 3];
        spec_card_put(card, rows + 2 * 1300, b.logits, 1300 * sizeof *b.logits);
        assert_fails_with(spec_sampling_gpu_verify(b.sampling, &outcome, rows, &request, &error),
                          GSL_EDOM, "not finite");
        assert_true(outcome.token == 0 && outcome.n_accepted == 0 && outcome.used == 0);
        assert_int_equal(sampled_token(b.sampling, b.law, rows + 2 * 1300, &transform, 0.5), -1);
    }
    spec_card_free(card, rows);
}

SUITE(SIMULATOR, .setup = open_card, .teardown = close_card);
