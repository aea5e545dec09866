/* warp_product: the product of matrices that a warp's mma asks for, from the fragments of its 32 lanes, as
 * models/gpu/simt.h lays them out. */
#ifndef SPECLAB_WARP_PRODUCT_H
#define SPECLAB_WARP_PRODUCT_H

#include <stdint.h>

/* One lane's. */
typedef struct {
    uint32_t a[4], b[2];
    union {
        float of_bf16[4];
        int32_t of_int8[4];
    } d;
} warp_fragments;

/* d += a b. Products of bf16 are exact in float. Tensor cores sum them in an order and with a rounding that nobody
 * documents; here sums are in double, in order, rounded once, which is nearer to the truth than any card. */
void warp_product_bf16(warp_fragments *const lanes[32]);
void warp_product_int8(warp_fragments *const lanes[32]);

#endif
