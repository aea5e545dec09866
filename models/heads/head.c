/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head.h"

#include <assert.h>
#include <stdlib.h>

const char *const spec_head_kind_names[] = {"medusa", "hydra", "redrafter", "eagle",
                                            "eagle3", "mtp",   "parallel",  NULL};

/* Which kinds have a part, as sets. */
enum {
    MEDUSA = 1 << SPEC_HEAD_MEDUSA,
    HYDRA = 1 << SPEC_HEAD_HYDRA,
    REDRAFTER = 1 << SPEC_HEAD_REDRAFTER,
    EAGLE = 1 << SPEC_HEAD_EAGLE,
    EAGLE3 = 1 << SPEC_HEAD_EAGLE3 | 1 << SPEC_HEAD_PARALLEL,
    MTP = 1 << SPEC_HEAD_MTP,
    PARALLEL = 1 << SPEC_HEAD_PARALLEL,
    LAYERED = EAGLE | EAGLE3 | MTP
};

typedef enum { ONCE, PER_DEPTH, PER_LAYER } copies;

/* FIRST: (d + 1) dim for Hydra's depth d, dim for Medusa. INPUT: the width of the input of a
 * layer's queries. STATES: the width of the input of output. TAPS: the width of the input of fc,
 * which has parts of target_dim. */
typedef enum {
    ONE,
    DIM,
    TWO_DIM,
    FIRST,
    INPUT,
    STATES,
    TAPS,
    QUERIES,
    KEYS,
    FFN,
    VOCAB,
    DRAFT_VOCAB,
    REACH
} width;

static const struct {
    const char *name; /* after "head.<d>." or "blk.<l>." */
    int kinds;
    copies copies;
    width rows, cols;
} table[SPEC_HEAD_PARTS] = {
    [SPEC_HEAD_FC] = {"fc.weight", EAGLE | EAGLE3, ONCE, DIM, TAPS},
    [SPEC_HEAD_FC_BIAS] = {"fc.bias", EAGLE, ONCE, ONE, DIM},
    [SPEC_HEAD_LINEAR] = {"linear.weight", MEDUSA | HYDRA, PER_DEPTH, DIM, FIRST},
    [SPEC_HEAD_LINEAR_BIAS] = {"linear.bias", MEDUSA | HYDRA, PER_DEPTH, ONE, DIM},
    [SPEC_HEAD_LINEAR2] = {"linear2.weight", HYDRA, PER_DEPTH, DIM, DIM},
    [SPEC_HEAD_LINEAR2_BIAS] = {"linear2.bias", HYDRA, PER_DEPTH, ONE, DIM},
    [SPEC_HEAD_DEPTH_OUTPUT] = {"output.weight", MEDUSA | HYDRA, PER_DEPTH, DRAFT_VOCAB, DIM},
    [SPEC_HEAD_STATE] = {"state.weight", REDRAFTER, ONCE, DIM, DIM},
    [SPEC_HEAD_STATE_BIAS] = {"state.bias", REDRAFTER, ONCE, ONE, DIM},
    [SPEC_HEAD_INPUT] = {"input.weight", REDRAFTER, ONCE, DIM, DIM},
    [SPEC_HEAD_EMBEDDING] = {"token_embd.weight", REDRAFTER | EAGLE3, ONCE, VOCAB, DIM},
    [SPEC_HEAD_MIX] = {"mix.weight", REDRAFTER, ONCE, TWO_DIM, TWO_DIM},
    [SPEC_HEAD_MIX_BIAS] = {"mix.bias", REDRAFTER, ONCE, ONE, TWO_DIM},
    [SPEC_HEAD_MIX2] = {"mix2.weight", REDRAFTER, ONCE, TWO_DIM, TWO_DIM},
    [SPEC_HEAD_MIX2_BIAS] = {"mix2.bias", REDRAFTER, ONCE, ONE, TWO_DIM},
    [SPEC_HEAD_MASK_EMBEDDING] = {"mask_embd.weight", PARALLEL, ONCE, REACH, DIM},
    [SPEC_HEAD_MASK_STATE] = {"mask_state.weight", PARALLEL, ONCE, REACH, DIM},
    [SPEC_HEAD_EMBEDDING_NORM] = {"attn_norm.weight", EAGLE3 | MTP, PER_LAYER, ONE, DIM},
    [SPEC_HEAD_FEATURE_NORM] = {"attn_norm_2.weight", EAGLE3 | MTP, PER_LAYER, ONE, DIM},
    [SPEC_HEAD_PROJECTION] = {"nextn.eh_proj.weight", MTP, PER_LAYER, DIM, TWO_DIM},
    [SPEC_HEAD_ATTENTION_NORM] = {"attn_norm.weight", MTP, PER_LAYER, ONE, DIM},
    [SPEC_HEAD_QUERY] = {"attn_q.weight", LAYERED, PER_LAYER, QUERIES, INPUT},
    [SPEC_HEAD_KEY] = {"attn_k.weight", LAYERED, PER_LAYER, KEYS, INPUT},
    [SPEC_HEAD_VALUE] = {"attn_v.weight", LAYERED, PER_LAYER, KEYS, INPUT},
    [SPEC_HEAD_ATTENTION_OUTPUT] = {"attn_output.weight", LAYERED, PER_LAYER, DIM, QUERIES},
    [SPEC_HEAD_FFN_NORM] = {"ffn_norm.weight", LAYERED, PER_LAYER, ONE, DIM},
    [SPEC_HEAD_GATE] = {"ffn_gate.weight", LAYERED, PER_LAYER, FFN, DIM},
    [SPEC_HEAD_UP] = {"ffn_up.weight", LAYERED, PER_LAYER, FFN, DIM},
    [SPEC_HEAD_DOWN] = {"ffn_down.weight", LAYERED, PER_LAYER, DIM, FFN},
    [SPEC_HEAD_FINAL_NORM] = {"output_norm.weight", EAGLE3 | MTP, ONCE, ONE, DIM},
    [SPEC_HEAD_OUTPUT] = {"output.weight", EAGLE3 | REDRAFTER, ONCE, DRAFT_VOCAB, STATES},
    [SPEC_HEAD_INPUT_NORM] = {"enc.output_norm.weight", EAGLE3, ONCE, ONE, TAPS},
};

