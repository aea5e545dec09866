/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_file.h"

#include "base/noise.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/gguf_value.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char own_architecture[] = "speclab-head", map_name[] = "d2t",
                  factors_name[] = "rope_freqs.weight",
                  fingerprint_key[] = "speclab.target.fingerprint";

static const char *architecture_of(spec_head_kind kind)
{
    return kind == SPEC_HEAD_EAGLE3 ? spec_head_kind_names[SPEC_HEAD_EAGLE3] : own_architecture;
}

/* ---- the target ------------------------------------------------------------------------------ */

static uint64_t hash_tensor(uint64_t hash, const spec_tensor *tensor)
{
    const size_t bytes = (size_t)tensor->rows * spec_tensor_row_bytes(tensor->type, tensor->cols);
    const unsigned char *data = tensor->data;
    hash = spec_noise_mix(hash ^ (uint64_t)tensor->type);
    for (size_t at = 0; at < bytes; at += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, data + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        hash = spec_noise_mix(hash ^ word);
    }
    return hash;
}

uint64_t spec_head_file_fingerprint(const spec_checkpoint *target)
{
    const spec_shape *s = &target->shape;
    assert(target->opt_draw == NULL);
    const int width[] = {s->dim,      s->n_layers, s->n_heads, s->n_kv_heads,
                         s->head_dim, s->ffn_dim,  s->vocab};
    uint64_t hash = spec_noise_key(0, width, sizeof width / sizeof width[0], -1);
    hash = hash_tensor(hash, &target->final_norm);
    hash = hash_tensor(hash, &target->output);
    return hash != 0 ? hash : 1;
}

int spec_head_file_check_target(const spec_head *head, const char *path,
                                const spec_checkpoint *target, spec_error *error)
{
    if (head->fingerprint == 0 || head->fingerprint == spec_head_file_fingerprint(target))
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: this %s head was made for another target, or for its weights in "
                     "another type; add force=1 to use it nevertheless",
                     path, spec_head_kind_names[head->shape.kind]);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The memory of a head from a file. */
typedef struct {
    spec_gguf gguf;
    char *path;
    float *rope_factor; /* (head_dim / 2), or NULL */
} source;

typedef struct {
    spec_head *to;
    source *own;
    const spec_gguf *gguf;
    const spec_checkpoint *target;
    const char *architecture;
    char key[64];
    spec_error *error;
} loader;

#define REFUSE(load, format, ...)                                                                  \
    spec_fail((load)->error, GSL_EINVAL, "%.300s: " format, (load)->gguf->path, __VA_ARGS__)

static void free_source(void *owned)
{
    source *own = owned;
    spec_gguf_free(&own->gguf);
    free(own->path);
    free(own->rope_factor);
    free(own);
}

static const char *key_of(loader *load, const char *rest)
{
    snprintf(load->key, sizeof load->key, "%s.%s", load->architecture, rest);
    return load->key;
}

/* A value that the file must have, within [0, most]. */
static int need(int *ret_value, loader *load, const char *key, int most)
{
    if (spec_gguf_value_find(load->gguf, key) == NULL)
        return REFUSE(load, "lacks the value of '%s'", key);
    return spec_gguf_value_integer(ret_value, load->gguf, key, 0, 0, most, load->error);
}

static int read_kind(loader *load)
{
    int status = GSL_SUCCESS, kind = 0;
    spec_piece architecture, name;
    const char *eagle3 = spec_head_kind_names[SPEC_HEAD_EAGLE3];
    SPEC_TRY(
        spec_gguf_value_text(&architecture, load->gguf, "general.architecture", "", load->error));
    const bool is_eagle3 = spec_piece_is(architecture, eagle3);
    if (!is_eagle3 && !spec_piece_is(architecture, own_architecture))
        return REFUSE(load, "is of architecture '%.*s', not a draft head",
                      SPEC_GGUF_SHOWN(architecture));
    SPEC_TRY(spec_gguf_value_text(&name, load->gguf, "speclab.head", is_eagle3 ? eagle3 : "",
                                  load->error));
    while (kind < SPEC_HEAD_KINDS && !spec_piece_is(name, spec_head_kind_names[kind])) kind++;
    if (kind == SPEC_HEAD_KINDS || is_eagle3 != (kind == SPEC_HEAD_EAGLE3))
        return REFUSE(load, "'%.*s' is no kind of draft head of architecture %.*s",
                      SPEC_GGUF_SHOWN(name), SPEC_GGUF_SHOWN(architecture));
    load->to->shape.kind = (spec_head_kind)kind;
    load->architecture = architecture_of((spec_head_kind)kind);
done:
    return status;
}

