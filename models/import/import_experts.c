/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/import_experts.h"

#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128, GATE_UP = 0, DOWN, GATE_UP_BIAS, DOWN_BIAS, GATE_UP_SCALES, DOWN_SCALES };

/* Tensors of all experts, in the order of the names above. */
static const char *const stacked[] = {"gate_up_proj", "down_proj", "gate_up_proj_bias",
                                      "down_proj_bias"};
static const char *const blocks[] = {"gate_up_proj_blocks", "down_proj_blocks",
                                     "gate_up_proj_bias",   "down_proj_bias",
                                     "gate_up_proj_scales", "down_proj_scales"};
/* Tensors of one expert. */
static const char *const separate[] = {"gate_proj.weight", "up_proj.weight", "down_proj.weight"};
enum { SEPARATE = 3 };

/* The folder in which we look for experts. */
typedef struct {
    spec_import_experts *to;
    spec_tensor_folder *folder;
    const char *layers;
    bool has_biases;
    spec_error *error;
} finder;

#define REFUSE(find, format, ...)                                                                  \
    spec_fail((find)->error, GSL_EINVAL, "%.300s: " format, (find)->folder->path, __VA_ARGS__)

/* ---- which tensors --------------------------------------------------------------------------- */

static const char *name_of(char name[NAME_SIZE], const finder *find, int layer, int i)
{
    const spec_import_experts *to = find->to;
    if (to->layout == SPEC_IMPORT_EXPERTS_SEPARATE)
        snprintf(name, NAME_SIZE, "%s%d.mlp.experts.%d.%s", find->layers, layer, i / SEPARATE,
                 separate[i % SEPARATE]);
    else
        snprintf(name, NAME_SIZE, "%s%d.mlp.experts.%s", find->layers, layer,
                 to->layout == SPEC_IMPORT_EXPERTS_MXFP4 ? blocks[i] : stacked[i]);
    return name;
}

static bool has(const finder *find, const char *rest)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s0.mlp.experts.%s", find->layers, rest);
    return spec_tensor_folder_look(find->folder, name) != NULL;
}

static void choose_layout(const finder *find, bool transposes)
{
    spec_import_experts *to = find->to;
    to->layout = has(find, blocks[GATE_UP])     ? SPEC_IMPORT_EXPERTS_MXFP4
                 : !has(find, stacked[GATE_UP]) ? SPEC_IMPORT_EXPERTS_SEPARATE
                 : transposes                   ? SPEC_IMPORT_EXPERTS_TRANSPOSED
                                                : SPEC_IMPORT_EXPERTS_STACKED;
    to->n_names = to->layout == SPEC_IMPORT_EXPERTS_SEPARATE ? SEPARATE * to->shape.n_experts
                  : to->layout == SPEC_IMPORT_EXPERTS_MXFP4  ? DOWN_SCALES + 1
                  : find->has_biases                         ? DOWN_BIAS + 1
                                                             : DOWN + 1;
}

/* Writes the dimensions that tensor i must have; returns their number. */
static int wanted(int ret_dimension[SPEC_SAFETENSORS_DIMENSIONS_MAX], const spec_import_experts *of,
                  int i)
{
    const int e = of->shape.n_experts, f = of->shape.expert_dim, d = of->shape.dim;
    const bool is_down =
        of->layout == SPEC_IMPORT_EXPERTS_SEPARATE ? i % SEPARATE == SEPARATE - 1 : i % 2 == 1;
    const bool is_bias = i == GATE_UP_BIAS || i == DOWN_BIAS;
    const int rows = is_down ? d : 2 * f, cols = is_down ? f : d;
    int *size = ret_dimension;
    switch (of->layout) {
    case SPEC_IMPORT_EXPERTS_SEPARATE:
        size[0] = is_down ? d : f;
        size[1] = cols;
        return 2;
    case SPEC_IMPORT_EXPERTS_STACKED:
    case SPEC_IMPORT_EXPERTS_TRANSPOSED: {
        const bool turns = of->layout == SPEC_IMPORT_EXPERTS_TRANSPOSED;
        size[0] = e;
        size[1] = is_bias || !turns ? rows : cols;
        size[2] = turns ? rows : cols;
        return is_bias ? 2 : 3;
    }
    case SPEC_IMPORT_EXPERTS_MXFP4:
        size[0] = e;
        size[1] = rows;
        size[2] = cols / SPEC_TENSOR_BLOCK;
        size[3] = SPEC_TENSOR_BLOCK / 2;
        return is_bias ? 2 : i > DOWN_BIAS ? 3 : 4;
    }
    return 0;
}

