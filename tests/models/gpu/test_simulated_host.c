/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated GPU finds missing waits and wrong recordings of the host, which a real GPU may
 * tolerate. (Memory and answers are in test_simulated_driver, mistakes in kernels in
 * test_simulator.) */
#include "tests/models/gpu/planted_host.h"
#include "tests/support/support.h"

#include <pthread.h>

/* ---- waiting --------------------------------------------------------------------------------- */

static bool forgets; /* the mistake under test */

static void wait_or_not(void)
{
    float out[N];
    begin();
    launch(stream, "planted_copy", y, x);
    if (!forgets) WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    const bool right = is_x(out);
    end();
    if (!right) _exit(5);
}

TEST(results_are_old_without_a_wait)
{
    forgets = false;
    child(wait_or_not, NULL, NULL);
    ends(0, "");
    forgets = true;
    child(wait_or_not, NULL, NULL);
    ends(5, "");
}

static void reuse_pinned(void)
{
    float out[N];
    begin();
    WORKS(cuda.cuMemcpyHtoDAsync_v2(y, pinned, sizeof host_x, stream));
    if (!forgets) WORKS(cuda.cuStreamSynchronize(stream));
    memset(pinned, 0, sizeof host_x);
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    const bool right = is_x(out);
    end();
    if (!right) _exit(5);
}

TEST(early_writes_to_pinned_memory_change_the_copy)
{
    forgets = false;
    child(reuse_pinned, NULL, NULL);
    ends(0, "");
    forgets = true;
    child(reuse_pinned, NULL, NULL);
    ends(5, "");
}

static void use_two_streams(void)
{
    float out[N];
    CUstream other;
    begin();
    WORKS(cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    const CUdeviceptr z = device_floats(N);
    launch(stream, "planted_copy", y, x);
    if (!forgets) WORKS(cuda.cuStreamSynchronize(stream));
    launch(other, "planted_copy", z, y);
    WORKS(cuda.cuStreamSynchronize(other));
    WORKS(get(z, out));
    const bool right = is_x(out);
    WORKS(cuda.cuMemFree_v2(z));
    WORKS(cuda.cuStreamDestroy_v2(other));
    end();
    if (!right) _exit(5);
}

TEST(two_streams_are_unordered)
{
    forgets = false;
    for (int seed = 0; seed < 8; seed++) {
        char variable[32];
        snprintf(variable, sizeof variable, "SIM_SEED=%d", seed + 1);
        child(use_two_streams, seed == 0 ? NULL : variable, NULL);
        ends(0, "");
    }
    forgets = true;
    child(use_two_streams, NULL, NULL);
    ends(5, "");
}

/* Computes y = x in one stream and x = 0 in another, in undefined order. */
static void overtake(void)
{
    float out[N];
    CUstream other;
    begin();
    WORKS(cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    WORKS(cuda.cuMemsetD8Async(x, 0, sizeof host_x, other));
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    const bool right = is_x(out);
    WORKS(cuda.cuStreamDestroy_v2(other));
    end();
    if (!right) _exit(5);
}

TEST(with_a_seed_streams_overtake_each_other)
{
    int first = 0, second = 0;
    for (int seed = 1; seed <= 16; seed++) {
        char variable[32];
        snprintf(variable, sizeof variable, "SIM_SEED=%d", seed);
        child(overtake, variable, NULL);
        if (ended == 0) first++;
        else if (ended == 5) second++;
        else ends(0, "");
    }
    assert_true(first > 0 && second > 0);
}

static void use_the_legacy_stream(void)
{
    float out[N];
    CUstream blocking;
    begin();
    WORKS(cuda.cuStreamCreate(&blocking, 0));
    launch(blocking, "planted_copy", y, x);
    WORKS(get(y, out)); /* the legacy stream waits for blocking streams only */
    HOLDS(is_x(out));
    WORKS(cuda.cuMemsetD8Async(y, 0, sizeof host_x, NULL));
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuStreamSynchronize(NULL));
    WORKS(get(y, out));
    HOLDS(out[7] == 0);
    WORKS(cuda.cuStreamDestroy_v2(blocking));
    end();
}

TEST(the_legacy_stream_waits_for_blocking_streams)
{
    child(use_the_legacy_stream, NULL, NULL);
    ends(0, "");
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void replay(void)
{
    float out[N];
    CUgraph graph;
    CUgraphExec recording;
    begin();
    WORKS(cuda.cuMemsetD8Async(y, 0, sizeof host_x, stream));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    WORKS(cuda.cuMemcpyHtoDAsync_v2(x, pinned, sizeof host_x, stream));
    launch(stream, "planted_copy", y, x); /* its arguments are out of scope when it is replayed */
    WORKS(cuda.cuStreamEndCapture(stream, &graph));
    WORKS(cuda.cuGraphInstantiateWithFlags(&recording, graph, 0));
    WORKS(cuda.cuGraphDestroy(graph));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    HOLDS(out[7] == 0); /* recorded, not run */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++)
            host_x[i] = pinned[i] = (float)(i * (round + 2)); /* the replay reads these values */
        WORKS(cuda.cuGraphLaunch(recording, stream));
        if (round == 1) WORKS(cuda.cuGraphExecDestroy(recording));
        WORKS(cuda.cuStreamSynchronize(stream));
        WORKS(get(y, out));
        HOLDS(is_x(out));
    }
    end();
}

