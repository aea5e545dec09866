/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collective operations of a warp, and barriers: the simulator's part of models/gpu/simt.h. */
#include "models/gpu/simt.h"
#include "tests/simulator/access_watch.h"
#include "tests/simulator/block_run.h"
#include "tests/simulator/warp_product.h"

void simt_sync_block(const char *file, int line) { block_run_barrier(file, line); }
void simt_sync_warp(const char *file, int line)
{
    (void)block_run_meet(MEET_SYNC_WARP, NULL, 0, 0, file, line);
}

static void join_shuffle(simulated_lane *lanes)
{
    for (int l = 0; l < WARP_LANES; l++) lanes[l].result = lanes[lanes[l].from].value;
}

uint64_t simt_shuffle(uint64_t value, int lane, const char *file, int line)
{
    return block_run_meet(MEET_SHUFFLE, join_shuffle, value, lane & (WARP_LANES - 1), file, line);
}

static void join_vote(simulated_lane *lanes)
{
    uint64_t which = 0;
    for (int l = 0; l < WARP_LANES; l++) which |= lanes[l].value << l;
    for (int l = 0; l < WARP_LANES; l++) lanes[l].result = which;
}

uint32_t simt_vote(bool value, const char *file, int line)
{
    return (uint32_t)block_run_meet(MEET_VOTE, join_vote, value, 0, file, line);
}

/* ---- products -------------------------------------------------------------------------------- */

static void join_mma(simulated_lane *lanes, void (*product)(warp_fragments *const lanes[32]))
{
    warp_fragments *brought[WARP_LANES];
    for (int l = 0; l < WARP_LANES; l++) brought[l] = (warp_fragments *)(uintptr_t)lanes[l].value;
    product(brought);
}

static void join_mma_bf16(simulated_lane *lanes) { join_mma(lanes, warp_product_bf16); }
static void join_mma_int8(simulated_lane *lanes) { join_mma(lanes, warp_product_int8); }

/* A lane's operands, on its stack while the lane waits. */
static warp_fragments bring(const uint32_t *a, const uint32_t *b)
{
    return (warp_fragments){.a = {a[0], a[1], a[2], a[3]}, .b = {b[0], b[1]}};
}

void simt_mma_bf16(float *d, const uint32_t *a, const uint32_t *b, const char *file, int line)
{
    warp_fragments mine = bring(a, b);
    for (int i = 0; i < 4; i++) mine.d.of_bf16[i] = d[i];
    (void)block_run_meet(MEET_MMA_BF16, join_mma_bf16, (uintptr_t)&mine, 0, file, line);
    for (int i = 0; i < 4; i++) d[i] = mine.d.of_bf16[i];
}

void simt_mma_int8(int32_t *d, const uint32_t *a, const uint32_t *b, const char *file, int line)
{
    warp_fragments mine = bring(a, b);
    for (int i = 0; i < 4; i++) mine.d.of_int8[i] = d[i];
    (void)block_run_meet(MEET_MMA_INT8, join_mma_int8, (uintptr_t)&mine, 0, file, line);
    for (int i = 0; i < 4; i++) d[i] = mine.d.of_int8[i];
}

/* ---- single threads -------------------------------------------------------------------------- */

/* Threads run one at a time, which makes these atomic. */
static void atomic(const void *at, size_t bytes, const void *code)
{
    if (access_watch_atomic != NULL) access_watch_atomic(at, bytes, code);
}

void simt_add_uint32(uint32_t *to, uint32_t value)
{
    atomic(to, sizeof *to, __builtin_return_address(0));
    *to += value;
}

void simt_add_uint64(uint64_t *to, uint64_t value)
{
    atomic(to, sizeof *to, __builtin_return_address(0));
    *to += value;
}

uint32_t simt_take_uint32(uint32_t *from, uint32_t value)
{
    atomic(from, sizeof *from, __builtin_return_address(0));
    if (access_watch_took != NULL) access_watch_took();
    const uint32_t was = *from;
    *from += value;
    return was;
}

void simt_raise_uint32(uint32_t *to, uint32_t value)
{
    atomic(to, sizeof *to, __builtin_return_address(0));
    if (value > *to) *to = value;
}

void simt_fence(void)
{
    if (access_watch_fenced != NULL) access_watch_fenced();
}

quad simt_load_fresh(const void *from)
{
    quad q;
    if (access_watch_fresh != NULL) access_watch_fresh(from, sizeof q, __builtin_return_address(0));
    memcpy(&q, from, sizeof q);
    return q;
}

void simt_misaligned(const void *at, int bytes, const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    block_run_fail("%d bytes at %p, which is no multiple of that, at %s:%d", bytes, at,
                   slash != NULL ? slash + 1 : file, line);
}
