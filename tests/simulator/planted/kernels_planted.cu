/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/planted/kernels_planted.h"

#include "models/gpu/simt.h"

DEVICE int place(void) { return BLOCK_X * THREADS + THREAD; }

KERNEL(planted_copy, 256)
{
    if (place() < a.n) a.y[place()] = a.x[place()];
}

/* y[block] = sum of x over its threads. Wrong: a barrier is missing. */
KERNEL(planted_sum, 256)
{
    SHARED float part[8];
    float sum = place() < a.n ? a.x[place()] : 0;
    for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    if (LANE == 0) part[WARP] = sum;
    if (!a.wrong) sync_block();
    if (THREAD != 0) return;
    sum = 0;
    for (int w = 0; w < THREADS / WARP_LANES; w++) sum += part[w];
    a.y[BLOCK_X] = sum;
}

KERNEL(planted_divergent, 256)
{
    SHARED float turn[256];
    turn[THREAD] = a.x[place()];
    if (!a.wrong || THREAD < 128) sync_block();
    else sync_block();
    a.y[place()] = turn[THREAD];
}

/* y is the block's x in reverse. Wrong: some threads end early. */
KERNEL(planted_early, 256)
{
    SHARED float turn[256];
    turn[THREAD] = a.x[place()];
    if (a.wrong && THREAD >= 250) return;
    sync_block();
    a.y[place()] = turn[255 - THREAD];
}

/* y[i] = x[i ^ 1] */
KERNEL(planted_half_warp, 256)
{
    float value = a.x[place()];
    if (!a.wrong || LANE < 16) value = shuffle_xor(value, 1);
    a.y[place()] = value;
}

/* y[i] = x[i ^ 1] */
KERNEL(planted_two_lines, 256)
{
    float value = a.x[place()];
    if (!a.wrong || LANE < 16) {
        value = shuffle_xor(value, 1);
    } else {
        value = shuffle_xor(value, 1);
    }
    a.y[place()] = value;
}

/* y[i] = x[i], for finite x. Wrong: the last lane skips the product. */
KERNEL(planted_product, 256)
{
    float d[4] = {a.x[place()], 0, 0, 0};
    const uint32_t zero[4] = {0, 0, 0, 0};
    if (a.wrong && LANE == 31) sync_block();
    mma_bf16(d, zero, zero);
    a.y[place()] = d[0];
}

KERNEL(planted_past_end, 256)
{
    if (place() < a.n + a.wrong) a.y[place()] = 1.5f;
    if (place() < a.n) a.y[place()] = a.x[place()];
}

KERNEL(planted_reads_past, 256)
{
    if (place() < a.n) a.y[place()] = a.x[place() + a.wrong];
}

KERNEL(planted_past_shared, 256)
{
    SHARED float copy[256];
    SHARED float after[256];
    float *at = copy;
    after[THREAD] = 0;
    sync_block();
    at[THREAD + a.wrong] = a.x[place()];
    sync_block();
    a.y[place()] = copy[THREAD] + after[THREAD];
}

/* Wrong: half of shared memory is not written. */
KERNEL(planted_unwritten, 256)
{
    SHARED float copy[256];
    if (!a.wrong || THREAD < 128) copy[THREAD] = a.x[place()];
    sync_block();
    a.y[place()] = copy[THREAD];
}

/* y[i] = x[last of the block]. Wrong: all threads write the word. */
KERNEL(planted_one_word, 256)
{
    SHARED float word;
    if (a.wrong || THREAD == THREADS - 1) word = a.x[place()];
    sync_block();
    a.y[place()] = word;
}

/* y[i] = x[i ^ 1], through shared memory. Wrong: nothing orders the lanes. */
KERNEL(planted_lanes, 256)
{
    SHARED float turn[256];
    turn[THREAD] = a.x[place()];
    if (!a.wrong) sync_warp();
    a.y[place()] = turn[THREAD ^ 1];
}

/* Wrong: a block reads what the previous block writes. */
KERNEL(planted_blocks, 256)
{
    a.y[place()] = a.x[place()];
    if (a.wrong && BLOCK_X > 0) a.y[place()] = a.y[place() - THREADS];
}

