/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/checkpoint.h"

#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_delta.h"
#include "models/transformer/files/gguf_experts.h"
#include "models/transformer/files/gguf_kind.h"
#include "models/transformer/files/gguf_nextn.h"
#include "models/transformer/files/gguf_source.h"
#include "models/transformer/files/gguf_value.h"
#include "models/transformer/files/gguf_vocabulary.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A file being loaded. */
typedef struct {
    spec_checkpoint *to;
    const spec_gguf *gguf;
    const spec_architecture *architecture;
    spec_gguf_keys keys;
    int n_nextn;      /* draft blocks after the layers, as counted by the file */
    bool drafts_only; /* the layers are not loaded */
    bool is_recurrent[SPEC_LAYERS_MAX];
} loader;

#define REFUSE(load, format, ...) SPEC_GGUF_KEYS_REFUSE(&(load)->keys, format, __VA_ARGS__)

static int need(int *ret_value, loader *load, const char *rest, int most)
{
    return spec_gguf_keys_need(ret_value, &load->keys, rest, 1, most);
}

/* Refuses draft heads. Files with only draft blocks (mtp) pass, because they may be opened as a
 * draft; if not, take_nextn refuses them. */
static int refuse_drafts(loader *load)
{
    spec_piece kind;
    const int status = spec_gguf_kind(&kind, load->gguf, load->keys.error);
    if (status != GSL_SUCCESS || spec_piece_is(kind, "gguf") || spec_piece_is(kind, "mtp"))
        return status;
    return REFUSE(load, "is a draft head of kind %.*s, not a model; use it as a draft: %.*s:%.200s",
                  SPEC_GGUF_SHOWN(kind), SPEC_GGUF_SHOWN(kind), load->gguf->path);
}

/* ---- shape and architecture ------------------------------------------------------------------ */

static int read_architecture(loader *load)
{
    int status = GSL_SUCCESS, parts;
    char names[SPEC_ARCHITECTURE_NAMES_SIZE];
    spec_piece name;
    SPEC_TRY(spec_gguf_value_text(&name, load->gguf, "general.architecture", "", load->keys.error));
    SPEC_TRY(refuse_drafts(load));
    load->to->opt_architecture = load->architecture = spec_architecture_find(name);
    if (load->architecture == NULL)
        return REFUSE(load, "the architecture is '%.*s'; only %s are supported",
                      SPEC_GGUF_SHOWN(name), spec_architecture_names(names));
    load->keys.architecture = load->architecture->name;
    SPEC_TRY(spec_gguf_value_integer(&parts, load->gguf, "split.count", 1, 0, INT_MAX,
                                     load->keys.error));
    if (parts > 1)
        return REFUSE(load, "is one of %d files that make up a model; merge them first", parts);
done:
    return status;
}

/* Reads the number of draft blocks, which are the last blocks. */
static int read_nextn(loader *load)
{
    const int status = spec_gguf_keys_integer(&load->n_nextn, &load->keys, "nextn_predict_layers",
                                              0, 0, SPEC_NEXTN_MAX);
    if (status == GSL_SUCCESS && load->n_nextn >= load->to->shape.n_layers)
        return REFUSE(load, "'%s' is %d, of %d blocks in all", load->keys.key, load->n_nextn,
                      load->to->shape.n_layers);
    load->to->shape.n_layers -= load->n_nextn;
    return status;
}

