/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_file.h"

#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_source.h"
#include "models/transformer/files/gguf_token_map.h"
#include "models/transformer/files/gguf_value.h"
#include "speclab/no_memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char tokens_key[] = "tokenizer.ggml.tokens",
                  mask_key[] = "tokenizer.ggml.mask_token_id";

typedef struct {
    spec_dflash *to;
    spec_gguf_source *source;
    const spec_gguf *gguf;
    const spec_checkpoint *target;
    spec_gguf_keys keys;
} loader;

#define REFUSE(load, format, ...) SPEC_GGUF_KEYS_REFUSE(&(load)->keys, format, __VA_ARGS__)

/* ---- values ---------------------------------------------------------------------------------- */

static int need(int *ret_value, loader *load, const char *rest, int low, int most)
{
    return spec_gguf_keys_need(ret_value, &load->keys, rest, low, most);
}

static int may(int *ret_value, loader *load, const char *rest, int fallback)
{
    return spec_gguf_keys_integer(ret_value, &load->keys, rest, fallback, 0, INT_MAX);
}

static int flag(bool *ret_value, loader *load, const char *rest, bool fallback)
{
    return spec_gguf_keys_bool(ret_value, &load->keys, rest, fallback);
}

static int read_architecture(loader *load)
{
    int status = GSL_SUCCESS, streams, experts;
    spec_piece name;
    SPEC_TRY(spec_gguf_value_text(&name, load->gguf, "general.architecture", "", load->keys.error));
    if (!spec_piece_is(name, "dflash"))
        return REFUSE(load, "is of architecture '%.*s', not a draft of dflash",
                      SPEC_GGUF_SHOWN(name));
    SPEC_TRY(may(&streams, load, "hyper_connection.count", 0));
    if (streams > 0)
        return REFUSE(load,
                      "a backbone of DeepSeek-V4, with %d hyper connections, is not supported",
                      streams);
    SPEC_TRY(may(&experts, load, "expert_count", 0));
    if (experts > 0)
        return REFUSE(load, "is a mixture of %d experts, which is not supported", experts);
done:
    return status;
}

static bool has_tensor(const loader *load, const char *name)
{
    return spec_gguf_find_tensor(load->gguf, name) != NULL;
}

/* Finds the kind as llama.cpp does, from a tensor that only that kind has. */
static int read_kind(loader *load)
{
    const bool markov = has_tensor(load, "markov_w1.weight"),
               lattice = has_tensor(load, "selector_hidden.weight");
    if (markov && lattice)
        return REFUSE(load, "has %s, but a draft has only one of them",
                      "both a Markov head and a selector");
    load->to->shape.kind = markov    ? SPEC_DFLASH_MARKOV
                           : lattice ? SPEC_DFLASH_LATTICE
                                     : SPEC_DFLASH_PLAIN;
    return GSL_SUCCESS;
}

/* The width and the vocabulary must be the target's. */
static int read_sizes(loader *load)
{
    int status = GSL_SUCCESS, dim, vocab;
    const spec_shape *target = &load->target->shape;
    spec_shape *shape = &load->to->shape.shape;
    const spec_gguf_value *tokens = spec_gguf_value_find(load->gguf, tokens_key);
    SPEC_TRY(need(&dim, load, "embedding_length", 1, SPEC_DIM_MAX));
    if (dim != target->dim)
        return REFUSE(load, "'%s' is %d, but the target's is %d", load->keys.key, dim, target->dim);
    SPEC_TRY(may(&vocab, load, "vocab_size", target->vocab));
    if (tokens != NULL && tokens->is_array) vocab = tokens->n <= INT_MAX ? (int)tokens->n : INT_MAX;
    if (vocab != target->vocab)
        return REFUSE(load, "is for a vocabulary of %d tokens, but the target has %d", vocab,
                      target->vocab);
    *shape = (spec_shape){
        .dim = dim, .vocab = vocab, .context = target->context, .rope_pairs = SPEC_ROPE_HALVES};
done:
    return status;
}

