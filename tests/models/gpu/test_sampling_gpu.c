/* Sampling on the card, or the simulated one: the laws that it draws from, and what it refuses. What the token rule makes
 * of them is held against the host's in tests/sim/test_chain_device.c. */
#include "models/gpu/sampling_gpu.h"
#include "models/noise.h"
#include "models/transformer/vector.h"
#include "tests/support/sampled_rows.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static spec_card *card;
static spec_stream *stream;

static void *allocated(size_t bytes)
{
    void *memory;
    spec_error error = {""};
    if (spec_card_alloc(card, &memory, bytes, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    return memory;
}

/* One vocabulary, with logits and a law on the card. */
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
    spec_error error = {""};
    if (spec_sampling_gpu_init(&b.sampling, stream, vocab, vocab % 2 == 0, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
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
    int token = -1;
    spec_error error = {""};
    spec_card_put(card, b->there, b->logits, (size_t)b->vocab * sizeof *b->logits);
    const int status = spec_sampling_gpu_draw(b->sampling, &token, b->law, b->there, transform, uniform, &error);
    if (status != GSL_SUCCESS) fail_msg("%s", error.text);
    return token;
}

/* What the kept law says of its logits, as its header tells it. */
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
    printf("V = %d, family %d, temperature %g, top_k %d, top_p %.17g, min_p %g, %s\n", b->vocab, family, t->temperature,
           t->top_k, t->top_p, t->min_p, t->chained ? "chained" : "joint");
}

static void laws_are_the_rows_of_the_processor_bit_for_bit(void **state)
{
    (void)state;
    static const int vocab[] = {1, 2, 3, 5, 17, 64, 127, 128, 129, 200, 511, 512, 513, 640, 1000, 1024, 1025, 1500, 2300};
    uint64_t cases = 0;
    for (size_t v = 0; v < sizeof vocab / sizeof *vocab; v++) {
        bench b = bench_of(vocab[v]);
        const uint64_t rounds = spec_test_samples(vocab[v] < 600 ? 24 : 8);
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
                            fail_msg("token %d of logit %.9g: %.17g, not %.17g", i, (double)b.logits[i], b.row[i],
                                     b.expected[i]);
                }
                if (!(b.expected[token] > 0.0)) fail_msg("token %d has no probability", token);
                cases++;
            }
        bench_free(&b);
    }
    printf("%llu laws\n", (unsigned long long)cases);
}

static int open_card(void **state)
{
    (void)state;
    spec_error error = {""};
    if (spec_card_open(&card, 0, &error) != GSL_SUCCESS || spec_stream_init(&stream, card, &error) != GSL_SUCCESS) {
        printf("%s\n", error.text);
        return -1;
    }
    return 0;
}

static int close_card(void **state)
{
    (void)state;
    spec_stream_free(stream);
    spec_card_close(card);
    return 0;
}

int main(void)
{
    spec_simulated_card();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_are_the_rows_of_the_processor_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, open_card, close_card);
}
