/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks GPUs, their memory, streams and faults, on the simulated GPU or on a real one. */
#include "models/gpu/driver.h"
#include "tests/models/gpu/card_case.h"
#include "tests/support/support.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>

TEST(one_card_is_opened_once_and_counted)
{
    spec_card *first = open_card(), *second = open_card();
    assert_ptr_equal(first, second);
    assert_true(strlen(spec_card_name(first)) > 0);
    assert_true(spec_card_memory(first) > 0 && spec_card_multiprocessors(first) > 0 &&
                spec_card_cache(first) > 0);
    void *memory = memory_of(first, 100);
    spec_card_close(first);
    char here[100];
    spec_card_get(second, here, memory, sizeof here); /* the memory still exists */
    assert_int_equal(spec_card_status(second, NULL), GSL_SUCCESS);
    spec_card_free(second, memory);
    spec_card_close(second);
    spec_card_close(NULL);
    spec_card_close(open_card());
}

TEST(memory_is_zeroed_and_aligned_and_keeps_its_contents)
{
    static const size_t size[] = {1, 3, 255, 4096, 100003};
    spec_card *card = open_card();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        FREED unsigned char *here = malloc(size[i]);
        char *memory = memory_of(card, size[i]);
        assert_int_equal((uintptr_t)memory % 256, 0);
        memset(here, 1, size[i]);
        spec_card_get(card, here, memory, size[i]);
        for (size_t j = 0; j < size[i]; j++) assert_int_equal(here[j], 0);
        for (size_t j = 0; j < size[i]; j++) here[j] = (unsigned char)(j * 37 % 251);
        spec_card_put(card, memory, here, size[i]);
        memset(here, 0, size[i]);
        spec_card_get(card, here, memory, size[i]);
        for (size_t j = 0; j < size[i]; j++) assert_int_equal(here[j], j * 37 % 251);
        if (size[i] > 5) {
            spec_card_get(card, here, memory + 5, 1);
            assert_int_equal(here[0], 5 * 37);
        }
        spec_card_put(card, memory, NULL, 0);
        spec_card_free(card, memory);
    }
    spec_card_free(card, memory_of(card, 0));
    spec_card_free(card, NULL);
    spec_card_pinned_free(card, NULL);
    assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
    spec_card_close(card);
}

TEST(too_large_allocations_fail_and_report_free_memory)
{
    spec_card *card = open_card();
    spec_error error = {{0}};
    const size_t all = spec_card_memory(card);
    void *memory = &error;
    assert_works(spec_card_check(card, all / 2, &error));
    assert_int_equal(spec_card_check(card, all + 1, &error), GSL_ENOMEM);
    assert_non_null(strstr(error.text, "GPU 0 ("));
    assert_non_null(strstr(error.text, " free of "));
    if (!spec_card_is_real())
        assert_string_equal(error.text,
                            "GPU 0 (simulated card) has 8 GiB free of 8 GiB, and 8 GiB are needed");
    assert_int_equal(spec_card_alloc(card, &memory, 2 * all, &error), GSL_ENOMEM);
    assert_null(memory);
    if (!spec_card_is_real())
        assert_string_equal(
            error.text,
            "GPU 0 (simulated card) has 8 GiB free of 8 GiB, and 16 GiB more are needed");
    spec_card_free(card, memory_of(card, 10)); /* the GPU stays usable */
    assert_works(spec_card_status(card, &error));
    spec_card_close(card);
}

TEST(large_memory_is_allocated_in_pieces)
{
    enum { MIB = 1 << 20 };
    static const size_t taken[][2] = {{0, 0},
                                      {1, 512},
                                      {512, 512},
                                      {513, 1024},
                                      {MIB - 1, MIB},
                                      {MIB, 2 * MIB},
                                      {2 * MIB, 2 * MIB},
                                      {2 * MIB + 1, 4 * MIB},
                                      {5 * MIB, 6 * MIB}};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_int_equal(spec_card_piece(taken[i][0]), taken[i][1]);
}

