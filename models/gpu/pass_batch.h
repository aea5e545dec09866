/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_batch: the inputs that change from pass to pass, as they are in GPU memory.
 * A recorded pass stays valid because these inputs are written before each run: by the host, or by
 * the kernel that drew the token of the pass. Fields as in spec_batch
 * (models/transformer/engine/backend.h). For host, nvcc and simulator. */
#ifndef SPECLAB_PASS_BATCH_H
#define SPECLAB_PASS_BATCH_H

#include <stdint.h>

enum {
    PASS_COLUMNS = 64,
    PASS_PATHS = PASS_COLUMNS * 1024
}; /* a path has at most as many entries as a tree has nodes */

typedef struct {
    int32_t n, first; /* n: columns; first: the first wanted one */
    int32_t token[PASS_COLUMNS], position[PASS_COLUMNS], slot[PASS_COLUMNS], past[PASS_COLUMNS];
    int32_t path_begin[PASS_COLUMNS + 1];
    int32_t path[PASS_PATHS]; /* only path_begin[n] entries are filled and uploaded */
} pass_batch;

/* Formats of activations (n, cols), row-major without gaps except padding:
 *   FLOATS  float, cols as they are                       for F32
 *   BF16    uint16, cols rounded up to 32 with zeros      for F16 and BF16
 *   INT8    int8, cols rounded up to 128 with zeros       for Q8_0 and Q4_0
 * Float scales of INT8 follow all PASS_COLUMNS rows, at the next multiple of 16 bytes:
 * (PASS_COLUMNS, cols rounded up to 128, / 32). x = scale * q, scale = max|x| / 127 of a block of
 * 32, q rounded to nearest, ties to even. As in models/transformer/kernels/product.h, a block below
 * 2^-100 is zeros, and a block that is not finite has the scale NaN. */
typedef enum { OPERAND_FLOATS, OPERAND_BF16, OPERAND_INT8 } operand_format;

enum { OPERAND_BF16_ALIGN = 32, OPERAND_INT8_ALIGN = 128 };
#define OPERAND_ALIGN(format)                                                                      \
    ((format) == OPERAND_FLOATS ? 1                                                                \
     : (format) == OPERAND_BF16 ? OPERAND_BF16_ALIGN                                               \
                                : OPERAND_INT8_ALIGN)

#endif
