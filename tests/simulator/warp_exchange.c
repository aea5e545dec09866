/* What the lanes of a warp do together, and the barriers: the simulator's part of models/gpu/simt.h. */
#include "models/gpu/simt.h"
#include "tests/simulator/block_run.h"

void simt_sync_block(const char *file, int line) { block_run_meet(MEET_SYNC_BLOCK, NULL, file, line); }
void simt_sync_warp(const char *file, int line) { block_run_meet(MEET_SYNC_WARP, NULL, file, line); }

static void join_shuffle(simulated_lane *lanes)
{
    for (int l = 0; l < WARP_LANES; l++) lanes[l].result = lanes[lanes[l].from].value;
}

uint64_t simt_shuffle(uint64_t value, int lane, const char *file, int line)
{
    simulated_lane *mine = block_run_lane();
    mine->value = value;
    mine->from = lane & (WARP_LANES - 1);
    block_run_meet(MEET_SHUFFLE, join_shuffle, file, line);
    return mine->result;
}

static void join_vote(simulated_lane *lanes)
{
    uint64_t which = 0;
    for (int l = 0; l < WARP_LANES; l++) which |= lanes[l].value << l;
    for (int l = 0; l < WARP_LANES; l++) lanes[l].result = which;
}

uint32_t simt_vote(bool value, const char *file, int line)
{
    simulated_lane *mine = block_run_lane();
    mine->value = value;
    block_run_meet(MEET_VOTE, join_vote, file, line);
    return (uint32_t)mine->result;
}

/* ---- products: the fragments as models/gpu/simt.h lays them out --------------------------------------------------- */

enum { ROWS = 16, COLUMNS = 8 };

/* Products of bf16 are exact in float. Tensor cores sum them in an order and with a rounding that nobody documents;
 * here sums are in double, rounded once, which is nearer to the truth than any card. */
static void join_mma_bf16(simulated_lane *lanes)
{
    float a[ROWS][16], b[COLUMNS][16];
    for (int l = 0; l < WARP_LANES; l++) {
        const int g = l / 4, q = l % 4;
        for (int i = 0; i < 4; i++) {
            const uint32_t word = lanes[l].a[i];
            const int row = g + i % 2 * 8, k = 2 * q + i / 2 * 8;
            a[row][k] = float_of_bits(word << 16);
            a[row][k + 1] = float_of_bits(word & 0xffff0000u);
        }
        for (int i = 0; i < 2; i++) {
            const uint32_t word = lanes[l].b[i];
            b[g][2 * q + i * 8] = float_of_bits(word << 16);
            b[g][2 * q + i * 8 + 1] = float_of_bits(word & 0xffff0000u);
        }
    }
    for (int l = 0; l < WARP_LANES; l++) {
        float *d = (float *)lanes[l].d;
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
                a[g + i % 2 * 8][4 * q + i / 2 * 16 + j] = (int8_t)(lanes[l].a[i] >> 8 * j & 0xff);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++) b[g][4 * q + i * 16 + j] = (int8_t)(lanes[l].b[i] >> 8 * j & 0xff);
    }
    for (int l = 0; l < WARP_LANES; l++) {
        int32_t *d = (int32_t *)lanes[l].d;
        for (int i = 0; i < 4; i++) {
            const int16_t *x = a[l / 4 + i / 2 * 8], *y = b[l % 4 * 2 + i % 2];
            int32_t sum = 0;
            for (int k = 0; k < 32; k++) sum += x[k] * y[k];
            d[i] = (int32_t)((uint32_t)d[i] + (uint32_t)sum); /* wraps, as on the card */
        }
    }
}

static void bring(void *d, const uint32_t *a, const uint32_t *b)
{
    simulated_lane *mine = block_run_lane();
    mine->d = d;
    mine->a = a;
    mine->b = b;
}

void simt_mma_bf16(float *d, const uint32_t *a, const uint32_t *b, const char *file, int line)
{
    bring(d, a, b);
    block_run_meet(MEET_MMA_BF16, join_mma_bf16, file, line);
}

void simt_mma_int8(int32_t *d, const uint32_t *a, const uint32_t *b, const char *file, int line)
{
    bring(d, a, b);
    block_run_meet(MEET_MMA_INT8, join_mma_int8, file, line);
}
