/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"
#include "sim/chance/lanes.h"
#include "sim/chance/lanes_step.h"
#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

/* ---- the recurrence -------------------------------------------------------------------------- */

/* pcg32-demo's published first six numbers, seed 42, sequence 54 (pcg-random.org); the same from
 * libpcg-cpp-dev:
 * ./pcg_oracle pcg32 1753877967969059832 109 6   (tests/oracle/pcg_oracle.cpp). */
TEST(a_lane_is_pcg32)
{
    static const uint32_t expected[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                        0x83d2f293, 0xbfa4784b, 0xcbed606e};
    const uint64_t increment = 54 << 1 | 1;
    uint64_t x = 0;
    spec_lanes_step(&x, increment);
    x += 42;
    spec_lanes_step(&x, increment);
    for (int i = 0; i < 6; i++) assert_int_equal(spec_lanes_step(&x, increment), expected[i]);
}

typedef void fill(spec_lanes *lanes, uint32_t *out, size_t n_steps);

static void same_as_ref(fill *fast, const char *name)
{
    enum { STEPS = 1000 };
    static uint32_t wanted[STEPS * SPEC_LANES + 1], got[STEPS * SPEC_LANES + 1];
    static const size_t n_steps[] = {0, 1, 2, 7, 27, STEPS};
    for (uint64_t stream = 0; stream < 20; stream++) {
        spec_lanes a, b;
        spec_lanes_init(&a, 27, stream);
        if (stream == 1) memset(&a.state, 0, sizeof a.state);
        if (stream == 2)
            memset(&a.state, 0xff, sizeof a.state), memset(&a.increment, 0xff, sizeof a.increment);
        b = a;
        for (size_t j = 0; j < sizeof n_steps / sizeof *n_steps; j++) {
            const size_t n = n_steps[j] * SPEC_LANES;
            wanted[n] = got[n] = 0x2385u;
            spec_lanes_fill_ref(&a, wanted, n_steps[j]);
            fast(&b, got, n_steps[j]);
            if (memcmp(wanted, got, (n + 1) * sizeof *got) != 0)
                fail_msg("%s: draws differ from the reference", name);
            if (memcmp(&a, &b, sizeof a) != 0)
                fail_msg("%s: states differ from the reference", name);
        }
    }
}

TEST(every_instruction_set_draws_the_same)
{
    same_as_ref(spec_lanes_fill, "spec_lanes_fill");
#if defined(__x86_64__)
    if (spec_cpu_best_isa() >= SPEC_ISA_AVX2) same_as_ref(spec_lanes_fill_avx2, "avx2");
    if (spec_cpu_best_isa() >= SPEC_ISA_AVX512) same_as_ref(spec_lanes_fill_avx512, "avx512");
    if (spec_cpu_best_isa() < SPEC_ISA_AVX512) {
        printf("skipped: this machine has no more than %s\n",
               spec_cpu_isa_name(spec_cpu_best_isa()));
    }
#elif defined(__aarch64__)
    same_as_ref(spec_lanes_fill_neon, "neon");
#endif
}

