/* Mistakes of the host, which a card may forgive for a while, are found by the simulated card; settings and answers are
 * those of a real driver. (Mistakes in kernels: test_simulator.) */
#include "tests/models/gpu/planted.h"

#include <pthread.h>

static float host_x[N];
static CUdeviceptr x, y;
static float *pinned; /* (N) */

static void begin(void)
{
    void *memory;
    for (int i = 0; i < N; i++) host_x[i] = (float)i + 0.25f;
    open_card();
    x = device_floats(N);
    y = device_floats(N);
    WORKS(cuda.cuMemAllocHost_v2(&memory, sizeof host_x));
    pinned = memory;
    memcpy(pinned, host_x, sizeof host_x);
    WORKS(cuda.cuMemcpyHtoD_v2(x, host_x, sizeof host_x));
}

static void end(void)
{
    WORKS(cuda.cuMemFreeHost(pinned));
    WORKS(cuda.cuMemFree_v2(x));
    WORKS(cuda.cuMemFree_v2(y));
    close_card();
}

static CUresult get(CUdeviceptr from, float *to) { return cuda.cuMemcpyDtoH_v2(to, from, sizeof host_x); }

static bool is_x(const float *values) { return memcmp(values, host_x, sizeof host_x) == 0; }

static void child(void (*body)(void), const char *one, const char *two)
{
    in_child(body, "libplanted.so", one, two, NULL);
}

