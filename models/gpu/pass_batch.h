/* pass_batch: what changes from pass to pass, as it lies in the card's memory: one upload a pass, so that a recorded
 * pass stays valid. As spec_batch (models/transformer/engine/backend.h) says; for host, nvcc and simulator. */
#ifndef SPECLAB_PASS_BATCH_H
#define SPECLAB_PASS_BATCH_H

#include <stdint.h>

enum { PASS_COLUMNS = 64, PASS_PATHS = PASS_COLUMNS * 1024 }; /* a path is as long as a tree has nodes, at most */

typedef struct {
    int32_t n, first; /* columns; the first that is wanted */
    int32_t token[PASS_COLUMNS], position[PASS_COLUMNS], slot[PASS_COLUMNS], past[PASS_COLUMNS];
    int32_t path_begin[PASS_COLUMNS + 1];
    int32_t path[PASS_PATHS]; /* of which path_begin[n] are filled and uploaded */
} pass_batch;

/* How activations are written for the matrix that reads them, (n, cols) row-major without gaps but for the padding:
 *   FLOATS  float, cols as they are                          readers of F32
 *   BF16    uint16, cols rounded up to 32 with zeros         readers of F16 and BF16
 *   INT8    int8, cols rounded up to 128 with zeros; then, at the next multiple of 16 bytes after all PASS_COLUMNS rows,
 *           float scales (PASS_COLUMNS, cols rounded up to 128, / 32): x = scale * q, scale = max|x| / 127 of a block of
 *           32, q to nearest, ties to even; as in models/transformer/kernels/product.h, a block below 2^-100 is zeros and one
 *           that is not finite has a NaN for its scale       readers of Q8_0 and Q4_0 */
typedef enum { OPERAND_FLOATS, OPERAND_BF16, OPERAND_INT8 } operand_format;

enum { OPERAND_BF16_ALIGN = 32, OPERAND_INT8_ALIGN = 128 };

#endif
