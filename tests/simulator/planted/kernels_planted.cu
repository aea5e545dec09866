#include "tests/simulator/planted/kernels_planted.h"

#include "models/gpu/simt.h"

KERNEL(planted_sum, 256)
{
    SHARED float part[8];
    const int i = BLOCK_X * THREADS + THREAD;
    float sum = i < a.n ? a.x[i] : 0;
    for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    if (LANE == 0) part[WARP] = sum;
    if (!a.wrong) sync_block();
    if (THREAD != 0) return;
    sum = 0;
    for (int w = 0; w < THREADS / WARP_LANES; w++) sum += part[w];
    a.y[BLOCK_X] = sum;
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