TEST(a_replay_uses_recorded_arguments_and_current_memory)
{
    child(replay, NULL, NULL);
    ends(0, "");
    child(replay, "SIM_SEED=3", NULL);
    ends(0, "");
}

static int forbidden; /* calls that are forbidden while a pass is recorded */

static void spoil(void)
{
    float out[N];
    CUgraph graph = (CUgraph)&graph;
    CUdeviceptr more = 0;
    CUresult result = CUDA_SUCCESS;
    begin();
    WORKS(cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    launch(stream, "planted_copy", y, x);
    if (forbidden == 0) result = cuda.cuStreamSynchronize(stream);
    if (forbidden == 1) result = get(y, out);
    if (forbidden == 2) result = cuda.cuMemAlloc_v2(&more, 16);
    if (forbidden == 3) result = cuda.cuMemFree_v2(y);
    if (forbidden == 4) result = cuda.cuMemsetD8Async(y, 0, 16, NULL);
    HOLDS(result == (forbidden == 4 ? 906 : 900));
    HOLDS(try_launch(stream, "planted_copy", 1, THREADS, y, x, 0) ==
          CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    HOLDS(cuda.cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
          graph == NULL);
    launch(stream, "planted_copy", y, x); /* afterwards the stream works again */
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    HOLDS(is_x(out));
    end();
}

TEST(waiting_spoils_a_recording)
{
    for (forbidden = 0; forbidden < 5; forbidden++) {
        child(spoil, NULL, NULL);
        ends(0, "");
    }
}

static void *copy_elsewhere(void *unused)
{
    float out[N];
    (void)unused;
    WORKS(cuda.cuCtxSetCurrent(context));
    WORKS(get(x, out));
    HOLDS(is_x(out));
    return NULL;
}

static void record_beside(void)
{
    pthread_t thread;
    CUgraph graph;
    begin();
    WORKS(cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    HOLDS(pthread_create(&thread, NULL, copy_elsewhere, NULL) == 0);
    pthread_join(thread, NULL);
    WORKS(cuda.cuStreamEndCapture(stream, &graph));
    WORKS(cuda.cuGraphDestroy(graph));
    end();
}

TEST(another_thread_may_copy_during_a_recording)
{
    child(record_beside, NULL, NULL);
    ends(0, "");
}

/* -- GPU memory -- */

#if defined __SANITIZE_ADDRESS__
static void touch(void)
{
    begin();
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuStreamSynchronize(stream));
    volatile float *from_the_host = (float *)(uintptr_t)y;
    if (forgets) *from_the_host = 1;
    end();
}

TEST(the_host_may_not_touch_gpu_memory)
{
    forgets = false;
    child(touch, NULL, NULL);
    ends(0, "");
    forgets = true;
    child(touch, NULL, NULL);
    ends(1, "AddressSanitizer: use-after-poison");
}
#endif

SUITE(DRIVER);
