/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels as nvcc compiled them, run instruction by instruction (tests/simulator/ptx): correct
 * kernels pass, mistakes are found, and products have the bits of gcc's. Skipped if the build had
 * no nvcc. */
#include "tests/models/gpu/planted_use.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

static bool there(void) { return access(spec_simulator_path("libplanted_ptx.so"), R_OK) == 0; }

#define NEEDS_PTX()                                                                                \
    do {                                                                                           \
        if (!there()) {                                                                            \
            printf("skipped: built without nvcc, there is no PTX to run\n");                       \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void run_kernel(const char *name, int is_wrong, int n_blocks, const char *one,
                       const char *two)
{
    kernel = name;
    wrong = is_wrong;
    blocks = n_blocks;
    in_child(use_kernel, "libplanted_ptx.so", one, two, "SIM_PATIENCE=1");
}

static const char *const cards[] = {"SIM_CAPABILITY=8.0", "SIM_CAPABILITY=9.0"};

TEST(right_kernels_pass_in_any_order_on_both_capabilities)
{
    NEEDS_PTX();
    static const char *const names[] = {
        "planted_copy",       "planted_sum",         "planted_divergent", "planted_early",
        "planted_half_warp",  "planted_product",     "planted_past_end",  "planted_two_lines",
        "planted_reads_past", "planted_past_shared", "planted_lanes",     "planted_unwritten",
        "planted_one_word",   "planted_count",       "planted_last",      "planted_unaligned",
        "planted_nowhere",    "planted_endless"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (int i = 0; i < 6; i++) {
            run_kernel(names[k], 0, N / THREADS, orders[i % 3], cards[i / 3]);
            says("", 0);
        }
}

/* In all orders the error is one line that names the PTX file. */
static void is_caught(const char *name, int n_blocks, const char *text)
{
    for (int i = 0; i < 6; i++) {
        run_kernel(name, 1, n_blocks, orders[i % 3], cards[i / 3]);
        says(text, 3);
        assert_int_equal(strncmp(said, "simulator: kernel planted_", 26), 0);
        if (strstr(said, i < 3 ? "kernels_planted.compute_80.ptx:"
                               : "kernels_planted.compute_90.ptx:") == NULL)
            fail_msg("no line of PTX: %s", said);
    }
}

TEST(incomplete_barriers_and_exchanges_are_named)
{
    NEEDS_PTX();
    is_caught("planted_early", 1, ", which has ended");
    is_caught("planted_half_warp", 1, ", which has ended");
    is_caught("planted_product", 1, "mma.sync at ");
}

TEST(a_missing_barrier_shows_in_one_order_of_warps)
{
    NEEDS_PTX();
    run_kernel("planted_sum", 1, N / THREADS, orders[0], cards[0]);
    says("", 5);
    run_kernel("planted_sum", 1, N / THREADS, orders[1], cards[0]);
    says("", 0);
}

TEST(a_missing_barrier_of_a_warp_shows_when_lanes_run_one_by_one)
{
    NEEDS_PTX();
    int found = 0;
    for (int i = 1; i < 3; i++) {
        run_kernel("planted_lanes", 1, N / THREADS, orders[i], cards[1]);
        found += ended == 5;
    }
    assert_int_not_equal(found, 0);
}

TEST(invalid_addresses_are_named)
{
    NEEDS_PTX();
    is_caught("planted_past_end", N / THREADS + 1, "it writes 4 bytes at ");
    assert_non_null(strstr(said, "at byte 4096 of an allocation of 4096 bytes"));
    is_caught("planted_reads_past", N / THREADS, "at byte 4096 of an allocation of 4096 bytes");
    is_caught("planted_past_shared", N / THREADS, "of shared memory are in no variable");
    is_caught("planted_unaligned", 1, "16 bytes at 0x");
    is_caught("planted_nowhere", N / THREADS, "thread 3: address 0x40 is no memory of the card");
}

TEST(unwritten_shared_memory_is_nan)
{
    NEEDS_PTX();
    run_kernel("planted_unwritten", 1, N / THREADS, orders[0], cards[1]);
    says("", 5);
}

TEST(an_endless_launch_is_named)
{
    NEEDS_PTX();
    run_kernel("planted_endless", 1, N / THREADS, orders[0], cards[1]);
    says("thread 77: the launch does not come back", 3);
}

static void copy_twice_with(int is_wrong, const char *text, int code)
{
    kernel = "planted_ahead";
    wrong = is_wrong;
    in_child(copy_twice, "libplanted_ptx.so", cards[1], NULL, NULL);
    says(text, code);
}

TEST(a_launch_that_begins_early_waits_before_it_writes_and_before_it_ends)
{
    NEEDS_PTX();
    copy_twice_with(0, "", 0);
    copy_twice_with(AHEAD_NEVER_WAITS, "thread 77: it ", 3);
    copy_twice_with(AHEAD_WAITS_TWICE, "for the second time", 3);
    copy_twice_with(AHEAD_WRITES,
                    "it writes the card's memory before griddepcontrol.wait, at kernels_planted",
                    3);
}

/* ---- products -------------------------------------------------------------------------------- */

static void multiply(void)
{
    uint32_t a[128], b[64], de[256];
    multiply_fragments(a, b, (float *)de, (int32_t *)de + 128);
    FILE *file = fopen("product", "wb");
    HOLDS(file != NULL && fwrite(de, sizeof de, 1, file) == 1 && fclose(file) == 0);
}

TEST(products_have_the_bits_of_those_that_gcc_compiled)
{
    NEEDS_PTX();
    uint32_t de[2][256];
    for (int i = 0; i < 2; i++) {
        in_child(multiply, i == 0 ? "libplanted.so" : "libplanted_ptx.so", NULL, NULL, NULL);
        kernel = "planted_mma";
        says("", 0);
        FILE *file = fopen("product", "rb");
        assert_non_null(file);
        assert_int_equal(fread(de[i], sizeof de[i], 1, file), 1);
        fclose(file);
    }
    assert_memory_equal(de[0], de[1], sizeof de[0]);
}

SUITE(DRIVER, .setup = spec_folder_enter, .teardown = spec_folder_leave);
