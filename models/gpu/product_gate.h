/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_gate: applies the gate of a feed-forward network at the end of its product.
 * A tile has eight rows of gate, then the same eight of up (layout.h), so a thread has both values
 * of an output. The bits equal those of the CPU's gate for the same sums. For kernels. */
#ifndef SPECLAB_PRODUCT_GATE_H
#define SPECLAB_PRODUCT_GATE_H

#include "models/gpu/kernels_product.h"
#include "models/gpu/operand.h"
#include "models/gpu/tile.h"
#include "models/transformer/kernels/exp_float.h"

/* spec_vector_exp of models/transformer/kernels/vector_ref.c, which explains it. */
DEVICE float product_exp(float x)
{
    const float term[] = {SPEC_EXP_TERM_LIST};
    x = x < SPEC_EXP_LEAST ? SPEC_EXP_LEAST : x;
    x = x > SPEC_EXP_MOST ? SPEC_EXP_MOST : x;
    const float shifted = fmaf(x, SPEC_EXP_STEPS, SPEC_EXP_ROUND), k = shifted - SPEC_EXP_ROUND;
    const float r = fmaf(k, -SPEC_EXP_STEP_REST, fmaf(k, -SPEC_EXP_STEP, x));
    float sum = term[0];
    UNROLL
    for (int i = 1; i < SPEC_EXP_TERMS; i++) sum = fmaf(sum, r, term[i]);
    return (fmaf(sum, r * r, r) + 1.0f) * float_of_bits((bits_of_float(shifted) + 126) << 23) *
           2.0f;
}

/* Writes silu(gate) * up for four rows of gate, from `row` of the matrix on; nothing if the column
 * is not `there`. All lanes of the warp must call this. Every eight neighbouring lanes have the
 * gates of four tiles, in order (operand_write). */
DEVICE void put_gated(const struct product_args *a, int row, int column, bool there, quad gate,
                      quad up)
{
    const uint32_t g[4] = {gate.x, gate.y, gate.z, gate.w}, u[4] = {up.x, up.y, up.z, up.w};
    float value[4];
    UNROLL
    for (int i = 0; i < 4; i++)
        value[i] = float_of_bits(g[i]) / (1.0f + product_exp(-float_of_bits(g[i]))) *
                   float_of_bits(u[i]);
    operand_write(a->y, a->format, there, column, a->rows / 2,
                  row / TILE_ROWS * TILE_GATES + row % TILE_ROWS, value);
}

#endif
