/* SPDX-License-Identifier: GPL-3.0-or-later */
/* operand: writes activations in the format of the matrix that reads them (pass_batch.h).
 * For kernels; a lane writes four columns at a time, with the padding among them.
 * The bits equal those of spec_product_activation_fill (models/transformer/kernels/product.h) on
 * the CPU for the same floats. */
#ifndef SPECLAB_OPERAND_H
#define SPECLAB_OPERAND_H

#include "models/gpu/pass_batch.h"
#include "models/gpu/simt.h"

enum { OPERAND_LANE = 4, OPERAND_WARP = OPERAND_LANE * WARP_LANES, OPERAND_BLOCK = 32 };

/* Returns the number of elements from one row to the next. */
DEVICE int operand_width(operand_format format, int cols)
{
    const int align = OPERAND_ALIGN(format);
    return (cols + align - 1) / align * align;
}

/* Returns the scales of INT8; row u, block i has index u * width/32 + i. */
DEVICE float *operand_scales(void *operand, int cols)
{
    return (float *)((char *)operand +
                     (size_t)PASS_COLUMNS * (size_t)operand_width(OPERAND_INT8, cols));
}

DEVICE uint32_t operand_bf16_pair(float low, float high)
{
    return (uint32_t)bf16_of_float(low) | (uint32_t)bf16_of_float(high) << 16;
}

/* Quantises blocks of 32 columns. Eight lanes share a block: the first writes its scale, and each
 * writes four bytes. */
DEVICE void operand_write_int8(void *operand, bool there, int row, int cols, int at,
                               const float *value)
{
    uint32_t largest = 0, bytes = 0;
    UNROLL
    for (int i = 0; i < OPERAND_LANE; i++) {
        const uint32_t bits =
            bits_of_float(value[i]) & 0x7fffffffu; /* ordered by magnitude, NaN last */
        largest = bits > largest ? bits : largest;
    }
    UNROLL
    for (int apart = 1; apart < OPERAND_BLOCK / OPERAND_LANE; apart *= 2) {
        const uint32_t other = (uint32_t)shuffle_xor_int((int)largest, apart);
        largest = other > largest ? other : largest;
    }
    const float most = float_of_bits(largest);
    float scale = 0.0f, inverse = 0.0f;
    if (largest >= 0x7f800000u) {
        scale = float_of_bits(0x7fc00000u);
    } else if (most >= 0x1p-100f) {
        scale = most / 127.0f;
        inverse = 127.0f / most;
    }
    if (inverse > 0.0f) {
        UNROLL
        for (int i = 0; i < OPERAND_LANE; i++)
            bytes |= ((uint32_t)(int32_t)rintf(value[i] * inverse) & 0xffu) << 8 * i;
    }
    const size_t width = (size_t)operand_width(OPERAND_INT8, cols),
                 to = (size_t)row * width + (size_t)at;
    if (!there) return;
    ((uint32_t *)operand)[to / OPERAND_LANE] = bytes;
    if (LANE % (OPERAND_BLOCK / OPERAND_LANE) == 0)
        operand_scales(operand, cols)[to / OPERAND_BLOCK] = scale;
}

/* Writes columns at..at+3 of a row, with zeros for padding from `cols` on; nothing if the row is
 * not `there`. All lanes of the warp must call this. For INT8, every eight neighbouring lanes have
 * the columns of one block, in order. */
DEVICE void operand_write(void *operand, operand_format format, bool there, int row, int cols,
                          int at, const float *value)
{
    float own[OPERAND_LANE];
    UNROLL
    for (int i = 0; i < OPERAND_LANE; i++) own[i] = at + i < cols ? value[i] : 0.0f;
    if (format == OPERAND_INT8) {
        operand_write_int8(operand, there, row, cols, at, own);
    } else if (format == OPERAND_BF16) {
        const int width = operand_width(OPERAND_BF16, cols);
        const pair two = {operand_bf16_pair(own[0], own[1]), operand_bf16_pair(own[2], own[3])};
        if (there && at < width)
            store_pair((uint16_t *)operand + (size_t)row * (size_t)width + (size_t)at, two);
    } else {
        float *to = (float *)operand + (size_t)row * (size_t)cols + (size_t)at;
        if (cols % OPERAND_LANE == 0) { /* rows are aligned then */
            const quad four = {bits_of_float(own[0]), bits_of_float(own[1]), bits_of_float(own[2]),
                               bits_of_float(own[3])};
            if (there && at < cols) store_quad(to, four);
        } else {
            UNROLL
            for (int i = 0; i < OPERAND_LANE; i++)
                if (there && at + i < cols) to[i] = own[i];
        }
    }
}

#endif
