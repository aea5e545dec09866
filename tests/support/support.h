/* SPDX-License-Identifier: GPL-3.0-or-later */
/* support: the shared test settings: seed, sample sizes, outside data, and skipping.
 * SPEC_TEST_SEED changes the seed (42), SPEC_TEST_LONG multiplies sample sizes, SPECLAB_DATA names
 * a folder of outside data. SPEC_TEST_P is the suite's only threshold for p-values. */
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

/* clang has another name for the macro of gcc. */
#if defined __has_feature && !defined __SANITIZE_ADDRESS__
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

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

/* The step of a loop over cases that run the same code: 1 with SPEC_TEST_LONG, at least 8 under a
 * sanitizer, else `everyday`. */
static inline int spec_test_stride(int everyday)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    if (everyday < 8) everyday = 8;
#endif
    return getenv("SPEC_TEST_LONG") != NULL ? 1 : everyday;
}

/* Puts the path of a file in SPECLAB_DATA into `buffer`; without the variable, skips the test with
 * a message. */
#define spec_test_data(buffer, size, file)                                                         \
    do {                                                                                           \
        if (getenv("SPECLAB_DATA") == NULL) {                                                      \
            printf("skipped: %s: SPECLAB_DATA is not set\n", __func__);                            \
            skip();                                                                                \
        }                                                                                          \
        snprintf(buffer, size, "%s/%s", getenv("SPECLAB_DATA"), file);                             \
    } while (0)

#endif
