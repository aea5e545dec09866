/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_file.h"

#include "base/noise.h"
#include "models/heads/head_keys.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_source.h"
#include "models/transformer/files/gguf_token_map.h"
#include "models/transformer/files/gguf_value.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct {
    spec_head *to;
    spec_gguf_source *source;
    const spec_gguf *gguf;
    const spec_checkpoint *target;
    spec_gguf_keys keys;
} loader;

#define REFUSE(load, format, ...) SPEC_GGUF_KEYS_REFUSE(&(load)->keys, format, __VA_ARGS__)

static int read_kind(loader *load)
{
    int status = GSL_SUCCESS, kind = 0;
    spec_piece architecture, name;
    const char *eagle3 = spec_head_kind_names[SPEC_HEAD_EAGLE3];
    SPEC_TRY(spec_gguf_value_text(&architecture, load->gguf, "general.architecture", "",
                                  load->keys.error));
    const bool is_eagle3 = spec_piece_is(architecture, eagle3);
    if (!is_eagle3 && !spec_piece_is(architecture, SPEC_HEAD_ARCHITECTURE))
        return REFUSE(load, "is of architecture '%.*s', not a draft head",
                      SPEC_GGUF_SHOWN(architecture));
    SPEC_TRY(spec_gguf_value_text(&name, load->gguf, "speclab.head", is_eagle3 ? eagle3 : "",
                                  load->keys.error));
    while (kind < SPEC_HEAD_KINDS && !spec_piece_is(name, spec_head_kind_names[kind])) kind++;
    if (kind == SPEC_HEAD_KINDS || is_eagle3 != (kind == SPEC_HEAD_EAGLE3))
        return REFUSE(load, "'%.*s' is not a kind of draft head of architecture %.*s",
                      SPEC_GGUF_SHOWN(name), SPEC_GGUF_SHOWN(architecture));
    load->to->shape.kind = (spec_head_kind)kind;
    load->keys.architecture = spec_head_keys_architecture((spec_head_kind)kind);
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
    const char *rest =
        spec_gguf_keys_has(&load->keys, "target_layers") ? "target_layers" : "extract_layers";
    SPEC_TRY(spec_gguf_value_integers(&tap, &n, load->gguf, spec_gguf_keys_name(&load->keys, rest),
                                      load->keys.error));
    shape->n_taps = three ? 3 : 1;
    if (n != (size_t)shape->n_taps)
        SPEC_TRY(REFUSE(load, "'%s' lists %zu layers of the target; a head of kind %s reads %d",
                        spec_gguf_keys_name(&load->keys, "target_layers"), n,
                        spec_head_kind_names[shape->kind], shape->n_taps));
    for (size_t i = 0; i < n; i++) {
        const int layers = load->target->shape.n_layers;
        bool twice = false;
        for (size_t j = 0; j < i; j++) twice = twice || tap[j] == tap[i];
        if (tap[i] < 0 || tap[i] > layers || twice)
            SPEC_TRY(REFUSE(load, "reads the target after layer %d, which %s 0..%d", tap[i],
                            twice ? "occurs twice within" : "is not within", layers));
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
    static const char reach_key[] = "speclab.reach";
    const bool any = shape->kind == SPEC_HEAD_REDRAFTER || shape->kind == SPEC_HEAD_EAGLE ||
                     shape->kind == SPEC_HEAD_EAGLE3;
    if (any) return GSL_SUCCESS;
    if (spec_gguf_value_find(load->gguf, reach_key) == NULL)
        return REFUSE(load, "key '%s' is missing", reach_key);
    SPEC_TRY(spec_gguf_value_integer(&shape->reach, load->gguf, reach_key, 0, 1,
                                     SPEC_HEAD_REACH_MAX, load->keys.error));
done:
    return status;
}

static int refuse_width(loader *load, int value, int wanted)
{
    return REFUSE(load, "'%s' is %d, but the target's is %d", load->keys.key, value, wanted);
}

/* Reads the width. It is the target's, except that an eagle3 with both an embedding and an output
 * may have its own; fc then maps the target's width to it. */
static int read_width(loader *load)
{
    int status = GSL_SUCCESS, of_target;
    spec_head_shape *shape = &load->to->shape;
    const int dim = load->target->shape.dim;
    if (shape->kind == SPEC_HEAD_EAGLE3) {
        shape->own_embedding = spec_gguf_find_tensor(load->gguf, "token_embd.weight") != NULL;
        shape->borrows_output = spec_gguf_find_tensor(load->gguf, "output.weight") == NULL;
        SPEC_TRY(spec_gguf_keys_integer(&of_target, &load->keys, "target_hidden_size", dim, 1,
                                        SPEC_DIM_MAX));
        if (of_target != dim) return refuse_width(load, of_target, dim);
    }
    SPEC_TRY(
        spec_gguf_keys_need(&shape->shape.dim, &load->keys, "embedding_length", 1, SPEC_DIM_MAX));
    if (shape->shape.dim == dim) return GSL_SUCCESS;
    if (shape->own_embedding && shape->borrows_output)
        return REFUSE(load,
                      "tensor 'output.weight' is missing: its width is %d, but the target's "
                      "is %d",
                      shape->shape.dim, dim);
    if (!shape->own_embedding) return refuse_width(load, shape->shape.dim, dim);
    shape->target_dim = dim;
done:
    return status;
}

/* Reads the size of the vocabulary, which must be the target's. A file of llama.cpp may not give
 * it; llama.cpp then counts the tokens in the file. */
static int read_vocabulary(loader *load)
{
    int status = GSL_SUCCESS, value;
    const int vocab = load->target->shape.vocab;
    const spec_gguf_value *tokens = spec_gguf_value_find(load->gguf, "tokenizer.ggml.tokens");
    if (tokens != NULL && tokens->is_array && load->to->shape.kind == SPEC_HEAD_EAGLE3)
        return tokens->n == (uint64_t)vocab
                   ? GSL_SUCCESS
                   : REFUSE(load, "has a vocabulary of %" PRIu64 " tokens, but the target's has %d",
                            tokens->n, vocab);
    if (load->to->shape.kind == SPEC_HEAD_EAGLE3 && !spec_gguf_keys_has(&load->keys, "vocab_size"))
        return GSL_SUCCESS;
    SPEC_TRY(spec_gguf_keys_need(&value, &load->keys, "vocab_size", 0, INT_MAX));
    if (value != vocab) return refuse_width(load, value, vocab);
done:
    return status;
}

/* Reads the file's own rotary embedding and scales, as in a model's file. */
static int read_rotation(loader *load)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &load->to->shape.shape;
    const spec_architecture as_model = {.name = load->keys.architecture};
    spec_checkpoint layer = {.shape = *shape, .opt_architecture = &as_model};
    SPEC_TRY(spec_gguf_keys_integer(&layer.shape.context, &load->keys, "context_length",
                                    shape->context, 1, INT_MAX));
    SPEC_TRY(spec_gguf_attention_read(&layer, &load->source->opt_rope_factor, &load->keys));
    shape->rope = layer.shape.rope;
done:
    return status;
}

