/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated GPU finds mistakes in kernels, and correct kernels pass. (Mistakes of the host are
 * in test_simulated_host and test_simulated_driver.) */
#include "tests/models/gpu/planted_use.h"
#include "tests/support/support.h"

#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static void run_kernel(const char *name, int is_wrong, const char *library, const char *variable)
{
    kernel = name;
    wrong = is_wrong;
    in_child(use_kernel, library, variable, "SIM_PATIENCE=1", NULL);
}

/* The kernel passes in all orders, and with every access watched. */
static void passes(const char *name)
{
    for (int i = 0; i < 6; i++) {
        run_kernel(name, 0, i < 3 ? "libplanted.so" : "libplanted_watched.so", orders[i % 3]);
        if (ended != 0) fail_msg("%s, %s: it ended with %d: %s", name, orders[i % 3], ended, said);
    }
}

/* In all orders the child prints one line and exits with 3. */
static void is_caught(const char *name, const char *text)
{
    passes(name);
    for (int i = 0; i < 3; i++) {
        run_kernel(name, 1, "libplanted.so", orders[i]);
        says(text, 3);
        const char *line = strstr(said, "simulator: kernel planted_");
        assert_non_null(line);
        assert_true(line == said || sanitized); /* a sanitizer prints the call stack first */
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    }
}

/* Uses the library with the race detector. */
static void is_caught_watched(const char *name, const char *text)
{
    passes(name);
    for (int i = 0; i < 3; i++) {
        run_kernel(name, 1, "libplanted_watched.so", orders[i]);
        says(text, 3);
    }
}

/* -- barriers and warp operations -- */

TEST(a_barrier_in_two_branches_is_named)
{
    is_caught("planted_divergent", "sync_block at kernels_planted.cu:");
}

TEST(a_barrier_after_which_threads_have_ended_is_named)
{
    is_caught("planted_early", "is not reached by thread 250, which has ended");
}

TEST(a_shuffle_of_half_a_warp_is_named)
{
    is_caught("planted_half_warp", "which has ended");
    assert_non_null(strstr(said, "shuffle at kernels_planted.cu:"));
}

TEST(a_shuffle_at_two_lines_is_named)
{
    is_caught("planted_two_lines", "is in shuffle at kernels_planted.cu:");
}

TEST(a_product_without_a_lane_names_the_lanes_place)
{
    is_caught("planted_product", "31, which is in sync_block at kernels_planted.cu:");
    assert_non_null(strstr(said, "mma_bf16 at kernels_planted.cu:"));
}

/* ---- orders and races ------------------------------------------------------------------------ */

TEST(a_missing_barrier_shows_in_one_order_of_threads)
{
    passes("planted_sum");
    run_kernel("planted_sum", 1, "libplanted.so", "SIM_ORDER=forward");
    assert_int_equal(ended, 5);
    run_kernel("planted_sum", 1, "libplanted.so", "SIM_ORDER=reverse");
    assert_int_equal(ended, 0);
}

TEST(a_missing_barrier_is_a_race_in_any_order)
{
    is_caught_watched("planted_sum", "shared memory at kernels_planted.cu:");
}

TEST(two_threads_that_write_a_word_race)
{
    is_caught_watched("planted_one_word", "race: it writes shared memory at kernels_planted.cu:");
}

TEST(unordered_lanes_race)
{
    is_caught_watched("planted_lanes", "with no barrier between");
}

TEST(blocks_that_read_what_others_write_race)
{
    is_caught_watched("planted_blocks", "a thread of another block");
    assert_non_null(strstr(said, "the card's memory"));
}

TEST(additions_that_are_not_atomic_race)
{
    is_caught_watched("planted_count", "race: it ");
}

/* The last block of a launch reads what the others wrote. */
TEST(blocks_that_pass_data_without_a_fence_race)
{
    static const char *const where[] = {
        [LAST_WRITES_UNFENCED] = "with no fence between the write and take_uint32",
        [LAST_READS_UNFENCED] = "with no fence between take_uint32 and the read",
        [LAST_COUNTS_FIRST] = "with no fence between the write and take_uint32"};
    passes("planted_last");
    for (int mistake = LAST_WRITES_UNFENCED; mistake <= LAST_COUNTS_FIRST; mistake++)
        for (int i = 0; i < 3; i++) {
            run_kernel("planted_last", mistake, "libplanted_watched.so", orders[i]);
            says(where[mistake], 3);
        }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void past_the_end(void)
{
    float x[N] = {0};
    open_card();
    const CUdeviceptr from = device_floats(N), to = device_floats(N);
    WORKS(cuda.cuMemcpyHtoD_v2(from, x, sizeof x));
    WORKS(try_launch(stream, kernel, N / THREADS + (strcmp(kernel, "planted_past_end") == 0),
                     THREADS, to, from, wrong));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuMemFree_v2(from));
    WORKS(cuda.cuMemFree_v2(to));
    close_card();
}