TEST(lane_l_at_step_s_is_draw_s_times_32_plus_l)
{
    spec_lanes lanes, copy;
    uint32_t out[5 * SPEC_LANES];
    spec_lanes_init(&lanes, 3, 8);
    copy = lanes;
    spec_lanes_fill(&lanes, out, 5);
    for (int l = 0; l < SPEC_LANES; l++) {
        for (int s = 0; s < 5; s++) {
            assert_int_equal(out[s * SPEC_LANES + l],
                             spec_lanes_step(&copy.state[l], copy.increment[l]));
        }
    }
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void assert_distinct(uint64_t *word, size_t n)
{
    qsort(word, n, sizeof *word, compare_words);
    for (size_t i = 1; i < n; i++) assert_true(word[i] != word[i - 1]);
}

/* Among 2^16 hashed words of 63 free bits, two are equal with probability 2^-32. */
TEST(no_two_lanes_of_2048_streams_share_state_or_increment)
{
    enum { STREAMS = 2048, N = STREAMS * SPEC_LANES };
    static uint64_t states[N], increments[N];
    for (size_t i = 0; i < STREAMS; i++) {
        spec_lanes lanes;
        spec_lanes_init(&lanes, i / 1024, i % 1024);
        for (size_t l = 0; l < SPEC_LANES; l++) {
            assert_true(lanes.increment[l] & 1);
            states[i * SPEC_LANES + l] = lanes.state[l];
            increments[i * SPEC_LANES + l] = lanes.increment[l];
        }
    }
    assert_distinct(states, N);
    assert_distinct(increments, N);
}

/* ---- how two lanes are related --------------------------------------------------------------- */

typedef struct {
    uint64_t sign, shift; /* y = sign x + shift */
} affine;

/* The map of the orbit of increment c1 onto that of c2, both odd. Let a be the multiplier. Then
 * sign (a x + c1) + shift = a (sign x + shift) + c2 says (a - 1) shift = sign c1 - c2, of which
 * both sides are multiples of 4. */
static affine map_between(uint64_t c1, uint64_t c2)
{
    const uint64_t quarter = (SPEC_LANES_MULTIPLIER - 1) / 4; /* odd */
    uint64_t inverse = quarter;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - quarter * inverse; /* Newton: 3, 6, ..., 96 right bits */
    affine map = {.sign = (c1 - c2) % 4 == 0 ? 1 : UINT64_MAX};
    map.shift = (map.sign * c1 - c2) / 4 * inverse;
    return map;
}

/* Returns x after n steps, in 64 turns. */
static uint64_t jump(uint64_t x, uint64_t increment, uint64_t n)
{
    uint64_t factor = SPEC_LANES_MULTIPLIER, add = increment;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) x = factor * x + add;
        add *= factor + 1;
        factor *= factor;
    }
    return x;
}

/* The number of steps from x to y: bit k is set if 2^k steps are needed to agree in k + 1 bits. */
static uint64_t steps_between(uint64_t x, uint64_t y, uint64_t increment)
{
    uint64_t steps = 0;
    for (int k = 0; k < 64; k++) {
        if (((x ^ y) >> k & 1) == 0) continue;
        steps |= (uint64_t)1 << k;
        x = jump(x, increment, (uint64_t)1 << k);
    }
    assert_true(x == y);
    return steps;
}

TEST(every_lane_is_an_affine_image_of_every_other)
{
    for (uint64_t stream = 0; stream < 50; stream++) {
        spec_lanes lanes;
        spec_lanes_init(&lanes, 27, stream);
        for (int l = 1; l < SPEC_LANES; l++) {
            const affine map = map_between(lanes.increment[0], lanes.increment[l]);
            uint64_t x = lanes.state[0], y = map.sign * x + map.shift;
            for (int i = 0; i < 20; i++) {
                spec_lanes_step(&x, lanes.increment[0]);
                spec_lanes_step(&y, lanes.increment[l]);
                assert_true(y == map.sign * x + map.shift);
            }
        }
    }
}

/* A pair of increments that are both 3 mod 4, and a pair with one of each kind; lane 2 starts where
 * the map takes lane 1 after 2^m steps. */
TEST(an_offset_of_2_to_the_m_keeps_the_low_m_plus_2_bits_of_the_difference)
{
    static const uint64_t increments[2][2] = {{0x05f2e79ba831b617, 0x9e631a64f697f24f},
                                              {0x05f2e79ba831b617, 0x9e631a64f697f24d}};
    for (int pair = 0; pair < 2; pair++)
        for (int m = 0; m < 62; m++) {
            const uint64_t c1 = increments[pair][0], c2 = increments[pair][1];
            const affine map = map_between(c1, c2);
            uint64_t x = 0x0123456789abcdef,
                     y = map.sign * jump(x, c1, (uint64_t)1 << m) + map.shift, changes = 0;
            assert_true(map.sign == (pair == 0 ? 1 : UINT64_MAX));
            assert_true(steps_between(x, map.sign * (y - map.shift), c1) == (uint64_t)1 << m);
            const uint64_t first = y - map.sign * x;
            for (int i = 0; i < 100; i++) {
                spec_lanes_step(&x, c1);
                spec_lanes_step(&y, c2);
                changes |= (y - map.sign * x) ^ first;
            }
            const uint64_t kept = m + 2 < 64 ? ((uint64_t)1 << (m + 2)) - 1 : UINT64_MAX;
            assert_true((changes & kept) == 0 && (m + 2 >= 64 || (changes >> (m + 2) & 1) == 1));
        }
}

/* The offsets of 253,952 pairs of lanes: one is divisible by 2^m with probability 2^-m, and any of
 * them by 2^39 with probability 5e-7. */
