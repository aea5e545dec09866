/* product_kernels: products of some panels with at most 16 columns; internal to models/transformer/product*.
 * Columns are laid out as the kernels read them. Floats: (cols, n). Quantised: for each block of 32 the columns' 32
 * bytes (n, 32), their scales (n), and -128 (Q8_0) or -8 (Q4_0) times the sum of their bytes (n, int32), from which the
 * dot products with unsigned weights start. */
#ifndef SPECLAB_PRODUCT_KERNELS_H
#define SPECLAB_PRODUCT_KERNELS_H

#include "models/transformer/product.h"

#include <string.h>

enum {
    SPEC_PRODUCT_COLUMNS = 16,
    SPEC_PRODUCT_SCALES = SPEC_PANEL_ROWS * 2,                                 /* bytes of a block's scales */
    SPEC_PRODUCT_Q8_0 = SPEC_PRODUCT_SCALES + SPEC_PANEL_ROWS * SPEC_TENSOR_BLOCK,     /* bytes of a block in a panel */
    SPEC_PRODUCT_Q4_0 = SPEC_PRODUCT_SCALES + SPEC_PANEL_ROWS * SPEC_TENSOR_BLOCK / 2,
    SPEC_PRODUCT_X = SPEC_TENSOR_BLOCK + (int)sizeof(float) + (int)sizeof(int32_t) /* and of a block of a column */
};

#define SPEC_PRODUCT_LEAST 0x1p-100f /* blocks with all |x| below are zeros */

/* Letters: N columns, R rows from the first panel on (the last panel may be short), u a column, r a row.
 *   y      y[u * stride + r]
 *   panel  the first of the panels, bytes each
 *   x      N columns, laid out as above
 *   bias   (R), or NULL */
typedef struct {
    float *y;
    size_t stride;
    const unsigned char *panel;
    size_t bytes;
    const unsigned char *x;
    int cols, R, N;
    const float *opt_bias;
    bool add;
} spec_product_task;

struct spec_product_kernels {
    void (*product[SPEC_TENSOR_TYPES])(const spec_product_task *task);
    /* Blocks of column u of N from `block` on, of x (n_blocks, 32): bytes, scale, and `zero` times the sum. */
    void (*quantise)(unsigned char *block, int u, int N, const float *x, int n_blocks, int zero);
};

extern const spec_product_kernels spec_product_kernels_ref, spec_product_kernels_avx2, spec_product_kernels_avx512,
    spec_product_kernels_vnni;

static inline float spec_product_float_at(const unsigned char *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int32_t spec_product_int_at(const unsigned char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The sums of a panel's rows for one column, from row r on, into y. */
static inline void spec_product_put(const spec_product_task *task, int u, int r, const float sum[SPEC_PANEL_ROWS])
{
    float *restrict y = task->y + (size_t)u * task->stride + r;
    const int rows = task->R - r < SPEC_PANEL_ROWS ? task->R - r : SPEC_PANEL_ROWS;
    for (int i = 0; i < rows; i++) {
        const float value = task->opt_bias != NULL ? sum[i] + task->opt_bias[r + i] : sum[i];
        y[i] = task->add ? y[i] + value : value;
    }
}

#endif