TEST(launches_and_copies_run_in_the_order_of_their_stream)
{
    spec_card *card = open_card();
    spec_stream *stream = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen), *here;
    void *pinned;
    assert_int_equal(spec_card_pinned_alloc(card, &pinned, 3 * BLOCKS * sizeof *here, NULL),
                     GSL_SUCCESS);
    here = pinned;
    memset(here, 0, 3 * BLOCKS * sizeof *here);
    for (int i = 0; i < BLOCKS; i++) here[i] = 0; /* clear the copies made after the first launch */
    spec_stream_mark(stream, 0);
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    spec_stream_get(stream, here + BLOCKS, seen, BLOCKS * sizeof *here);
    spec_stream_put(stream, seen, here, BLOCKS * sizeof *here);
    SPEC_RUN(stream, roofline_nothing, 0, 1, 1, .opt_seen = seen);
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 0, .opt_seen = seen);
    SPEC_RUN(stream, roofline_nothing, 2, 1, 1, .opt_seen = seen);
    spec_stream_get(stream, here + 2 * BLOCKS, seen, BLOCKS * sizeof *here);
    spec_stream_mark(stream, 1);
    assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
    for (int i = 0; i < BLOCKS; i++) {
        assert_true(here[BLOCKS + i] != 0);
        assert_int_equal(here[2 * BLOCKS + i] != 0, i < 2);
    }
    assert_true(spec_stream_seconds(stream) >= 0.0);
    spec_stream_free(stream);
    spec_stream_free(NULL);
    spec_card_pinned_free(card, pinned);
    spec_card_free(card, seen);
    spec_card_close(card);
}

TEST(put_and_get_wait_for_all_streams)
{
    spec_card *card = open_card();
    spec_stream *one = stream_of(card), *other = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen);
    SPEC_RUN(one, roofline_nothing, 2, 1, 1, .opt_seen = seen);
    SPEC_RUN(other, roofline_nothing, 3, 1, 1, .opt_seen = seen + 3);
    assert_int_equal(count_seen(card, seen), 5);
    assert_int_equal(spec_stream_wait(one, NULL), GSL_SUCCESS);
    assert_int_equal(spec_stream_wait(other, NULL), GSL_SUCCESS);
    assert_int_equal(count_seen(card, seen), 0);
    static const uint32_t none[BLOCKS];
    SPEC_RUN(one, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    spec_card_put(card, seen, none, sizeof none);
    assert_int_equal(spec_stream_wait(one, NULL), GSL_SUCCESS);
    assert_int_equal(count_seen(card, seen), 0);
    spec_stream_free(one);
    spec_stream_free(other);
    spec_card_free(card, seen);
    spec_card_close(card);
}

TEST(a_stream_on_a_full_gpu_fails_without_a_fault)
{
    static const char *const fails[] = {"cuStreamCreate:2", "cuEventCreate:2"};
    if (spec_card_is_real()) skip();
    spec_card *card = open_card();
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
        spec_error error = {{0}};
        spec_stream *stream = (spec_stream *)&error;
        setenv("SIM_FAIL", fails[i], 1);
        assert_int_equal(spec_stream_init(&stream, card, &error), GSL_ENOMEM);
        unsetenv("SIM_FAIL");
        assert_null(stream);
        assert_non_null(strstr(error.text, " has no memory left for a stream of launches"));
        assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
        spec_stream_free(stream_of(card));
    }
    spec_card_close(card);
}