TEST(offsets_of_lanes_are_uniform_in_their_low_bits, STATISTICS)
{
    enum { STREAMS = 512, BITS = 12 };
    const double n = STREAMS * (SPEC_LANES * (SPEC_LANES - 1) / 2.0);
    double chisq = 0.0;
    const uint64_t seed = spec_test_seed();
    uint64_t divisible[BITS + 1] = {0}; /* by 2^m and no higher power; last: by 2^BITS */
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        spec_lanes lanes;
        spec_lanes_init(&lanes, seed, stream);
        for (int l = 1; l < SPEC_LANES; l++)
            for (int k = 0; k < l; k++) {
                const affine map = map_between(lanes.increment[k], lanes.increment[l]);
                const uint64_t from = map.sign * (lanes.state[l] - map.shift);
                const uint64_t offset = steps_between(lanes.state[k], from, lanes.increment[k]);
                const int zeros = offset == 0 ? 64 : __builtin_ctzll(offset);
                assert_true(zeros < 39);
                divisible[zeros < BITS ? zeros : BITS]++;
            }
    }
    for (int m = 0; m <= BITS; m++) {
        const double expected = ldexp(n, m < BITS ? -m - 1 : -BITS),
                     off = (double)divisible[m] - expected;
        chisq += off * off / expected;
    }
    assert_true(gsl_cdf_chisq_Q(chisq, BITS) > SPEC_TEST_P);
}

/* ---- the battery: it rejects bad generators ... ---------------------------------------------- */

enum { WORDS = 1 << 20 };
static uint32_t word[WORDS], other[WORDS];

/* The raw LCG of the lanes: low 32 bits of the state. Its bit b has period 2^(b+1): low bytes are
 * far too uniform. */
static void lcg_low_word(uint32_t *out, size_t n)
{
    uint64_t x = 27;
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)(x = x * SPEC_LANES_MULTIPLIER + 1);
}

/* A 32-bit LCG of full period (Numerical Recipes' quick one): it takes every word once in 2^32
 * steps, which form a lattice. */
static void quick_lcg(uint32_t *out, size_t n)
{
    uint32_t x = 27;
    for (size_t i = 0; i < n; i++) out[i] = x = x * 1664525u + 1013904223u;
}

/* GSL's RANDU, its 31 bits shifted up: triples lie on 15 planes, and its lowest bit never
 * changes. */
static void randu(uint32_t *out, size_t n)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_randu, 27);
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)gsl_rng_get(rng) << 1;
}

/* A Weyl sequence, in steps of the golden ratio: equidistributed, but not random. */
static void weyl(uint32_t *out, size_t n)
{
    uint32_t x = 0;
    for (size_t i = 0; i < n; i++) out[i] = x += 0x9e3779b9u;
}

/* PCG64 with each word averaged with the one before: neighbours have correlation 1/2, and the high
 * bits concentrate in the middle. */
static void averaged(uint32_t *out, size_t n)
{
    spec_rng_state rng = spec_rng_stream_state(27, 0);
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t now = spec_rng_next(&rng) >> 32;
        out[i] = (uint32_t)((before + now) / 2);
        before = now;
    }
}

/* PCG64 in which every 27th word repeats the one before, as from a stuck buffer. */
static void stuttering(uint32_t *out, size_t n)
{
    spec_rng_state rng = spec_rng_stream_state(27, 0);
    for (size_t i = 0; i < n; i++)
        out[i] = i % 27 == 26 ? out[i - 1] : (uint32_t)(spec_rng_next(&rng) >> 32);
}

/* PCG64 as a 31-bit generator used as a 32-bit one: the high bit is never set. */
static void short_by_a_bit(uint32_t *out, size_t n)
{
    spec_rng_state rng = spec_rng_stream_state(27, 0);
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)(spec_rng_next(&rng) >> 33);
}

static double p_of(const char *test, const uint32_t *words, size_t n)
{
    for (const spec_battery_test *t = spec_battery; t->name != NULL; t++) {
        if (strcmp(t->name, test) == 0) return t->p(words, n);
    }
    fail_msg("no test %s", test);
    return NAN;
}

/* Checks the laws and degrees of freedom of the battery itself, on PCG64: p-values of 2000 short
 * sequences against the uniform law, by Kolmogorov-Smirnov, which rejects above 0.060. One degree
 * of freedom too many gives D = 0.13 in `runs` and 0.07 in `bits`. Birthdays are left out, because
 * their p-values are too discrete. */