static int read_taps(loader *load)
{
    spec_dflash_shape *shape = &load->to->shape;
    const int layers = load->target->shape.n_layers;
    int *tap = NULL, status = GSL_SUCCESS;
    size_t n = 0;
    SPEC_TRY(spec_gguf_value_integers(
        &tap, &n, load->gguf, spec_gguf_keys_name(&load->keys, "target_layers"), load->keys.error));
    if (n < 1 || n > SPEC_TAPS_MAX)
        SPEC_TRY(REFUSE(load, "'%s' lists %zu layers of the target, not 1 to %d", load->keys.key, n,
                        SPEC_TAPS_MAX));
    for (size_t i = 0; i < n; i++) {
        if (tap[i] < 0 || tap[i] > layers)
            SPEC_TRY(REFUSE(load, "reads the target after layer %d, which is not within 0..%d",
                            tap[i], layers));
        shape->tap[i] = tap[i];
    }
    shape->n_taps = (int)n;
done:
    free(tap);
    return status;
}

/* llama.cpp requires the size of a block, except for DFlash, where the default is 16. */
static int read_block(loader *load)
{
    int status = GSL_SUCCESS;
    spec_dflash_shape *shape = &load->to->shape;
    const bool markov = shape->kind == SPEC_DFLASH_MARKOV;
    if (shape->kind == SPEC_DFLASH_PLAIN)
        SPEC_TRY(may(&shape->block, load, "block_size", 16));
    else
        SPEC_TRY(need(&shape->block, load, "block_size", 0, INT_MAX));
    if (markov) SPEC_TRY(flag(&shape->from_anchor, load, "sample_from_anchor", true));
    const int least = shape->from_anchor ? 1 : 2;
    if (shape->block < least || shape->block > SPEC_DFLASH_BLOCK_MAX)
        return REFUSE(load, "'%s' is %d, which is not within %d..%d", "dflash.block_size",
                      shape->block, least, SPEC_DFLASH_BLOCK_MAX);
    SPEC_TRY(flag(&shape->causal, load, "attention.causal", false));
    if (spec_gguf_value_find(load->gguf, mask_key) == NULL)
        return REFUSE(load, "key '%s' is missing", mask_key);
    SPEC_TRY(spec_gguf_value_integer(&shape->mask, load->gguf, mask_key, 0, 0,
                                     shape->shape.vocab - 1, load->keys.error));
done:
    return status;
}

