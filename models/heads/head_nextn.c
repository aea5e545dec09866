/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_nextn.h"

#include "models/heads/head_file.h"
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_value.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

_Static_assert((int)SPEC_NEXTN_MAX <= (int)SPEC_HEAD_REACH_MAX, "a block is a copy of the parts");

int spec_head_nextn_is_model(bool *ret, const char *path, spec_error *error)
{
    spec_gguf gguf = {0};
    spec_piece name;
    int status = spec_gguf_init(&gguf, path, error);
    if (status == GSL_SUCCESS)
        status = spec_gguf_value_text(&name, &gguf, "general.architecture", "", error);
    *ret = status == GSL_SUCCESS && spec_architecture_find(name) != NULL;
    spec_gguf_free(&gguf);
    return status == GSL_ENOMEM ? status : GSL_SUCCESS;
}

static void free_file(void *owned)
{
    spec_checkpoint_free(owned);
    free(owned);
}

static int check_same(const char *path, const char *what, int value, int wanted, spec_error *error)
{
    if (value == wanted) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.300s: %s is %d, but the target's is %d", path, what,
                     value, wanted);
}

static int check_target(const spec_shape *own, const spec_shape *target, const char *path,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(check_same(path, "the embedding's width", own->dim, target->dim, error));
    SPEC_TRY(check_same(path, "the vocabulary", own->vocab, target->vocab, error));
    SPEC_TRY(check_same(path, "the number of layers before the draft blocks", own->n_layers,
                        target->n_layers, error));
done:
    return status;
}

/* Takes a block's tensors as parts of a head. */
static void take_block(spec_head *head, int k, const spec_checkpoint_nextn *block,
                       const spec_checkpoint *file)
{
    const struct {
        spec_head_part part;
        const spec_tensor *tensor;
    } all[] = {
        {SPEC_HEAD_PROJECTION, &block->projection},
        {SPEC_HEAD_EMBEDDING_NORM, &block->embedding_norm},
        {SPEC_HEAD_FEATURE_NORM, &block->feature_norm},
        {SPEC_HEAD_ATTENTION_NORM, &block->layer.attention_norm},
        {SPEC_HEAD_QUERY, &block->layer.query},
        {SPEC_HEAD_KEY, &block->layer.key},
        {SPEC_HEAD_VALUE, &block->layer.value},
        {SPEC_HEAD_ATTENTION_OUTPUT, &block->layer.attention_output},
        {SPEC_HEAD_FFN_NORM, &block->layer.ffn_norm},
        {SPEC_HEAD_GATE, &block->layer.gate},
        {SPEC_HEAD_UP, &block->layer.up},
        {SPEC_HEAD_DOWN, &block->layer.down},
        {SPEC_HEAD_FINAL_NORM,
         block->final_norm.data != NULL ? &block->final_norm : &file->final_norm},
        {SPEC_HEAD_EMBEDDING, block->embedding.data != NULL ? &block->embedding : &file->embedding},
        {SPEC_HEAD_OUTPUT, block->output.data != NULL ? &block->output : &file->output},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        head->tensor[all[i].part][k] = *all[i].tensor;
}

int spec_head_nextn_load(spec_head *ret, const char *opt_path, const spec_checkpoint *target,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_checkpoint *file = target;
    bool same = true;
    *ret = (spec_head){0};
    if (opt_path != NULL) {
        spec_checkpoint *own = calloc(1, sizeof *own);
        if (own == NULL) return spec_no_memory_for(error, opt_path);
        *ret = (spec_head){.owned = own, .free_owned = free_file};
        SPEC_TRY(spec_checkpoint_load_gguf_drafts(own, opt_path, target->opt_pool, error));
        SPEC_TRY(check_target(&own->shape, &target->shape, opt_path, error));
        file = own;
        same = target->opt_draw == NULL && /* a random target has no file */
               spec_head_file_fingerprint(own) == spec_head_file_fingerprint(target);
    } else if (target->n_nextn == 0) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "mtp: the target's file has no draft blocks; use mtp:FILE for a head"));
    }
    const int n = file->n_nextn;
    spec_head_shape *shape = &ret->shape;
    *shape = (spec_head_shape){.kind = SPEC_HEAD_MTP,
                               .shape = file->shape,
                               .reach = n > 1 ? n : 0,
                               .n_taps = 1,
                               .tap = {target->shape.n_layers},
                               .draft_vocab = target->shape.vocab,
                               .own_embedding = !same,
                               .own_output = !same,
                               .nextn = true};
    shape->shape.n_layers = n;
    shape->shape.delta = (spec_delta_shape){0}; /* the blocks of hybrids attend */
    shape->shape.context = target->shape.context;
    for (int k = 0; k < n; k++) {
        take_block(ret, k, &file->nextn[k], file);
        shape->own_embedding = shape->own_embedding || file->nextn[k].embedding.data != NULL;
        shape->own_output = shape->own_output || file->nextn[k].output.data != NULL;
    }
    ret->opt_nextn = file->nextn;
done:
    if (status != GSL_SUCCESS) spec_head_free(ret);
    return status;
}