static bool is_packed(const spec_import_experts *of, int i)
{
    return of->layout == SPEC_IMPORT_EXPERTS_MXFP4 && i != GATE_UP_BIAS && i != DOWN_BIAS;
}

/* Returns F32, F16 or BF16; SPEC_TENSOR_TYPES for others. */
static spec_tensor_type float_type(const spec_safetensors_tensor *tensor)
{
    return strcmp(tensor->type, "F32") == 0    ? SPEC_TENSOR_F32
           : strcmp(tensor->type, "F16") == 0  ? SPEC_TENSOR_F16
           : strcmp(tensor->type, "BF16") == 0 ? SPEC_TENSOR_BF16
                                               : SPEC_TENSOR_TYPES;
}

static int check(const finder *find, const spec_safetensors_tensor *found, int i)
{
    int size[SPEC_SAFETENSORS_DIMENSIONS_MAX];
    const int n = wanted(size, find->to, i);
    const bool packed = is_packed(find->to, i);
    bool fits = found->n_dimensions == n;
    for (int j = 0; j < n && fits; j++) fits = found->dimension[j] == size[j];
    if (!fits)
        return REFUSE(find,
                      "tensor '%.80s' has %d dimensions, %d x %d x %d x %d, where %d experts of "
                      "width %d need others",
                      found->name, found->n_dimensions, found->dimension[0], found->dimension[1],
                      found->dimension[2], found->dimension[3], find->to->shape.n_experts,
                      find->to->shape.expert_dim);
    if (packed ? strcmp(found->type, "U8") != 0 : float_type(found) == SPEC_TENSOR_TYPES)
        return REFUSE(find, "tensor '%.80s' is of dtype %.20s; only %s supported", found->name,
                      found->type, packed ? "U8 is" : "F32, F16 and BF16 are");
    return GSL_SUCCESS;
}

static int find_all(const finder *find)
{
    int status = GSL_SUCCESS;
    spec_import_experts *to = find->to;
    const size_t n = (size_t)to->shape.n_layers * (size_t)to->n_names;
    char name[NAME_SIZE];
    if (n > find->folder->n_tensors)
        return REFUSE(find, "tensor '%.80s' is missing: %zu tensors are too few for %d experts",
                      name_of(name, find, 0, 0), find->folder->n_tensors, to->shape.n_experts);
    to->tensor = calloc(n, sizeof *to->tensor);
    if (to->tensor == NULL) return spec_no_memory_for(find->error, find->folder->path);
    for (size_t i = 0; i < n; i++) {
        const int layer = (int)(i / (size_t)to->n_names), at = (int)(i % (size_t)to->n_names);
        to->tensor[i] = spec_tensor_folder_find(find->folder, name_of(name, find, layer, at));
        if (to->tensor[i] == NULL) return REFUSE(find, "tensor '%.80s' is missing", name);
        SPEC_TRY(check(find, to->tensor[i], at));
    }
done:
    return status;
}

/* ---- the checkpoint's tensors ---------------------------------------------------------------- */

static bool is_bias(spec_part part)
{
    return part >= SPEC_PART_EXPERT_GATE_BIAS;
}

static bool is_down(spec_part part)
{
    return part == SPEC_PART_EXPERT_DOWN || part == SPEC_PART_EXPERT_DOWN_BIAS;
}

static bool is_up(spec_part part)
{
    return part == SPEC_PART_EXPERT_UP || part == SPEC_PART_EXPERT_UP_BIAS;
}

/* Returns the tensor that has a part of an expert. */
static const spec_safetensors_tensor *holder(const spec_import_experts *of, spec_part part,
                                             int layer, int expert)
{
    const spec_safetensors_tensor **const at = of->tensor + (size_t)layer * (size_t)of->n_names;
    if (of->layout == SPEC_IMPORT_EXPERTS_SEPARATE)
        return at[expert * SEPARATE + (is_down(part) ? 2 : is_up(part) ? 1 : 0)];
    return at[(is_bias(part) ? GATE_UP_BIAS : GATE_UP) + (is_down(part) ? 1 : 0)];
}