/* y[0], y[1]: the number of threads, and the last one. Wrong: the addition is not atomic. */
KERNEL(planted_count, 256)
{
    uint32_t *count = (uint32_t *)a.y;
    if (a.wrong) count[0]++;
    else add_uint32(&count[0], 1);
    raise_uint32(&count[1], (uint32_t)place());
}

/* y[i] = x[i] by the last block, from what all blocks wrote; the last words count blocks. Wrong: a
 * fence is missing, or comes too late. */
KERNEL(planted_last, 256)
{
    SHARED int last;
    float *between = (float *)(uintptr_t)a.x;
    uint32_t *count = (uint32_t *)&a.y[a.n - 4];
    if (place() < a.n - 4) between[place()] = -a.x[place()];
    if (a.wrong == LAST_COUNTS_FIRST) {
        if (THREAD == 0) last = take_uint32(count, 1) == (uint32_t)GRID_X - 1;
        sync_block();
    }
    if (a.wrong != LAST_WRITES_UNFENCED) fence();
    sync_block();
    if (a.wrong != LAST_COUNTS_FIRST && THREAD == 0)
        last = take_uint32(count, 1) == (uint32_t)GRID_X - 1;
    sync_block();
    if (!last) return;
    if (a.wrong != LAST_READS_UNFENCED) fence();
    for (int i = 4 * THREAD; i < a.n - 4; i += 4 * THREADS) {
        const quad four = load_fresh(&between[i]);
        a.y[i] = -float_of_bits(four.x);
        a.y[i + 1] = -float_of_bits(four.y);
        a.y[i + 2] = -float_of_bits(four.z);
        a.y[i + 3] = -float_of_bits(four.w);
    }
}

KERNEL(planted_endless, 256)
{
    volatile float *y = a.y;
    y[place()] = a.x[place()];
    if (a.wrong && THREAD == 77)
        for (;;) y[place()] += 1.0f;
}

/* y[i] = x[i], one quad per thread. */
KERNEL(planted_unaligned, 256)
{
    if (4 * place() + 3 >= a.n) return;
    const quad q = load_quad(a.x + 4 * place() + (a.wrong ? 1 : 0));
    store_quad(a.y + 4 * place(), q);
}

KERNEL(planted_nowhere, 256)
{
    const float *from = a.wrong && THREAD == 3 ? (const float *)64 : a.x + place();
    a.y[place()] = *from;
}

#ifndef __CUDACC__ /* a GPU has no such stack */
static int deep(volatile int *below, int levels)
{
    volatile int here[256];
    here[0] = *below + 1;
    return levels == 0 ? here[0] : deep(here, levels - 1) + 0 * here[0];
}

KERNEL(planted_deep, 256)
{
    volatile int zero = 0;
    a.y[place()] = a.x[place()] + 0.0f * (float)deep(&zero, a.wrong ? 10000 : 10);
}
#endif

KERNEL(planted_ahead, 256)
{
    float value = 0;
    if (a.wrong == AHEAD_READS) value = a.x[place()];
    if (a.wrong == AHEAD_WRITES) a.y[place()] = value;
    if (a.wrong != AHEAD_NEVER_WAITS || THREAD != 77) after_previous();
    if (a.wrong == AHEAD_WAITS_TWICE) after_previous();
    if (a.wrong != AHEAD_READS) value = a.x[place()];
    a.y[place()] = value;
}

KERNEL(planted_mma, 32)
{
    float d[4] = {0, 0, 0, 0};
    int32_t e[4] = {0, 0, 0, 0};
    uint32_t x[4], y[2];
    for (int i = 0; i < 4; i++) x[i] = a.a[4 * LANE + i];
    for (int i = 0; i < 2; i++) y[i] = a.b[2 * LANE + i];
    mma_bf16(d, x, y);
    mma_int8(e, x, y);
    for (int i = 0; i < 4; i++) a.d[4 * LANE + i] = d[i];
    for (int i = 0; i < 4; i++) a.e[4 * LANE + i] = e[i];
}