static int read_shape(loader *load)
{
    int status = GSL_SUCCESS, context;
    spec_shape *shape = &load->to->shape;
    SPEC_TRY(need(&shape->dim, load, "embedding_length", SPEC_DIM_MAX));
    SPEC_TRY(need(&shape->n_layers, load, "block_count", SPEC_LAYERS_MAX));
    SPEC_TRY(read_nextn(load));
    SPEC_TRY(spec_gguf_experts_read(shape, load->architecture, &load->keys));
    if (shape->n_experts == 0)
        SPEC_TRY(need(&shape->ffn_dim, load, "feed_forward_length", SPEC_DIM_MAX));
    SPEC_TRY(need(&context, load, "context_length", INT_MAX));
    shape->context = context < SPEC_CONTEXT_MAX ? context : SPEC_CONTEXT_MAX;
    shape->norm_eps = -1.0f;
    SPEC_TRY(spec_gguf_attention_read_heads(shape, load->architecture->has_delta, &load->keys));
    SPEC_TRY(spec_gguf_delta_read(shape, load->is_recurrent, load->architecture, &load->keys));
    shape->rope_pairs = load->architecture->rope_pairs;
    shape->gate = load->architecture->gate;
    const spec_gguf_tensor *embedding = spec_gguf_find_tensor(load->gguf, "token_embd.weight");
    if (embedding == NULL) return REFUSE(load, "tensor '%s' is missing", "token_embd.weight");
    shape->vocab = embedding->tensor.rows;
    SPEC_TRY(spec_checkpoint_check_shape(shape, load->gguf->path, load->keys.error));
done:
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int take(loader *load, spec_part part, int layer, bool *taken)
{
    char name[SPEC_PART_NAME_SIZE];
    int rows, cols;
    const spec_gguf_tensor *found;
    int status = GSL_SUCCESS;
    if (!spec_architecture_may(load->architecture, part)) return GSL_SUCCESS;
    spec_checkpoint_parts_name(name, part, layer, load->architecture);
    spec_checkpoint_parts_shape(&rows, &cols, part, &load->to->shape);
    if (!spec_architecture_must(load->architecture, part) &&
        spec_gguf_find_tensor(load->gguf, name) == NULL)
        return GSL_SUCCESS;
    SPEC_TRY(spec_gguf_need_weights(&found, load->gguf, name, rows, cols,
                                    spec_checkpoint_parts_is_vector(part), load->keys.error));
    SPEC_TRY(spec_gguf_experts_check(found, load->gguf, part, &load->to->shape, load->keys.error));
    *spec_checkpoint_parts_tensor(part, load->to, layer) = found->tensor;
    taken[found - load->gguf->tensor] = true;
done:
    return status;
}

/* Returns the number after "blk." in a tensor's name, or -1. */
static int block_of(spec_piece name)
{
    static const char prefix[] = "blk.";
    const size_t begin = sizeof prefix - 1;
    int block = -1;
    if (name.length <= begin || memcmp(name.bytes, prefix, begin) != 0) return block;
    for (size_t i = begin;
         i < name.length && name.bytes[i] >= '0' && name.bytes[i] <= '9' && block < SPEC_LAYERS_MAX;
         i++)
        block = 10 * (block < 0 ? 0 : block) + (name.bytes[i] - '0');
    return block;
}

/* Takes the draft blocks, even from a file that has nothing else. Marks layers that are left out as
 * taken. */
static int take_nextn(loader *load, bool *taken)
{
    int status = GSL_SUCCESS;
    const spec_gguf *gguf = load->gguf;
    const bool has_layers = spec_gguf_find_tensor(gguf, "blk.0.attn_norm.weight") != NULL;
    SPEC_TRY(spec_gguf_nextn_take(load->to, gguf, load->n_nextn, taken, load->keys.error));
    if (!load->drafts_only && load->to->n_nextn > 0 && !has_layers)
        return REFUSE(load, "has only the draft blocks of a model; use it as a draft: mtp:%.200s",
                      gguf->path);
    if (load->drafts_only && load->to->n_nextn == 0)
        return REFUSE(load, "has no draft blocks ('%s')",
                      spec_gguf_keys_name(&load->keys, "nextn_predict_layers"));
    for (size_t i = 0; load->drafts_only && i < gguf->n_tensors; i++) {
        const int block = block_of(gguf->tensor[i].name);
        taken[i] = taken[i] || (block >= 0 && block < load->to->shape.n_layers);
    }
done:
    return status;
}

/* Takes all tensors. Every tensor of the file must be used: if one is not, we lack a part of the
 * computation, and it is better to refuse the file than to give a wrong answer. */
static int take_all(loader *load)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = load->to;
    const spec_gguf *gguf = load->gguf;
    const spec_gguf_tensor *freqs = spec_gguf_find_tensor(gguf, SPEC_GGUF_ROPE_FACTORS);
    bool *taken = calloc(gguf->n_tensors, sizeof *taken);
    to->layer = calloc((size_t)to->shape.n_layers, sizeof *to->layer);
    if (taken == NULL || to->layer == NULL)
        SPEC_TRY(spec_fail(load->keys.error, GSL_ENOMEM, "%.300s: out of memory", gguf->path));
    if (freqs != NULL) taken[freqs - gguf->tensor] = true;
    for (int i = 0; i < to->shape.n_layers; i++) to->layer[i].is_recurrent = load->is_recurrent[i];
    SPEC_TRY(take_nextn(load, taken));
    for (int part = 0; part < SPEC_PARTS; part++) {
        if (load->drafts_only && part >= SPEC_PART_ATTENTION_NORM) continue; /* of layers */
        for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)part, &to->shape);
             layer++)
            if (spec_checkpoint_parts_in_layer((spec_part)part, load->is_recurrent[layer]))
                SPEC_TRY(take(load, (spec_part)part, layer, taken));
    }
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        if (!taken[i])
            SPEC_TRY(REFUSE(load, "tensor '%.*s' is not one of a %s model's",
                            SPEC_GGUF_SHOWN(gguf->tensor[i].name), load->architecture->name));
    }
    if (to->output.data == NULL) to->output = to->embedding;
    for (int i = 0; i < to->shape.n_layers; i++)
        SPEC_TRY(spec_checkpoint_parts_check_layer(&to->layer[i], i, gguf->path, load->keys.error));
