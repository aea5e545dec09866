/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the n-gram kind of model, from a file to its rows. */
#include "models/ngram/ngram.h"

#include "base/noise.h"
#include "models/model_open.h"
#include "models/ngram/kneser_ney.h"
#include "models/ngram/text_unit.h"

#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static int make_file(void **state)
{
    (void)state;
    strcpy(path, "/tmp/speclab-ngram-XXXXXX");
    const int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_text(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

/* ngram:FILE?keys */
static const char *spec_of(const char *file, const char *keys)
{
    static char spec[512];
    snprintf(spec, sizeof spec, "ngram:%s?%s", file, keys);
    return spec;
}

static const double *row_of(const spec_model *model, const int *context, size_t n, double *scratch)
{
    spec_error error;
    return model->kind->row(model, NULL, context, n, scratch, &error);
}

/* Returns the bits per byte of a text under a model, over the first `most` tokens. */
static double bits_per_byte(const spec_model *model, const char *text, size_t length, size_t most)
{
    FREED int *token = malloc(length * sizeof *token);
    double *scratch = malloc((size_t)model->vocab * sizeof *scratch), bits = 0.0;
    const size_t n = model->kind->tokenize(model, text, length, token, length);
    size_t bytes = 0;
    for (size_t i = 0; i < n && i < most; i++) {
        char buffer[SPEC_TEXT_UNIT_MAX + 1];
        bits -= log2(row_of(model, token, i, scratch)[token[i]]);
        bytes += model->kind->token_text(model, token[i], buffer, sizeof buffer);
    }
    free(scratch);
    return bits / (double)bytes;
}

/* Draws a text of words, each of which depends on the two before it, with a line break now and
 * then. */
static size_t generate(char *text, size_t size, gsl_rng *rng)
{
    static const char *const word[] = {"the", "cat", "don't", "\xC3\xA9t\xC3\xA9", "42",
                                       "of",  "a",   "house", "sat",                 "mat"};
    size_t n = 0;
    unsigned long last = 0, before = 0;
    while (n + 20 < size) {
        const unsigned long next = gsl_rng_uniform(rng) < 0.81 ? (3 * last + 7 * before + 2) % 10
                                                               : gsl_rng_uniform_int(rng, 10);
        n +=
            (size_t)sprintf(text + n, "%s%c", word[next], gsl_rng_uniform(rng) < 0.03 ? '\n' : ' ');
        before = last;
        last = next;
    }
    return n;
}

/* Compares two ways to build the model: reading in blocks, numbering words on the way and
 * renumbering at the end; and tokenising the whole text first, then counting. */
TEST(rows_equal_the_law_of_the_tokenised_text, STATISTICS)
{
    enum { BYTES = 700000 };
    static char text[BYTES];
    static int token[BYTES];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const size_t length = generate(text, BYTES, rng);
    write_text(text, length);
    for (int k = 0; k < SPEC_TOKENS_TARGET; k++) {
        for (int order = 1; order <= SPEC_NGRAM_ORDER_MAX; order += k == 0 ? 5 : 2) {
            char keys[64];
            snprintf(keys, sizeof keys, "order=%d&tokens=%s", order, spec_tokens_names[k]);
            OWNED_MODEL *model = model_of(spec_of(path, keys), NULL);
            assert_int_equal(model->order, order - 1);
            assert_int_equal(model->ends.n, 0);
            const size_t n = model->kind->tokenize(model, text, length, token, BYTES);
            spec_ngram_counts counts;
            OWNED(spec_kneser_ney) law;
            assert_works(spec_ngram_counts_init(&counts, order, model->vocab, &error));
            assert_works(spec_ngram_counts_push(&counts, token, n, &error));
            assert_works(spec_kneser_ney_init(&law, &counts, model->vocab, &error));
            spec_ngram_counts_free(&counts);
            double a[256], b[256];
            assert_in_range(model->vocab, 10, 256);
            for (uint64_t i = 0; i < spec_test_samples(300); i++) {
                const size_t at = gsl_rng_uniform_int(rng, n - 6),
                             used = gsl_rng_uniform_int(rng, 7);
                assert_memory_equal(row_of(model, token + at, used, a),
                                    spec_kneser_ney_row(&law, token + at, used, b),
                                    (size_t)model->vocab * sizeof *a);
            }
        }
    }
}

TEST(higher_orders_predict_held_out_text_better)
{
    enum { BYTES = 200000, TRAIN = 180000 };
    static char text[BYTES];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const size_t length = generate(text, BYTES, rng);
    write_text(text, TRAIN);
    for (int k = 0; k < SPEC_TOKENS_TARGET; k++) {
        double bits[4];
        for (int order = 1; order <= 3; order++) {
            char keys[64];
            snprintf(keys, sizeof keys, "order=%d&tokens=%s", order, spec_tokens_names[k]);
            OWNED_MODEL *model = model_of(spec_of(path, keys), NULL);
            bits[order] = bits_per_byte(model, text + TRAIN, length - TRAIN, SIZE_MAX);
        }
        assert_true(bits[2] < 0.99 * bits[1]);
        assert_true(bits[3] < 0.95 * bits[2]);
        if (k != SPEC_TOKENS_WORDS) continue;

        /* Entropy per word of the source: 0.81 + 0.019 on one word, 0.019 on each of nine others; a
         * space or a line break after it. The 3-gram sees a line break as a token in the place of a
         * word, so it cannot quite reach the entropy. */
        const double top = 0.81 + 0.019;
        const double source =
            -top * log2(top) - 9 * 0.019 * log2(0.019) - 0.03 * log2(0.03) - 0.97 * log2(0.97);
        double words = 0.0;
        for (size_t i = TRAIN; i < length; i++) words += text[i] == ' ' || text[i] == '\n';
        const double ratio = bits[3] * (double)(length - TRAIN) / (words * source);
        printf("3-gram of words: %.3f times the entropy of the source\n", ratio);
        assert_true(ratio > 0.96 && ratio < 1.25);
    }
}

TEST(models_of_one_text_share_their_vocabulary)
{
    static char text[20000];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    write_text(text, generate(text, sizeof text, rng));
    for (int k = 0; k < SPEC_TOKENS_TARGET; k++) {
        char keys[64];
        snprintf(keys, sizeof keys, "order=1&tokens=%s", spec_tokens_names[k]);
        spec_model *draft = model_of(spec_of(path, keys), NULL);
        keys[6] = '5';
        OWNED_MODEL *target = model_of(spec_of(path, keys), NULL);
        assert_int_equal(draft->vocab, target->vocab);
        for (int w = 0; w < draft->vocab; w++) {
            char a[SPEC_TEXT_UNIT_MAX + 1], b[SPEC_TEXT_UNIT_MAX + 1];
            assert_int_equal(draft->kind->token_text(draft, w, a, sizeof a),
                             target->kind->token_text(target, w, b, sizeof b));
            assert_string_equal(a, b);
        }
        spec_model_close(draft);
    }
}

TEST(prompts_come_from_the_text)
{
    static char text[20000];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const size_t length = generate(text, sizeof text, rng);
    write_text(text, length);
    for (int k = 0; k < SPEC_TOKENS_TARGET; k++) {
        char keys[64];
        snprintf(keys, sizeof keys, "order=2&tokens=%s", spec_tokens_names[k]);
        OWNED_MODEL *model = model_of(spec_of(path, keys), NULL);
        for (unsigned long i = 0; i < 50; i++) {
            int token[40];
            char prompt[40 * SPEC_TEXT_UNIT_MAX];
            size_t used = 0;
            const size_t n = model->kind->prompt(model, i, token, 40);
            assert_in_range(n, 1, 32);
            for (size_t j = 0; j < n; j++)
                used +=
                    model->kind->token_text(model, token[j], prompt + used, SPEC_TEXT_UNIT_MAX + 1);
            assert_non_null(memmem(text, length, prompt, used));
        }
    }
}

/* If the vocabulary is cut to V words, other words become <unk>, which is counted like a word. */
TEST(rare_words_become_the_unknown_token)
{
    write_text("a b a b a c a d", 15);
    /* Tokens: "a" 1, " b" 2, " a" 3, " c" 1, " d" 1. Kept at V = 3: <unk>, " a", " b". */
    OWNED_MODEL *model = model_of(spec_of(path, "order=1&tokens=words&V=3"), NULL);
    assert_int_equal(model->vocab, 3);
    double scratch[3];
    /* Counts 3, 3, 2: n_1 = 0, so the discount is 1/2; P(<unk>) = (3 - 1/2) / 8 + (1/2) (3/8) (1/3)
     * = 3/8. */
    const double *row = row_of(model, NULL, 0, scratch);
    assert_within(row[0], 0.375, 1e-15);
    assert_within(row[1], 0.375, 1e-15);
    assert_within(row[2], 0.25, 1e-15);
}

TEST(rare_input_is_learnt_without_harm)
{
    static char binary[50000];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (size_t i = 0; i < sizeof binary; i++) binary[i] = (char)gsl_rng_uniform_int(rng, 256);
    const struct {
        const char *text;
        size_t length;
    } rare[] = {{"x", 1},
                {"\0", 1},
                {"\xF0", 1},
                {" ", 1},
                {"\0\0\0\0\0\0\0\0", 8},
                {"\xC3\xA9\xC3", 3},
                {binary, sizeof binary}};
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
        write_text(rare[i].text, rare[i].length);
        for (int order = 1; order <= 6; order++) {
            for (int k = 0; k < SPEC_TOKENS_TARGET; k++) {
                char keys[64];
                int prompt[32];
                snprintf(keys, sizeof keys, "order=%d&tokens=%s", order, spec_tokens_names[k]);
                OWNED_MODEL *model = model_of(spec_of(path, keys), NULL);
                double *scratch = malloc((size_t)model->vocab * sizeof *scratch), sum = 0.0;
                const size_t n = model->kind->prompt(model, 1, prompt, 32);
                const double *row = row_of(model, prompt, n, scratch);
                for (int w = 0; w < model->vocab; w++) sum += row[w];
                assert_within(sum, 1.0, 1e-12);
                free(scratch);
            }
        }
    }
}

TEST(unlearnable_inputs_are_refused_in_one_line)
{
    static const struct {
        const char *file, *keys, *says;
    } wrong[] = {
        {NULL, "order=2", "the text is empty"},
        {"/tmp", "order=2", "is a folder"},
        {"/nowhere/at/all.txt", "order=2", "/nowhere/at/all.txt: "},
        {"/nowhere/*.txt", "order=2", "no file matches"},
        {"", "order=2", "ngram"},
        {NULL, "order=0", "order"},
        {NULL, "order=7", "order"},
        {NULL, "order=2.385", "order"},
        {NULL, "tokens=byte", "tokens"},
        {NULL, "V=100", "tokens=words"},
        {NULL, "V=100&tokens=chars", "tokens=words"},
        {NULL, "V=1&tokens=words", "V=1"},
        {NULL, "V=2000000&tokens=words", "V"},
        {NULL, "limit=-1", "limit"},
        {NULL, "ordre=2", "ordre"},
    };
    write_text("", 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        spec_model *model = (spec_model *)path;
        spec_error error = {{0}};
        const char *spec = spec_of(wrong[i].file == NULL ? path : wrong[i].file, wrong[i].keys);
        const int status = spec_model_open(&model, spec, NULL, spec_test_context(0), &error);
        if (status == GSL_SUCCESS || model != NULL) fail_msg("%s is opened", spec);
        if (strstr(error.text, wrong[i].says) == NULL || strchr(error.text, '\n') != NULL)
            fail_msg("%s: %s", spec, error.text);
    }
}

TEST(a_limit_reads_the_first_bytes_alone)
{
    write_text("aaaaaaaabbbbbbbb", 16);
    OWNED_MODEL *model = model_of(spec_of(path, "order=1&tokens=chars&limit=8"), NULL);
    assert_int_equal(model->vocab, 2);
}

/* Held-out English, bits per byte. Measured when written, orders 1 to 6: Shakespeare 4.827, 3.586,
 * 2.956, 2.499, 2.277, 2.247 (training on the first 1,000,000 bytes, tested on the rest). A 5-gram
 * compressor is expected between 2 and 2.5. */
TEST(real_text_is_learnt)
{
    char file[256];
    spec_test_data(file, sizeof file, "text/shakespeare.txt");
    FILE *in = fopen(file, "rb");
    if (in == NULL) {
        printf("skipped: %s is not there\n", file);
        skip();
        return;
    }
    static char text[1200000];
    const size_t length = fread(text, 1, sizeof text, in), train = 1000000;
    fclose(in);
    assert_true(length > train + 10000);
    double before = 8.0;
    for (int order = 1; order <= 6; order++) {
        char keys[64];
        snprintf(keys, sizeof keys, "order=%d&limit=%zu", order, train);
        OWNED_MODEL *model = model_of(spec_of(file, keys), NULL);
        const double bits = bits_per_byte(model, text + train, length - train, SIZE_MAX);
        printf("order %d: %.3f bits per byte\n", order, bits);
        assert_true(bits < before);
        if (order == 5) assert_true(bits > 2.0 && bits < 2.5);
        before = bits;
    }
}

/* ---- the target's tokens --------------------------------------------------------------------- */

/* A target with the same tokens gives the same counts. This holds even if the text is longer than a
 * block, and if blocks end after lines, before blanks, or anywhere. */
TEST(tokens_of_a_target_are_counted_like_bytes)
{
    static char text[600000];
    static const char *const tokens[] = {"bytes", "words"};
    static const char separators[] = {'\n', ' ', 'x'};
    for (size_t s = 0; s < sizeof separators; s++) {
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = spec_noise_mix(i) % 7 == 0 ? separators[s]
                                                 : (char)('a' + spec_noise_mix(i / 3) % 5);
        write_text(text, sizeof text);
        for (int t = 0; t < (separators[s] == 'x' ? 1 : 2);
             t++) { /* words are cut at 64 bytes, not at the end of a block */
            char keys[64];
            snprintf(keys, sizeof keys, "order=3&tokens=%s", tokens[t]);
            spec_model *target = model_of(spec_of(path, keys), NULL), *draft;
            assert_works(spec_model_open(&draft, spec_of(path, "order=3&tokens=target"), target,
                                         spec_test_context(0), &error));
            assert_int_equal(draft->vocab, target->vocab);
            const size_t size = (size_t)target->vocab * sizeof(double);
            double *one = malloc(size), *other = malloc(size);
            assert_true(one != NULL && other != NULL);
            for (size_t n = 0; n <= 2; n++)
                for (int c = 0; c < 40; c++) {
                    int context[64];
                    assert_true(draft->kind->tokenize(draft, text + 100 * c, 64, context, 64) >= 2);
                    assert_memory_equal(row_of(target, context, n, one),
                                        row_of(draft, context, n, other), size);
                }
            char piece[64], same[64];
            target->kind->token_text(target, 100, piece, sizeof piece);
            draft->kind->token_text(draft, 100, same, sizeof same);
            assert_string_equal(piece, same);
            free(one);
            free(other);
            spec_model_close(draft);
            spec_model_close(target);
        }
    }
}

TEST(tokens_of_no_target_are_refused)
{
    spec_model *model, *zipf = model_of("zipf?V=3", NULL);
    write_text("abc", 3);
    assert_fails_with(
        spec_model_open(&model, spec_of(path, "tokens=target"), NULL, spec_test_context(0), &error),
        GSL_EINVAL, "only a draft has a target");
    assert_fails_with(
        spec_model_open(&model, spec_of(path, "tokens=target"), zipf, spec_test_context(0), &error),
        GSL_EINVAL, "no tokenizer");
    assert_status(spec_model_open(&model, spec_of(path, "tokens=target&V=9"), zipf,
                                  spec_test_context(0), &error),
                  GSL_EINVAL);
    spec_model_close(zipf);
}

SUITE(.setup = make_file, .teardown = remove_file);
