/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mapping.h"
#include "models/transformer/files/checkpoint.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/llama2c_vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAGIC = 0x616b3432, /* "ak42" */
    V0_HEADER_BYTES = 28,
    V1_HEADER_BYTES = 256,
    BEGIN_OF_TEXT = 1,
    END_OF_TEXT = 1
};

/* The header of either version. */
typedef struct {
    size_t bytes;
    bool is_v1, has_output;
    spec_shape shape;
} header;

/* The parts in the order of the file, which stores each part for all layers in turn. */
static const spec_part v0_parts[] =
    {
        SPEC_PART_EMBEDDING, SPEC_PART_ATTENTION_NORM, SPEC_PART_QUERY,
        SPEC_PART_KEY,       SPEC_PART_VALUE,          SPEC_PART_ATTENTION_OUTPUT,
        SPEC_PART_FFN_NORM,  SPEC_PART_GATE,           SPEC_PART_DOWN,
        SPEC_PART_UP,        SPEC_PART_FINAL_NORM,
},
                       v1_parts[] = {
                           SPEC_PART_ATTENTION_NORM,
                           SPEC_PART_FFN_NORM,
                           SPEC_PART_FINAL_NORM,
                           SPEC_PART_EMBEDDING,
                           SPEC_PART_QUERY,
                           SPEC_PART_KEY,
                           SPEC_PART_VALUE,
                           SPEC_PART_ATTENTION_OUTPUT,
                           SPEC_PART_GATE,
                           SPEC_PART_DOWN,
                           SPEC_PART_UP,
};
enum { N_PARTS = sizeof v0_parts / sizeof v0_parts[0] };

/* ---- header ---------------------------------------------------------------------------------- */

static int read_v1(header *ret_header, const spec_mapping *file, const char *path,
                   spec_error *error)
{
    int32_t version = 0;
    if (file->length >= V1_HEADER_BYTES) memcpy(&version, file->bytes + 4, sizeof version);
    if (version == 2)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: a quantised llama2.c checkpoint (version 2) is not supported; "
                         "export version 0 or 1, and quantise that",
                         path);
    if (version != 1)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: is truncated, or a llama2.c checkpoint of version %d; versions 0 "
                         "and 1 are supported",
                         path, version);
    ret_header->bytes = V1_HEADER_BYTES;
    ret_header->is_v1 = true;
    ret_header->has_output = file->bytes[36] == 0;
    return GSL_SUCCESS;
}

static int read_header(header *ret_header, const spec_mapping *file, const char *path,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    uint32_t magic;
    int32_t number[7];
    *ret_header = (header){.bytes = V0_HEADER_BYTES};
    if (file->length < V0_HEADER_BYTES)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: has %zu bytes, fewer than a llama2.c checkpoint's header", path,
                         file->length);
    memcpy(&magic, file->bytes, sizeof magic);
    if (memcmp(file->bytes, "GGUF", 4) == 0)
        return spec_fail(error, GSL_EINVAL, "%.300s: is a GGUF file; gguf:PATH opens it", path);
    if (magic == MAGIC) SPEC_TRY(read_v1(ret_header, file, path, error));
    memcpy(number, file->bytes + (ret_header->is_v1 ? 8 : 0), sizeof number);
    if (!ret_header->is_v1) ret_header->has_output = number[5] < 0;
    if (!ret_header->is_v1 && number[5] < 0 && number[5] > INT32_MIN) number[5] = -number[5];

    ret_header->shape = (spec_shape){
        .dim = number[0],
        .ffn_dim = number[1],
        .n_layers = number[2],
        .n_heads = number[3],
        .n_kv_heads = number[4],
        .vocab = number[5],
        .context = number[6],
        .head_dim = number[0] >= 1 && number[3] >= 1 ? number[0] / number[3] : 0,
        .norm_eps = 1e-5f,
        .rope.base = 10000.0,
        .rope_pairs = SPEC_ROPE_ADJACENT,
    };
    char named[340];
    snprintf(named, sizeof named, "%.300s: not a llama2.c checkpoint", path);
    SPEC_TRY(spec_checkpoint_check_shape(&ret_header->shape, named, error));
    if (number[0] % number[3] != 0)
        return spec_fail(error, GSL_EINVAL, "%s: %d heads do not divide a width of %d", named,
                         number[3], number[0]);
    if (ret_header->shape.vocab <= BEGIN_OF_TEXT)
        return spec_fail(error, GSL_EINVAL,
                         "%s: a vocabulary of one has no token to begin a text with", named);