static spec_tensor_type type_of(const spec_import_experts *of, spec_part part, int layer)
{
    if (is_bias(part)) return SPEC_TENSOR_F32;
    return of->layout == SPEC_IMPORT_EXPERTS_MXFP4 ? SPEC_TENSOR_MXFP4
                                                   : float_type(holder(of, part, layer, 0));
}

/* All experts of a layer must have one type, and the widest one must fit the buffer. */
static int set_tensors(const finder *find, spec_checkpoint *to)
{
    spec_import_experts *of = find->to;
    const int last = find->has_biases ? SPEC_PART_EXPERT_DOWN_BIAS : SPEC_PART_EXPERT_DOWN;
    for (int i = SPEC_PART_EXPERT_GATE; i <= last; i++) {
        const spec_part part = (spec_part)i;
        for (int layer = 0; layer < of->shape.n_layers; layer++) {
            int rows, cols;
            const spec_tensor_type type = type_of(of, part, layer);
            const spec_safetensors_tensor *first = holder(of, part, layer, 0);
            for (int expert = 1; expert < of->shape.n_experts; expert++) {
                const spec_safetensors_tensor *other = holder(of, part, layer, expert);
                if (strcmp(other->type, first->type) != 0)
                    return REFUSE(find, "tensor '%.80s' is of dtype %.20s, and '%.80s' of %.20s",
                                  first->name, first->type, other->name, other->type);
            }
            spec_checkpoint_parts_shape(&rows, &cols, part, &of->shape);
            *spec_checkpoint_parts_tensor(part, to, layer) =
                (spec_tensor){type, rows, cols, first->data};
        }
    }
    return GSL_SUCCESS;
}

int spec_import_experts_init(spec_import_experts *experts, spec_checkpoint *to,
                             spec_tensor_folder *folder, const char *layers, bool transposes,
                             spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_shape *shape = &to->shape;
    *experts = (spec_import_experts){.shape = *shape};
    const finder find = {experts, folder, layers, false, error};
    finder all = find;
    all.has_biases = transposes && has(&find, stacked[GATE_UP_BIAS]);
    choose_layout(&all, transposes);
    if (experts->layout == SPEC_IMPORT_EXPERTS_MXFP4 &&
        (!all.has_biases || shape->dim % SPEC_TENSOR_BLOCK != 0 ||
         shape->expert_dim % SPEC_TENSOR_BLOCK != 0))
        SPEC_TRY(REFUSE(&all,
                        "experts in MXFP4 must have biases, and widths that are multiples of "
                        "%d",
                        SPEC_TENSOR_BLOCK));
    SPEC_TRY(find_all(&all));
    SPEC_TRY(set_tensors(&all, to));
    experts->buffer = malloc((size_t)shape->dim * (size_t)shape->expert_dim * sizeof(float));
    if (experts->buffer == NULL) SPEC_TRY(spec_no_memory_for(error, folder->path));
done:
    if (status != GSL_SUCCESS) spec_import_experts_free(experts);
    return status;
}

void spec_import_experts_free(spec_import_experts *experts)
{
    free(experts->tensor);
    free(experts->buffer);
    *experts = (spec_import_experts){0};
}

/* ---- the rows of an expert ------------------------------------------------------------------- */

/* Returns every second value of a row of biases, or all values. */
static const void *bias_rows(spec_import_experts *of, const spec_safetensors_tensor *from,
                             spec_part part, int expert)
{
    const int n = is_down(part) ? of->shape.dim : of->shape.expert_dim;
    const int step = is_down(part) ? 1 : 2;
    const spec_tensor_type type = float_type(from);
    const size_t size = spec_tensor_row_bytes(type, 1);
    float *value = (float *)(void *)of->buffer;
    const unsigned char *first =
        from->data + ((size_t)expert * (size_t)(n * step) + is_up(part)) * size;
    for (int i = 0; i < n; i++) {
        const spec_tensor one = {type, 1, 1, first + (size_t)(i * step) * size};
        spec_tensor_decode_row(&value[i], &one, 0);
    }
    return of->buffer;
}

