/* SPDX-License-Identifier: GPL-3.0-or-later */
/* warp_product: the matrix product of a warp's mma, from the fragments of its 32 lanes.
 * Fragments are laid out as in models/gpu/simt.h. */
#ifndef SPECLAB_WARP_PRODUCT_H
#define SPECLAB_WARP_PRODUCT_H

#include <stdint.h>

/* One lane's operands. */
typedef struct {
    uint32_t a[4], b[2];
    union {
        float of_bf16[4];
        int32_t of_int8[4];
    } d;
} warp_fragments;

/* d += a b. Products of bf16 are exact in float. The order and rounding of tensor cores' sums are
 * undocumented; here sums are in double, in order, rounded once, which is more accurate than any
 * GPU. */
void warp_product_bf16(warp_fragments *const lanes[32]);
void warp_product_int8(warp_fragments *const lanes[32]);

#endif
