/* SPDX-License-Identifier: GPL-3.0-or-later */
/* support: how tests are declared, and their shared settings.
 * SPEC_TEST_SEED changes the seed (42), SPEC_TEST_LONG multiplies sample sizes, SPECLAB_DATA names
 * a folder of outside data. SPEC_TEST_P is the suite's only threshold for p-values. */
#ifndef SPECLAB_TESTS_SUPPORT_H
#define SPECLAB_TESTS_SUPPORT_H

#include "speclab/status.h"
#include "tests/support/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the headers above */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_TEST_P 1e-6

/* clang has other names for the macros of gcc. */
#if defined __has_feature && !defined __SANITIZE_ADDRESS__
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined __has_feature && !defined __SANITIZE_THREAD__
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* A test's tags: `speclab/test --tag slow` runs those with it, `--skip-tag slow` the others. */
enum {
    SLOW = 1,       /* more than a second; not part of `make check` */
    STATISTICS = 2, /* draws a sample: a wrong program fails it with the power that it states */
    SIMULATOR = 4,  /* on the simulated GPU; a tag of a whole suite, which then has the card */
    PLUGIN = 8,     /* starts or loads other people's code */
    SERVER = 16,    /* judges a server for minutes: part of `make served-check` alone */
    DRIVER = 32     /* opens the simulated GPU's driver, or a wrong one: part of `make gpu-check` */
};

/* Called before and after each test, or all tests of a suite. If it does not return 0, the tests
 * fail. */
typedef int spec_test_fixture(void **state);

/* The tests of one file. */
typedef struct {
    const char *file;
    unsigned tags;                               /* tags that every test of the suite has */
    spec_test_fixture *setup, *teardown;         /* around all tests */
    spec_test_fixture *before_each, *after_each; /* for each test that has no fixture of its own */
} spec_test_suite;

typedef struct spec_test_case {
    const char *name, *file;
    int line;
    const spec_test_suite *suite;
    void (*run)(void **state);
    unsigned tags;
    spec_test_fixture *setup, *teardown;
    bool passed; /* or skipped */
    struct spec_test_case *next;
} spec_test_case;

void spec_test_add(spec_test_case *test);

/* The state of the running test. */
void spec_test_skip(const char *file, int line);
#undef skip
#define skip() spec_test_skip(__FILE__, __LINE__)

/* Begins a test, which registers itself; it has tags, or a fixture of its own:
 *     TEST(a_point_mass_is_always_accepted) { ... }
 *     TEST(every_rule_has_the_targets_law, SLOW | STATISTICS) { ... }
 *     TEST(a_file_is_found, .setup = spec_folder_enter, .teardown = spec_folder_leave) { ... } */
#define TEST(...) SPEC_TEST_OF(__VA_ARGS__, )
#define SPEC_TEST_OF(test, ...)                                                                    \
    static void test(void **state);                                                                \
    __attribute__((constructor)) static void spec_add_##test(void)                                 \
    {                                                                                              \
        static spec_test_case self = {.name = #test,                                               \
                                      .file = __FILE__,                                            \
                                      .line = __LINE__,                                            \
                                      .suite = &spec_this_suite,                                   \
                                      .run = test,                                                 \
                                      __VA_ARGS__};                                                \
        spec_test_add(&self);                                                                      \
    }                                                                                              \
    static void test(void **state __attribute__((unused)))

/* At the end of a file: its tests share tags and fixtures.
 *     SUITE(SIMULATOR, .setup = open_card, .teardown = close_card); */
static spec_test_suite spec_this_suite __attribute__((unused));
#define SUITE(...) static spec_test_suite spec_this_suite = {.file = __FILE__, __VA_ARGS__}

/* Integers print as such, with the expression. */
static inline void spec_test_int_equal(intmax_t actual, intmax_t expected, const char *text,
                                       const char *file, int line)
{
    if (actual == expected) return;
    print_error("%s: %" PRIdMAX ", not %" PRIdMAX "\n", text, actual, expected);
    _fail(file, line);
}
#undef assert_int_equal
#define assert_int_equal(actual, expected)                                                         \
    spec_test_int_equal((intmax_t)(actual), (intmax_t)(expected), #actual, __FILE__, __LINE__)

/* Asserts how a call ends that writes its error into `&error`, which the assertion itself declares:
 *     assert_works(spec_grid_parse(&grid, "1:9", &error));
 *     assert_fails(spec_grid_parse(&grid, "9:1", &error), GSL_EINVAL, "9:1 is an empty range");
 *     assert_fails_with(spec_grid_parse(&grid, "9:1", &error), GSL_EINVAL, "empty"); */
#define assert_works(call) SPEC_TEST_ENDS(call, GSL_SUCCESS, NULL, NULL)
#define assert_fails(call, status, line) SPEC_TEST_ENDS(call, status, line, NULL)
#define assert_fails_with(call, status, part) SPEC_TEST_ENDS(call, status, NULL, part)
#define assert_status(call, status) SPEC_TEST_ENDS(call, status, NULL, NULL)

#define SPEC_TEST_ENDS(call, status, opt_line, opt_part)                                           \
    do {                                                                                           \
        _Pragma("GCC diagnostic push")                                                             \
        _Pragma("GCC diagnostic ignored \"-Wshadow\"")                                             \
        spec_error error = {""};                                                                   \
        _Pragma("GCC diagnostic pop")                                                              \
        const int status_ = (call);                                                                \
        spec_test_ends(status_, status, &error, opt_line, opt_part, #call, __FILE__, __LINE__);    \
    } while (0)

static inline void spec_test_ends(int actual, int expected, const spec_error *error,
                                  const char *opt_line, const char *opt_part, const char *call,
                                  const char *file, int line)
{
    if (actual == expected && (opt_line == NULL || strcmp(error->text, opt_line) == 0) &&
        (opt_part == NULL || strstr(error->text, opt_part) != NULL))
        return;
    print_error("%s: %d '%s', not %d", call, actual, error->text, expected);
    if (opt_line != NULL) print_error(" '%s'", opt_line);
    if (opt_part != NULL) print_error(" with '%s'", opt_part);
    print_error("\n");
    _fail(file, line);
}

uint64_t spec_test_seed(void);

static inline uint64_t spec_test_samples(uint64_t n)
{
    const char *text = getenv("SPEC_TEST_LONG");
    return text != NULL ? n * strtoull(text, NULL, 10) : n;
}

/* Returns the step of a loop over cases that run the same code: 1 with SPEC_TEST_LONG, at least 8
 * under a sanitizer, otherwise `everyday`. */
static inline int spec_test_stride(int everyday)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    if (everyday < 8) everyday = 8;
#endif
    return getenv("SPEC_TEST_LONG") != NULL ? 1 : everyday;
}

/* Returns the step of a loop over shapes that divide their work among threads in the same way: 1,
 * or 4 under the thread sanitizer. */
static inline size_t spec_test_thread_stride(void)
{
#if defined __SANITIZE_THREAD__
    return 4;
#else
    return 1;
#endif
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
