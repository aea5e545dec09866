/* support: what test programs share: their seed, their sample sizes, and one way to skip.
 * SPEC_TEST_SEED changes the seed (42), SPEC_TEST_LONG multiplies sample sizes, SPECLAB_DATA names a folder of outside
 * data. The one threshold of the suite for a p-value is SPEC_TEST_P. */
#ifndef SPECLAB_TESTS_SUPPORT_H
#define SPECLAB_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#define SPEC_TEST_P 1e-6

static inline uint64_t spec_test_seed(void)
{
    const char *text = getenv("SPEC_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 42;
    printf("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static inline uint64_t spec_test_samples(uint64_t n)
{
    const char *text = getenv("SPEC_TEST_LONG");
    return text != NULL ? n * strtoull(text, NULL, 10) : n;
}

/* The path of a file of SPECLAB_DATA in `buffer`; skips the test, saying so, where the variable is unset. */
#define spec_test_data(buffer, size, file)                                                                             \
    do {                                                                                                               \
        if (getenv("SPECLAB_DATA") == NULL) {                                                                          \
            printf("skipped: %s: SPECLAB_DATA is not set\n", __func__);                                                \
            skip();                                                                                                    \
        }                                                                                                              \
        snprintf(buffer, size, "%s/%s", getenv("SPECLAB_DATA"), file);                                                 \
    } while (0)

#endif
