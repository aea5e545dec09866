/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/wide_rng.h"

#include "base/noise.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const uint64_t below[] = {1, 2, 3, 10, 1000, 4294967296u, 6000000000000000000u};
enum { BOUNDS = sizeof below / sizeof *below };

TEST(words_are_those_of_the_generator)
{
    uint64_t a = 7, b = 7;
    const gsl_rng wide = {.type = spec_noise_rng_type, .state = &a};
    const gsl_rng plain = {.type = spec_noise_rng_type, .state = &b};
    for (int i = 0; i < 100; i++) {
        const uint64_t word = spec_wide_rng_word(&wide);
        assert_int_equal(word, spec_noise_word(7, (uint64_t)i));
        assert_int_equal((unsigned long)word, gsl_rng_get(&plain));
    }
}

/* 6e18 is over a quarter of all words, so that a draw is often repeated. */
TEST(integers_are_those_of_gsl_with_64_bits)
{
    uint64_t a = 1, b = 1;
    const gsl_rng wide = {.type = spec_noise_rng_type, .state = &a};
    const gsl_rng plain = {.type = spec_noise_rng_type, .state = &b};
    for (int i = 0; i < 1000; i++) {
        const uint64_t n = below[i % BOUNDS], drawn = spec_wide_rng_below(&wide, n);
        assert_true(drawn < n);
        assert_int_equal(drawn, gsl_rng_uniform_int(&plain, n));
    }
    assert_int_equal(a, b);
}

TEST(narrow_generators_serve_where_long_has_64_bits)
{
    gsl_rng *wide = gsl_rng_alloc(gsl_rng_mt19937), *plain = gsl_rng_clone(wide);
    for (uint64_t n = 1; n < 1000; n++)
        assert_int_equal(spec_wide_rng_below(wide, n), gsl_rng_uniform_int(plain, n));
    gsl_rng_free(wide);
    gsl_rng_free(plain);
}
