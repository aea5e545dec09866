/* What the lanes of a warp do together, and the barriers: the simulator's part of models/gpu/simt.h. */
#include "models/gpu/simt.h"
#include "tests/simulator/access_watch.h"
#include "tests/simulator/block_run.h"

void simt_sync_block(const char *file, int line) { block_run_barrier(file, line); }
void simt_sync_warp(const char *file, int line) { (void)block_run_meet(MEET_SYNC_WARP, NULL, 0, 0, file, line); }

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

/* ---- products: the fragments as models/gpu/simt.h lays them out --------------------------------------------------- */

enum { ROWS = 16, COLUMNS = 8 };

/* What a lane brings; it lies on its stack while the lane waits. */
typedef struct {
    void *d;
    const uint32_t *a, *b;
} fragments;

static fragments *of(const simulated_lane *lane) { return (fragments *)(uintptr_t)lane->value; }

/* Products of bf16 are exact in float. Tensor cores sum them in an order and with a rounding that nobody documents;
 * here sums are in double, rounded once, which is nearer to the truth than any card. */
static void join_mma_bf16(simulated_lane *lanes)
{
    float a[ROWS][16], b[COLUMNS][16];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++) {
            const uint32_t word = of(&lanes[l])->a[i];
            const int row = g + i % 2 * 8, k = 2 * q + i / 2 * 8;
            a[row][k] = float_of_bits(word << 16);
            a[row][k + 1] = float_of_bits(word & 0xffff0000u);
        }
        for (int i = 0; i < 2; i++) {
            const uint32_t word = of(&lanes[l])->b[i];
            b[g][2 * q + i * 8] = float_of_bits(word << 16);
            b[g][2 * q + i * 8 + 1] = float_of_bits(word & 0xffff0000u);
        }
    }
    for (int l = 0; l < WARP_LANES; l++) {
        float *d = (float *)of(&lanes[l])->d;
        for (int i = 0; i < 4; i++) {
            const float *x = a[l / 4 + i / 2 * 8], *y = b[l % 4 * 2 + i % 2];
            double sum = d[i];
            for (int k = 0; k < 16; k++) sum += (double)(x[k] * y[k]);
            d[i] = (float)sum;
        }
    }
}

static void join_mma_int8(simulated_lane *lanes)
{
    int16_t a[ROWS][32], b[COLUMNS][32];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                a[g + i % 2 * 8][4 * q + i / 2 * 16 + j] = (int8_t)(of(&lanes[l])->a[i] >> 8 * j & 0xff);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++) b[g][4 * q + i * 16 + j] = (int8_t)(of(&lanes[l])->b[i] >> 8 * j & 0xff);
    }
    for (int l = 0; l < WARP_LANES; l++) {
        int32_t *d = (int32_t *)of(&lanes[l])->d;
        for (int i = 0; i < 4; i++) {
            const int16_t *x = a[l / 4 + i / 2 * 8], *y = b[l % 4 * 2 + i % 2];
            int32_t sum = 0;
            for (int k = 0; k < 32; k++) sum += x[k] * y[k];
            d[i] = (int32_t)((uint32_t)d[i] + (uint32_t)sum); /* wraps, as on the card */
        }
    }
}

void simt_mma_bf16(float *d, const uint32_t *a, const uint32_t *b, const char *file, int line)
{
    fragments mine = {d, a, b};
    (void)block_run_meet(MEET_MMA_BF16, join_mma_bf16, (uintptr_t)&mine, 0, file, line);
}

void simt_mma_int8(int32_t *d, const uint32_t *a, const uint32_t *b, const char *file, int line)
{
    fragments mine = {d, a, b};
    (void)block_run_meet(MEET_MMA_INT8, join_mma_int8, (uintptr_t)&mine, 0, file, line);
}

/* ---- single threads ----------------------------------------------------------------------------------------------- */

/* Threads run one at a time, so that these are whole. */
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
    const uint32_t was = *from;
    *from += value;
    return was;
}

void simt_raise_uint32(uint32_t *to, uint32_t value)
{
    atomic(to, sizeof *to, __builtin_return_address(0));
    if (value > *to) *to = value;
}

/* Written by other blocks before they counted: no race. */
quad simt_load_fresh(const void *from)
{
    quad q;
    memcpy(&q, from, sizeof q);
    return q;
}

void simt_misaligned(const void *at, int bytes, const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    block_run_fail("%d bytes at %p, which is no multiple of that, at %s:%d", bytes, at, slash != NULL ? slash + 1 : file,
                   line);
}
