/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/kernels_roofline.h"
#include "models/gpu/simt.h"

/* Blocks take turns with pieces, so that together they read contiguous memory. A thread issues
 * several loads before it uses the first. */
KERNEL(roofline_read, ROOFLINE_THREADS)
{
    after_previous();
    const quad *const memory = (const quad *)a.memory;
    uint32_t sum = 0;
    for (uint64_t piece = (uint64_t)BLOCK_X; piece < a.pieces; piece += (uint64_t)GRID_X) {
        const quad *const from = memory + piece * (ROOFLINE_PIECE / 16) + THREAD;
        quad q[ROOFLINE_LOADS];
        UNROLL
        for (int i = 0; i < ROOFLINE_LOADS; i++) q[i] = load_once(from + i * ROOFLINE_THREADS);
        UNROLL
        for (int i = 0; i < ROOFLINE_LOADS; i++) sum += q[i].x + q[i].y + q[i].z + q[i].w;
    }
    for (int mask = WARP_LANES / 2; mask > 0; mask /= 2)
        sum += (uint32_t)shuffle_xor_int((int)sum, mask);
    if (LANE == 0) a.sum[BLOCK_X * (ROOFLINE_THREADS / WARP_LANES) + WARP] = sum;
}

KERNEL(roofline_bf16, ROOFLINE_THREADS)
{
    after_previous();
    uint32_t x[4], y[2];
    float d[ROOFLINE_SUMS][4], all = 0.0f;
    UNROLL
    for (int i = 0; i < 4; i++) x[i] = a.operand[i * WARP_LANES + LANE];
    UNROLL
    for (int i = 0; i < 2; i++) y[i] = a.operand[(4 + i) * WARP_LANES + LANE];
    UNROLL
    for (int s = 0; s < ROOFLINE_SUMS; s++) {
        UNROLL
        for (int i = 0; i < 4; i++) d[s][i] = 0.0f;
    }
    for (int round = 0; round < a.rounds; round++) {
        UNROLL
        for (int s = 0; s < ROOFLINE_SUMS; s++) mma_bf16(d[s], x, y);
    }
    UNROLL
    for (int s = 0; s < ROOFLINE_SUMS; s++) {
        UNROLL
        for (int i = 0; i < 4; i++) all += d[s][i];
    }
    a.sum[BLOCK_X * ROOFLINE_THREADS + THREAD] = all;
}

KERNEL(roofline_int8, ROOFLINE_THREADS)
{
    after_previous();
    uint32_t x[4], y[2];
    int32_t d[ROOFLINE_SUMS][4];
    uint32_t all = 0;
    UNROLL
    for (int i = 0; i < 4; i++) x[i] = a.operand[i * WARP_LANES + LANE];
    UNROLL
    for (int i = 0; i < 2; i++) y[i] = a.operand[(4 + i) * WARP_LANES + LANE];
    UNROLL
    for (int s = 0; s < ROOFLINE_SUMS; s++) {
        UNROLL
        for (int i = 0; i < 4; i++) d[s][i] = 0;
    }
    for (int round = 0; round < a.rounds; round++) {
        UNROLL
        for (int s = 0; s < ROOFLINE_SUMS; s++) mma_int8(d[s], x, y);
    }
    UNROLL
    for (int s = 0; s < ROOFLINE_SUMS; s++) {
        UNROLL
        for (int i = 0; i < 4; i++) all += (uint32_t)d[s][i];
    }
    a.sum[BLOCK_X * ROOFLINE_THREADS + THREAD] = (int32_t)all;
}

KERNEL(roofline_nothing, ROOFLINE_THREADS)
{
    after_previous();
    if (a.opt_seen && THREAD == 0) a.opt_seen[BLOCK_X] = 1;
}