done:
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static uint64_t weights_of(spec_part part, const spec_shape *shape)
{
    int rows, cols;
    spec_checkpoint_parts_shape(&rows, &cols, part, shape);
    return (uint64_t)rows * (uint64_t)cols * (uint64_t)spec_checkpoint_parts_copies(part, shape);
}

/* Returns the size of the tables of rotary angles that version 0 has before its output matrix: a
 * cosine and a sine per pair. */
static uint64_t table_weights(const header *head)
{
    return head->is_v1 ? 0 : (uint64_t)head->shape.context * (uint64_t)head->shape.head_dim;
}

/* Checks the length of the file. The sum is far below 2^64, because every width and count has been
 * checked. */
static int check_length(const header *head, const spec_mapping *file, const char *path,
                        spec_error *error)
{
    uint64_t weights = table_weights(head);
    for (int i = 0; i < N_PARTS; i++) weights += weights_of(v0_parts[i], &head->shape);
    if (head->has_output) weights += weights_of(SPEC_PART_OUTPUT, &head->shape);
    const uint64_t wanted = head->bytes + weights * sizeof(float);
    if (file->length == wanted) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: has %zu bytes where a llama2.c checkpoint with its header has "
                     "%llu: %s",
                     path, file->length, (unsigned long long)wanted,
                     file->length < wanted ? "it is cut short" : "something follows it");
}

static const unsigned char *place(spec_checkpoint *checkpoint, spec_part part,
                                  const unsigned char *at)
{
    int rows, cols;
    spec_checkpoint_parts_shape(&rows, &cols, part, &checkpoint->shape);
    for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &checkpoint->shape); layer++) {
        *spec_checkpoint_parts_tensor(part, checkpoint, layer) =
            (spec_tensor){SPEC_TENSOR_F32, rows, cols, at};
        at += (size_t)rows * (size_t)cols * sizeof(float);
    }
    return at;
}

static void place_all(spec_checkpoint *checkpoint, const header *head, const spec_mapping *file)
{
    const spec_part *parts = head->is_v1 ? v1_parts : v0_parts;
    const unsigned char *at = file->bytes + head->bytes;
    for (int i = 0; i < N_PARTS; i++) at = place(checkpoint, parts[i], at);
    at += table_weights(head) * sizeof(float);
    if (head->has_output)
        place(checkpoint, SPEC_PART_OUTPUT, at);
    else
        checkpoint->output = checkpoint->embedding;
}

/* ---- loading --------------------------------------------------------------------------------- */

static void free_mapping(void *owned)
{
    spec_mapping_free(owned);
    free(owned);
}

static int load_tokenizer(spec_checkpoint *checkpoint, const spec_settings *settings,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_llama2c_vocabulary vocabulary;
    SPEC_TRY(spec_llama2c_vocabulary_load(&vocabulary, settings->path,
                                          spec_settings_text(settings, "tokenizer"),
                                          checkpoint->shape.vocab, error));
    if (vocabulary.data.vocab > 0)
        SPEC_TRY(spec_checkpoint_tokenizer(checkpoint, &vocabulary.data, vocabulary.path, error));
done:
    spec_llama2c_vocabulary_free(&vocabulary);
    return status;
}

int spec_checkpoint_load_llama2c(spec_checkpoint *ret, spec_settings *settings,
                                 spec_thread_pool *opt_pool, spec_error *error)
{
    int status = GSL_SUCCESS, end;
    const char *path = settings->path;
    header head;
    *ret = (spec_checkpoint){.free_owned = free_mapping, .opt_pool = opt_pool};
    spec_mapping *file = ret->owned = calloc(1, sizeof *file);
    if (file == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    SPEC_TRY(spec_mapping_init(file, path, error));
    ret->opt_mapping = file;
    SPEC_TRY(read_header(&head, file, path, error));
    SPEC_TRY(check_length(&head, file, path, error));
    ret->shape = head.shape;
    ret->layer = calloc((size_t)head.shape.n_layers, sizeof *ret->layer);
    if (ret->layer == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    place_all(ret, &head, file);
    ret->begin_of_text = BEGIN_OF_TEXT;
    ret->adds_begin = true;
    SPEC_TRY(
        spec_settings_int(&end, settings, "end", END_OF_TEXT, -1, head.shape.vocab - 1, error));
    ret->ends = spec_text_ends_one(end);
    SPEC_TRY(spec_checkpoint_context(ret, settings, error));
    SPEC_TRY(load_tokenizer(ret, settings, error));
    SPEC_TRY(spec_checkpoint_parts_check(ret, path, error));
done:
    if (status != GSL_SUCCESS) spec_checkpoint_free(ret);
    return status;
}