/* Returns whether this head lacks a part that other heads of its kind have. */
static bool lacks(spec_head_part part, const spec_head_shape *shape)
{
    if ((EAGLE3 & 1 << shape->kind) == 0) return false;
    return (part == SPEC_HEAD_EMBEDDING && !shape->own_embedding) ||
           (part == SPEC_HEAD_OUTPUT && shape->borrows_output) ||
           (part == SPEC_HEAD_INPUT_NORM && !shape->norm_before_fc);
}

/* Returns whether a part is one that a draft block may have in addition to the parts of mtp. */
static bool is_of_nextn(spec_head_part part, const spec_head_shape *shape)
{
    if (!shape->nextn) return false;
    return part == SPEC_HEAD_FINAL_NORM || (part == SPEC_HEAD_EMBEDDING && shape->own_embedding) ||
           (part == SPEC_HEAD_OUTPUT && shape->own_output);
}

int spec_head_copies(spec_head_part part, const spec_head_shape *shape)
{
    if (is_of_nextn(part, shape)) return shape->shape.n_layers;
    if ((table[part].kinds & 1 << shape->kind) == 0 || lacks(part, shape)) return 0;
    return table[part].copies == ONCE        ? 1
           : table[part].copies == PER_DEPTH ? shape->reach
                                             : shape->shape.n_layers;
}

static int width_of(width what, int copy, const spec_head_shape *of)
{
    const spec_shape *s = &of->shape;
    const bool reads_pair = (EAGLE3 & 1 << of->kind) != 0;
    switch (what) {
    case ONE: return 1;
    case DIM: return s->dim;
    case TWO_DIM: return 2 * s->dim;
    case FIRST: return (of->kind == SPEC_HEAD_HYDRA ? copy + 2 : 1) * s->dim;
    case INPUT: return reads_pair ? 2 * s->dim : s->dim;
    case STATES: return of->kind == SPEC_HEAD_REDRAFTER ? 2 * s->dim : s->dim;
    case TAPS: return reads_pair ? of->n_taps * spec_head_target_dim(of) : 2 * s->dim;
    case QUERIES: return s->n_heads * s->head_dim;
    case KEYS: return s->n_kv_heads * s->head_dim;
    case FFN: return s->ffn_dim;
    case VOCAB: return s->vocab;
    case DRAFT_VOCAB: return of->draft_vocab;
    case REACH: return of->reach;
    }
    return 0;
}

void spec_head_part_shape(int *ret_rows, int *ret_cols, spec_head_part part, int copy,
                          const spec_head_shape *shape)
{
    assert(copy >= 0 && copy < spec_head_copies(part, shape));
    *ret_rows = width_of(table[part].rows, copy, shape);
    *ret_cols = width_of(table[part].cols, copy, shape);
}

static int joined(width what, int copy, const spec_head_shape *of)
{
    const bool joins = what == TWO_DIM || what == FIRST || what == INPUT || what == STATES;
    if (what == TAPS) return (EAGLE3 & 1 << of->kind) != 0 ? of->n_taps : 2;
    return joins ? width_of(what, copy, of) / of->shape.dim : 1;
}

void spec_head_part_joined(int *ret_in_column, int *ret_in_row, spec_head_part part, int copy,
                           const spec_head_shape *shape)
{
    *ret_in_column = joined(table[part].rows, copy, shape);
    *ret_in_row = joined(table[part].cols, copy, shape);
}

bool spec_head_part_is_vector(spec_head_part part)
{
    return table[part].rows == ONE;
}

bool spec_head_has_target_output(const spec_head_shape *shape)
{
    if (shape->kind == SPEC_HEAD_MTP) return !shape->own_output;
    return shape->kind == SPEC_HEAD_EAGLE || shape->borrows_output;
}

int spec_head_target_dim(const spec_head_shape *shape)
{
    return shape->target_dim > 0 ? shape->target_dim : shape->shape.dim;
}

const char *spec_head_part_name(char name[SPEC_HEAD_NAME_SIZE], spec_head_part part, int copy,
                                const spec_head_shape *shape)
{
    const char *rest = table[part].name;
    if (shape->kind == SPEC_HEAD_MTP && part == SPEC_HEAD_EMBEDDING_NORM)
        rest = "nextn.enorm.weight";
    if (shape->kind == SPEC_HEAD_MTP && part == SPEC_HEAD_FEATURE_NORM) rest = "nextn.hnorm.weight";
    switch (table[part].copies) {
    case ONCE: snprintf(name, SPEC_HEAD_NAME_SIZE, "%s", rest); break;
    case PER_DEPTH: snprintf(name, SPEC_HEAD_NAME_SIZE, "head.%d.%s", copy, rest); break;
    case PER_LAYER: snprintf(name, SPEC_HEAD_NAME_SIZE, "blk.%d.%s", copy, rest); break;
    }
    return name;
}

void spec_head_free(spec_head *head)
{
    if (head->free_owned != NULL) head->free_owned(head->owned);
    free(head->opt_token);
    *head = (spec_head){0};
}