/* Row r of an expert is column `step` * r + `first` of its (cols, width) values. The result's
 * columns are computed in blocks, so that the source's lines stay in the cache. */
static void transpose(unsigned char *ret, const unsigned char *from, int rows, int cols, int step,
                      int first, size_t size)
{
    enum { BLOCK = 64 };
    const size_t width = (size_t)rows * (size_t)step;
    for (int begin = 0; begin < cols; begin += BLOCK) {
        const int end = begin + BLOCK < cols ? begin + BLOCK : cols;
        for (int r = 0; r < rows; r++) {
            const size_t column = (size_t)r * (size_t)step + (size_t)first;
            for (int c = begin; c < end; c++)
                memcpy(ret + ((size_t)r * (size_t)cols + (size_t)c) * size,
                       from + ((size_t)c * width + column) * size, size);
        }
    }
}

static const void *transposed_rows(spec_import_experts *of, const spec_safetensors_tensor *from,
                                   spec_part part, int expert)
{
    const int d = of->shape.dim, f = of->shape.expert_dim;
    const size_t size = spec_tensor_row_bytes(float_type(from), 1);
    const size_t values = (size_t)d * (size_t)f * (is_down(part) ? 1 : 2);
    const unsigned char *first = from->data + (size_t)expert * values * size;
    transpose(of->buffer, first, is_down(part) ? d : f, is_down(part) ? f : d,
              is_down(part) ? 1 : 2, is_up(part) ? 1 : 0, size);
    return of->buffer;
}

/* The folder has weights 2j and 2j + 1 of a block in the halves of byte j; GGUF has j and j + 16,
 * after the scale. */
static void repack_block(unsigned char ret[17], const unsigned char from[16], unsigned char scale)
{
    ret[0] = scale;
    for (int j = 0; j < 16; j++) {
        const int low = from[j / 2] >> (j % 2 * 4) & 15;
        const int high = from[8 + j / 2] >> (j % 2 * 4) & 15;
        ret[1 + j] = (unsigned char)(low | high << 4);
    }
}

static const void *packed_rows(spec_import_experts *of, const spec_safetensors_tensor *from,
                               const spec_safetensors_tensor *scales, spec_part part, int expert)
{
    enum { BYTES = SPEC_TENSOR_BLOCK / 2 };
    const bool down = is_down(part);
    const int rows = down ? of->shape.dim : of->shape.expert_dim;
    const size_t n = (size_t)(down ? of->shape.expert_dim : of->shape.dim) / SPEC_TENSOR_BLOCK;
    const size_t step = down ? 1 : 2;
    unsigned char *to = of->buffer;
    for (int r = 0; r < rows; r++) {
        const size_t row = ((size_t)expert * (size_t)rows + (size_t)r) * step + is_up(part);
        for (size_t b = row * n; b < (row + 1) * n; b++, to += BYTES + 1)
            repack_block(to, from->data + b * BYTES, scales->data[b]);
    }
    return of->buffer;
}

const void *spec_import_experts_rows(void *experts, spec_part part, int layer, int expert)
{
    spec_import_experts *of = experts;
    const spec_safetensors_tensor *from = holder(of, part, layer, expert);
    assert(part >= SPEC_PART_EXPERT_GATE);
    if (is_bias(part)) return bias_rows(of, from, part, expert);
    const size_t rows = (size_t)of->shape.expert_dim, cols = (size_t)of->shape.dim;
    switch (of->layout) {
    case SPEC_IMPORT_EXPERTS_SEPARATE: return from->data;
    case SPEC_IMPORT_EXPERTS_STACKED: {
        const size_t bytes = rows * cols * spec_tensor_row_bytes(float_type(from), 1);
        return is_down(part) ? from->data + (size_t)expert * bytes
                             : from->data + (2 * (size_t)expert + is_up(part)) * bytes;
    }
    case SPEC_IMPORT_EXPERTS_TRANSPOSED: return transposed_rows(of, from, part, expert);
    case SPEC_IMPORT_EXPERTS_MXFP4: {
        const spec_safetensors_tensor **const at = of->tensor + (size_t)layer * (size_t)of->n_names;
        return packed_rows(of, from, at[is_down(part) ? DOWN_SCALES : GATE_UP_SCALES], part,
                           expert);
    }
    }
    return NULL;
}