TEST(p_values_of_a_good_generator_are_uniform, STATISTICS)
{
    enum { SEQUENCES = 2000, LENGTH = 8192 };
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 27);
    static double p[16][SEQUENCES];
    size_t n_tests = 0;
    for (int j = 0; j < SEQUENCES; j++) {
        n_tests = 0;
        for (size_t i = 0; i < LENGTH; i++)
            word[i] = (uint32_t)(spec_rng_next(&rng) >> (i & 1 ? 32 : 0));
        for (const spec_battery_test *t = spec_battery; strcmp(t->name, "birthdays") != 0; t++) {
            p[n_tests++][j] = t->p(word, LENGTH);
        }
    }
    for (size_t t = 0; t < n_tests; t++) {
        double d = 0.0;
        gsl_sort(p[t], 1, SEQUENCES);
        for (int j = 0; j < SEQUENCES; j++) {
            d = fmax(d,
                     fmax(p[t][j] - j / (double)SEQUENCES, (j + 1) / (double)SEQUENCES - p[t][j]));
        }
        assert_true(d < sqrt(-log(SPEC_TEST_P / 2.0) / (2.0 * SEQUENCES)));
    }
}

TEST(each_test_rejects_the_bad_generator_named_for_it)
{
    static const struct {
        const char *test, *name;
        void (*fill)(uint32_t *out, size_t n);
    } bad[] = {
        {"bits", "randu", randu},
        {"bits", "a 31-bit generator", short_by_a_bit},
        {"high_bytes", "averaged neighbours", averaged},
        {"low_bytes", "low word of an LCG", lcg_low_word},
        {"pairs_high", "Weyl sequence", weyl},
        {"pairs_low", "low word of an LCG", lcg_low_word},
        {"triples_high", "randu", randu},
        {"autocorrelation", "averaged neighbours", averaged},
        {"autocorrelation", "stuttering", stuttering},
        {"gaps", "Weyl sequence", weyl},
        {"runs", "stuttering", stuttering},
        {"birthdays", "32-bit LCG", quick_lcg},
        {"birthdays", "stuttering", stuttering},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bad[i].fill(word, WORDS);
        const double p = p_of(bad[i].test, word, WORDS);
        if (!spec_battery_rejects(p))
            fail_msg("%s does not reject %s: p = %g", bad[i].test, bad[i].name, p);
    }
    for (const spec_battery_test *t = spec_battery; t->name != NULL; t++) {
        size_t i = 0;
        while (i < sizeof bad / sizeof *bad && strcmp(bad[i].test, t->name) != 0) i++;
        if (i == sizeof bad / sizeof *bad) fail_msg("nothing shows that %s can reject", t->name);
    }
}

/* ---- ... and accepts the lanes --------------------------------------------------------------- */

static void battery_accepts(const uint32_t *words, size_t n, const char *what)
{
    for (const spec_battery_test *t = spec_battery; t->name != NULL; t++) {
        const double p = t->p(words, n);
        if (spec_battery_rejects(p)) fail_msg("%s: %s: p = %g", what, t->name, p);
    }
}

/* Tests the lanes of one stream; a long check tests several streams. */
TEST(the_lanes_interleaved_pass_the_battery, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    for (uint64_t stream = 0; stream < spec_test_samples(1); stream++) {
        spec_lanes lanes;
        spec_lanes_init(&lanes, seed, stream);
        spec_lanes_fill(&lanes, word, WORDS / SPEC_LANES);
        battery_accepts(word, WORDS, "lanes interleaved");
    }
}

/* Reads `n` draws of lane l of a stream. */
static void one_lane(uint32_t *out, size_t n, uint64_t seed, uint64_t stream, int l)
{
    spec_lanes lanes;
    spec_lanes_init(&lanes, seed, stream);
    for (size_t i = 0; i < n; i++) out[i] = spec_lanes_step(&lanes.state[l], lanes.increment[l]);
}

TEST(a_lane_alone_passes_the_battery, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    for (uint64_t stream = 0; stream < spec_test_samples(1); stream++) {
        for (int l = 0; l < SPEC_LANES; l += 10) {
            one_lane(word, WORDS / 4, seed, stream, l);
            battery_accepts(word, WORDS / 4, "one lane");
        }
    }
}

