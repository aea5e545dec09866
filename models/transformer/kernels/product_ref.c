/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#include "base/half_float.h"

#include <math.h>

enum { ROWS = SPEC_PANEL_ROWS, BLOCK = SPEC_TENSOR_BLOCK, HALF = 2, GROUP = 4 };

static uint16_t half_at(const unsigned char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return half;
}

static float weight(const unsigned char *panel, spec_tensor_type type, size_t i)
{
    switch (type) {
    case SPEC_TENSOR_F16: return spec_half_float_from_f16(half_at(panel + HALF * i));
    case SPEC_TENSOR_BF16: return spec_half_float_from_bf16(half_at(panel + HALF * i));
    default: return spec_product_float_at(panel + sizeof(float) * i);
    }
}

static void floats(const spec_product_task *task, spec_tensor_type type)
{
    const unsigned char *panel = task->panel;
    for (int first = 0; first < task->R; first += ROWS, panel += task->bytes) {
        for (int u = 0; u < task->N; u++) {
            float sum[ROWS] = {0.0f};
            for (int k = 0; k < task->cols; k++) {
                const float x = spec_product_float_at(
                    task->x + sizeof x * ((size_t)k * (size_t)task->N + (size_t)u));
                for (int r = 0; r < ROWS; r++)
                    sum[r] = fmaf(weight(panel, type, (size_t)(k * ROWS + r)), x, sum[r]);
            }
            spec_product_put(task, u, first, sum);
        }
    }
}

/* Returns the weight of row r and column k of a block, unsigned. */
static int32_t unsigned_weight(const unsigned char *block, spec_tensor_type type, int r, int k)
{
    const unsigned char *const group = block + SPEC_PRODUCT_SCALES + GROUP * r;
    if (type == SPEC_TENSOR_Q8_0) return group[k / GROUP * GROUP * ROWS + k % GROUP];
    const int pair = group[k % (BLOCK / 2) / GROUP * GROUP * ROWS + k % GROUP];
    return k < BLOCK / 2 ? pair & 15 : pair >> 4;
}

static void quantised(const spec_product_task *task, spec_tensor_type type)
{
    const int block_bytes = type == SPEC_TENSOR_Q8_0 ? SPEC_PRODUCT_Q8_0 : SPEC_PRODUCT_Q4_0,
              N = task->N;
    const unsigned char *panel = task->panel;
    for (int first = 0; first < task->R; first += ROWS, panel += task->bytes) {
        for (int u = 0; u < N; u++) {
            float sum[ROWS] = {0.0f};
            const unsigned char *block = panel, *x = task->x;
            for (int k = 0; k < task->cols;
                 k += BLOCK, block += block_bytes, x += SPEC_PRODUCT_X * N) {
                const float scale = spec_product_float_at(x + BLOCK * N + GROUP * u);
                for (int r = 0; r < ROWS; r++) {
                    int32_t dot = spec_product_int_at(x + (BLOCK + GROUP) * N + GROUP * u);
                    for (int j = 0; j < BLOCK; j++)
                        dot += unsigned_weight(block, type, r, j) * (signed char)x[BLOCK * u + j];
                    sum[r] =
                        fmaf((float)dot,
                             spec_half_float_from_f16(half_at(block + HALF * r)) * scale, sum[r]);
                }
            }
            spec_product_put(task, u, first, sum);
        }
    }
}

void spec_product_quantise_ref(unsigned char *block, int u, int N, const float *x, int n_blocks,
                               spec_tensor_type type)
{
    for (; n_blocks > 0; n_blocks--, block += spec_product_x_bytes(type) * N, x += BLOCK) {
        uint32_t largest = 0;
        for (int k = 0; k < BLOCK; k++) {
            uint32_t bits;
            memcpy(&bits, &x[k], sizeof bits);
            bits &= 0x7fffffff;
            largest = bits > largest ? bits : largest;
        }
        const spec_product_step step = spec_product_step_of(largest);
        int32_t sum[2] = {0, 0};
        for (int k = 0; k < BLOCK; k++) {
            const int32_t q = step.inverse > 0.0f ? (int32_t)rintf(x[k] * step.inverse) : 0;
            block[BLOCK * u + k] = (unsigned char)q;
            sum[k / (BLOCK / 2)] += q;
        }
        spec_product_put_step(block, u, N, type, step.scale, sum[0], sum[1]);
    }
}

void spec_product_f32_ref(const spec_product_task *task)
{
    floats(task, SPEC_TENSOR_F32);
}
void spec_product_f16_ref(const spec_product_task *task)
{
    floats(task, SPEC_TENSOR_F16);
}
void spec_product_bf16_ref(const spec_product_task *task)
{
    floats(task, SPEC_TENSOR_BF16);
}
void spec_product_q8_0_ref(const spec_product_task *task)
{
    quantised(task, SPEC_TENSOR_Q8_0);
}
void spec_product_q4_0_ref(const spec_product_task *task)
{
    quantised(task, SPEC_TENSOR_Q4_0);
}
