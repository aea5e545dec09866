/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/launch_attention.h"

#include "base/int_math.h"

#include <math.h>

enum {
    PAIRS = 256,   /* pairs that a block of `place` rotates */
    PIECE = 128,   /* elements that a block of `combine` writes */
    UNITS = 256,   /* units that a block of `keep` moves */
    WIDE = 16,     /* bytes of a unit, if the row size is a multiple of this */
    NARROW = 4
};

/* The fewest blocks for which a part is a stretch, with few and with many columns. With few
 * columns, memory reads are the bottleneck and we need all multiprocessors; with many, products are
 * the bottleneck, and the parts need more memory. If they need more than WORKSPACE, we make several
 * launches with fewer columns each. */
enum { BLOCKS_FEW = 512, BLOCKS_MANY = 256 };
#define WORKSPACE ((size_t)1 << 28)

static int n_parts(int longest, int chunks)
{
    return spec_int_ceil_div(longest, chunks * ATTEND_CHUNK);
}

static size_t element_bytes(const spec_kv *kv)
{
    return kv->type == SPEC_TENSOR_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static size_t layer_bytes(const spec_kv *kv)
{
    return 2 * (size_t)kv->n_kv_heads * (size_t)kv->slots * (size_t)kv->head_dim *
           element_bytes(kv);
}

static void *keys_of(const spec_kv *kv, int layer)
{
    return (char *)kv->data + (size_t)layer * layer_bytes(kv);
}

void spec_launch_angles(spec_launch launch, float *table, const double *frequency, int half)
{
    SPEC_RUN(launch.stream, angles, launch.bucket, 1, 1, .table = table, .frequency = frequency,
             .batch = launch.batch, .half = half);
}

void spec_launch_place(spec_launch launch, spec_kv *kv, int layer, float *qkv, int n_heads,
                       const float *angles, spec_rope_pairs pairs)
{
    const int all = (n_heads + 2 * kv->n_kv_heads) * kv->head_dim / 2;
    SPEC_RUN(launch.stream, place, launch.bucket, spec_int_ceil_div(all, PAIRS), 1, .qkv = qkv,
             .keys = keys_of(kv, layer), .angles = angles, .batch = launch.batch,
             .n_heads = n_heads, .n_kv_heads = kv->n_kv_heads, .head_dim = kv->head_dim,
             .slots = kv->slots, .bf16 = kv->type == SPEC_TENSOR_BF16,
             .halves = pairs == SPEC_ROPE_HALVES);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* How a launch splits its work. None of these choices changes a column's result. */
typedef struct {
    spec_kernel kernel;
    int pieces;               /* groups of a KV head's heads */
    int heads, block_columns; /* per block */
    int columns;              /* per launch */
    int chunks, parts;        /* chunks per part; parts of the longest sequence */
    size_t bytes;             /* memory for the parts */
} attend_plan;

/* Queries per block, and the kernels for them with parts of a chunk and, if it exists, of a
 * stretch. */
typedef struct {
    int queries;
    spec_kernel of_chunks, of_stretches;
} attend_kernels;

static attend_kernels kernels_of(int head_dim, bool floats, int queries)
{
    static const attend_kernels few[] = {{8, SPEC_KERNEL_attend_bf16_64_8, SPEC_KERNELS_COUNT},
                                         {8, SPEC_KERNEL_attend_bf16_128_8, SPEC_KERNELS_COUNT},
                                         {8, SPEC_KERNEL_attend_bf16_256_8, SPEC_KERNELS_COUNT}};
    static const attend_kernels many[] = {
        {32, SPEC_KERNEL_attend_bf16_64_32, SPEC_KERNEL_attend_bf16_64_stretch},
        {32, SPEC_KERNEL_attend_bf16_128_32, SPEC_KERNEL_attend_bf16_128_stretch},
        {16, SPEC_KERNEL_attend_bf16_256_16, SPEC_KERNELS_COUNT}};
    static const attend_kernels f32[] = {{8, SPEC_KERNEL_attend_f32_64_8, SPEC_KERNELS_COUNT},
                                         {8, SPEC_KERNEL_attend_f32_128_8, SPEC_KERNELS_COUNT},
                                         {8, SPEC_KERNEL_attend_f32_256_8, SPEC_KERNELS_COUNT}};
    static const attend_kernels any = {8, SPEC_KERNEL_attend_bf16_any_8, SPEC_KERNELS_COUNT};
    const int width = head_dim <= 64 ? 0 : head_dim <= 128 ? 1 : 2;
    if (floats) return f32[width];
    if (head_dim % 8 != 0) return any;
    return queries <= 8 ? few[width] : many[width];
}

static attend_plan plan_of(int n_heads, int n_kv_heads, int head_dim, bool floats, int longest,
                           int bucket)
{
    const int group = n_heads / n_kv_heads;
    const attend_kernels kernels = kernels_of(head_dim, floats, group * bucket);
    attend_plan plan = {.kernel = kernels.of_chunks, .columns = bucket, .chunks = 1};
    plan.pieces = spec_int_ceil_div(group, kernels.queries);
    plan.heads = spec_int_ceil_div(group, plan.pieces);
    plan.block_columns = kernels.queries / plan.heads;
    const int others = n_kv_heads * plan.pieces * spec_int_ceil_div(bucket, plan.block_columns);
    if (kernels.of_stretches != SPEC_KERNELS_COUNT &&
        others * n_parts(longest, ATTEND_STRETCH) >= (bucket <= 8 ? BLOCKS_FEW : BLOCKS_MANY)) {
        plan.kernel = kernels.of_stretches;
        plan.chunks = ATTEND_STRETCH;
    }
    plan.parts = n_parts(longest, plan.chunks);
    const size_t column =
        (size_t)plan.parts * (size_t)n_heads * (size_t)(head_dim + 2) * sizeof(float);
    while (plan.columns > 1 && column * (size_t)plan.columns > WORKSPACE) plan.columns /= 2;
    plan.bytes = column * (size_t)plan.columns;
    return plan;
}

size_t spec_launch_attend_bytes(const spec_shape *shape, int longest)
{
    size_t most = 0;
    for (int bucket = 8; bucket <= SPEC_COLUMNS_MAX; bucket *= 2)
        for (int floats = 0; floats < 2; floats++)
            for (int n = longest; n > 0; n /= 2) {
                const attend_plan plan = plan_of(shape->n_heads, shape->n_kv_heads, shape->head_dim,
                                                 floats != 0, n, bucket);
                if (plan.bytes > most) most = plan.bytes;
            }
    return most;
}

void spec_launch_attend(spec_launch launch, void *o, const float *qkv, const spec_kv *kv, int layer,
                        int n_heads, operand_format format, void *workspace)
{
    const int head_dim = kv->head_dim, n_kv_heads = kv->n_kv_heads;
    const attend_plan plan = plan_of(n_heads, n_kv_heads, head_dim, kv->type == SPEC_TENSOR_F32,
                                     launch.longest, launch.bucket);
    float *mixed = workspace,
          *range = mixed + (size_t)plan.parts * (size_t)plan.columns * (size_t)(n_heads * head_dim);
    for (int first = 0; first < launch.bucket; first += plan.columns) {
        const struct attend_args args = {.mixed = mixed,
                                         .range = range,
                                         .qkv = qkv,
                                         .keys = keys_of(kv, layer),
                                         .batch = launch.batch,
                                         .n_heads = n_heads,
                                         .n_kv_heads = n_kv_heads,
                                         .head_dim = head_dim,
                                         .slots = kv->slots,
                                         .first = first,
                                         .columns = plan.columns,
                                         .heads = plan.heads,
                                         .block_columns = plan.block_columns,
                                         .scale = (float)(1.0 / sqrt(head_dim))};
        spec_stream_run(launch.stream, plan.kernel, plan.parts, n_kv_heads * plan.pieces,
                        spec_int_ceil_div(plan.columns, plan.block_columns), &args);
        SPEC_RUN(launch.stream, combine, spec_int_ceil_div(n_heads * head_dim, PIECE), plan.columns,
                 1, .o = o, .mixed = mixed, .range = range, .batch = launch.batch,
                 .n_heads = n_heads, .head_dim = head_dim, .first = first, .columns = plan.columns,
                 .chunks = plan.chunks, .format = format);
    }
}

void spec_launch_keep(spec_stream *stream, spec_kv *kv, const int *from, int to, int n)
{
    const int row_bytes = kv->head_dim * (int)element_bytes(kv),
              unit = row_bytes % WIDE == 0 ? WIDE : NARROW;
    const int planes = kv->layers * kv->n_kv_heads * 2, units = row_bytes / unit;
    SPEC_RUN(stream, keep, n > 0 ? spec_int_ceil_div(planes * units, UNITS) : 0, 1, 1,
             .keys = kv->data, .from = from, .to = to, .n = n, .slots = kv->slots, .planes = planes,
             .units = units, .unit_bytes = unit);
}