/* A dependence of two lanes would show as structure in their exclusive or. */
TEST(two_lanes_combined_pass_the_battery, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    for (uint64_t stream = 0; stream < spec_test_samples(1); stream++) {
        one_lane(word, WORDS / 4, seed, stream, 0);
        one_lane(other, WORDS / 4, seed, stream, 1);
        for (size_t i = 0; i < WORDS / 4; i++) word[i] ^= other[i];
        battery_accepts(word, WORDS / 4, "two lanes, exclusive or");

        one_lane(word, WORDS / 4, seed, stream, 5);
        one_lane(other, WORDS / 4, seed, stream + 1, 5);
        for (size_t i = 0; i < WORDS / 4; i++) word[i] ^= other[i];
        battery_accepts(word, WORDS / 4, "one lane of two streams, exclusive or");
    }
}

/* The first draws of streams 0, 1, 2, ...: neighbouring numbers must not give dependent streams. */
TEST(first_draws_of_successive_streams_pass_the_battery, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    const size_t n = WORDS / 8;
    for (uint64_t repeat = 0; repeat < spec_test_samples(1); repeat++) {
        for (size_t i = 0; i < n; i++) {
            spec_lanes lanes;
            spec_lanes_init(&lanes, seed, repeat * n + i);
            word[i] = spec_lanes_step(&lanes.state[0], lanes.increment[0]);
            other[i] = spec_lanes_step(&lanes.state[31], lanes.increment[31]);
        }
        battery_accepts(word, n, "first draws of lane 0 over streams");
        battery_accepts(other, n, "first draws of lane 31 over streams");
    }
}

/* ---- correlation of lanes and of streams ----------------------------------------------------- */

/* Row r of `word` (32, n) is one of 32 parallel sequences. The 2 * 496 two-sided p-values are
 * judged together by Bonferroni's correction. */
static double smallest_pair_p(size_t n)
{
    double smallest = 1.0;
    for (size_t a = 0; a < SPEC_LANES; a++) {
        for (size_t b = 0; b < a; b++) {
            const double p = spec_battery_correlation(word + a * n, word + b * n, n);
            const double weight = spec_battery_weight_correlation(word + a * n, word + b * n, n);
            smallest = fmin(smallest, 2.0 * fmin(fmin(p, 1.0 - p), fmin(weight, 1.0 - weight)));
        }
    }
    return 2.0 * 496.0 * smallest;
}

static void draw_rows(spec_lanes *lanes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < SPEC_LANES; l++)
            word[l * n + i] = spec_lanes_step(&lanes->state[l], lanes->increment[l]);
    }
}

TEST(lanes_do_not_correlate, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    for (uint64_t stream = 0; stream < spec_test_samples(1); stream++) {
        spec_lanes lanes;
        spec_lanes_init(&lanes, seed, stream);
        draw_rows(&lanes, 8192);
        assert_true(smallest_pair_p(8192) > SPEC_TEST_P);
    }
}

TEST(streams_do_not_correlate, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    const size_t n = 8192;
    for (uint64_t repeat = 0; repeat < spec_test_samples(1); repeat++) {
        for (size_t i = 0; i < SPEC_LANES; i++)
            one_lane(word + i * n, n, seed, repeat * SPEC_LANES + i, 3);
        assert_true(smallest_pair_p(n) > SPEC_TEST_P);
        for (size_t i = 0; i < SPEC_LANES; i++) one_lane(word + i * n, n, seed + i, repeat, 3);
        assert_true(smallest_pair_p(n) > SPEC_TEST_P);
    }
}

TEST(correlation_rejects_lanes_that_share_their_state, STATISTICS)
{
    spec_lanes lanes;
    spec_lanes_init(&lanes, 27, 0);
    lanes.state[20] = lanes.state[7]; /* a copy: two equal lanes of 32 */
    lanes.increment[20] = lanes.increment[7];
    draw_rows(&lanes, 8192);
    assert_true(smallest_pair_p(8192) < SPEC_TEST_P);

    spec_lanes_init(&lanes, 27, 0); /* equal up to a rotation */
    lanes.state[20] = lanes.state[7] + ((uint64_t)11 << 59);
    lanes.increment[20] = lanes.increment[7];
    draw_rows(&lanes, 8192);
    assert_true(smallest_pair_p(8192) < SPEC_TEST_P);
}
