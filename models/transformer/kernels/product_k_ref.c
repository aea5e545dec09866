/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#include "base/half_float.h"

#include <math.h>

enum { ROWS = SPEC_PANEL_ROWS, BLOCK = SPEC_TENSOR_BLOCK, HALF = 2, GROUP = 4, STEPS = 12 };

static float half_at(const unsigned char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return spec_half_float_from_f16(half);
}

/* Gathers words first..first+n-1 of row r of a block. */
static void gather(unsigned char *ret, const unsigned char *block, int first, int n, int r)
{
    for (int i = 0; i < n; i++)
        memcpy(ret + GROUP * i, block + SPEC_PRODUCT_WORD * (first + i) + GROUP * r, GROUP);
}

/* Reads the step and the minimum of a run of 32, integers of 6 bits, from the 12 bytes of a row. */
static void run_scales(int *ret_step, int *ret_minimum, const unsigned char *bytes, int run)
{
    if (run < 4) {
        *ret_step = bytes[run] & 63;
        *ret_minimum = bytes[run + 4] & 63;
    } else {
        *ret_step = (bytes[run + 4] & 15) | bytes[run - 4] >> 6 << 4;
        *ret_minimum = bytes[run + 4] >> 4 | bytes[run] >> 6 << 4;
    }
}

/* Computes Q4_K or, with `fifth`, Q5_K. The words of a row: scales (1), steps (3), fifth bits (8),
 * halves (32). */
static void with_minimum(const spec_product_task *task, int block_bytes, bool fifth)
{
    const int N = task->N, at_low = fifth ? 12 : 4;
    const unsigned char *panel = task->panel;
    for (int first = 0; first < task->R; first += ROWS, panel += task->bytes) {
        float sum[SPEC_PRODUCT_COLUMNS][ROWS] = {{0.0f}};
        const unsigned char *block = panel, *x = task->x;
        for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += block_bytes) {
            for (int run = 0; run < SPEC_PRODUCT_RUNS; run++, x += SPEC_PRODUCT_X * N) {
                for (int r = 0; r < ROWS; r++) {
                    unsigned char scale[GROUP], steps[STEPS], low[BLOCK], bits[BLOCK] = {0};
                    int step, minimum;
                    gather(scale, block, 0, 1, r);
                    gather(steps, block, 1, STEPS / GROUP, r);
                    gather(low, block, at_low + run / 2 * (BLOCK / GROUP), BLOCK / GROUP, r);
                    if (fifth) gather(bits, block, 4, BLOCK / GROUP, r);
                    run_scales(&step, &minimum, steps, run);
                    const float w_scale = half_at(scale) * (float)step,
                                below = -(half_at(scale + HALF) * (float)minimum);
                    for (int u = 0; u < N; u++) {
                        const unsigned char *const x_scale = x + BLOCK * N + GROUP * u;
                        int32_t dot = 0;
                        for (int j = 0; j < BLOCK; j++) {
                            const int half = run % 2 == 0 ? low[j] & 15 : low[j] >> 4;
                            const int weight = half | (bits[j] >> run & 1) << 4;
                            dot += weight * (signed char)x[BLOCK * u + j];
                        }
                        sum[u][r] =
                            fmaf((float)dot, w_scale * spec_product_float_at(x_scale), sum[u][r]);
                        sum[u][r] =
                            fmaf(below, spec_product_float_at(x_scale + GROUP * N), sum[u][r]);
                    }
                }
            }
        }
        for (int u = 0; u < N; u++) spec_product_put(task, u, first, sum[u]);
    }
}

/* A row's words: low halves (32), upper pairs of bits (16), steps (4). Each half of the block has
 * four runs of 32: two in the low and two in the high halves of the same 16 words. */
void spec_product_q6_k_ref(const spec_product_task *task)
{
    const int N = task->N;
    const unsigned char *panel = task->panel;
    for (int first = 0; first < task->R; first += ROWS, panel += task->bytes) {
        float sum[SPEC_PRODUCT_COLUMNS][ROWS] = {{0.0f}};
        const unsigned char *block = panel, *x = task->x;
        for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += SPEC_PRODUCT_Q6_K) {
            const unsigned char *const words = block + SPEC_PRODUCT_SCALES;
            for (int run = 0; run < SPEC_PRODUCT_RUNS; run++, x += SPEC_PRODUCT_X_HALVES * N) {
                const int half = run / 4, quarter = run % 4;
                for (int r = 0; r < ROWS; r++) {
                    unsigned char low[BLOCK], high[BLOCK], steps[16];
                    int32_t weight[BLOCK];
                    gather(low, words, 16 * half + 8 * (quarter % 2), BLOCK / GROUP, r);
                    gather(high, words, 32 + 8 * half, BLOCK / GROUP, r);
                    gather(steps, words, 48, 4, r);
                    for (int j = 0; j < BLOCK; j++) {
                        const int bits = (quarter < 2 ? low[j] & 15 : low[j] >> 4) |
                                         (high[j] >> 2 * quarter & 3) << 4;
                        weight[j] = (bits - 32) * (signed char)steps[2 * run + j / 16];
                    }
                    for (int u = 0; u < N; u++) {
                        int32_t dot = 0;
                        for (int j = 0; j < BLOCK; j++)
                            dot += weight[j] * (signed char)x[BLOCK * u + j];
                        const float x_scale = spec_product_float_at(x + BLOCK * N + GROUP * u);
                        sum[u][r] =
                            fmaf((float)dot, half_at(block + HALF * r) * x_scale, sum[u][r]);
                    }
                }
            }
        }
        for (int u = 0; u < N; u++) spec_product_put(task, u, first, sum[u]);
    }
}

void spec_product_q4_k_ref(const spec_product_task *task)
{
    with_minimum(task, SPEC_PRODUCT_Q4_K, false);
}
void spec_product_q5_k_ref(const spec_product_task *task)
{
    with_minimum(task, SPEC_PRODUCT_Q5_K, true);
}