/* Returns a counter of the simulated driver. */
static long counted(const char *name)
{
    void *library = dlopen(getenv("SPECLAB_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
    const long *count = dlsym(library, name);
    assert_non_null(count);
    dlclose(library);
    return *count;
}

TEST(all_kernels_request_shared_memory_and_a_refusal_is_no_failure)
{
    if (spec_card_is_real()) skip();
    const long before = counted("simulated_shared_wishes");
    spec_card_close(open_card());
    assert_int_equal(counted("simulated_shared_wishes") - before, SPEC_KERNELS_COUNT);
    setenv("SIM_FAIL", "cuFuncSetAttribute:1", 1);
    spec_card *card = open_card();
    unsetenv("SIM_FAIL");
    assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
    spec_card_close(card);
}

/* Returns whether launches begin early on a GPU with that capability and that setting. */
static bool begins_early(const char *opt_capability, bool in_order)
{
    const long before = spec_simulated_traffic().early;
    if (opt_capability != NULL) setenv("SIM_CAPABILITY", opt_capability, 1);
    spec_test_context(0)->gpu.in_order = in_order;
    spec_card *card = open_card();
    spec_stream *stream = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen);
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    assert_int_equal(count_seen(card, seen), BLOCKS);
    spec_stream_free(stream);
    spec_card_free(card, seen);
    spec_card_close(card);
    unsetenv("SIM_CAPABILITY");
    spec_test_context(0)->gpu.in_order = false;
    return spec_simulated_traffic().early > before;
}

TEST(launches_begin_early_where_supported_unless_disabled)
{
    if (spec_card_is_real()) skip();
    assert_true(begins_early("9.0", false));
    assert_true(begins_early("12.0", false));
    assert_false(begins_early("8.9", false));
    assert_false(begins_early(NULL, true));
    assert_true(begins_early(NULL, false));
}

static void *launch(void *self)
{
    const neighbour *n = self;
    SPEC_RUN(n->stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = n->seen);
    return NULL;
}

TEST(another_thread_can_continue_a_stream)
{
    pthread_t thread;
    neighbour n = {.card = open_card()};
    n.stream = stream_of(n.card);
    n.seen = memory_of(n.card, BLOCKS * sizeof *n.seen);
    assert_int_equal(pthread_create(&thread, NULL, launch, &n), 0);
    pthread_join(thread, NULL);
    assert_int_equal(spec_stream_wait(n.stream, NULL), GSL_SUCCESS);
    assert_int_equal(count_seen(n.card, n.seen), BLOCKS);
    spec_stream_free(n.stream);
    spec_card_free(n.card, n.seen);
    spec_card_close(n.card);
}

TEST(threads_with_own_streams_are_independent)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    neighbour n[THREADS];
    spec_card *card = open_card();
    for (int i = 0; i < THREADS; i++) {
        n[i] = (neighbour){.card = card};
        assert_int_equal(pthread_create(&thread[i], NULL, work_beside, &n[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_true(n[i].good);
    assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
    spec_card_close(card);
}

/* The second launch faults, directly or in a recording. */
static void fault(bool recorded)
{
    static const char line[] =
        "GPU 0 failed in a pass: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was "
        "encountered)";
    spec_error error = {{0}};
    spec_recording *recording = NULL;
    void *memory = &error;
    setenv("SIM_FAULT_AT", "2", 1);
    spec_card *card = open_card();
    unsetenv("SIM_FAULT_AT");
    spec_stream *stream = stream_of(card), *other = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen), here[BLOCKS] = {7};
    if (recorded) spec_stream_record(stream);
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    if (recorded) {
        recording = spec_stream_recorded(stream, NULL);
        assert_non_null(recording);
        spec_stream_replay(stream, recording);
    }
    assert_int_equal(spec_stream_wait(stream, &error), GSL_EFAILED);
    if (strncmp(error.text, line, strlen(line)) != 0) fail_msg("'%s'", error.text);
    /* From here on every call fails and does nothing. */
    assert_int_equal(spec_stream_wait(stream, &error), GSL_EFAILED);
    assert_int_equal(spec_stream_wait(other, NULL), GSL_EFAILED);
    assert_int_equal(spec_card_status(card, &error), GSL_EFAILED);
    assert_int_equal(spec_card_check(card, 1, &error), GSL_EFAILED);
    assert_int_equal(spec_card_alloc(card, &memory, 10, &error), GSL_EFAILED);
    assert_null(memory);
    assert_int_equal(spec_card_pinned_alloc(card, &memory, 10, &error), GSL_EFAILED);
    if (strncmp(error.text, line, strlen(line)) != 0) fail_msg("'%s'", error.text);
    SPEC_RUN(other, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    if (recorded) spec_stream_replay(other, recording);
    spec_stream_record(stream);
    assert_null(spec_stream_recorded(stream, NULL));
    spec_card_get(card, here, seen, sizeof here);
    assert_int_equal(here[0], 7);
    spec_card_put(card, seen, here, sizeof here);
    spec_stream_mark(stream, 0);
    assert_true(isnan(spec_stream_seconds(stream)));
    spec_stream *third = (spec_stream *)&error;
    assert_int_equal(spec_stream_init(&third, card, &error), GSL_EFAILED);
    assert_null(third);
    spec_recording_free(card, recording);
    spec_stream_free(stream);
    spec_stream_free(other);
    spec_card_free(card, seen);
    spec_card_close(card);
}

TEST(a_fault_is_permanent_and_stops_all_work)
{
    if (spec_card_is_real()) skip(); /* a real GPU would fault */
    fault(false);
    fault(true);
    spec_card *card = open_card(); /* a context of its own */
    assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
    spec_card_close(card);
}

SUITE(SIMULATOR);
