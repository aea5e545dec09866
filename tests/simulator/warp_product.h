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

/* d += a b. Products of bf16 are exact. NVIDIA does not document how they are added. As measured on
 * A100 [Fasi21], and later on H100: 8 products (Hopper: 16) and d are aligned to the largest
 * exponent and cut one bit (two) below a float's last one; their sum is cut to a float. */
void warp_product_bf16(warp_fragments *const lanes[32]);
void warp_product_int8(warp_fragments *const lanes[32]);

/* One row of such a product in bf16: d (8), a (16), b (16, 8). */
void warp_product_row(float *d, const float *a, const float *b);

/* Chooses how sums are rounded: 80 is Ampere, 90 Hopper. */
void warp_product_is_of(int capability);

#endif
