/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_warp.h"

#include "tests/simulator/ptx/ptx_lanes.h"
#include "tests/simulator/ptx/ptx_math.h"
#include "tests/simulator/warp_product.h"

typedef uint32_t __attribute__((may_alias)) word;

static bool all_lanes(const ptx_instruction *i, int operand, char *const base[2])
{
    if (i->n <= operand) return true;
    const word *const mask = ptx_values(base, i->x[operand]);
    for (int l = 0; l < PTX_LANES; l++)
        if (mask[l] != ~0u) return false;
    return true;
}

/* [PTX] shfl.sync: c holds the bound of lanes, and the mask that forms groups. */
static void shuffle(const ptx_instruction *i, char *const base[2])
{
    word *const to = ptx_values(base, i->x[0]), *const inside = ptx_values(base, i->x[1]);
    const word *const value = ptx_values(base, i->x[2]), *const b = ptx_values(base, i->x[3]);
    const word *const c = ptx_values(base, i->x[4]);
    uint32_t result[PTX_LANES], reaches = 0;
    for (uint32_t l = 0; l < PTX_LANES; l++) {
        const uint32_t clamp = c[l] & 31, segment = c[l] >> 8 & 31;
        const uint32_t last = (l & segment) | (clamp & ~segment), first = l & segment;
        uint32_t from = i->number == 0 ? first | (b[l] & 31 & ~segment) : l ^ (b[l] & 31);
        const bool there = from <= last;
        if (!there) from = l;
        result[l] = value[from];
        reaches |= (uint32_t)there << l;
    }
    memcpy(to, result, sizeof result);
    *inside = reaches;
}

static void vote_any(const ptx_instruction *i, char *const base[2])
{
    word *const to = ptx_values(base, i->x[0]);
    *to = *(const word *)ptx_values(base, i->x[1]) != 0 ? ~0u : 0;
}

/* ---- products -------------------------------------------------------------------------------- */

/* [PTX] "Matrix Fragments for mma.m16n8k16 with floating point type" and "for mma.m16n8k32":
 * position of element e of a lane's fragment. k: elements per register, 2 of bf16, 4 of int8. */
typedef struct {
    int row, column;
} element;

static element element_of_a(int lane, int e, int k)
{
    const int group = lane >> 2, in_group = lane % 4, in_half = e % (2 * k);
    const int row = in_half < k ? group : group + 8;
    return (element){row, in_group * k + e % k + (e >= 2 * k ? 4 * k : 0)};
}

static element element_of_b(int lane, int e, int k)
{
    const int group = lane >> 2, in_group = lane % 4;
    return (element){in_group * k + e % k + (e >= k ? 4 * k : 0), group};
}

static element element_of_c(int lane, int e)
{
    const int group = lane >> 2, in_group = lane % 4;
    return (element){e < 2 ? group : group + 8, in_group * 2 + (e & 1)};
}

static void product_bf16(const ptx_instruction *i, char *const base[2])
{
    float a[16][16], b[16][8], d[16][8];
    const word *x[14];
    for (int j = 0; j < 14; j++) x[j] = ptx_values(base, i->x[j]);
    for (int l = 0; l < PTX_LANES; l++) {
        for (int e = 0; e < 8; e++) {
            const element at = element_of_a(l, e, 2);
            a[at.row][at.column] = ptx_float_bits(x[4 + e / 2][l] >> 16 * (e & 1) << 16);
        }
        for (int e = 0; e < 4; e++) {
            const element at = element_of_b(l, e, 2);
            b[at.row][at.column] = ptx_float_bits(x[8 + e / 2][l] >> 16 * (e & 1) << 16);
        }
        for (int e = 0; e < 4; e++) {
            const element at = element_of_c(l, e);
            d[at.row][at.column] = ptx_float_bits(x[10 + e][l]);
        }
    }
    for (int row = 0; row < 16; row++) warp_product_row(d[row], a[row], b[0]);
    for (int l = 0; l < PTX_LANES; l++)
        for (int e = 0; e < 4; e++) {
            const element at = element_of_c(l, e);
            memcpy((char *)ptx_values(base, i->x[e]) + 4 * l, &d[at.row][at.column],
                   sizeof d[0][0]);
        }
}

/* Sums wrap; there is no .satfinite. */
static void product_s8(const ptx_instruction *i, char *const base[2])
{
    int16_t a[16][32], b[8][32];
    const word *x[14];
    for (int j = 0; j < 14; j++) x[j] = ptx_values(base, i->x[j]);
    for (int l = 0; l < PTX_LANES; l++) {
        for (int e = 0; e < 16; e++) {
            const element at = element_of_a(l, e, 4);
            a[at.row][at.column] = (int8_t)(x[4 + e / 4][l] >> 8 * (e & 3));
        }
        for (int e = 0; e < 8; e++) {
            const element at = element_of_b(l, e, 4);
            b[at.column][at.row] = (int8_t)(x[8 + e / 4][l] >> 8 * (e & 3));
        }
    }
    for (int l = 0; l < PTX_LANES; l++) {
        uint32_t d[4];
        for (int e = 0; e < 4; e++) {
            const element at = element_of_c(l, e);
            int sum = 0;
            for (int k = 0; k < 32; k++) sum += a[at.row][k] * b[at.column][k];
            d[e] = x[10 + e][l] + (uint32_t)sum;
        }
        for (int e = 0; e < 4; e++) ((word *)ptx_values(base, i->x[e]))[l] = d[e];
    }
}

bool ptx_warp(const ptx_instruction *i, char *const base[2])
{
    switch (i->op) {
    case PTX_shfl:
        if (!all_lanes(i, 5, base)) return false;
        shuffle(i, base);
        break;
    case PTX_vote_any:
        if (!all_lanes(i, 2, base)) return false;
        vote_any(i, base);
        break;
    case PTX_bar_warp_sync: return all_lanes(i, 0, base);
    case PTX_mma_bf16: product_bf16(i, base); break;
    default: product_s8(i, base); break;
    }
    return true;
}