static int read_selector(loader *load)
{
    int status = GSL_SUCCESS;
    spec_dflash_shape *shape = &load->to->shape;
    const int dim = shape->shape.dim;
    if (shape->kind != SPEC_DFLASH_LATTICE) return GSL_SUCCESS;
    SPEC_TRY(need(&shape->selector_rank, load, "selector_rank", 1, SPEC_DIM_MAX));
    SPEC_TRY(need(&shape->candidates, load, "selector_top_k", 1, SPEC_DFLASH_CANDIDATES_MAX));
    SPEC_TRY(need(&shape->kernel, load, "conv_kernel_size", 1, SPEC_DFLASH_KERNEL_MAX));
    SPEC_TRY(need(&shape->group, load, "conv_group_size", 1, SPEC_DIM_MAX));
    if (dim % shape->group != 0)
        return REFUSE(load, "'%s' is %d, which does not divide the width %d", load->keys.key,
                      shape->group, dim);
done:
    return status;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static int read_activation(loader *load)
{
    spec_piece name;
    const int status = spec_gguf_keys_text(&name, &load->keys, "hidden_activation", "silu");
    if (status != GSL_SUCCESS) return status;
    const bool gelu = spec_piece_is(name, "gelu") || spec_piece_is(name, "gelu_pytorch_tanh");
    load->to->shape.shape.gate = gelu ? SPEC_GATE_GELU : SPEC_GATE_SILU;
    if (gelu || spec_piece_is(name, "silu")) return GSL_SUCCESS;
    return REFUSE(load, "'%s' is '%.*s'; only silu and gelu are supported", load->keys.key,
                  SPEC_GGUF_SHOWN(name));
}

/* As in llama.cpp, 0 means that there is no scale. */
static int scale(float *ret_value, loader *load, const char *rest, float fallback)
{
    double value;
    const int status = spec_gguf_keys_real(&value, &load->keys, rest, 0.0);
    if (status != GSL_SUCCESS) return status;
    if (!(value >= 0.0 && value <= 1e6))
        return REFUSE(load, "'%s' is %g, which is not within 0..1e6", load->keys.key, value);
    *ret_value = value != 0.0 ? (float)value : fallback;
    return GSL_SUCCESS;
}

static int read_scales(loader *load)
{
    int status = GSL_SUCCESS;
    spec_dflash_shape *shape = &load->to->shape;
    SPEC_TRY(scale(&shape->shape.embedding_scale, load, "embedding_scale", 0.0f));
    SPEC_TRY(scale(&shape->value_scale, load, "attention.value_scale", 1.0f));
    SPEC_TRY(scale(&shape->logit_scale, load, "logit_scale", 1.0f));
done:
    return status;
}

/* Checks the sections of M-RoPE: rotation is the usual one if the first section has all pairs. */
static int check_sections(loader *load)
{
    int *section = NULL, status = GSL_SUCCESS;
    size_t n = 0;
    const int half = load->to->shape.shape.head_dim / 2;
    SPEC_TRY(spec_gguf_value_integers(&section, &n, load->gguf,
                                      spec_gguf_keys_name(&load->keys, "rope.dimension_sections"),
                                      load->keys.error));
    for (size_t i = 0; i < n; i++)
        if (section[i] != (i == 0 ? half : 0) && section[i] != 0)
            SPEC_TRY(REFUSE(load, "rotates sections of a head by several positions ('%s'), %s",
                            load->keys.key, "which is not supported"));
done:
    free(section);
    return status;
}

/* Windows, rope and scales have the same keys as in files of models. If there is a window,
 * llama.cpp requires a pattern; it uses the same rope for all layers. */
static int read_attention(loader *load)
{
    static const spec_architecture like = {
        .name = "dflash", .rope_pairs = SPEC_ROPE_HALVES, .window_period = 1};
    int status = GSL_SUCCESS, window;
    spec_dflash_shape *shape = &load->to->shape;
    spec_checkpoint_layer layer[SPEC_DFLASH_LAYERS_MAX] = {0};
    spec_checkpoint read = {.shape = shape->shape, .opt_architecture = &like, .layer = layer};
    SPEC_TRY(check_sections(load));
    SPEC_TRY(may(&window, load, "attention.sliding_window", 0));
    const spec_gguf_value *pattern = spec_gguf_value_find(
        load->gguf, spec_gguf_keys_name(&load->keys, "attention.sliding_window_pattern"));
    if (window > 0 && (pattern == NULL || !pattern->is_array))
        return REFUSE(load, "'%s' does not say which layers have a window", load->keys.key);
    SPEC_TRY(may(&read.shape.context, load, "context_length", read.shape.context));
    SPEC_TRY(spec_gguf_attention_read(&read, &load->source->opt_rope_factor, &load->keys));
    shape->shape.rope = read.shape.rope;
    shape->shape.query_scale = read.shape.query_scale;
    shape->shape.logit_cap = read.shape.logit_cap;
    shape->window = read.shape.window;
    for (int i = 0; i < shape->shape.n_layers; i++) shape->windowed[i] = layer[i].has_window;
    /* Attention counts the rows of a window from the first block of slots in it. */
    if (shape->window > 0 && shape->shape.n_layers * shape->shape.n_kv_heads > 1024)
        return REFUSE(load, "a window over %d layers of %d key heads is not supported",
                      shape->shape.n_layers, shape->shape.n_kv_heads);
done:
    return status;
}

static int read_layers(loader *load)
{
    int status = GSL_SUCCESS;
    spec_shape *shape = &load->to->shape.shape;
    SPEC_TRY(need(&shape->n_layers, load, "block_count", 1, SPEC_DFLASH_LAYERS_MAX));
    SPEC_TRY(need(&shape->ffn_dim, load, "feed_forward_length", 1, SPEC_DIM_MAX));
    shape->norm_eps = -1.0f;
    SPEC_TRY(spec_gguf_attention_read_heads(shape, false, &load->keys));
    SPEC_TRY(spec_checkpoint_check_shape(shape, load->gguf->path, load->keys.error));
    SPEC_TRY(read_attention(load));
    SPEC_TRY(read_activation(load));
    SPEC_TRY(read_scales(load));
done:
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Reads which of the target's tokens are in a reduced vocabulary. */
static int read_map(loader *load)
{
    int status = GSL_SUCCESS;
    spec_dflash *to = load->to;
    const int vocab = to->shape.shape.vocab;
    SPEC_TRY(spec_gguf_token_map_read(&to->opt_token, &to->shape.draft_vocab, load->gguf, vocab,
                                      load->keys.error));
    if (to->shape.draft_vocab < vocab && !has_tensor(load, "output.weight"))
        return REFUSE(load, "tensor '%s' is missing, which a vocabulary of %d tokens needs",
                      "output.weight", to->shape.draft_vocab);
done:
    return status;
}

static int read_ranks(loader *load)
{
    spec_dflash_shape *shape = &load->to->shape;
    const spec_gguf_tensor *w1 = spec_gguf_find_tensor(load->gguf, "markov_w1.weight");
    if (shape->kind == SPEC_DFLASH_MARKOV) {
        shape->markov_rank = w1->tensor.cols;
        if (shape->markov_rank > SPEC_DIM_MAX)
            return REFUSE(load, "its Markov head has rank %d, which is above %d",
                          shape->markov_rank, SPEC_DIM_MAX);
    }
    if (shape->kind == SPEC_DFLASH_LATTICE && shape->candidates > shape->draft_vocab)
        return REFUSE(load, "'%s' is %d, and its vocabulary has %d tokens", "dflash.selector_top_k",
                      shape->candidates, shape->draft_vocab);
    return GSL_SUCCESS;
}

static int take(loader *load, spec_dflash_part part, int layer, bool *taken)
{
    char name[SPEC_DFLASH_NAME_SIZE];
    int rows, cols;
    const spec_gguf_tensor *found;
    spec_dflash_part_name(name, part, layer);
    spec_dflash_part_shape(&rows, &cols, part, &load->to->shape);
    if (spec_dflash_may_lack(part) && !has_tensor(load, name)) return GSL_SUCCESS;
    const int status = spec_gguf_need_weights(&found, load->gguf, name, rows, cols,
                                              spec_dflash_part_is_vector(part), load->keys.error);
    if (status != GSL_SUCCESS) return status;
    load->to->tensor[part][layer] = found->tensor;
    taken[found - load->gguf->tensor] = true;
    const int row = spec_tensor_first_bad_row(&found->tensor, load->target->opt_pool);
    if (row < 0) return GSL_SUCCESS;
    return REFUSE(load, "row %d of %s has a weight that is not finite", row, name);
}

/* Takes all tensors. Every tensor of the file must be used: if one is not, we lack a part of the
 * computation. */
static int take_all(loader *load)
{
    int status = GSL_SUCCESS;
    const spec_gguf *gguf = load->gguf;
    bool *taken = calloc(gguf->n_tensors + 1, sizeof *taken);
    if (taken == NULL) return spec_no_memory_for(load->keys.error, gguf->path);
    for (int part = 0; part < SPEC_DFLASH_PARTS; part++)
        for (int i = 0; i < spec_dflash_copies((spec_dflash_part)part, &load->to->shape); i++)
            SPEC_TRY(take(load, (spec_dflash_part)part, i, taken));
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const spec_gguf_tensor *tensor = &gguf->tensor[i];
        if (!taken[i] && !spec_piece_is(tensor->name, SPEC_GGUF_TOKEN_MAP) &&
            !spec_piece_is(tensor->name, SPEC_GGUF_ROPE_FACTORS))
            SPEC_TRY(REFUSE(load, "tensor '%.*s' is not one of a draft of dflash",
                            SPEC_GGUF_SHOWN(tensor->name)));
    }
done:
    free(taken);
    return status;
}

/* llama.cpp uses the head only if the flag is not false. */
static int check_confidence(loader *load)
{
    bool has;
    const int status = flag(&has, load, "has_confidence_head", true);
    if (status == GSL_SUCCESS && !has)
        load->to->tensor[SPEC_DFLASH_CONFIDENCE][0] = (spec_tensor){0};
    return status;
}

int spec_dflash_file_load(spec_dflash *ret, const char *path, const spec_checkpoint *target,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_gguf_source *source;
    *ret = (spec_dflash){.free_owned = spec_gguf_source_free};
    SPEC_TRY(spec_gguf_source_init(&source, path, error));
    ret->owned = source;
    loader load = {
        .to = ret,
        .source = source,
        .gguf = &source->gguf,
        .target = target,
        .keys = {.gguf = &source->gguf, .architecture = "dflash", .error = error},
    };
    SPEC_TRY(read_architecture(&load));
    SPEC_TRY(read_kind(&load));
    SPEC_TRY(read_sizes(&load));
    SPEC_TRY(read_taps(&load));
    SPEC_TRY(read_block(&load));
    SPEC_TRY(read_selector(&load));
    SPEC_TRY(read_layers(&load));
    SPEC_TRY(read_map(&load));
    SPEC_TRY(read_ranks(&load));
    SPEC_TRY(take_all(&load));
    SPEC_TRY(check_confidence(&load));
done:
    if (status != GSL_SUCCESS) spec_dflash_free(ret);
    return status;
}