/* llama.cpp called the list extract_layers in its first files. */
static int read_taps(loader *load)
{
    spec_head_shape *shape = &load->to->shape;
    int *tap = NULL, status = GSL_SUCCESS;
    size_t n = 0;
    const bool three = shape->kind == SPEC_HEAD_EAGLE3 || shape->kind == SPEC_HEAD_PARALLEL;
    const char *key = key_of(load, "target_layers");
    if (spec_gguf_value_find(load->gguf, key) == NULL) key = key_of(load, "extract_layers");
    SPEC_TRY(spec_gguf_value_integers(&tap, &n, load->gguf, key, load->error));
    shape->n_taps = three ? 3 : 1;
    if (n != (size_t)shape->n_taps)
        SPEC_TRY(REFUSE(load, "'%s' lists %zu layers of the target; a head of kind %s reads %d",
                        key_of(load, "target_layers"), n, spec_head_kind_names[shape->kind],
                        shape->n_taps));
    for (size_t i = 0; i < n; i++) {
        const int layers = load->target->shape.n_layers;
        if (tap[i] < 0 || tap[i] > layers || (i > 0 && tap[i] <= tap[i - 1]))
            SPEC_TRY(REFUSE(load,
                            "reads the target after layer %d, which is not within 0..%d or "
                            "not ascending",
                            tap[i], layers));
        shape->tap[i] = tap[i];
    }
done:
    free(tap);
    return status;
}

static int read_reach(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    const bool any = shape->kind == SPEC_HEAD_REDRAFTER || shape->kind == SPEC_HEAD_EAGLE ||
                     shape->kind == SPEC_HEAD_EAGLE3;
    if (any) return GSL_SUCCESS;
    SPEC_TRY(need(&shape->reach, load, "speclab.reach", SPEC_HEAD_REACH_MAX));
    if (shape->reach == 0) return REFUSE(load, "'%s' is 0", "speclab.reach");
done:
    return status;
}

/* The width and the vocabulary must be the target's. */
static int read_width(loader *load, const char *rest, int wanted)
{
    int value;
    const int status = need(&value, load, key_of(load, rest), INT_MAX);
    if (status != GSL_SUCCESS || value == wanted) return status;
    return REFUSE(load, "'%s' is %d, and the target's is %d", load->key, value, wanted);
}

/* The file's own rotary embedding: llama.cpp rotates adjacent pairs in every eagle3. */
static int read_rotation(loader *load)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &load->to->shape.shape;
    const spec_gguf_tensor *factors = spec_gguf_find_tensor(load->gguf, factors_name);
    if (load->to->shape.kind == SPEC_HEAD_EAGLE3) shape->rope_pairs = SPEC_ROPE_ADJACENT;
    shape->rope.opt_factor = NULL;
    SPEC_TRY(spec_gguf_value_real(&shape->rope.base, load->gguf, key_of(load, "rope.freq_base"),
                                  10000.0, load->error));
    if (factors == NULL) return GSL_SUCCESS;
    SPEC_TRY(spec_gguf_need_weights(&factors, load->gguf, factors_name, 1, shape->head_dim / 2,
                                    true, load->error));
    load->own->rope_factor = malloc((size_t)factors->tensor.cols * sizeof(float));
    if (load->own->rope_factor == NULL) return spec_no_memory_for(load->error, load->gguf->path);
    spec_tensor_decode_row(load->own->rope_factor, &factors->tensor, 0);
    shape->rope.opt_factor = load->own->rope_factor;
done:
    return status;
}

