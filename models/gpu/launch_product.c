/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/launch_product.h"

#include "base/int_math.h"
#include "models/gpu/layout.h"
#include "models/gpu/tile.h"

#include <assert.h>

enum {
    EMBED_THREADS = 256,
    BUCKETS = 4,
    ENOUGH_WARPS = 2048,
    /* Blocks share rows only in matrices with fewer rows than this. Larger ones give enough warps
     * even if all parts are in one block. */
    SHARED_ROWS = ENOUGH_WARPS / 2 * SPEC_LAYOUT_ROWS,
    COUNT_BYTES = SHARED_ROWS / SPEC_LAYOUT_ROWS * (int)sizeof(uint32_t)
};

_Static_assert((int)PRODUCT_F32 == (int)SPEC_TENSOR_F32 &&
                   (int)PRODUCT_F16 == (int)SPEC_TENSOR_F16 &&
                   (int)PRODUCT_BF16 == (int)SPEC_TENSOR_BF16 &&
                   (int)PRODUCT_Q8_0 == (int)SPEC_TENSOR_Q8_0 &&
                   (int)PRODUCT_Q4_0 == (int)SPEC_TENSOR_Q4_0,
               "both enums have the same numbers");

/* For each bucket: tiles of rows per warp, as in kernels_product.cu, and the most parts of a sum in
 * one block. With fewer parts, more warps of a block share activations, so less is read. */
typedef struct {
    spec_kernel kernel;
    int tiles, block_parts;
} product_kernel;

static const product_kernel kernels[SPEC_LAYOUT_TYPES][BUCKETS] = {
    [SPEC_TENSOR_F32] = {{SPEC_KERNEL_product_f32_1, 2, 8},
                         {SPEC_KERNEL_product_f32_2, 2, 8},
                         {SPEC_KERNEL_product_f32_4, 2, 8},
                         {SPEC_KERNEL_product_f32_8, 1, 8}},
    [SPEC_TENSOR_F16] = {{SPEC_KERNEL_product_f16_1, 1, 8},
                         {SPEC_KERNEL_product_f16_2, 2, 4},
                         {SPEC_KERNEL_product_f16_4, 2, 2},
                         {SPEC_KERNEL_product_f16_8, 2, 2}},
    [SPEC_TENSOR_BF16] = {{SPEC_KERNEL_product_bf16_1, 1, 8},
                          {SPEC_KERNEL_product_bf16_2, 2, 4},
                          {SPEC_KERNEL_product_bf16_4, 2, 2},
                          {SPEC_KERNEL_product_bf16_8, 2, 2}},
    [SPEC_TENSOR_Q8_0] = {{SPEC_KERNEL_product_q8_0_1, 1, 8},
                          {SPEC_KERNEL_product_q8_0_2, 2, 4},
                          {SPEC_KERNEL_product_q8_0_4, 2, 2},
                          {SPEC_KERNEL_product_q8_0_8, 2, 2}},
    [SPEC_TENSOR_Q4_0] = {{SPEC_KERNEL_product_q4_0_1, 1, 8},
                          {SPEC_KERNEL_product_q4_0_2, 2, 4},
                          {SPEC_KERNEL_product_q4_0_4, 2, 2},
                          {SPEC_KERNEL_product_q4_0_8, 2, 2}},
};

operand_format spec_launch_format(spec_tensor_type reader)
{
    if (reader == SPEC_TENSOR_F32) return OPERAND_FLOATS;
    return spec_tensor_is_quantised(reader) ? OPERAND_INT8 : OPERAND_BF16;
}

/* Returns into how many parts to split a matrix's sums, so that there are enough warps to fill a
 * GPU. It depends only on the shape. */
static int parts_of(int rows)
{
    const int tiles = spec_int_ceil_div(rows, SPEC_LAYOUT_ROWS);
    int parts = 1;
    while (parts < PRODUCT_PARTS && tiles * parts < ENOUGH_WARPS) parts *= 2;
    return parts;
}

size_t spec_launch_product_bytes(void)
{
    /* Room for 4 parts of half as many rows, or 2 parts of all. */
    return COUNT_BYTES + (size_t)2 * PASS_COLUMNS * SHARED_ROWS * sizeof(float);
}

/* Fills in the arguments that all products need, and launches the kernel. A block gets at least
 * `least_tiles` tiles of rows, even if that leaves room for fewer parts of its sums. */
static void run(spec_launch launch, struct product_args args, const spec_matrix *w, int tiles,
                int least_tiles, void *workspace)
{
    const int bucket = launch.bucket,
              which = bucket == 8    ? 0
                      : bucket == 16 ? 1
                      : bucket == 32 ? 2
                                     : 3,
              parts = parts_of(w->rows);
    const product_kernel *const kernel = &kernels[w->type][which];
    const int most_tiles = kernel->tiles * PRODUCT_WARPS; /* of a block, with one part */
    const int most_parts = spec_int_min(kernel->block_parts, most_tiles / least_tiles),
              block_parts = spec_int_min(parts, most_parts), slices = parts / block_parts;
    args.w = w->data;
    args.batch = launch.batch;
    args.partial = (float *)(void *)((char *)workspace + COUNT_BYTES);
    args.count = workspace;
    args.rows = w->rows;
    args.cols = w->cols;
    args.parts = parts;
    args.block_parts = block_parts;
    assert(bucket == 8 || bucket == 16 || bucket == 32 || bucket == 64);
    assert(slices <= PRODUCT_SLICES);
    assert(slices == 1 || (size_t)slices * (size_t)w->rows <= (size_t)2 * SHARED_ROWS);
    spec_stream_run(launch.stream, kernel->kernel,
                    spec_int_ceil_div(tiles, most_tiles / block_parts), slices, 1, &args);
}

void spec_launch_product(spec_launch launch, float *y, const spec_matrix *w, const void *x,
                         const float *opt_bias, bool add, void *workspace)
{
    const struct product_args args = {
        .y = y, .x = x, .bias = opt_bias, .add = add, .wanted = launch.wanted};
    run(launch, args, w, spec_int_ceil_div(w->rows, SPEC_LAYOUT_ROWS), 1, workspace);
}

void spec_launch_product_gated(spec_launch launch, void *y, const spec_matrix *w, const void *x,
                               operand_format format, void *workspace)
{
    const struct product_args args = {.y = y, .x = x, .gated = true, .format = format};
    /* Blocks also write the padding. For INT8, a block needs all the outputs that share a scale. */
    const int align = OPERAND_ALIGN(format), width = spec_int_ceil_div(w->rows / 2, align) * align;
    run(launch, args, w, spec_int_ceil_div(width, TILE_GATES),
        format == OPERAND_INT8 ? SPEC_TENSOR_BLOCK / TILE_GATES : 1, workspace);
}

void spec_launch_embed(spec_launch launch, float *x, const spec_matrix *table)
{
    SPEC_RUN(launch.stream, embed, spec_int_ceil_div(table->cols, EMBED_THREADS), launch.bucket, 1,
             .x = x, .table = table->data, .batch = launch.batch, .cols = table->cols,
             .type = (int32_t)table->type);
}