static void ends(int code, const char *text)
{
    if (ended != code || strstr(said, text) == NULL) fail_msg("it ended with %d, not %d with '%s': %s", ended, code, text, said);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

static bool forgets; /* what the test is about */

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

static void a_result_that_nobody_waited_for_is_old(void **state)
{
    (void)state;
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

static void pinned_memory_that_is_written_too_early_is_copied_as_it_is_then(void **state)
{
    (void)state;
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

static void no_order_is_between_two_streams(void **state)
{
    (void)state;
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

/* y = x in one stream, x = 0 in another: which comes first is a matter of chance. */
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

static void with_a_seed_streams_overtake_each_other(void **state)
{
    (void)state;
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
    WORKS(get(y, out)); /* the legacy stream waits for those that block, and nobody else */
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

static void the_legacy_stream_waits_for_streams_that_block(void **state)
{
    (void)state;
    child(use_the_legacy_stream, NULL, NULL);
    ends(0, "");
}

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

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
    launch(stream, "planted_copy", y, x); /* its arguments are gone when it is replayed */
    WORKS(cuda.cuStreamEndCapture(stream, &graph));
    WORKS(cuda.cuGraphInstantiateWithFlags(&recording, graph, 0));
    WORKS(cuda.cuGraphDestroy(graph));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    HOLDS(out[7] == 0); /* recorded, not run */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) host_x[i] = pinned[i] = (float)(i * (round + 2)); /* read when it is replayed */
        WORKS(cuda.cuGraphLaunch(recording, stream));
        if (round == 1) WORKS(cuda.cuGraphExecDestroy(recording));
        WORKS(cuda.cuStreamSynchronize(stream));
        WORKS(get(y, out));
        HOLDS(is_x(out));
    }
    end();
}

static void a_recording_is_run_with_the_arguments_of_then_and_the_memory_of_now(void **state)
{
    (void)state;
    child(replay, NULL, NULL);
    ends(0, "");
    child(replay, "SIM_SEED=3", NULL);
    ends(0, "");
}

static int forbidden; /* what is done while a pass is recorded */

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
    HOLDS(try_launch(stream, "planted_copy", 1, THREADS, y, x, 0) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    HOLDS(cuda.cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && graph == NULL);
    launch(stream, "planted_copy", y, x); /* and then it is a stream again */
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(get(y, out));
    HOLDS(is_x(out));
    end();
}

static void what_waits_spoils_a_recording(void **state)
{
    (void)state;
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

static void another_thread_may_copy_meanwhile(void **state)
{
    (void)state;
    child(record_beside, NULL, NULL);
    ends(0, "");
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static int mistake;

static void misuse(void)
{
    float out[N + 1];
    CUstream other;
    begin();
    if (mistake == 0) (void)cuda.cuMemcpyDtoH_v2(out, y, sizeof out);
    if (mistake == 1) (void)cuda.cuMemcpyHtoDAsync_v2(y, pinned + 1, sizeof host_x, stream);
    if (mistake == 2) (void)cuda.cuMemcpyDtoHAsync_v2(out, y, sizeof host_x, stream);
    if (mistake == 3) (void)cuda.cuMemsetD8Async(y + 4, 0, sizeof host_x, stream);
    if (mistake == 4) {
        WORKS(cuda.cuMemFree_v2(y));
        (void)cuda.cuMemFree_v2(y);
    }
    if (mistake == 5) {
        WORKS(cuda.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
        WORKS(cuda.cuStreamDestroy_v2(other));
        (void)cuda.cuStreamSynchronize(other);
    }
    if (mistake == 6) (void)cuda.cuMemFreeHost(out);
    if (mistake == 7) close_card();
    _exit(0);
}

static void misuse_of_memory_and_streams_is_named(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "simulator: a copy of 4100 bytes where the card's memory has 4096\n",
        "simulator: a copy in a stream of 4096 bytes where the host's pinned memory has 4092\n",
        "simulator: a copy in a stream of 4096 bytes where the host's pinned memory has 0\n",
        "simulator: filling of 4096 bytes where the card's memory has 4092\n",
        "is given back, which is no allocation, or no longer\n",
        "simulator: a stream is used that there is not, or no longer\n",
        "is given back, which is no allocation, or no longer\n",
        "simulator: the context is released while there still are 2 allocations, 1 of pinned memory, 0 streams, 0 events, 0 "
        "graphs, 0 modules\n",
    };
    for (mistake = 0; mistake < (int)(sizeof lines / sizeof lines[0]); mistake++) {
        child(misuse, NULL, NULL);
        ends(3, lines[mistake]);
    }
}

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

static void the_host_may_not_touch_the_cards_memory(void **state)
{
    (void)state;
    forgets = false;
    child(touch, NULL, NULL);
    ends(0, "");
    forgets = true;
    child(touch, NULL, NULL);
    ends(1, "AddressSanitizer: use-after-poison");
}
#endif

static void fill_memory(void)
{
    CUdeviceptr memory[3];
    size_t free_bytes, total;
    open_card();
    WORKS(cuda.cuMemGetInfo_v2(&free_bytes, &total));
    HOLDS(total == 1 << 20 && free_bytes == total);
    WORKS(cuda.cuMemAlloc_v2(&memory[0], 1000000));
    HOLDS(memory[0] % 256 == 0);
    HOLDS(cuda.cuMemAlloc_v2(&memory[1], 100000) == CUDA_ERROR_OUT_OF_MEMORY);
    HOLDS(cuda.cuMemAlloc_v2(&memory[1], (size_t)1 << 62) == CUDA_ERROR_OUT_OF_MEMORY);
    HOLDS(cuda.cuMemAlloc_v2(&memory[1], 0) == CUDA_ERROR_INVALID_VALUE);
    WORKS(cuda.cuMemAlloc_v2(&memory[2], 1));
    WORKS(cuda.cuMemFree_v2(memory[0]));
    WORKS(cuda.cuMemFree_v2(memory[2]));
    WORKS(cuda.cuMemGetInfo_v2(&free_bytes, &total));
    HOLDS(free_bytes == total);
    close_card();
}

static void a_card_has_as_much_memory_as_is_said(void **state)
{
    (void)state;
    child(fill_memory, "SIM_MEMORY=0x100000", NULL);
    ends(0, "");
}

/* ---- answers ------------------------------------------------------------------------------------------------------ */

static void fault(void)
{
    float out[N];
    begin();
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuStreamSynchronize(stream));
    launch(stream, "planted_copy", y, x);
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuMemcpyHtoDAsync_v2(y, pinned, 4, stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(get(y, out) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuMemFree_v2(x) == CUDA_ERROR_ILLEGAL_ADDRESS && cuda.cuMemFree_v2(y) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuMemFreeHost(pinned) == CUDA_ERROR_ILLEGAL_ADDRESS);
    HOLDS(cuda.cuStreamDestroy_v2(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    (void)cuda.cuModuleUnload(module);
    WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
    WORKS(cuda.cuDevicePrimaryCtxRetain(&context, 0)); /* a new one is whole again */
    WORKS(cuda.cuDevicePrimaryCtxRelease_v2(0));
}

static void a_fault_sticks(void **state)
{
    (void)state;
    child(fault, "SIM_FAULT_AT=2", NULL);
    ends(0, "");
}

static CUresult try_launch_bad(CUfunction function, unsigned blocks, unsigned threads, void **parameters)
{
    const CUlaunchConfig config = {blocks, 1, 1, threads, 1, 1, 0, stream, NULL, 0};
    return cuda.cuLaunchKernelEx(&config, function, parameters, NULL);
}

static void refuse(void)
{
    CUfunction function;
    CUdevice device;
    CUevent early, late;
    float milliseconds = 0;
    int most = 0;
    struct planted_args args = {0};
    void *parameters[] = {&args};
    begin();
    HOLDS(cuda.cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
    HOLDS(cuda.cuModuleGetFunction(&function, module, "spec_kernel_no_such") == CUDA_ERROR_NOT_FOUND);
    WORKS(cuda.cuModuleGetFunction(&function, module, "spec_kernel_planted_copy"));
    WORKS(cuda.cuFuncGetAttribute(&most, 0, function));
    HOLDS(most == 256);
    HOLDS(try_launch_bad(function, 1, 257, parameters) == CUDA_ERROR_INVALID_VALUE);
    HOLDS(try_launch_bad(function, 0, 256, parameters) == CUDA_ERROR_INVALID_VALUE);
    HOLDS(try_launch_bad(NULL, 1, 256, parameters) == CUDA_ERROR_INVALID_HANDLE);
    WORKS(cuda.cuEventCreate(&early, 0));
    WORKS(cuda.cuEventCreate(&late, 0));
    WORKS(cuda.cuEventRecord(early, stream));
    HOLDS(cuda.cuEventElapsedTime(&milliseconds, early, late) == CUDA_ERROR_INVALID_HANDLE);
    launch(stream, "planted_copy", y, x);
    WORKS(cuda.cuEventRecord(late, stream));
    HOLDS(cuda.cuEventElapsedTime(&milliseconds, early, late) == 600);
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuEventElapsedTime(&milliseconds, early, late));
    HOLDS(milliseconds > 0.0009f && milliseconds < 0.1f);
    WORKS(cuda.cuEventDestroy_v2(early));
    WORKS(cuda.cuEventDestroy_v2(late));
    WORKS(cuda.cuCtxSetCurrent(NULL));
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_INVALID_CONTEXT);
    WORKS(cuda.cuCtxSetCurrent(context));
    end();
}

static void what_a_driver_refuses_is_refused(void **state)
{
    (void)state;
    child(refuse, "SIM_CARDS=2", NULL);
    ends(0, "");
}

static void no_card(void)
{
    int count = 5;
    HOLDS(cuda.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(cuda.cuInit(0) == CUDA_ERROR_NO_DEVICE);
    WORKS(cuda.cuDeviceGetCount(&count));
    HOLDS(count == 0);
}

static void other_card(void)
{
    int count, major, minor, version;
    WORKS(cuda.cuInit(0));
    WORKS(cuda.cuDeviceGetCount(&count));
    WORKS(cuda.cuDriverGetVersion(&version));
    WORKS(cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
    WORKS(cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 2));
    HOLDS(count == 3 && version == 11040 && major == 8 && minor == 6);
}

static void missing_function(void) { HOLDS(cuda.cuGraphInstantiateWithFlags == NULL && cuda.cuGraphLaunch != NULL); }

static void failing_function(void)
{
    begin();
    WORKS(cuda.cuStreamSynchronize(stream));
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
    HOLDS(cuda.cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
    end();
}

static void settings_change_what_there_is(void **state)
{
    (void)state;
    child(no_card, "SIM_CARDS=0", NULL);
    ends(0, "");
    in_child(other_card, "libplanted.so", "SIM_CARDS=3", "SIM_VERSION=11040", "SIM_CAPABILITY=8.6");
    ends(0, "");
    child(missing_function, "SIM_MISSING=1", NULL);
    ends(0, "");
    child(failing_function, "SIM_FAIL=cuStreamSynchronize:719:2", NULL);
    ends(0, "");
}

static void all_there(void)
{
#define IS_THERE(name, parameters) HOLDS(cuda.name != NULL);
    SPEC_DRIVER_FUNCTIONS(IS_THERE)
}

static void each_function_is_there(void **state)
{
    (void)state;
    static const char *const libraries[] = {"libcuda.so", "libplanted.so", "libplanted_watched.so"};
    for (int i = 0; i < 3; i++) {
        in_child(all_there, libraries[i], NULL, NULL, NULL);
        ends(0, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_that_nobody_waited_for_is_old),
        cmocka_unit_test(pinned_memory_that_is_written_too_early_is_copied_as_it_is_then),
        cmocka_unit_test(no_order_is_between_two_streams),
        cmocka_unit_test(with_a_seed_streams_overtake_each_other),
        cmocka_unit_test(the_legacy_stream_waits_for_streams_that_block),
        cmocka_unit_test(a_recording_is_run_with_the_arguments_of_then_and_the_memory_of_now),
        cmocka_unit_test(what_waits_spoils_a_recording),
        cmocka_unit_test(another_thread_may_copy_meanwhile),
        cmocka_unit_test(misuse_of_memory_and_streams_is_named),
#if defined __SANITIZE_ADDRESS__
        cmocka_unit_test(the_host_may_not_touch_the_cards_memory),
#endif
        cmocka_unit_test(a_card_has_as_much_memory_as_is_said),
        cmocka_unit_test(a_fault_sticks),
        cmocka_unit_test(what_a_driver_refuses_is_refused),
        cmocka_unit_test(settings_change_what_there_is),
        cmocka_unit_test(each_function_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