static int read_layer(loader *load)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &load->to->shape.shape;
    spec_gguf_keys *keys = &load->keys;
    SPEC_TRY(spec_gguf_keys_need(&shape->n_layers, keys, "block_count", 0, SPEC_HEAD_REACH_MAX));
    if (shape->n_layers != (load->to->shape.kind == SPEC_HEAD_MTP ? load->to->shape.reach : 1))
        return REFUSE(load, "'%s' is %d, which does not fit its kind", keys->key, shape->n_layers);
    SPEC_TRY(spec_gguf_keys_need(&shape->ffn_dim, keys, "feed_forward_length", 1, SPEC_DIM_MAX));
    SPEC_TRY(spec_gguf_attention_read_heads(shape, false, keys));
    if (load->to->shape.kind == SPEC_HEAD_EAGLE3) /* true for every eagle3 of llama.cpp */
        shape->rope_pairs = SPEC_ROPE_ADJACENT;
    SPEC_TRY(spec_checkpoint_check_shape(shape, load->gguf->path, load->keys.error));
    SPEC_TRY(read_rotation(load));
done:
    return status;
}

/* Reads the flags of eagle3 and of eagle. */
static int read_norms(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    SPEC_TRY(spec_gguf_keys_bool(&shape->norm_before_residual, &load->keys, "norm_before_residual",
                                 false));
    SPEC_TRY(spec_gguf_keys_bool(&shape->normed_features, &load->keys, "normed_features", false));
    if (shape->normed_features && shape->kind != SPEC_HEAD_EAGLE)
        return REFUSE(load, "'%s' is true, which is only for a head of kind eagle", load->keys.key);
    SPEC_TRY(spec_gguf_keys_bool(&shape->norm_before_fc, &load->keys, "norm_before_fc", false));
    if (shape->norm_before_fc && shape->kind != SPEC_HEAD_EAGLE3)
        return REFUSE(load, "'%s' is true, which is only for a head of kind eagle3",
                      load->keys.key);
done:
    return status;
}

