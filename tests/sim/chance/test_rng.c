/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static spec_u128 wide(uint64_t high, uint64_t low)
{
    return (spec_u128)high << 64 | low;
}

/* ---- known answers --------------------------------------------------------------------------- */

/* NumPy 1.24.2, /usr/bin/python3, for each (s, i) below:
 *     from numpy.random import PCG64DXSM, Generator
 *     g = PCG64DXSM()
 *     rest = {'bit_generator': 'PCG64DXSM', 'has_uint32': 0, 'uinteger': 0}
 *     def put(): g.state = {**rest, 'state': {'state': s, 'inc': i}}
 *     put(); r = g.random_raw(1000); print([hex(x) for x in r[:5]], hex(r[999]),
 * hex(g.state['state']['state'])) put(); print([x.hex() for x in Generator(g).random(3)]) */
static const struct {
    uint64_t state[2], increment[2], first[5], thousandth, after[2];
    double uniform[3];
} known[] = {
    {{0, 1},
     {0, 1},
     {0x0, 0x0, 0x5238ea76d1f0df4a, 0x1a3c4747022e48a4, 0x340b0228e6afc056},
     0x12408db778a13874,
     {0xc446d85ae1731911, 0x46fbcab1e65415b9},
     {0.0, 0.0, 0x1.48e3a9db47c36p-2}},
    {{UINT64_MAX, UINT64_MAX},
     {UINT64_MAX, UINT64_MAX},
     {0xe4dd58b4ffffe4de, 0x82b98f3423f20f6, 0x7b3bf90f2550ab72, 0xc2c3ebc193c20fa2,
      0xf4e19fff9187d354},
     0xba38def40885cd43,
     {0x3bb927a51e8ce6ee, 0xb904354e19abea47},
     {0x1.c9bab169ffffcp-1, 0x1.05731e6847e40p-5, 0x1.ecefe43c9542ap-2}},
    {{0x0123456789abcdef, 0xfedcba9876543210},
     {0xda3e39cb94b95bdb, 0x5851f42d4c957f2d},
     {0xa5c2f45958c644a2, 0xd06fefd7d1d04fdb, 0x67070c42b09273a3, 0x81b88ac1f4463dda,
      0xb6d5f1477d75c316},
     0xb65e1cf4d073eb98,
     {0xfec27ad3b3cf0408, 0x74048b7923d47308},
     {0x1.4b85e8b2b18c8p-1, 0x1.a0dfdfafa3a09p-1, 0x1.9c1c310ac249cp-2}},
    {{0x8000000000000000, 0},
     {0, 3},
     {0xf26eac5a8000f26e, 0xd74c050f8002d74a, 0xed3bdc8846f6fc74, 0x8705109bb0e811c8,
      0x15958dbf92e7edb4},
     0xf1e74fd88426817f,
     {0x6f55ef379f1b7021, 0x231426a7557a3d88},
     {0x1.e4dd58b50001ep-1, 0x1.ae980a1f0005ap-1, 0x1.da77b9108dedfp-1}},
};
enum { N_KNOWN = sizeof known / sizeof *known };

static spec_rng_state known_state(int i)
{
    spec_rng_state rng;
    spec_rng_set_raw(&rng, wide(known[i].state[0], known[i].state[1]),
                     wide(known[i].increment[0], known[i].increment[1]));
    return rng;
}

TEST(words_are_those_of_numpy)
{
    for (int i = 0; i < N_KNOWN; i++) {
        spec_rng_state rng = known_state(i);
        for (int n = 0; n < 5; n++) assert_true(spec_rng_next(&rng) == known[i].first[n]);
        for (int n = 5; n < 999; n++) spec_rng_next(&rng);
        assert_true(spec_rng_next(&rng) == known[i].thousandth);
        assert_true(rng.state == wide(known[i].after[0], known[i].after[1]));
        assert_true(rng.increment == wide(known[i].increment[0], known[i].increment[1]));
    }
}

