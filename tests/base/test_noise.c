/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/noise.h"

#include "tests/support/support.h"

#include <math.h>

/* The outputs of SplitMix64 [Steele14] for the seed 1234567, as its public reference implementation
 * gives them. */
TEST(the_generator_gives_known_answers)
{
    static const uint64_t known[] = {6457827717110365317u, 3203168211198807973u,
                                     9817491932198370423u, 4593380528125082431u,
                                     16408922859458223821u};
    uint64_t word = 1234567;
    gsl_rng rng = {.type = spec_noise_rng_type, .state = &word};
    for (int i = 0; i < 5; i++) assert_true(gsl_rng_get(&rng) == known[i]);
}

TEST(a_word_is_what_the_generator_gives_at_that_step)
{
    uint64_t word = 1234567;
    gsl_rng rng = {.type = spec_noise_rng_type, .state = &word};
    for (uint64_t i = 0; i < 100; i++)
        assert_true(gsl_rng_get(&rng) == spec_noise_word(1234567, i));
}

TEST(uniforms_have_53_bits_below_one)
{
    uint64_t word = 99, again = 99;
    gsl_rng rng = {.type = spec_noise_rng_type, .state = &word},
            copy = {.type = spec_noise_rng_type, .state = &again};
    for (int i = 0; i < 1000; i++) {
        const double u = gsl_rng_uniform(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        assert_true(u == (double)(gsl_rng_get(&copy) >> 11) / 9007199254740992.0);
    }
}

TEST(the_mixer_is_a_bijection)
{
    /* Inverts each step: the multipliers mod 2^64, and the shifts. */
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t word = i * UINT64_C(0x9e3779b97f4a7c15) + 27;
        uint64_t back = spec_noise_mix(word);
        back ^= back >> 31 ^ back >> 62;
        back *= UINT64_C(0x319642b2d24d8ec3);
        back ^= back >> 27 ^ back >> 54;
        back *= UINT64_C(0x96de1b173f119089);
        back ^= back >> 30 ^ back >> 60;
        assert_true(back == word);
    }
}

TEST(a_key_reads_the_last_tokens_and_their_number)
{
    const int a[] = {5, 1, 2}, b[] = {6, 1, 2}, c[] = {1, 2}, swapped[] = {2, 1}, zero[] = {0};
    assert_true(spec_noise_key(7, a, 3, 2) == spec_noise_key(7, b, 3, 2));
    assert_true(spec_noise_key(7, a, 3, 2) == spec_noise_key(7, c, 2, 2));
    assert_true(spec_noise_key(7, a, 3, 3) != spec_noise_key(7, b, 3, 3));
    assert_true(spec_noise_key(7, a, 3, -1) == spec_noise_key(7, a, 3, 3));
    assert_true(spec_noise_key(7, c, 2, 2) != spec_noise_key(7, swapped, 2, 2));
    assert_true(spec_noise_key(7, c, 2, 2) != spec_noise_key(8, c, 2, 2));
    assert_true(spec_noise_key(7, zero, 0, 1) != spec_noise_key(7, zero, 1, 1));
    assert_true(spec_noise_key(7, a, 3, 0) == spec_noise_key(7, NULL, 0, 4));
}

/* Computed from the definition with Python's integers. A changed key changes every synthetic
 * model, which users see. */
TEST(keys_are_known_answers)
{
    assert_true(spec_noise_key(27, NULL, 0, 3) == UINT64_C(0x2c5f9f10dfa6638f));
    assert_true(spec_noise_key(27, (int[]){9, 3, 1, 4}, 4, 3) == UINT64_C(0xe0cf53983738dff3));
}

/* One flipped bit of a token flips half of the key's bits: 64 n bits are Binomial(64 n, 1/2), whose
 * sd is 4 sqrt(n). */
TEST(keys_avalanche)
{
    const int n = 3200;
    long flipped = 0;
    for (int i = 0; i < n; i++) {
        int context[3] = {i, 27, 31}, changed[3] = {i, 27, 31};
        changed[i % 3] ^= 1 << (i % 20);
        flipped += __builtin_popcountll(spec_noise_key(42, context, 3, 3) ^
                                        spec_noise_key(42, changed, 3, 3));
    }
    const double z = ((double)flipped - 32.0 * n) / (4.0 * sqrt(n));
    assert_true(fabs(z) < 4.9); /* p > 1e-6 */
}