static int read_fingerprint(loader *load)
{
    spec_piece text;
    char digits[17] = "";
    const int status =
        spec_gguf_value_text(&text, load->gguf, SPEC_HEAD_FINGERPRINT, "", load->keys.error);
    if (status != GSL_SUCCESS || text.length == 0) return status;
    char *end = digits;
    if (text.length == sizeof digits - 1) {
        memcpy(digits, text.bytes, text.length);
        load->to->fingerprint = strtoull(digits, &end, 16);
    }
    return end == digits + sizeof digits - 1
               ? GSL_SUCCESS
               : REFUSE(load, "'%s' is not 16 hexadecimal digits", SPEC_HEAD_FINGERPRINT);
}

/* Returns the target's dimensions and rotary embedding, without layers. */
static spec_shape plain_shape(const spec_shape *target)
{
    return (spec_shape){.dim = target->dim,
                        .vocab = target->vocab,
                        .context = target->context,
                        .norm_eps = target->norm_eps,
                        .rope = {.base = target->rope.base},
                        .rope_pairs = target->rope_pairs};
}

static int read_values(loader *load)
{
    int status = GSL_SUCCESS;
    spec_head_shape *shape = &load->to->shape;
    SPEC_TRY(read_kind(load));
    shape->shape = plain_shape(&load->target->shape);
    SPEC_TRY(read_width(load));
    SPEC_TRY(read_vocabulary(load));
    SPEC_TRY(read_reach(load));
    SPEC_TRY(read_taps(load));
    if (shape->kind >= SPEC_HEAD_EAGLE) {
        SPEC_TRY(read_layer(load));
        SPEC_TRY(read_norms(load));
    }
    SPEC_TRY(read_fingerprint(load));
done:
    return status;
}

/* Reads which of the target's tokens are in a reduced vocabulary. */
static int read_map(loader *load)
{
    spec_head *head = load->to;
    const int vocab = head->shape.shape.vocab;
    const spec_gguf_tensor *map = spec_gguf_find_tensor(load->gguf, SPEC_GGUF_TOKEN_MAP);
    head->shape.draft_vocab = vocab;
    if (map == NULL) return GSL_SUCCESS;
    if (spec_head_has_target_output(&head->shape))
        return REFUSE(load, "tensor '%s': a head of kind %s %s the whole output of the target",
                      SPEC_GGUF_TOKEN_MAP, spec_head_kind_names[head->shape.kind],
                      head->shape.borrows_output ? "without 'output.weight' has" : "has");
    return spec_gguf_token_map_read(&head->opt_token, &head->shape.draft_vocab, load->gguf, vocab,
                                    load->keys.error);
}

static bool is_taken(const loader *load, const spec_gguf_tensor *tensor)
{
    const spec_head *head = load->to;
    if (tensor == spec_gguf_find_tensor(load->gguf, SPEC_GGUF_TOKEN_MAP) ||
        (tensor == spec_gguf_find_tensor(load->gguf, SPEC_GGUF_ROPE_FACTORS) &&
         head->shape.shape.n_layers > 0))
        return true;
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, &head->shape); copy++)
            if (head->tensor[part][copy].data == tensor->tensor.data) return true;
    return false;
}

/* Takes all tensors. Every tensor of the file must be used, as in the file of a model
 * (gguf_checkpoint.c). */
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
                                            spec_head_part_is_vector(part), load->keys.error));
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
    spec_gguf_source *source;
    *ret = (spec_head){.free_owned = spec_gguf_source_free};
    SPEC_TRY(spec_gguf_source_init(&source, path, error));
    ret->owned = source;
    loader load = {.to = ret,
                   .source = source,
                   .gguf = &source->gguf,
                   .target = target,
                   .keys = {.gguf = &source->gguf, .error = error}};
    SPEC_TRY(read_values(&load));
    SPEC_TRY(read_map(&load));
    SPEC_TRY(take_all(&load));
    if (!force) SPEC_TRY(spec_head_file_check_target(ret, path, target, error));
done:
    if (status != GSL_SUCCESS) spec_head_free(ret);
    return status;
}
