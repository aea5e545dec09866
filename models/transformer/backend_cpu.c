#include "models/transformer/backend.h"
#include "models/transformer/product.h"
#include "models/transformer/team.h"
#include "models/transformer/vector.h"

#include "models/row.h"
#include "speclab/round.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Attention of one column to a head's keys and values is cut into blocks of positions, which join in order; where
 * there are few columns, blocks are computed one by one. */
enum { BLOCK = SPEC_VECTOR_BLOCK, LANES = SPEC_VECTOR_LANES, PAIRS_SPLIT = 64, ROW_CHUNK = 8 * SPEC_VECTOR_EXPS };

enum {
    CHUNK_BYTES = 1 << 16,   /* of weights, that one thread multiplies with at a time */
    FILL_FLOATS = 1 << 15,   /* columns of fewer floats are laid out by one thread */
    FILL_PIECES = 8
};

typedef struct {
    spec_shape shape;
    const spec_vector_kernels *kernels;
    const spec_product_kernels *products;
    const spec_batch *batch;
    bool taken;
    void *activation;      /* columns as the products read them */
    double *frequency;     /* (head_dim/2) radians a position */
    float *cosine, *sine;  /* (SPEC_COLUMNS_MAX, head_dim/2) */
    int max_blocks;        /* of the longest text that blocks are computed one by one for */
    float *partial;        /* (PAIRS_SPLIT, group, max_blocks, width + 2) */
    double *block_sum;     /* of exponentials */
} cpu_queue;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Zeros at a multiple of 64 bytes, which are no memory before they are written; what was allocated is noted in front. */
static int alloc_memory(void **ret_memory, size_t bytes, spec_error *error)
{
    char *memory = calloc(1, bytes + 128);
    *ret_memory = NULL;
    if (memory == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for %zu bytes", bytes);
    void **aligned = (void **)(((uintptr_t)memory + 127) & ~(uintptr_t)63);
    aligned[-1] = memory;
    *ret_memory = aligned;
    return GSL_SUCCESS;
}

static void free_memory(void *memory)
{
    if (memory != NULL) free(((void **)memory)[-1]);
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

static void matrix_free(spec_matrix *matrix)
{
    if (matrix->data != NULL) spec_team_release();
    free_memory(matrix->data);
    *matrix = (spec_matrix){0};
}

typedef struct {
    spec_matrix *matrix;
    const spec_tensor *part;
    int n_parts, panels; /* panels of a chunk */
    atomic_bool failed;
} pack_job;

static int panels_of_chunk(const spec_matrix *matrix)
{
    const size_t bytes = spec_panels_bytes(matrix->type, matrix->cols);
    return bytes < CHUNK_BYTES ? (int)(CHUNK_BYTES / bytes) : 1;
}

static int n_chunks(int n, int of_chunk)
{
    return (n + of_chunk - 1) / of_chunk;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void pack_chunk(void *job, int chunk)
{
    pack_job *j = job;
    const int first = chunk * j->panels, end = least(first + j->panels, spec_panels_count(j->matrix->rows));
    if (spec_panels_pack(j->matrix, j->part, j->n_parts, first, end, NULL) != GSL_SUCCESS)
        atomic_store(&j->failed, true);
}

static int matrix_init(spec_matrix *matrix, spec_tensor_type type, const spec_tensor *part, int n_parts,
                       spec_error *error)
{
    *matrix = (spec_matrix){.type = type, .cols = part[0].cols};
    for (int i = 0; i < n_parts; i++) matrix->rows += part[i].rows;
    const int panels = spec_panels_count(matrix->rows);
    matrix->bytes = (size_t)panels * spec_panels_bytes(type, matrix->cols);
    const int status = alloc_memory(&matrix->data, matrix->bytes, error);
    if (status != GSL_SUCCESS) return status;
    spec_team_hold();
    pack_job job = {matrix, part, n_parts, panels_of_chunk(matrix), false};
    const bool taken = spec_team_take();
    spec_team_run(pack_chunk, &job, n_chunks(panels, job.panels), taken);
    if (taken) spec_team_give_back();
    if (!atomic_load(&job.failed)) return GSL_SUCCESS;
    matrix_free(matrix);
    return spec_fail(error, GSL_ENOMEM, "out of memory for packing a matrix");
}

/* ---- keys and values --------------------------------------------------------------------------------------------- */

static int padded(int head_dim)
{
    return (head_dim + LANES - 1) / LANES * LANES;
}

static size_t kv_floats(const spec_kv *kv)
{
    return (size_t)kv->layers * (size_t)kv->n_kv_heads * (size_t)kv->slots * (size_t)padded(kv->head_dim);
}

static float *keys_of(const spec_kv *kv, int layer, int head)
{
    const size_t rows = ((size_t)layer * (size_t)kv->n_kv_heads + (size_t)head) * (size_t)kv->slots;
    return (float *)kv->data + rows * (size_t)padded(kv->head_dim);
}

static float *values_of(const spec_kv *kv, int layer, int head)
{
    return keys_of(kv, layer, head) + kv_floats(kv);
}

static int kv_init(spec_kv *kv, const spec_shape *shape, int slots, spec_error *error)
{
    *kv = (spec_kv){shape->n_layers, slots, shape->n_kv_heads, shape->head_dim, NULL};
    const size_t bytes = 2 * kv_floats(kv) * sizeof(float);
    /* A long window is promised, not had: pages come when they are written. */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return spec_fail(error, GSL_ENOMEM, "out of memory for keys and values of %d tokens (%zu bytes)", slots, bytes);
    kv->data = memory;
    return GSL_SUCCESS;
}

static void kv_free(spec_kv *kv)
{
    if (kv->data != NULL) munmap(kv->data, 2 * kv_floats(kv) * sizeof(float));
    *kv = (spec_kv){0};
}

static void keep(spec_kv *kv, const int *from, int to, int n)
{
    const size_t width = (size_t)padded(kv->head_dim);
    for (int head = 0; head < 2 * kv->layers * kv->n_kv_heads; head++) {
        float *row = (float *)kv->data + (size_t)head * (size_t)kv->slots * width;
        for (int i = 0; i < n; i++)
            if (from[i] != to + i)
                memcpy(row + (size_t)(to + i) * width, row + (size_t)from[i] * width, width * sizeof *row);
    }
}

/* ---- queues ------------------------------------------------------------------------------------------------------ */

static void queue_free(spec_queue *queue)
{
    cpu_queue *q = queue->state;
    if (q != NULL) {
        spec_team_release();
        free(q->frequency);
        free_memory(q->activation);
        free_memory(q->cosine);
        free_memory(q->partial);
        free(q->block_sum);
        free(q);
    }
    *queue = (spec_queue){0};
}

static int queue_init(spec_queue *queue, const spec_shape *shape, spec_error *error)
{
    int status = GSL_SUCCESS;
    void *memory;
    const size_t half = (size_t)shape->head_dim / 2;
    cpu_queue *q = calloc(1, sizeof *q);
    *queue = (spec_queue){&spec_backend_cpu, q};
    if (q == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    spec_team_hold();
    q->shape = *shape;
    q->kernels = spec_vector_kernels_of(spec_cpu_isa());
    q->products = spec_product_kernels_of(spec_cpu_isa());
    q->max_blocks = (shape->context + SPEC_NODES_MAX) / BLOCK + 1;
    const size_t group = (size_t)(shape->n_heads / shape->n_kv_heads);
    const size_t partials = PAIRS_SPLIT * group * (size_t)q->max_blocks * (size_t)(padded(shape->head_dim) + 2);
    SPEC_TRY(alloc_memory(&memory, partials * sizeof(float), error));
    q->partial = memory;
    int cols = shape->dim > shape->ffn_dim ? shape->dim : shape->ffn_dim;
    if (shape->n_heads * shape->head_dim > cols) cols = shape->n_heads * shape->head_dim;
    SPEC_TRY(alloc_memory(&q->activation, spec_activation_bytes(cols, SPEC_COLUMNS_MAX), error));
    SPEC_TRY(alloc_memory(&memory, 2 * SPEC_COLUMNS_MAX * half * sizeof(float), error));
    q->cosine = memory;
    q->sine = q->cosine + SPEC_COLUMNS_MAX * half;
    q->frequency = malloc(half * sizeof *q->frequency);
    q->block_sum = malloc(SPEC_COLUMNS_MAX * (size_t)(shape->vocab / SPEC_VECTOR_EXPS + 1) * sizeof *q->block_sum);
    if (q->frequency == NULL || q->block_sum == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    for (size_t i = 0; i < half; i++) {
        q->frequency[i] = pow(shape->rope_base, -2.0 * (double)i / shape->head_dim);
        if (shape->opt_rope_factor != NULL) q->frequency[i] /= (double)shape->opt_rope_factor[i];
    }
done:
    if (status != GSL_SUCCESS) queue_free(queue);
    return status;
}

static void begin(spec_queue *queue, const spec_batch *batch)
{
    cpu_queue *q = queue->state;
    const int half = q->shape.head_dim / 2;
    q->batch = batch;
    q->taken = spec_team_take();
    for (int u = 0; u < batch->n; u++)
        for (int i = 0; i < half; i++) {
            const double angle = batch->position[u] * q->frequency[i];
            q->cosine[u * half + i] = (float)cos(angle);
            q->sine[u * half + i] = (float)sin(angle);
        }
}

static int end(spec_queue *queue, spec_error *error)
{
    (void)error;
    cpu_queue *q = queue->state;
    if (q->taken) spec_team_give_back();
    q->taken = false;
    return GSL_SUCCESS;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void embed(spec_queue *queue, float *x, const spec_matrix *table)
{
    const spec_batch *batch = ((cpu_queue *)queue->state)->batch;
    for (int u = 0; u < batch->n; u++) spec_panels_row(x + (size_t)u * (size_t)table->cols, table, batch->token[u]);
}

static void norm(spec_queue *queue, float *y, const float *x, const float *gain, int n)
{
    const cpu_queue *q = queue->state;
    const size_t dim = (size_t)q->shape.dim;
    for (size_t u = 0; u < (size_t)n; u++)
        q->kernels->norm(y + u * dim, x + u * dim, gain, q->shape.norm_eps, (int)dim);
}

typedef struct {
    const cpu_queue *q;
    float *y;
    const spec_matrix *w;
    const float *x, *opt_bias;
    bool add;
    int n, panels; /* columns; panels of a chunk */
} product_job;

static void fill_chunk(void *job, int chunk)
{
    const product_job *j = job;
    const int first = chunk * FILL_PIECES, end = least(first + FILL_PIECES, spec_activation_pieces(j->w->cols));
    spec_activation_fill(j->q->activation, j->q->products, j->w->type, j->x, j->w->cols, j->n, first, end);
}

static void multiply_chunk(void *job, int chunk)
{
    const product_job *j = job;
    const int first = chunk * j->panels, end = least(first + j->panels, spec_panels_count(j->w->rows));
    spec_product(j->y, j->q->products, j->w, j->q->activation, j->opt_bias, j->add, j->n, first, end);
}

static void matmul(spec_queue *queue, float *y, const spec_matrix *w, const float *x, const float *opt_bias, bool add,
                   int n)
{
    const cpu_queue *q = queue->state;
    product_job job = {q, y, w, x, opt_bias, add, n, panels_of_chunk(w)};
    const bool large = (size_t)n * (size_t)w->cols >= FILL_FLOATS;
    spec_team_run(fill_chunk, &job, n_chunks(spec_activation_pieces(w->cols), FILL_PIECES), large && q->taken);
    spec_team_run(multiply_chunk, &job, n_chunks(spec_panels_count(w->rows), job.panels), q->taken);
}

static size_t qkv_width(const spec_shape *shape)
{
    return (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * (size_t)shape->head_dim;
}

static void rope(spec_queue *queue, float *qkv)
{
    const cpu_queue *q = queue->state;
    const int head_dim = q->shape.head_dim, half = head_dim / 2;
    for (int u = 0; u < q->batch->n; u++) {
        float *head = qkv + (size_t)u * qkv_width(&q->shape);
        for (int h = 0; h < q->shape.n_heads + q->shape.n_kv_heads; h++, head += head_dim)
            q->kernels->rotate(head, q->cosine + u * half, q->sine + u * half, q->shape.rope_pairs, head_dim);
    }
}

static void store(spec_queue *queue, spec_kv *kv, int layer, const float *qkv)
{
    const cpu_queue *q = queue->state;
    const size_t head_dim = (size_t)kv->head_dim, width = (size_t)padded(kv->head_dim);
    for (int u = 0; u < q->batch->n; u++) {
        const size_t slot = (size_t)q->batch->slot[u];
        const float *key = qkv + (size_t)u * qkv_width(&q->shape) + (size_t)q->shape.n_heads * head_dim;
        const float *value = key + (size_t)kv->n_kv_heads * head_dim;
        for (int h = 0; h < kv->n_kv_heads; h++, key += head_dim, value += head_dim) {
            memcpy(keys_of(kv, layer, h) + slot * width, key, head_dim * sizeof *key);
            memcpy(values_of(kv, layer, h) + slot * width, value, head_dim * sizeof *value);
        }
    }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

typedef struct {
    const cpu_queue *q;
    float *o;
    const float *qkv;
    const spec_kv *kv;
    int layer;
    int blocks; /* chunks of a (column, kv head): 1, or each of its blocks by itself */
} attend_job;

/* What up to SPEC_VECTOR_HEADS heads have mixed so far. */
typedef struct {
    float mixed[SPEC_VECTOR_HEADS * SPEC_HEAD_DIM_MAX], largest[SPEC_VECTOR_HEADS], sum[SPEC_VECTOR_HEADS];
} mixture;

static int n_seen(const spec_batch *batch, int u)
{
    return batch->past[u] + batch->path_begin[u + 1] - batch->path_begin[u];
}

static int n_blocks(const spec_batch *batch, int u)
{
    return (n_seen(batch, u) + BLOCK - 1) / BLOCK;
}

/* Heads first..first+heads-1 of kv head h against block b of what column u sees. */
static void attend_block(const attend_job *j, mixture *to, int u, int h, int first, int heads, int b)
{
    const cpu_queue *q = j->q;
    const spec_batch *batch = q->batch;
    const int head_dim = q->shape.head_dim, width = padded(head_dim), group = q->shape.n_heads / q->shape.n_kv_heads;
    const float scale = (float)(1.0 / sqrt(head_dim));
    const float *from = j->qkv + (size_t)u * qkv_width(&q->shape) + (size_t)(h * group + first) * (size_t)head_dim;
    float query[SPEC_VECTOR_HEADS * SPEC_HEAD_DIM_MAX] = {0};
    for (int i = 0; i < heads; i++)
        for (int d = 0; d < head_dim; d++) query[i * width + d] = from[i * head_dim + d] * scale;

    int slot[BLOCK], n = 0;
    const int past = batch->past[u], seen = n_seen(batch, u);
    for (int t = b * BLOCK; t < seen && n < BLOCK; t++, n++)
        slot[n] = t < past ? t : batch->path[batch->path_begin[u] + t - past];
    q->kernels->attend(to->mixed, to->largest, to->sum, query, heads, width, keys_of(j->kv, j->layer, h),
                       values_of(j->kv, j->layer, h), slot, n);
}

/* The next block joins those before it. */
static void join(float *mixed, float *largest, float *sum, const float *block, float block_largest, float block_sum,
                 int width)
{
    const float both = block_largest > *largest ? block_largest : *largest;
    const float before = spec_vector_exp(*largest - both), now = spec_vector_exp(block_largest - both);
    for (int d = 0; d < width; d++) mixed[d] = mixed[d] * before + block[d] * now;
    *sum = *sum * before + block_sum * now;
    *largest = both;
}

static float *output_of(const attend_job *j, int u, int head)
{
    const spec_shape *shape = &j->q->shape;
    return j->o + ((size_t)u * (size_t)shape->n_heads + (size_t)head) * (size_t)shape->head_dim;
}

static void finish(float *o, const float *mixed, float sum, int head_dim)
{
    for (int d = 0; d < head_dim; d++) o[d] = mixed[d] / sum;
}

/* All blocks of a (column, kv head). */
static void attend_pair(void *job, int pair)
{
    const attend_job *j = job;
    const cpu_queue *q = j->q;
    const int u = pair / q->shape.n_kv_heads, h = pair % q->shape.n_kv_heads;
    const int group = q->shape.n_heads / q->shape.n_kv_heads, width = padded(q->shape.head_dim);
    for (int first = 0; first < group; first += SPEC_VECTOR_HEADS) {
        const int heads = group - first < SPEC_VECTOR_HEADS ? group - first : SPEC_VECTOR_HEADS;
        mixture all, block;
        attend_block(j, &all, u, h, first, heads, 0);
        for (int b = 1; b < n_blocks(q->batch, u); b++) {
            attend_block(j, &block, u, h, first, heads, b);
            for (int i = 0; i < heads; i++)
                join(all.mixed + i * width, &all.largest[i], &all.sum[i], block.mixed + i * width, block.largest[i],
                     block.sum[i], width);
        }
        for (int i = 0; i < heads; i++)
            finish(output_of(j, u, h * group + first + i), all.mixed + i * width, all.sum[i], q->shape.head_dim);
    }
}

/* Where the partial result of a head of a pair lies: width floats, the largest score, the sum. */
static float *partial_of(const attend_job *j, int pair, int head, int b)
{
    const spec_shape *shape = &j->q->shape;
    const size_t group = (size_t)(shape->n_heads / shape->n_kv_heads);
    return j->q->partial + (((size_t)pair * group + (size_t)head) * (size_t)j->q->max_blocks + (size_t)b) *
                               (size_t)(padded(shape->head_dim) + 2);
}

static void attend_one_block(void *job, int chunk)
{
    const attend_job *j = job;
    const cpu_queue *q = j->q;
    const int pair = chunk / j->blocks, b = chunk % j->blocks;
    const int u = pair / q->shape.n_kv_heads, h = pair % q->shape.n_kv_heads;
    const int group = q->shape.n_heads / q->shape.n_kv_heads, width = padded(q->shape.head_dim);
    if (b >= n_blocks(q->batch, u)) return;
    for (int first = 0; first < group; first += SPEC_VECTOR_HEADS) {
        const int heads = group - first < SPEC_VECTOR_HEADS ? group - first : SPEC_VECTOR_HEADS;
        mixture block;
        attend_block(j, &block, u, h, first, heads, b);
        for (int i = 0; i < heads; i++) {
            float *partial = partial_of(j, pair, first + i, b);
            memcpy(partial, block.mixed + i * width, (size_t)width * sizeof *partial);
            partial[width] = block.largest[i];
            partial[width + 1] = block.sum[i];
        }
    }
}

static void join_blocks(const attend_job *j, int pair)
{
    const cpu_queue *q = j->q;
    const int u = pair / q->shape.n_kv_heads, h = pair % q->shape.n_kv_heads;
    const int group = q->shape.n_heads / q->shape.n_kv_heads, width = padded(q->shape.head_dim);
    for (int i = 0; i < group; i++) {
        float *all = partial_of(j, pair, i, 0);
        for (int b = 1; b < n_blocks(q->batch, u); b++) {
            const float *block = partial_of(j, pair, i, b);
            join(all, &all[width], &all[width + 1], block, block[width], block[width + 1], width);
        }
        finish(output_of(j, u, h * group + i), all, all[width + 1], q->shape.head_dim);
    }
}

static void attend(spec_queue *queue, float *o, const float *qkv, const spec_kv *kv, int layer)
{
    const cpu_queue *q = queue->state;
    const int pairs = q->batch->n * q->shape.n_kv_heads;
    attend_job job = {q, o, qkv, kv, layer, 1};
    for (int u = 0; u < q->batch->n; u++)
        if (n_blocks(q->batch, u) > job.blocks) job.blocks = n_blocks(q->batch, u);
    if (job.blocks == 1 || job.blocks > q->max_blocks || pairs > PAIRS_SPLIT) {
        spec_team_run(attend_pair, &job, pairs, q->taken);
        return;
    }
    spec_team_run(attend_one_block, &job, pairs * job.blocks, q->taken);
    for (int pair = 0; pair < pairs; pair++) join_blocks(&job, pair);
}

static void gate(spec_queue *queue, float *y, const float *h)
{
    const cpu_queue *q = queue->state;
    const size_t ffn = (size_t)q->shape.ffn_dim;
    for (size_t u = 0; u < (size_t)q->batch->n; u++)
        q->kernels->gate(y + u * ffn, h + 2 * u * ffn, h + (2 * u + 1) * ffn, (int)ffn);
}

/* ---- out of logits ----------------------------------------------------------------------------------------------- */

static int largest_of(const cpu_queue *q, float *ret_largest, const float *logits, int i, spec_error *error)
{
    if (q->kernels->largest(ret_largest, logits + (size_t)i * (size_t)q->shape.vocab, q->shape.vocab))
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EDOM, "the model's logits are not finite: its weights are broken or overflow");
}

static int argmax(spec_queue *queue, int *ret_token, const float *logits, int n, spec_error *error)
{
    const cpu_queue *q = queue->state;
    for (int i = 0; i < n; i++) {
        float largest;
        const int status = largest_of(q, &largest, logits, i, error);
        if (status != GSL_SUCCESS) return status;
        ret_token[i] = q->kernels->find(logits + (size_t)i * (size_t)q->shape.vocab, largest, q->shape.vocab);
    }
    return GSL_SUCCESS;
}

typedef struct {
    const cpu_queue *q;
    double *const *row;
    const float *logits;
    const float *largest; /* (n) */
    double factor[SPEC_COLUMNS_MAX];
    int chunks; /* of a row */
} rows_job;

static void row_exps(void *job, int chunk)
{
    const rows_job *j = job;
    const int vocab = j->q->shape.vocab, row = chunk / j->chunks, blocks = (vocab - 1) / SPEC_VECTOR_EXPS + 1;
    const int begin_at = chunk % j->chunks * ROW_CHUNK;
    for (int i = begin_at; i < vocab && i < begin_at + ROW_CHUNK; i += SPEC_VECTOR_EXPS)
        j->q->block_sum[row * blocks + i / SPEC_VECTOR_EXPS] =
            j->q->kernels->exps(j->row[row] + i, j->logits + (size_t)row * (size_t)vocab + i, j->largest[row],
                                j->factor[row], vocab - i < SPEC_VECTOR_EXPS ? vocab - i : SPEC_VECTOR_EXPS);
}

static void row_scale(void *job, int chunk)
{
    const rows_job *j = job;
    const int vocab = j->q->shape.vocab, row = chunk / j->chunks, begin_at = chunk % j->chunks * ROW_CHUNK;
    const int n = vocab - begin_at < ROW_CHUNK ? vocab - begin_at : ROW_CHUNK;
    j->q->kernels->scale(j->row[row] + begin_at, j->factor[row], n);
}

static int rows(spec_queue *queue, double *const *row, const float *logits, double temperature, int n,
                spec_error *error)
{
    const cpu_queue *q = queue->state;
    const int vocab = q->shape.vocab, blocks = (vocab - 1) / SPEC_VECTOR_EXPS + 1;
    float largest[SPEC_COLUMNS_MAX];
    rows_job job = {q, row, logits, largest, {0}, (vocab - 1) / ROW_CHUNK + 1};
    for (int i = 0; i < n; i++) {
        const int status = largest_of(q, &largest[i], logits, i, error);
        if (status != GSL_SUCCESS) return status;
        job.factor[i] = 1.0 / temperature;
    }
    const bool taken = spec_team_take();
    spec_team_run(row_exps, &job, n * job.chunks, taken);
    for (int i = 0; i < n; i++) job.factor[i] = 1.0 / spec_row_sum(q->block_sum + i * blocks, blocks);
    spec_team_run(row_scale, &job, n * job.chunks, taken);
    if (taken) spec_team_give_back();
    return GSL_SUCCESS;
}

const spec_backend spec_backend_cpu = {
    .name = "cpu",
    .alloc = alloc_memory,
    .free = free_memory,
    .put = copy,
    .get = copy,
    .matrix_init = matrix_init,
    .matrix_free = matrix_free,
    .kv_init = kv_init,
    .kv_free = kv_free,
    .queue_init = queue_init,
    .queue_free = queue_free,
    .begin = begin,
    .end = end,
    .embed = embed,
    .norm = norm,
    .matmul = matmul,
    .rope = rope,
    .store = store,
    .attend = attend,
    .gate = gate,
    .keep = keep,
    .argmax = argmax,
    .rows = rows,
};