static int read_layer(loader *load)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &load->to->shape.shape;
    double eps;
    SPEC_TRY(need(&shape->n_layers, load, key_of(load, "block_count"), SPEC_HEAD_REACH_MAX));
    if (shape->n_layers != (load->to->shape.kind == SPEC_HEAD_MTP ? load->to->shape.reach : 1))
        return REFUSE(load, "'%s' is %d, which does not fit its kind", load->key, shape->n_layers);
    SPEC_TRY(need(&shape->ffn_dim, load, key_of(load, "feed_forward_length"), SPEC_DIM_MAX));
    SPEC_TRY(need(&shape->n_heads, load, key_of(load, "attention.head_count"), SPEC_DIM_MAX));
    SPEC_TRY(spec_gguf_value_integer(&shape->n_kv_heads, load->gguf,
                                     key_of(load, "attention.head_count_kv"), shape->n_heads, 1,
                                     SPEC_DIM_MAX, load->error));
    SPEC_TRY(spec_gguf_value_integer(
        &shape->head_dim, load->gguf, key_of(load, "attention.key_length"),
        shape->n_heads > 0 ? shape->dim / shape->n_heads : 0, 1, SPEC_HEAD_DIM_MAX, load->error));
    SPEC_TRY(spec_gguf_value_real(&eps, load->gguf,
                                  key_of(load, "attention.layer_norm_rms_epsilon"),
                                  (double)shape->norm_eps, load->error));
    shape->norm_eps = (float)eps;
    SPEC_TRY(read_rotation(load));
    SPEC_TRY(spec_gguf_value_bool(&load->to->shape.norm_before_residual, load->gguf,
                                  key_of(load, "norm_before_residual"), false, load->error));
    SPEC_TRY(spec_checkpoint_check_shape(shape, load->gguf->path, load->error));
    bool norm_before_fc, *normed = &load->to->shape.normed_features;
    SPEC_TRY(spec_gguf_value_bool(normed, load->gguf, key_of(load, "normed_features"), false,
                                  load->error));
    if (*normed && load->to->shape.kind != SPEC_HEAD_EAGLE)
        return REFUSE(load, "'%s' is true, which is for a head of kind eagle alone", load->key);
    SPEC_TRY(spec_gguf_value_bool(&norm_before_fc, load->gguf, key_of(load, "norm_before_fc"),
                                  false, load->error));
    if (norm_before_fc) return REFUSE(load, "'%s' is true, which cannot be read", load->key);
done:
    return status;
}

static int read_fingerprint(loader *load)
{
    spec_piece text;
    char digits[17] = "";
    const int status = spec_gguf_value_text(&text, load->gguf, fingerprint_key, "", load->error);
    if (status != GSL_SUCCESS || text.length == 0) return status;
    char *end = digits;
    if (text.length == sizeof digits - 1) {
        memcpy(digits, text.bytes, text.length);
        load->to->fingerprint = strtoull(digits, &end, 16);
    }
    return end == digits + sizeof digits - 1
               ? GSL_SUCCESS
               : REFUSE(load, "'%s' is not 16 hexadecimal digits", fingerprint_key);
}

static int read_values(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    SPEC_TRY(read_kind(load));
    shape->shape = load->target->shape;
    shape->shape.n_layers = shape->shape.n_heads = shape->shape.n_kv_heads = 0;
    shape->shape.head_dim = shape->shape.ffn_dim = 0;
    SPEC_TRY(read_width(load, "embedding_length", shape->shape.dim));
    SPEC_TRY(read_width(load, "vocab_size", shape->shape.vocab));
    SPEC_TRY(read_reach(load));
    SPEC_TRY(read_taps(load));
    if (shape->kind >= SPEC_HEAD_EAGLE) SPEC_TRY(read_layer(load));
    SPEC_TRY(read_fingerprint(load));
done:
    return status;
}