TEST(memory_one_past_the_end_is_found)
{
    static const char *const names[] = {"planted_past_end", "planted_reads_past"};
    for (int i = 0; i < 2; i++) {
        kernel = names[i];
        wrong = 0;
        in_child(past_the_end, "libplanted.so", NULL, NULL, NULL);
        says("", 0);
        in_child(past_the_end, "libplanted_watched.so", NULL, NULL, NULL);
        says("", 0);
        wrong = 1;
        in_child(past_the_end, "libplanted_watched.so", NULL, NULL, NULL);
        says("at byte 4096 of an allocation of 4096 bytes", 3);
        in_child(past_the_end, "libplanted.so", NULL, NULL, NULL);
        if (sanitized) {
            assert_non_null(strstr(said, "AddressSanitizer: heap-buffer-overflow"));
            assert_non_null(strstr(said, "kernels_planted.cu:"));
        } else if (i == 0)
            says("byte 0 after the end of an allocation of 4096 bytes was written to", 3);
    }
}

TEST(shared_memory_one_past_the_end_is_found_under_the_sanitizer)
{
    passes("planted_past_shared");
    if (!sanitized) return;
    run_kernel("planted_past_shared", 1, "libplanted.so", NULL);
    if (ended != 1 || strstr(said, "kernels_planted.cu:") == NULL)
        fail_msg("it ended with %d: %s", ended, said);
}

/* Runs after a launch whose blocks wrote all of shared memory. */
static void read_unwritten(void)
{
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = x_of(i);
    open_card();
    const CUdeviceptr from = device_floats(N), to = device_floats(N);
    WORKS(cuda.cuMemcpyHtoD_v2(from, x, sizeof x));
    for (int is_wrong = 0; is_wrong < 2; is_wrong++)
        WORKS(try_launch(stream, "planted_unwritten", N / THREADS, THREADS, to, from, is_wrong));
    WORKS(cuda.cuStreamSynchronize(stream));
    WORKS(cuda.cuMemcpyDtoH_v2(y, to, sizeof y));
    WORKS(cuda.cuMemFree_v2(from));
    WORKS(cuda.cuMemFree_v2(to));
    close_card();
    for (int i = 0; i < N; i++)
        if (i % THREADS < THREADS / 2 ? y[i] != x[i] : !isnan(y[i])) _exit(5);
}

TEST(unwritten_shared_memory_is_nan)
{
    passes("planted_unwritten");
    for (int i = 0; i < 3; i++) {
        in_child(read_unwritten, "libplanted.so", orders[i], NULL, NULL);
        if (ended != 0) fail_msg("it ended with %d: %s", ended, said);
    }
}

TEST(unaligned_loads_are_named)
{
    blocks = 1;
    is_caught("planted_unaligned", "16 bytes at 0x");
    assert_non_null(strstr(said, "kernels_planted.cu:"));
    blocks = N / THREADS;
}

TEST(an_invalid_address_is_named)
{
    is_caught("planted_nowhere", "thread 3: address 0x40 is no memory of the card");
    if (sanitized) assert_non_null(strstr(said, "kernels_planted.cu:"));
}

/* ---- launches that begin early --------------------------------------------------------------- */

static void copy_twice_in(const char *library, int is_wrong, const char *text, int code)
{
    kernel = "planted_ahead";
    wrong = is_wrong;
    in_child(copy_twice, library, NULL, NULL, NULL);
    says(text, code);
}

TEST(a_launch_that_begins_early_waits_before_it_ends)
{
    copy_twice_in("libplanted.so", 0, "", 0);
    copy_twice_in("libplanted.so", AHEAD_NEVER_WAITS, "thread 77: it ends without after_previous",
                  3);
    copy_twice_in("libplanted.so", AHEAD_WAITS_TWICE, "for the second time", 3);
}

TEST(a_launch_that_begins_early_races_with_the_one_before)
{
    copy_twice_in("libplanted_watched.so", 0, "", 0);
    copy_twice_in("libplanted_watched.so", AHEAD_READS,
                  "before after_previous, that the launch before wrote at", 3);
    copy_twice_in("libplanted_watched.so", AHEAD_WRITES, "it writes the card's memory at", 3);
}