TEST(doubles_are_those_of_numpy)
{
    for (int i = 0; i < N_KNOWN; i++) {
        spec_rng_state rng = known_state(i);
        for (int n = 0; n < 3; n++) assert_true(spec_rng_next_double(&rng) == known[i].uniform[n]);
    }
}

/* ---- libpcg-cpp-dev -------------------------------------------------------------------------- */

/* Writes the decimal digits of a 128-bit number, for a command line. */
static const char *decimal(char buffer[40], spec_u128 number)
{
    char *c = buffer + 39;
    *c = '\0';
    do *--c = (char)('0' + (int)(number % 10));
    while ((number /= 10) > 0);
    return c;
}

TEST(words_are_those_of_the_pcg_library)
{
    char folder[] = "/tmp/test_rng_XXXXXX", command[1024], a[40], b[40];
    if (access("/usr/include/pcg_random.hpp", R_OK) != 0 ||
        system("g++ --version > /dev/null 2>&1") != 0) {
        printf("skipped: words_are_those_of_the_pcg_library: needs libpcg-cpp-dev and g++\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    const char *slash = strrchr(__FILE__, '/');
    snprintf(command, sizeof command, "g++ -w -O0 -o %s/oracle '%.*s/../../oracle/pcg_oracle.cpp'",
             folder, (int)(slash - __FILE__), __FILE__);
    const int compiled = system(command);

    long compared = 0;
    for (int i = 0; compiled == 0 && i < N_KNOWN + 4; i++) {
        spec_rng_state rng = i < N_KNOWN ? known_state(i) : spec_rng_stream_state(27, (uint64_t)i);
        snprintf(command, sizeof command, "%s/oracle dxsm %s %s 2385", folder,
                 decimal(a, rng.state), decimal(b, rng.increment));
        FILE *words = popen(command, "r");
        assert_non_null(words);
        unsigned long long word;
        while (fscanf(words, "%llx", &word) == 1) compared += spec_rng_next(&rng) == word;
        pclose(words);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(compiled, 0);
    assert_int_equal(compared, (N_KNOWN + 4) * 2385);
}

/* ---- interface ------------------------------------------------------------------------------- */

TEST(gsl_sees_the_same_generator)
{
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    assert_non_null(rng);
    assert_true(gsl_rng_min(rng) == 0 && gsl_rng_max(rng) == UINT64_MAX);
    assert_string_equal(gsl_rng_name(rng), "pcg64dxsm");

    spec_rng_stream(rng, 27, 2385);
    spec_rng_state same = spec_rng_stream_state(27, 2385);
    for (int i = 0; i < 100; i++) {
        assert_true(gsl_rng_get(rng) == spec_rng_next(&same));
        assert_true(gsl_rng_uniform(rng) == spec_rng_next_double(&same));
    }
    OWNED_RNG *copy = gsl_rng_clone(rng);
    assert_true(gsl_rng_get(copy) == spec_rng_next(&same));

    gsl_rng_set(rng, 27);
    same = spec_rng_stream_state(27, 0);
    assert_true(gsl_rng_get(rng) == spec_rng_next(&same));
}

/* Numbers are multiples of 2^-53 and of nothing coarser: the last bit is set half of the time. */
TEST(uniforms_have_53_bits_in_0_1)
{
    const int n = 10000;
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 0);
    int odd = 0;
    for (int i = 0; i < n; i++) {
        const double u = spec_rng_next_double(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        const double scaled = u * 0x1p53;
        assert_true(scaled == floor(scaled));
        odd += fmod(scaled, 2.0) == 1.0;
    }
    assert_true(fabs(odd - n / 2.0) < 5.0 * sqrt(n / 4.0));
}

/* The largest word: u = 1 - 2^-53. Undoing DXSM with low half 1 gives the state before the step
 * whose output is all ones: high * 1 must be all ones, and each of its three steps is a bijection
 * of the high half. */
TEST(the_largest_word_stays_below_1)
{
    uint64_t inverse = 1; /* of the multiplier mod 2^64, by Newton's iteration */
    for (int i = 0; i < 6; i++) inverse *= 2 - 0xda942042e4dd58b5u * inverse;
    uint64_t high = UINT64_MAX;
    high ^= high >> 48;
    high *= inverse;
    high ^= high >> 32;
    spec_rng_state rng;
    spec_rng_set_raw(&rng, wide(high, 0), 1);
    spec_rng_state copy = rng;
    assert_true(spec_rng_next(&copy) == UINT64_MAX);
    assert_true(spec_rng_next_double(&rng) == 1.0 - 0x1p-53);
}

/* ---- streams --------------------------------------------------------------------------------- */

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Neighbouring seeds and streams: 2^16 pairs, whose 64-bit halves collide by chance 2^-33 each. */
TEST(streams_differ)
{
    enum { N = 1 << 16 };
    static uint64_t part[4][N];
    for (size_t i = 0; i < N; i++) {
        const spec_rng_state rng = spec_rng_stream_state(i >> 12, i & 4095);
        assert_true(rng.increment & 1);
        part[0][i] = (uint64_t)(rng.state >> 64);
        part[1][i] = (uint64_t)rng.state;
        part[2][i] = (uint64_t)(rng.increment >> 64);
        part[3][i] = (uint64_t)rng.increment;
    }
    for (int k = 0; k < 4; k++) {
        qsort(part[k], N, sizeof **part, compare_words);
        for (size_t i = 1; i < N; i++) assert_true(part[k][i] != part[k][i - 1]);
    }
}

/* Flipping any one bit of seed or stream flips each bit of state and increment with chance 1/2. For
 * each of the 128 flipped bits, the number of flipped ones in 255 (the lowest of the increment is
 * fixed) over 64 bases is binomial. The largest |z| of 128 is judged by Bonferroni. A hash that
 * XORs seed and stream, or adds them, fails at the first base. */
TEST(one_bit_of_seed_or_stream_changes_half_of_the_state, STATISTICS)
{
    const uint64_t base = spec_test_seed();
    const int bases = 64;
    double largest = 0.0;
    for (int bit = 0; bit < 128; bit++) {
        int flipped = 0;
        for (uint64_t i = 0; i < (uint64_t)bases; i++) {
            const uint64_t seed = base + i, stream = i * i;
            const uint64_t one = (uint64_t)1 << (bit & 63);
            const spec_rng_state a = spec_rng_stream_state(seed, stream);
            const spec_rng_state b = bit < 64 ? spec_rng_stream_state(seed ^ one, stream)
                                              : spec_rng_stream_state(seed, stream ^ one);
            const spec_u128 x = a.state ^ b.state, y = a.increment ^ b.increment;
            flipped +=
                __builtin_popcountll((uint64_t)(x >> 64)) + __builtin_popcountll((uint64_t)x);
            flipped +=
                __builtin_popcountll((uint64_t)(y >> 64)) + __builtin_popcountll((uint64_t)y);
        }
        const double n = 255.0 * bases;
        largest = fmax(largest, fabs(flipped - n / 2.0) / sqrt(n / 4.0));
    }
    assert_true(2.0 * 128.0 * gsl_cdf_ugaussian_Q(largest) > SPEC_TEST_P);
}

enum { WORDS = 1 << 17 };
static uint32_t word[WORDS], other[WORDS];

static int rejections(void)
{
    int n = 0;
    for (const spec_battery_test *t = spec_battery; t->name != NULL; t++) {
        const double p = t->p(word, WORDS);
        if (spec_battery_rejects(p)) n++;
    }
    return n;
}

/* Tests the words of one stream; the first words of streams 0, 1, 2, ...; and streams drawn in
 * turn. */
TEST(streams_pass_the_battery, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    for (uint64_t repeat = 0; repeat < spec_test_samples(1); repeat++) {
        spec_rng_state rng = spec_rng_stream_state(seed, repeat);
        for (size_t i = 0; i < WORDS; i += 2) {
            const uint64_t drawn = spec_rng_next(&rng);
            word[i] = (uint32_t)(drawn >> 32);
            word[i + 1] = (uint32_t)drawn;
        }
        assert_int_equal(rejections(), 0);

        for (size_t i = 0; i < WORDS; i++) {
            rng = spec_rng_stream_state(seed, repeat * WORDS + i);
            const uint64_t drawn = spec_rng_next(&rng);
            word[i] = (uint32_t)(drawn >> 32);
            other[i] = (uint32_t)drawn;
        }
        assert_int_equal(rejections(), 0);
        memcpy(word, other, sizeof word);
        assert_int_equal(rejections(), 0);

        for (size_t i = 0; i < WORDS; i++) {
            rng = spec_rng_stream_state(seed + repeat * WORDS + i, 0);
            word[i] = (uint32_t)(spec_rng_next(&rng) >> 32);
        }
        assert_int_equal(rejections(), 0);
    }
}

/* The wrong version has one state for all streams, and the stream's number as increment, as PCG's
 * own "streams" do. */
TEST(the_battery_rejects_raw_increments)
{
    for (size_t i = 0; i < WORDS; i++) {
        spec_rng_state rng;
        spec_rng_set_raw(&rng, wide(0x0123456789abcdef, 0xfedcba9876543210), (spec_u128)i << 1 | 1);
        spec_rng_next(&rng);
        word[i] = (uint32_t)(spec_rng_next(&rng) >> 32);
    }
    assert_true(rejections() > 0);
}

static void stream_draws(uint32_t *out, size_t n, spec_rng_state rng)
{
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)(spec_rng_next(&rng) >> 32);
}

/* Tests all pairs of 32 neighbouring streams, with 4096 draws of each, two-sided, by Bonferroni's
 * correction. A stream paired with itself has p = 0. */
TEST(streams_do_not_correlate, STATISTICS)
{
    enum { STREAMS = 32, N = WORDS / STREAMS };
    const uint64_t seed = spec_test_seed();
    for (uint64_t repeat = 0; repeat < spec_test_samples(1); repeat++) {
        double smallest = 1.0;
        for (size_t a = 0; a < STREAMS; a++) {
            stream_draws(word + a * N, N, spec_rng_stream_state(seed, repeat * STREAMS + a));
            for (size_t b = 0; b < a; b++) {
                const double p = spec_battery_correlation(word + a * N, word + b * N, N);
                smallest = fmin(smallest, 2.0 * fmin(p, 1.0 - p));
            }
        }
        assert_true(STREAMS * (STREAMS - 1) / 2 * smallest > SPEC_TEST_P);
        assert_true(spec_battery_correlation(word, word, N) < SPEC_TEST_P / STREAMS / STREAMS);
    }
}

TEST(names_give_distinct_seeds)
{
    static const char *const name[] = {
        "", "a", "b", "aa", "ab", "ba", "alpha=0.8;K=5", "alpha=0.8;K=6", "alpha=0.85;K=5", "\xff"};
    enum { N = sizeof name / sizeof *name };
    uint64_t seed[2 * N];
    for (size_t i = 0; i < N; i++) {
        seed[2 * i] = spec_rng_named_seed(42, name[i]);
        seed[2 * i + 1] = spec_rng_named_seed(43, name[i]);
        assert_true(seed[2 * i] == spec_rng_named_seed(42, name[i]));
    }
    qsort(seed, 2 * N, sizeof *seed, compare_words);
    for (size_t i = 1; i < 2 * N; i++) assert_true(seed[i] != seed[i - 1]);
}

/* Results of speclab depend on the hash of streams and names: a change of these numbers needs an
 * entry in CHANGELOG.md. */
TEST(the_hashes_are_what_they_were)
{
    const spec_rng_state rng = spec_rng_stream_state(42, 27);
    assert_true(rng.state == wide(0x6ae2090084aaed2d, 0x414e6a2912cb27ac));
    assert_true(rng.increment == wide(0x6eb101e41160b9f1, 0xaab20aa5546441db));
    assert_true(spec_rng_named_seed(42, "alpha=0.8;K=5") == 0xada540db981ae5b3);
}
