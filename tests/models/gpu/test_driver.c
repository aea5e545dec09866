/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the messages for drivers that cannot be used. A refused driver is looked up again, so one
 * process can test all cases; the tests of a working driver come last. */
#include "models/gpu/card.h"
#include "models/gpu/driver.h"
#include "models/gpu/images.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static spec_gpu_settings settings;
static spec_cards *cards;

static int set_up(void **state)
{
    (void)state;
    return spec_cards_init(&cards, &settings, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    spec_cards_free(cards);
    return 0;
}

/* Sets the library, and one variable of the environment for this call. */
static void refused(const char *library, const char *name, const char *value, const char *begin)
{
    spec_driver driver;
    memset(&driver, 1, sizeof driver);
    spec_error error = {{0}};
    settings.opt_library = library;
    if (name != NULL) setenv(name, value, 1);
    assert_int_equal(spec_driver_load(&driver, &settings, &error), GSL_EFAILED);
    assert_int_equal(driver.version, 0);
    assert_null(driver.cuInit);
    if (strncmp(error.text, begin, strlen(begin)) != 0)
        fail_msg("'%s' is not '%s'", error.text, begin);
    assert_null(strchr(error.text, '\n'));
    assert_int_equal(spec_card_count(cards, &error), 0);
    if (strncmp(error.text, begin, strlen(begin)) != 0)
        fail_msg("'%s' is not '%s'", error.text, begin);
    if (name != NULL) unsetenv(name);
}

static const char *old_driver(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/../plugins/old_driver.so", spec_simulator_path("."));
    return path;
}

TEST(missing_libraries_and_functions_are_named)
{
    char line[4500];
    refused("/nowhere/libcuda.so", NULL, NULL,
            "the library in SPECLAB_LIBCUDA cannot be loaded: /nowhere/libcuda.so: cannot open "
            "shared object file");
    refused("libm.so.6", NULL, NULL, "libm.so.6 is not a CUDA driver: it has no function cuInit");
    snprintf(line, sizeof line,
             "the NVIDIA driver is too old: %.200s has no function cuDriverGetVersion; a driver "
             "for CUDA 12.0 or "
             "later is needed",
             old_driver());
    refused(old_driver(), NULL, NULL, line);
    void *real = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (real != NULL) {
        printf("skipped: the rest of %s: this machine has a driver\n", __func__);
        dlclose(real);
        return;
    }
    refused("", NULL, NULL, "there is no NVIDIA driver on this machine: libcuda.so.1: ");
    refused(NULL, NULL, NULL, "there is no NVIDIA driver on this machine: libcuda.so.1: ");
}

TEST(drivers_without_a_gpu_or_too_old_are_refused)
{
    const char *simulator = spec_simulator_path("libcuda.so");
    if (spec_card_is_real()) skip();
    refused(simulator, "SIM_CARDS", "0",
            "there is no NVIDIA GPU: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)");
    settings.opt_visible = "-1";
    refused(simulator, "SIM_CARDS", "0",
            "no NVIDIA GPU is visible: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is "
            "detected); "
            "CUDA_VISIBLE_DEVICES is '-1'");
    settings.opt_visible = NULL;
    refused(simulator, "SIM_VERSION", "11080",
            "the NVIDIA driver is too old: it supports CUDA 11.8, and 12.0 or later is needed");
}

/* The library of the simulated GPU, or of the real one. */
static void choose_a_working_driver(void)
{
    spec_simulated_card();
    settings.opt_library = getenv("SPECLAB_LIBCUDA");
}

static void *open_first(void *ret)
{
    spec_card_open(ret, cards, 0, NULL);
    return NULL;
}

TEST(concurrent_opens_load_one_driver_and_return_the_same_gpu)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    spec_card *card[THREADS] = {NULL};
    choose_a_working_driver();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, open_first, (void *)&card[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_non_null(card[i]);
        assert_ptr_equal(card[i], card[0]);
    }
    for (int i = 0; i < THREADS; i++) spec_card_close(card[i]);
}

TEST(two_contexts_open_the_same_gpu_independently)
{
    spec_cards *others;
    spec_card *mine, *other;
    choose_a_working_driver();
    assert_int_equal(spec_cards_init(&others, &settings, NULL), GSL_SUCCESS);
    assert_int_equal(spec_card_open(&mine, cards, 0, NULL), GSL_SUCCESS);
    assert_int_equal(spec_card_open(&other, others, 0, NULL), GSL_SUCCESS);
    assert_ptr_not_equal(mine, other);
    spec_card_close(mine);
    const unsigned sent = 2385;
    unsigned back = 0;
    void *memory;
    assert_int_equal(spec_card_alloc(other, &memory, sizeof sent, NULL), GSL_SUCCESS);
    spec_card_put(other, memory, &sent, sizeof sent);
    spec_card_get(other, &back, memory, sizeof back);
    assert_int_equal(back, sent);
    spec_card_free(other, memory);
    spec_card_close(other);
    spec_cards_free(others);
}

TEST(results_have_names_or_else_numbers)
{
    spec_driver driver;
    char text[200];
    choose_a_working_driver();
    assert_works(spec_driver_load(&driver, &settings, &error));
    assert_true(driver.version >= SPEC_DRIVER_OLDEST);
    spec_driver_describe(text, sizeof text, &driver, CUDA_ERROR_OUT_OF_MEMORY);
    assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    spec_driver_describe(text, sizeof text, &driver, 987654);
    assert_string_equal(text, "CUDA error 987654");
}

TEST(unusable_gpus_are_refused_with_a_reason)
{
    spec_card *card = (spec_card *)&card;
    spec_error error = {{0}};
    if (spec_card_is_real()) skip();
    choose_a_working_driver();
    assert_fails(spec_card_open(&card, cards, 1, &error), GSL_EINVAL,
                 "there is no GPU 1: this machine has one NVIDIA GPU, gpu:0");
    assert_null(card);
    assert_int_equal(spec_card_open(&card, cards, -1, &error), GSL_EINVAL);
    setenv("SIM_CAPABILITY", "7.5", 1);
    assert_int_equal(spec_card_open(&card, cards, 0, &error), GSL_EFAILED);
    assert_non_null(strstr(
        error.text, "GPU 0 (simulated card) has compute capability 7.5, and the kernels need 8.0"));
    unsetenv("SIM_CAPABILITY");
    setenv("SIM_IMAGES", "0", 1);
    assert_int_equal(spec_card_open(&card, cards, 0, &error), GSL_EFAILED);
    assert_null(card);
    if (spec_images_are_there())
        assert_string_equal(
            error.text,
            "GPU 0 (simulated card): the kernels cannot be loaded: CUDA_ERROR_INVALID_IMAGE "
            "(device kernel image is invalid)");
    else
        assert_string_equal(
            error.text,
            "this speclab was built without nvcc, so it has no kernels for a GPU: install "
            "the CUDA toolkit and build it again");
    unsetenv("SIM_IMAGES");
    setenv("SIM_CAPABILITY", "8.0", 1);
    assert_works(spec_card_open(&card, cards, 0, &error));
    spec_card_close(card);
    unsetenv("SIM_CAPABILITY");
}

SUITE(DRIVER, .setup = set_up, .teardown = tear_down);