/* The target's tokens of a reduced vocabulary. */
static int read_map(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head *head = load->to;
    const int vocab = head->shape.shape.vocab;
    const spec_gguf_tensor *map = spec_gguf_find_tensor(load->gguf, map_name);
    head->shape.draft_vocab = vocab;
    if (map == NULL) return GSL_SUCCESS;
    if (spec_head_has_target_output(&head->shape))
        return REFUSE(load, "tensor '%s': a head of kind %s has the target's output, whole",
                      map_name, spec_head_kind_names[head->shape.kind]);
    if (!map->integers || map->tensor.rows != 1 || map->tensor.cols > vocab)
        return REFUSE(load, "tensor '%s' is not a list of at most %d tokens of type I64", map_name,
                      vocab);
    const int n = head->shape.draft_vocab = map->tensor.cols;
    bool *seen = calloc((size_t)vocab, sizeof *seen);
    head->opt_token = malloc((size_t)n * sizeof *head->opt_token);
    if (seen == NULL || head->opt_token == NULL)
        SPEC_TRY(spec_no_memory_for(load->error, load->gguf->path));
    for (int i = 0; i < n; i++) {
        int64_t token;
        memcpy(&token, (const char *)map->tensor.data + (size_t)i * sizeof token, sizeof token);
        if (token < 0 || token >= vocab || seen[token])
            SPEC_TRY(REFUSE(load, "row %d of its output is token %" PRId64 ", which %s", i, token,
                            token < 0 || token >= vocab ? "the target has not" : "occurs twice"));
        head->opt_token[i] = (int)token;
        seen[token] = true;
    }
done:
    free(seen);
    return status;
}

static bool is_taken(const loader *load, const spec_gguf_tensor *tensor)
{
    const spec_head *head = load->to;
    if (tensor == spec_gguf_find_tensor(load->gguf, map_name) ||
        (tensor == spec_gguf_find_tensor(load->gguf, factors_name) &&
         head->shape.shape.n_layers > 0))
        return true;
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, &head->shape); copy++)
            if (head->tensor[part][copy].data == tensor->tensor.data) return true;
    return false;
}

/* Every tensor of the file must be used, as in a model's (gguf_checkpoint.c). */
static int take_all(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head *head = load->to;
    const spec_gguf *gguf = load->gguf;
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        for (int copy = 0; copy < spec_head_copies(part, &head->shape); copy++) {
            char name[SPEC_HEAD_NAME_SIZE];
            int rows, cols;
            const spec_gguf_tensor *found;
            spec_head_part_name(name, part, copy, &head->shape);
            spec_head_part_shape(&rows, &cols, part, copy, &head->shape);
            SPEC_TRY(spec_gguf_need_weights(&found, gguf, name, rows, cols,
                                            spec_head_part_is_vector(part), load->error));
            head->tensor[part][copy] = found->tensor;
            const int row = spec_tensor_first_bad_row(&found->tensor, load->target->opt_pool);
            if (row >= 0)
                SPEC_TRY(REFUSE(load, "row %d of %s has a weight that is not finite", row, name));
        }
    }
    for (size_t i = 0; i < gguf->n_tensors; i++)
        if (!is_taken(load, &gguf->tensor[i]))
            SPEC_TRY(REFUSE(load, "tensor '%.*s' is not one of a head of kind %s",
                            SPEC_GGUF_SHOWN(gguf->tensor[i].name),
                            spec_head_kind_names[head->shape.kind]));
done:
    return status;
}

