/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tile: where weights are in a tile of 16 rows, which has them in the order that a warp reads.
 * For host, nvcc and simulator. Columns come in groups. With g = lane / 4 and q = lane % 4, a lane
 * reads rows g and g + 8, and in every 32 columns those from 8q on. It reads the same columns of
 * the activations: 16 contiguous bytes of bf16 or 8 of int8. The lane's bytes are contiguous, in
 * the order of mma's fragments (simt.h).
 *   F32         groups of 8 columns: lane l has four of row l % 16, from column l / 16 * 4 on
 *   F16, BF16   of 32: 16 bytes twice per lane, columns 8q..8q+3 and 8q+4..8q+7
 *   Q8_0        of 128: four blocks of 16 bytes per lane; then four scales (F16) per row
 *   Q4_0        of 128: 16 bytes twice per lane, two blocks each: a word holds columns 8q..8q+3 of
 *               a row in the low halves of its bytes and 8q+4..8q+7 in the high ones; then
 * scales */
#ifndef SPECLAB_TILE_H
#define SPECLAB_TILE_H

enum {
    TILE_ROWS = 16,
    TILE_GATES = 8,   /* a tile of gate and up has this many rows of gate, then of up */
    TILE_BLOCK = 32,  /* columns that share a scale */
    TILE_LANES = 512, /* bytes that a warp reads at a time */

    TILE_F32_COLUMNS = 8,
    TILE_F32_BYTES = TILE_LANES,
    TILE_HALF_COLUMNS = 32,
    TILE_HALF_BYTES = 2 * TILE_LANES,
    TILE_QUANTISED_COLUMNS = 4 * TILE_BLOCK,
    TILE_Q8_0_SCALES = 4 * TILE_LANES, /* their offset in a group */
    TILE_Q8_0_BYTES = TILE_Q8_0_SCALES + 128,
    TILE_Q4_0_SCALES = 2 * TILE_LANES,
    TILE_Q4_0_BYTES = TILE_Q4_0_SCALES + 128
};

/* Offset in bytes from the start of a tile to the weight of row r (0..15) and column k; for Q4_0 to
 * the byte that contains it. */
#define TILE_LANE_AT(r, k) (((r) % 8 * 4 + (k) % 32 / 8) * 16)
#define TILE_F32_AT(r, k)                                                                          \
    ((size_t)((k) / 8) * TILE_F32_BYTES + (size_t)(((k) % 8 / 4 * 16 + (r)) * 16 + (k) % 4 * 4))
#define TILE_HALF_AT(r, k)                                                                         \
    ((size_t)((k) / 32) * TILE_HALF_BYTES +                                                        \
     (size_t)((k) % 8 / 4 * TILE_LANES + TILE_LANE_AT(r, k) + ((k) % 4 / 2 * 2 + (r) / 8) * 4 +    \
              (k) % 2 * 2))
#define TILE_Q8_0_AT(r, k)                                                                         \
    ((size_t)((k) / 128) * TILE_Q8_0_BYTES +                                                       \
     (size_t)((k) % 128 / 32 * TILE_LANES + TILE_LANE_AT(r, k) + ((k) % 8 / 4 * 2 + (r) / 8) * 4 + \
              (k) % 4))
#define TILE_Q4_0_AT(r, k)                                                                         \
    ((size_t)((k) / 128) * TILE_Q4_0_BYTES +                                                       \
     (size_t)((k) % 128 / 64 * TILE_LANES + TILE_LANE_AT(r, k) +                                   \
              ((k) % 64 / 32 * 2 + (r) / 8) * 4 + (k) % 4))
#define TILE_Q4_0_IS_HIGH(k) ((k) % 8 >= 4)
#define TILE_SCALE_AT(r, k) ((r) * 8 + (k) % 128 / 32 * 2)
#define TILE_Q8_0_SCALE_AT(r, k)                                                                   \
    ((size_t)((k) / 128) * TILE_Q8_0_BYTES + (size_t)(TILE_Q8_0_SCALES + TILE_SCALE_AT(r, k)))
#define TILE_Q4_0_SCALE_AT(r, k)                                                                   \
    ((size_t)((k) / 128) * TILE_Q4_0_BYTES + (size_t)(TILE_Q4_0_SCALES + TILE_SCALE_AT(r, k)))

#endif
