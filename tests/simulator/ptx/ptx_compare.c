/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_compare.h"

#include "tests/simulator/block_run.h"
#include "tests/simulator/simulated_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 256 };

static struct {
    char *bytes;
    size_t n, room;
} before, by_gcc; /* copies of all GPU memory, allocation by allocation */

static struct {
    long launches, differ;
    long long words; /* number of different words of 4 bytes */
} rows[MOST_KERNELS];

static size_t at, differing; /* state of a visit of all memory */

/* Reasons: CUDA's expf uses ex2.approx and glibc's does not; struct copies may include padding;
 * lists have no order. */
static const char *const may_differ[] = {"combine",
                                         "attend_*",
                                         "sampling_accept",
                                         "sampling_pick",
                                         "filters_border",
                                         "filters_candidates",
                                         NULL};

static bool has_to_be_equal(const char *kernel)
{
    for (int i = 0; may_differ[i] != NULL; i++) {
        const size_t length = strcspn(may_differ[i], "*");
        if (strncmp(kernel, may_differ[i], may_differ[i][length] == '*' ? length : length + 1) == 0)
            return false;
    }
    return true;
}

static char *more(size_t n)
{
    if (before.room < at + n) {
        before.room = by_gcc.room = 2 * (at + n);
        before.bytes = realloc(before.bytes, before.room);
        by_gcc.bytes = realloc(by_gcc.bytes, by_gcc.room);
        if (before.bytes == NULL || by_gcc.bytes == NULL)
            block_run_fail("no memory for SIM_COMPARE");
    }
    return before.bytes + at;
}

static void save(char *memory, size_t n)
{
    memcpy(more(n), memory, n);
    at += n;
}

static void put_back(char *memory, size_t n)
{
    memcpy(by_gcc.bytes + at, memory, n);
    memcpy(memory, before.bytes + at, n);
    at += n;
}

static bool is_nan(uint32_t word) { return (word & 0x7fffffffu) > 0x7f800000u; }

static void compare(char *memory, size_t n)
{
    if (memcmp(memory, by_gcc.bytes + at, n) != 0)
        for (size_t i = 0; i < n; i += 4) {
            uint32_t a = 0, b = 0;
            const size_t left = n - i < 4 ? n - i : 4;
            memcpy(&a, memory + i, left);
            memcpy(&b, by_gcc.bytes + at + i, left);
            differing += a != b && !(is_nan(a) && is_nan(b));
        }
    at += n;
}

bool ptx_compare_begin(void)
{
    if (simulated_setting("SIM_COMPARE", 0) == 0) return false;
    at = 0;
    simulated_memory_each(save);
    return true;
}

void ptx_compare_between(void)
{
    at = 0;
    simulated_memory_each(put_back);
}

void ptx_compare_end(const simulated_kernel *kernel)
{
    const long i = kernel - simulated_kernels;
    at = differing = 0;
    simulated_memory_each(compare);
    const char *name = kernel->name + strlen("spec_kernel_");
    if (differing > 0 && simulated_setting("SIM_COMPARE", 0) == 2 && has_to_be_equal(name))
        block_run_fail("%zu words differ from what gcc's code leaves", differing);
    if (i >= MOST_KERNELS) return;
    rows[i].launches++;
    rows[i].differ += differing > 0;
    rows[i].words += (long long)differing;
}

__attribute__((destructor)) static void show(void)
{
    if (simulated_setting("SIM_COMPARE", 0) != 1) return;
    fprintf(stderr, "%-28s %9s %15s %12s\n", "kernel", "launches", "with other bits", "words");
    for (int i = 0; i < MOST_KERNELS && simulated_kernels[i].name != NULL; i++)
        if (rows[i].launches > 0)
            fprintf(stderr, "%-28s %9ld %15ld %12lld\n",
                    simulated_kernels[i].name + strlen("spec_kernel_"), rows[i].launches,
                    rows[i].differ, rows[i].words);
}
