/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of launches, on the simulated GPU or on a real one. */
#include "models/gpu/driver.h"
#include "tests/models/gpu/card_case.h"
#include "tests/support/support.h"

#include <pthread.h>

TEST(a_recording_runs_at_each_replay_only)
{
    spec_card *card = open_card();
    spec_stream *stream = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen);
    spec_stream_record(stream);
    SPEC_RUN(stream, roofline_nothing, BLOCKS, 1, 1, .opt_seen = seen);
    spec_recording *recording = spec_stream_recorded(stream, NULL);
    assert_non_null(recording);
    assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
    assert_int_equal(count_seen(card, seen), 0);
    for (int i = 0; i < 3; i++) {
        spec_stream_replay(stream, recording);
        assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
        assert_int_equal(count_seen(card, seen), BLOCKS);
    }
    assert_null(spec_stream_recorded(stream, NULL)); /* no recording was started */
    spec_recording_free(card, recording);
    spec_recording_free(card, NULL);
    spec_stream_record(stream); /* a recording is abandoned */
    spec_stream_free(stream);
    assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
    spec_card_free(card, seen);
    spec_card_close(card);
}

TEST(calls_of_other_threads_spoil_no_recording)
{
    pthread_t thread;
    spec_card *card = open_card();
    spec_stream *stream = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen);
    neighbour n = {.card = card};
    spec_stream_record(stream);
    SPEC_RUN(stream, roofline_nothing, 2, 1, 1, .opt_seen = seen);
    assert_int_equal(pthread_create(&thread, NULL, work_beside, &n), 0);
    pthread_join(thread, NULL);
    assert_true(n.good);
    SPEC_RUN(stream, roofline_nothing, 3, 1, 1, .opt_seen = seen + 3);
    spec_recording *recording = spec_stream_recorded(stream, NULL);
    assert_non_null(recording);
    spec_stream_replay(stream, recording);
    assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
    assert_int_equal(count_seen(card, seen), 5);
    spec_recording_free(card, recording);
    spec_stream_free(stream);
    spec_card_free(card, seen);
    spec_card_close(card);
}

TEST(a_spoilt_recording_is_null_and_harms_nothing_else)
{
    spec_driver driver;
    spec_card *card = open_card();
    spec_stream *stream = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen);
    CUdeviceptr memory = 0;
    assert_int_equal(spec_driver_load(&driver, &spec_test_context(0)->gpu, NULL), GSL_SUCCESS);
    spec_stream_record(stream);
    SPEC_RUN(stream, roofline_nothing, 2, 1, 1, .opt_seen = seen);
    if (driver.cuMemAlloc_v2(&memory, 100) == CUDA_SUCCESS)
        driver.cuMemFree_v2(memory); /* forbidden while recording */
    SPEC_RUN(stream, roofline_nothing, 2, 1, 1, .opt_seen = seen);
    spec_recording *recording = spec_stream_recorded(stream, NULL);
    if (!spec_card_is_real()) assert_null(recording);
    spec_recording_free(card, recording);
    assert_int_equal(spec_stream_wait(stream, NULL), GSL_SUCCESS);
    assert_int_equal(count_seen(card, seen), 0);
    SPEC_RUN(stream, roofline_nothing, 3, 1, 1, .opt_seen = seen);
    assert_int_equal(count_seen(card, seen), 3);
    spec_stream_free(stream);
    spec_card_free(card, seen);
    spec_card_close(card);
}

TEST(a_failed_recording_says_why)
{
    static const char *const fails[] = {"cuStreamBeginCapture_v2", "cuLaunchKernelEx",
                                        "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
                                        "cuGraphUpload"};
    if (spec_card_is_real()) skip();
    spec_card *card = open_card();
    spec_stream *stream = stream_of(card);
    uint32_t *seen = memory_of(card, BLOCKS * sizeof *seen);
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
        char planned[64];
        spec_error error = {{0}};
        spec_stream *fresh = stream_of(card);
        snprintf(planned, sizeof planned, "%s:2", fails[i]);
        setenv("SIM_FAIL", planned, 1);
        spec_stream_record(fresh);
        SPEC_RUN(fresh, roofline_nothing, 2, 1, 1, .opt_seen = seen);
        assert_null(spec_stream_recorded(fresh, &error));
        unsetenv("SIM_FAIL");
        assert_string_equal(error.text, "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
        spec_stream_free(fresh);
        SPEC_RUN(stream, roofline_nothing, 3, 1, 1, .opt_seen = seen);
        assert_int_equal(count_seen(card, seen), 3);
        assert_int_equal(spec_card_status(card, NULL), GSL_SUCCESS);
    }
    spec_error error = {{0}};
    assert_null(spec_stream_recorded(stream, &error));
    assert_string_equal(error.text, "nothing was recorded");
    spec_stream_free(stream);
    spec_card_free(card, seen);
    spec_card_close(card);
}

SUITE(SIMULATOR);
