/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/kernels_columns.h"

#include "models/gpu/operand.h"
#include "models/gpu/sampling_rows.h"
#include "models/gpu/simt.h"

/* Reads values at..at+3 of `cols`, zeros past the end. Rows are 16-byte aligned if cols is a
 * multiple of four. */
DEVICE void read_four(float *value, const float *row, int at, int cols)
{
    if (cols % 4 == 0 && at < cols) {
        const quad four = load_quad(row + at);
        value[0] = float_of_bits(four.x);
        value[1] = float_of_bits(four.y);
        value[2] = float_of_bits(four.z);
        value[3] = float_of_bits(four.w);
        return;
    }
    UNROLL
    for (int i = 0; i < 4; i++) value[i] = at + i < cols ? row[at + i] : 0.0f;
}

/* ---- norm ------------------------------------------------------------------------------------ */

DEVICE float sum_of_squares(float sum, const float *value)
{
    UNROLL
    for (int i = 0; i < 4; i++) sum = fmaf(value[i], value[i], sum);
    return sum;
}

DEVICE float sum_of_warp(float sum)
{
    UNROLL
    for (int apart = 16; apart > 0; apart /= 2) sum += shuffle_xor(sum, apart);
    return sum;
}

/* If the sum overflows, returns NaN instead of 0, so that the logits show it. */
DEVICE float norm_factor(float sum, int dim, float eps)
{
    if (!(sum <= 3.4028235e38f)) return float_of_bits(0x7fc00000u);
    return 1.0f / sqrtf(sum / (float)dim + eps);
}

DEVICE void write_normed(const struct norm_args *a, int u, int at, const float *x,
                         const float *gain, float factor)
{
    float y[4];
    UNROLL
    for (int i = 0; i < 4; i++) y[i] = x[i] * factor * gain[i];
    operand_write(a->y, a->format, true, u, a->dim, at, y);
}

/* After a pass over the weights the gains are no longer in the caches, so the kernel loads the
 * first of them before its input is ready. */
KERNEL(norm, 512)
{
    enum { WARPS = 512 / WARP_LANES, STEP = 4 * 512, HELD = 2 };
    SHARED float sums[WARPS];
    const int first = a.wanted ? a.batch->first : 0, u = BLOCK_X;
    const float *x = a.x + (size_t)(first + u) * (size_t)a.dim;
    float held[HELD][4], gain[HELD][4], sum = 0.0f;
    UNROLL
    for (int s = 0; s < HELD; s++) read_four(gain[s], a.gain, s * STEP + 4 * THREAD, a.dim);
    after_previous();
    if (u >= a.batch->n - first) return;
    UNROLL
    for (int s = 0; s < HELD; s++) read_four(held[s], x, s * STEP + 4 * THREAD, a.dim);
    UNROLL
    for (int s = 0; s < HELD; s++) sum = sum_of_squares(sum, held[s]);
    for (int at = HELD * STEP + 4 * THREAD; at < a.dim; at += STEP) {
        float value[4];
        read_four(value, x, at, a.dim);
        sum = sum_of_squares(sum, value);
    }
    sum = sum_of_warp(sum);
    if (LANE == 0) sums[WARP] = sum;
    sync_block();
    sum = 0.0f;
    UNROLL
    for (int w = 0; w < WARPS; w++) sum += sums[w];
    const float factor = norm_factor(sum, a.dim, a.eps);
    UNROLL
    for (int s = 0; s < HELD; s++)
        if (s * STEP + OPERAND_WARP * WARP < a.dim)
            write_normed(&a, u, s * STEP + 4 * THREAD, held[s], gain[s], factor);
    for (int at = HELD * STEP + 4 * THREAD; at - 4 * LANE < a.dim; at += STEP) {
        float value[4], far_gain[4];
        read_four(value, x, at, a.dim);
        read_four(far_gain, a.gain, at, a.dim);
        write_normed(&a, u, at, value, far_gain, factor);
    }
}

KERNEL(norm_narrow, 32)
{
    enum { STEPS = NORM_NARROW / OPERAND_WARP };
    const int first = a.norm.wanted ? a.norm.batch->first : 0, u = BLOCK_X, dim = a.norm.dim;
    const float *x = a.norm.x + (size_t)(first + u) * (size_t)dim;
    float held[STEPS][4], gain[STEPS][4], sum = 0.0f;
    UNROLL
    for (int s = 0; s < STEPS; s++)
        read_four(gain[s], a.norm.gain, s * OPERAND_WARP + 4 * LANE, dim);
    after_previous();
    if (u >= a.norm.batch->n - first) return;
    UNROLL
    for (int s = 0; s < STEPS; s++) {
        read_four(held[s], x, s * OPERAND_WARP + 4 * LANE, dim);
        sum = sum_of_squares(sum, held[s]);
    }
    const float factor = norm_factor(sum_of_warp(sum), dim, a.norm.eps);
    UNROLL
    for (int s = 0; s < STEPS; s++)
        if (s * OPERAND_WARP < dim)
            write_normed(&a.norm, u, s * OPERAND_WARP + 4 * LANE, held[s], gain[s], factor);
}

/* ---- logits ---------------------------------------------------------------------------------- */

DEVICE int logits_pieces(int vocab) { return (vocab + LOGITS_PIECE - 1) / LOGITS_PIECE; }

/* Returns this warp's piece of row BLOCK_Y, which may lie past the end. */
DEVICE int logits_piece(void) { return BLOCK_X * (LOGITS_THREADS / WARP_LANES) + WARP; }

DEVICE sampling_largest largest_of_pieces(const sampling_largest *of_piece, int pieces)
{
    sampling_largest best = sampling_no_largest();
    for (int i = LANE; i < pieces; i += WARP_LANES) best = sampling_larger(best, of_piece[i]);
    return sampling_largest_of_lanes(best);
}

KERNEL(largest, 128)
{
    after_previous();
    const int piece = logits_piece(), pieces = logits_pieces(a.vocab), begin = piece * LOGITS_PIECE;
    if (piece >= pieces) return;
    const float *row = a.logits + (size_t)BLOCK_Y * (size_t)a.vocab;
    float value[LOGITS_PIECE / (4 * WARP_LANES)][4];
    UNROLL
    for (int s = 0; s < LOGITS_PIECE / (4 * WARP_LANES); s++)
        read_four(value[s], row, begin + 4 * (s * WARP_LANES + LANE), a.vocab);
    sampling_largest best = sampling_no_largest();
    UNROLL
    for (int s = 0; s < LOGITS_PIECE / (4 * WARP_LANES); s++) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            const bool finite = (bits_of_float(value[s][i]) & 0x7f800000u) != 0x7f800000u;
            const int at = begin + 4 * (s * WARP_LANES + LANE) + i;
            const sampling_largest own = {value[s][i], finite ? at : -1};
            if (at < a.vocab) best = sampling_larger(best, own);
        }
    }
    best = sampling_largest_of_lanes(best);
    if (LANE == 0) a.largest[BLOCK_Y * pieces + piece] = best;
}

KERNEL(argmax, 32)
{
    after_previous();
    const sampling_largest best = largest_of_pieces(a.largest + BLOCK_X * a.pieces, a.pieces);
    if (LANE == 0) a.token[BLOCK_X] = best.index;
}

/* ---- uploads --------------------------------------------------------------------------------- */

KERNEL(write, 128)
{
    after_previous();
    for (int i = THREAD; i < a.n; i += THREADS) a.to[i] = a.word[i];
}
