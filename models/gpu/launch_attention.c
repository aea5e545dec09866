#include "models/gpu/launch_attention.h"

#include "models/least.h"

enum {
    PAIRS = 256,   /* that a block of `place` rotates */
    PIECE = 512,   /* elements that a block of `combine` writes */
    UNITS = 256,   /* that a block of `keep` moves */
    WIDE = 16,     /* bytes of a unit where rows are multiples of it */
    NARROW = 4
};

static size_t element_bytes(const spec_kv *kv)
{
    return kv->type == SPEC_TENSOR_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static size_t layer_bytes(const spec_kv *kv)
{
    return 2 * (size_t)kv->n_kv_heads * (size_t)kv->slots * (size_t)kv->head_dim * element_bytes(kv);
}

static void *keys_of(const spec_kv *kv, int layer)
{
    return (char *)kv->data + (size_t)layer * layer_bytes(kv);
}

void spec_launch_angles(spec_stream *stream, float *table, const double *frequency, int half, const pass_batch *batch,
                        int bucket)
{
    SPEC_RUN(stream, angles, bucket, 1, 1, .table = table, .frequency = frequency, .batch = batch, .half = half);
}

void spec_launch_place(spec_stream *stream, spec_kv *kv, int layer, float *qkv, int n_heads, const float *angles,
                       spec_rope_pairs pairs, const pass_batch *batch, int bucket)
{
    const int all = (n_heads + 2 * kv->n_kv_heads) * kv->head_dim / 2;
    SPEC_RUN(stream, place, bucket, spec_least_pieces(all, PAIRS), 1, .qkv = qkv, .keys = keys_of(kv, layer),
             .angles = angles, .batch = batch, .n_heads = n_heads, .n_kv_heads = kv->n_kv_heads,
             .head_dim = kv->head_dim, .slots = kv->slots, .bf16 = kv->type == SPEC_TENSOR_BF16,
             .halves = pairs == SPEC_ROPE_HALVES);
}

/* Mixed values first, then ranges. */
static size_t mixed_floats(int n_heads, int head_dim, int columns, int parts)
{
    return (size_t)parts * (size_t)columns * (size_t)n_heads * (size_t)head_dim;
}

static int n_parts(int longest, int chunks)
{
    return spec_least_pieces(longest, chunks * ATTEND_CHUNK);
}

size_t spec_launch_attend_bytes(const spec_shape *shape, int longest)
{
    const int parts = n_parts(longest, 1);
    return sizeof(float) * mixed_floats(shape->n_heads, shape->head_dim + 2, SPEC_COLUMNS_MAX, parts);
}

void spec_launch_attend(spec_stream *stream, void *o, const float *qkv, const spec_kv *kv, int layer, int n_heads,
                        operand_format format, void *workspace, int longest, const pass_batch *batch, int bucket)
{
    const int chunks = 1, parts = n_parts(longest, chunks), head_dim = kv->head_dim;
    float *mixed = workspace, *range = mixed + mixed_floats(n_heads, head_dim, bucket, parts);
    SPEC_RUN(stream, attend, parts, n_heads, bucket, .mixed = mixed, .range = range, .qkv = qkv,
             .keys = keys_of(kv, layer), .batch = batch, .n_heads = n_heads, .n_kv_heads = kv->n_kv_heads,
             .head_dim = head_dim, .slots = kv->slots, .columns = bucket, .chunks = chunks,
             .bf16 = kv->type == SPEC_TENSOR_BF16);
    SPEC_RUN(stream, combine, spec_least_pieces(n_heads * head_dim, PIECE), bucket, 1, .o = o, .mixed = mixed,
             .range = range, .batch = batch, .n_heads = n_heads, .head_dim = head_dim, .columns = bucket,
             .chunks = chunks, .format = format);
}

void spec_launch_keep(spec_stream *stream, spec_kv *kv, const int *from, int to, int n)
{
    const int row_bytes = kv->head_dim * (int)element_bytes(kv), unit = row_bytes % WIDE == 0 ? WIDE : NARROW;
    const int planes = kv->layers * kv->n_kv_heads * 2, units = row_bytes / unit;
    SPEC_RUN(stream, keep, n > 0 ? spec_least_pieces(planes * units, UNITS) : 0, 1, 1, .keys = kv->data, .from = from,
             .to = to, .n = n, .slots = kv->slots, .planes = planes, .units = units, .unit_bytes = unit);
}