int spec_head_file_load(spec_head *ret, const char *path, const spec_checkpoint *target, bool force,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (spec_head){.free_owned = free_source};
    source *own = ret->owned = calloc(1, sizeof *own);
    if (own == NULL) {
        *ret = (spec_head){0};
        return spec_no_memory_for(error, path);
    }
    own->path = strdup(path);
    if (own->path == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    SPEC_TRY(spec_gguf_init(&own->gguf, own->path, error));
    loader load = {.to = ret, .own = own, .gguf = &own->gguf, .target = target, .error = error};
    SPEC_TRY(read_values(&load));
    SPEC_TRY(read_map(&load));
    SPEC_TRY(take_all(&load));
    if (!force) SPEC_TRY(spec_head_file_check_target(ret, path, target, error));
done:
    if (status != GSL_SUCCESS) spec_head_free(ret);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_values(spec_gguf_writer *writer, const spec_head *head)
{
    const spec_head_shape *shape = &head->shape;
    const char *architecture = architecture_of(shape->kind);
    char key[64], digits[17];
#define KEY(rest) (snprintf(key, sizeof key, "%s.%s", architecture, rest), key)
    spec_gguf_model_shape(writer, architecture, &shape->shape);
    spec_gguf_writer_text(writer, "tokenizer.ggml.model", "none");
    spec_gguf_writer_integers(writer, KEY("target_layers"), shape->tap, (size_t)shape->n_taps);
    spec_gguf_writer_u32(writer, KEY("target_hidden_size"), (uint32_t)shape->shape.dim);
    spec_gguf_writer_bool(writer, KEY("norm_before_residual"), shape->norm_before_residual);
    if (shape->normed_features) spec_gguf_writer_bool(writer, KEY("normed_features"), true);
#undef KEY
    spec_gguf_writer_text(writer, "speclab.head", spec_head_kind_names[shape->kind]);
    spec_gguf_writer_u32(writer, "speclab.reach", (uint32_t)shape->reach);
    snprintf(digits, sizeof digits, "%016" PRIx64, head->fingerprint);
    if (head->fingerprint != 0) spec_gguf_writer_text(writer, fingerprint_key, digits);
}

/* The row of the head that is row `row` of a file: queries and keys of eagle3 rotate adjacent pairs
 * there. */
static int row_of_file(int row, spec_head_part part, const spec_head_shape *shape)
{
    if (shape->kind != SPEC_HEAD_EAGLE3 || shape->shape.rope_pairs != SPEC_ROPE_HALVES ||
        (part != SPEC_HEAD_QUERY && part != SPEC_HEAD_KEY))
        return row;
    return spec_gguf_model_row_of_halves(row, shape->shape.head_dim);
}

/* Name every tensor; or, if `data`, write their weights. */
static int visit(spec_gguf_writer *writer, const spec_head *head, bool data, spec_error *error)
{
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        for (int copy = 0; copy < spec_head_copies(part, &head->shape); copy++) {
            const spec_tensor *tensor = &head->tensor[part][copy];
            const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
            char name[SPEC_HEAD_NAME_SIZE];
            spec_head_part_name(name, part, copy, &head->shape);
            if (!data)
                spec_gguf_writer_tensor(writer, name, tensor->type, tensor->rows, tensor->cols);
            for (int row = 0; data && row < tensor->rows; row++) {
                const int from = row_of_file(row, part, &head->shape);
                spec_gguf_writer_data(writer, (const char *)tensor->data + (size_t)from * bytes,
                                      bytes);
            }
            const int status = data ? spec_gguf_writer_tensor_end(writer, error) : GSL_SUCCESS;
            if (status != GSL_SUCCESS) return status;
        }
    }
    return GSL_SUCCESS;
}

int spec_head_file_write(int *ret_kept, const spec_head *head, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    const float *factor = head->shape.shape.n_layers > 0 ? head->shape.shape.rope.opt_factor : NULL;
    const int n_factors = head->shape.shape.head_dim / 2;
    spec_gguf_writer writer = {0};
    *ret_kept = 0;
    SPEC_TRY(spec_gguf_writer_init(&writer, error));
    write_values(&writer, head);
    SPEC_TRY(visit(&writer, head, false, error));
    if (head->opt_token != NULL)
        spec_gguf_writer_integer_tensor(&writer, map_name, head->shape.draft_vocab);
    if (factor != NULL)
        spec_gguf_writer_tensor(&writer, factors_name, SPEC_TENSOR_F32, 1, n_factors);
    SPEC_TRY(spec_gguf_writer_open(&writer, path, error));
    SPEC_TRY(visit(&writer, head, true, error));
    for (int i = 0; head->opt_token != NULL && i < head->shape.draft_vocab; i++)
        spec_gguf_writer_data(&writer, &(int64_t){head->opt_token[i]}, sizeof(int64_t));
    if (head->opt_token != NULL) SPEC_TRY(spec_gguf_writer_tensor_end(&writer, error));
    if (factor != NULL) {
        spec_gguf_writer_data(&writer, factor, (size_t)n_factors * sizeof *factor);
        SPEC_TRY(spec_gguf_writer_tensor_end(&writer, error));
    }
    SPEC_TRY(spec_gguf_writer_close(&writer, error));
    *ret_kept = writer.file.kept;
done:
    spec_gguf_writer_free(&writer);
    return status;
}