done:
    free(taken);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int read_vocabulary(loader *load)
{
    int status = GSL_SUCCESS;
    spec_checkpoint *to = load->to;
    spec_gguf_vocabulary vocabulary;
    SPEC_TRY(spec_gguf_vocabulary_load(&vocabulary, load->gguf, to->shape.vocab, load->keys.error));
    to->begin_of_text = vocabulary.begin_of_text;
    to->adds_begin = vocabulary.adds_begin;
    to->ends = vocabulary.ends;
    if (vocabulary.data.vocab > 0)
        SPEC_TRY(
            spec_checkpoint_tokenizer(to, &vocabulary.data, load->gguf->path, load->keys.error));
done:
    spec_gguf_vocabulary_free(&vocabulary);
    return status;
}

static int load_file(spec_checkpoint *ret, const char *path, const spec_settings *opt_settings,
                     spec_thread_pool *opt_pool, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_gguf_source *source;
    *ret = (spec_checkpoint){.free_owned = spec_gguf_source_free, .opt_pool = opt_pool};
    SPEC_TRY(spec_gguf_source_init(&source, path, error));
    ret->owned = source;
    ret->opt_mapping = &source->gguf.mapping;
    loader load = {.to = ret,
                   .gguf = &source->gguf,
                   .keys = {.gguf = &source->gguf, .error = error},
                   .drafts_only = opt_settings == NULL};
    SPEC_TRY(read_architecture(&load));
    SPEC_TRY(read_shape(&load));
    SPEC_TRY(take_all(&load));
    SPEC_TRY(spec_gguf_attention_read(ret, &source->opt_rope_factor, &load.keys));
    if (opt_settings != NULL) {
        SPEC_TRY(read_vocabulary(&load));
        SPEC_TRY(spec_checkpoint_context(ret, opt_settings, error));
    }
    SPEC_TRY(spec_checkpoint_parts_check(ret, source->path, error));
done:
    if (status != GSL_SUCCESS) spec_checkpoint_free(ret);
    return status;
}

int spec_checkpoint_load_gguf(spec_checkpoint *ret, spec_settings *settings,
                              spec_thread_pool *opt_pool, spec_error *error)
{
    return load_file(ret, settings->path, settings, opt_pool, error);
}

int spec_checkpoint_load_gguf_drafts(spec_checkpoint *ret, const char *path,
                                     spec_thread_pool *opt_pool, spec_error *error)
{
    return load_file(ret, path, NULL, opt_pool, error);
}
