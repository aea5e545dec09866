/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_nextn.h"

#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_experts.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* The tensors that a draft block has in addition to those of a layer. */
static const struct {
    const char *name; /* after "blk.7.nextn." */
    size_t member;
    spec_part like;            /* it has the shape and type of this part of the model */
    bool reads_pair, may_lack; /* reads_pair: the shape is (dim, 2 dim) instead */
} parts[] = {
#define MEMBER(name) offsetof(spec_checkpoint_nextn, name)
    {"eh_proj.weight", MEMBER(projection), SPEC_PART_GATE, true, false},
    {"enorm.weight", MEMBER(embedding_norm), SPEC_PART_FINAL_NORM, false, false},
    {"hnorm.weight", MEMBER(feature_norm), SPEC_PART_FINAL_NORM, false, false},
    {"embed_tokens.weight", MEMBER(embedding), SPEC_PART_EMBEDDING, false, true},
    {"shared_head_head.weight", MEMBER(output), SPEC_PART_OUTPUT, false, true},
    {"shared_head_norm.weight", MEMBER(final_norm), SPEC_PART_FINAL_NORM, false, true},
#undef MEMBER
};
enum { PARTS = sizeof parts / sizeof parts[0], NAME_SIZE = SPEC_PART_NAME_SIZE };

_Static_assert(SPEC_NEXTN_TENSORS == SPEC_PARTS - SPEC_PART_ATTENTION_NORM + PARTS,
               "tensors of a layer, and the others");

typedef struct {
    spec_checkpoint *to;
    const spec_gguf *gguf;
    bool *taken;
    spec_error *error;
} taker;

static int take_one(spec_tensor *ret_tensor, const taker *from, const char *name, spec_part part,
                    int rows, int cols)
{
    int status = GSL_SUCCESS;
    const spec_gguf_tensor *found;
    SPEC_TRY(spec_gguf_need_weights(&found, from->gguf, name, rows, cols,
                                    spec_checkpoint_parts_is_vector(part), from->error));
    SPEC_TRY(spec_gguf_experts_check(found, from->gguf, part, &from->to->shape, from->error));
    const int bad = spec_tensor_first_bad_row(&found->tensor, from->to->opt_pool);
    if (bad >= 0)
        return spec_fail(from->error, GSL_EINVAL,
                         "%.300s: row %d of %s has a weight that is not finite", from->gguf->path,
                         bad, name);
    *ret_tensor = found->tensor;
    from->taken[found - from->gguf->tensor] = true;
done:
    return status;
}

/* Takes the block's own layer; its tensors are named like those of layer n_layers + k. */
static int take_layer(const taker *from, spec_checkpoint_layer *ret_layer, int block)
{
    int status = GSL_SUCCESS;
    const spec_architecture *architecture = from->to->opt_architecture;
    spec_checkpoint alone = {.shape = from->to->shape, .layer = ret_layer};
    alone.shape.n_layers = 1;
    for (int i = SPEC_PART_ATTENTION_NORM; i < SPEC_PARTS; i++) { /* those of layers */
        const spec_part part = (spec_part)i;
        char name[SPEC_PART_NAME_SIZE];
        int rows, cols;
        if (!spec_architecture_may(architecture, part) ||
            !spec_checkpoint_parts_in_layer(part, false) ||
            spec_checkpoint_parts_copies(part, &alone.shape) == 0)
            continue;
        spec_checkpoint_parts_name(name, part, block, architecture);
        if (!spec_architecture_must(architecture, part) &&
            spec_gguf_find_tensor(from->gguf, name) == NULL)
            continue;
        spec_checkpoint_parts_shape(&rows, &cols, part, &alone.shape);
        SPEC_TRY(
            take_one(spec_checkpoint_parts_tensor(part, &alone, 0), from, name, part, rows, cols));
    }
    SPEC_TRY(spec_checkpoint_parts_check_layer(ret_layer, block, from->gguf->path, from->error));
done:
    return status;
}

static const char *name_of(char name[NAME_SIZE], int part, int block)
{
    snprintf(name, NAME_SIZE, "blk.%d.nextn.%s", block, parts[part].name);
    return name;
}

static spec_tensor *member_of(spec_checkpoint_nextn *block, int part)
{
    return (spec_tensor *)(void *)((char *)block + parts[part].member);
}

static int take_block(const taker *from, spec_checkpoint_nextn *ret_block, int block)
{
    int status = GSL_SUCCESS;
    const spec_shape *shape = &from->to->shape;
    SPEC_TRY(take_layer(from, &ret_block->layer, block));
    for (int i = 0; i < PARTS; i++) {
        char name[NAME_SIZE];
        int rows, cols;
        name_of(name, i, block);
        if (parts[i].may_lack && spec_gguf_find_tensor(from->gguf, name) == NULL) continue;
        spec_checkpoint_parts_shape(&rows, &cols, parts[i].like, shape);
        if (parts[i].reads_pair) rows = shape->dim, cols = 2 * shape->dim;
        SPEC_TRY(take_one(member_of(ret_block, i), from, name, parts[i].like, rows, cols));
    }
done:
    return status;
}

int spec_gguf_nextn_take(spec_checkpoint *to, const spec_gguf *gguf, int n, bool *taken,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    const taker from = {to, gguf, taken, error};
    char name[NAME_SIZE];
    bool has_any = false;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < PARTS; i++)
            has_any = has_any ||
                      spec_gguf_find_tensor(gguf, name_of(name, i, to->shape.n_layers + k)) != NULL;
    if (!has_any) return status;
    to->nextn = calloc((size_t)n, sizeof *to->nextn);
    if (to->nextn == NULL) return spec_no_memory_for(error, gguf->path);
    to->n_nextn = n;
    for (int k = 0; k < n; k++) SPEC_TRY(take_block(&from, &to->nextn[k], to->shape.n_layers + k));
done:
    return status;
}

const spec_tensor *spec_gguf_nextn_tensor(char name[SPEC_PART_NAME_SIZE], spec_part *ret_part,
                                          const spec_checkpoint *of, int k, int i)
{
    const int block = of->shape.n_layers + k, n_layer = SPEC_PARTS - SPEC_PART_ATTENTION_NORM;
    assert(k >= 0 && k < of->n_nextn && i >= 0 && i < SPEC_NEXTN_TENSORS);
    if (i >= n_layer) {
        name_of(name, i - n_layer, block);
        *ret_part = parts[i - n_layer].like;
        return member_of(&of->nextn[k], i - n_layer);
    }
    static const spec_tensor absent;
    spec_checkpoint alone = {.shape = of->shape, .layer = &of->nextn[k].layer};
    *ret_part = (spec_part)(SPEC_PART_ATTENTION_NORM + i);
    spec_checkpoint_parts_name(name, *ret_part, block, of->opt_architecture);
    if (spec_checkpoint_parts_copies(*ret_part, &of->shape) == 0) return &absent;
    return spec_checkpoint_parts_tensor(*ret_part, &alone, 0);
}