/* ---- threads --------------------------------------------------------------------------------- */

TEST(an_endless_thread_is_named)
{
    run_kernel("planted_endless", 0, "libplanted.so", NULL);
    says("", 0);
    run_kernel("planted_endless", 1, "libplanted.so", NULL);
    says("thread 77: the launch does not come back", 3);
}

TEST(a_full_stack_is_named)
{
    passes("planted_deep");
    run_kernel("planted_deep", 1, "libplanted.so", NULL);
    says("its stack is full", 3);
}

TEST(threads_without_waits_fill_the_largest_block)
{
    passes("planted_copy");
}

/* ---- products of tensor cores ---------------------------------------------------------------- */

static float of_bf16(uint32_t half)
{
    const uint32_t bits = half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns D[row][column] of fragments laid out as in PTX's manual for m16n8k16 and m16n8k32, with
 * elements of 16 or 8 bits. */
static double element_of_product(const uint32_t *a, const uint32_t *b, int row, int column,
                                 bool bf16)
{
    const int per_word = bf16 ? 2 : 4, k_size = 8 * per_word;
    double sum = 0;
    for (int k = 0; k < k_size; k++) {
        const int half = k / (k_size / 2), q = k % (k_size / 2) / per_word,
                  shift = k % per_word * (32 / per_word);
        const uint32_t x = a[4 * (row % 8 * 4 + q) + 2 * half + row / 8] >> shift;
        const uint32_t y = b[2 * (column * 4 + q) + half] >> shift;
        if (bf16) sum += (double)of_bf16(x & 0xffff) * (double)of_bf16(y & 0xffff);
        else sum += (double)((int8_t)(x & 0xff) * (int8_t)(y & 0xff));
    }
    return sum;
}

static void multiply(void)
{
    uint32_t a[128], b[64];
    float d[128];
    int32_t e[128];
    multiply_fragments(a, b, d, e);
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            const int at = 4 * (row % 8 * 4 + column / 2) + 2 * (row / 8) + column % 2;
            HOLDS(fabs(d[at] - element_of_product(a, b, row, column, true)) < 1e-5);
            HOLDS(e[at] == (int32_t)element_of_product(a, b, row, column, false));
        }
}

TEST(products_follow_ptx_fragments)
{
    in_child(multiply, "libplanted.so", "SIM_ORDER=forward", NULL, NULL);
    says("", 0);
    in_child(multiply, "libplanted_watched.so", "SIM_ORDER=shuffled", NULL, NULL);
    says("", 0);
}

/* The exact sum of 1 or -1 and several equal products lies between two floats. It is truncated
 * towards 0, below as many bits as were measured on both kinds of GPU. */
static void add_small_products(void)
{
    static const struct {
        double d, product;
        int terms;
        double hopper, ampere; /* beyond d */
    } cases[] = {{1, 0x1p-24, 3, 0x1p-23, 0x1p-23},
                 {1, 0x1p-25, 16, 0x1p-21, 0},
                 {1, 0x1p-26, 16, 0, 0},
                 {-1, -0x1p-24, 3, -0x1p-23, -0x1p-23},
                 {-1, -0x1p-25, 16, -0x1p-21, 0},
                 {0, 0x1p-24, 16, 0x1p-20, 0x1p-20},
                 {1, 0x1.8p-25, 16, 0x1p-21, 0}};
    void *handle = dlopen(spec_simulator_path("libcuda.so"), RTLD_NOW);
    void (*is_of)(int), (*add)(float *, const float *, const float *);
    *(void **)&is_of = dlsym(handle, "warp_product_is_of");
    *(void **)&add = dlsym(handle, "warp_product_row");
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        float d[8], a[16] = {0}, b[16][8];
        for (int k = 0; k < cases[i / 2].terms; k++) a[k] = (float)(cases[i / 2].product * 0x1p12);
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < 8; column++) b[k][column] = 0x1p-12f;
        for (int column = 0; column < 8; column++) d[column] = (float)cases[i / 2].d;
        is_of(i % 2 == 0 ? 90 : 80);
        add(d, a, b[0]);
        const double more = i % 2 == 0 ? cases[i / 2].hopper : cases[i / 2].ampere;
        for (int column = 0; column < 8; column++)
            HOLDS((double)d[column] == cases[i / 2].d + more);
    }
}

TEST(sums_of_products_are_cut_as_on_a_gpu)
{
    in_child(add_small_products, "libcuda.so", NULL, NULL, NULL);
    says("", 0);
}

SUITE(DRIVER);
