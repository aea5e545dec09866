/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum {
    ONE,
    DIM,
    TAPS,
    VOCAB,
    DRAFT_VOCAB,
    MARKOV_RANK,
    CONFIDENCE_INPUT,
    SELECTOR_RANK,
    HEAD_DIM,
    HEADS,
    QUERIES,
    KEYS,
    FFN,
    TAPS_OF_KERNELS, /* of both convolutions of a branch */
    COEFFICIENTS
} width;

/* Which files have a part: all files, or only those of one kind. */
typedef enum { ALL, MARKOV, LATTICE } family;

static const struct {
    const char *name; /* after "blk.<l>." from ATTENTION_NORM on */
    family family;
    bool may_lack;
    width rows, cols;
} table[SPEC_DFLASH_PARTS] = {
    [SPEC_DFLASH_FC] = {"fc.weight", ALL, false, DIM, TAPS},
    [SPEC_DFLASH_CONTEXT_NORM] = {"enc.output_norm.weight", ALL, false, ONE, DIM},
    [SPEC_DFLASH_EMBEDDING] = {"token_embd.weight", ALL, true, VOCAB, DIM},
    [SPEC_DFLASH_OUTPUT] = {"output.weight", ALL, true, DRAFT_VOCAB, DIM},
    [SPEC_DFLASH_FINAL_NORM] = {"output_norm.weight", ALL, false, ONE, DIM},
    [SPEC_DFLASH_MARKOV_IN] = {"markov_w1.weight", MARKOV, false, VOCAB, MARKOV_RANK},
    [SPEC_DFLASH_MARKOV_OUT] = {"markov_w2.weight", MARKOV, false, DRAFT_VOCAB, MARKOV_RANK},
    [SPEC_DFLASH_CONFIDENCE] = {"conf_proj.weight", MARKOV, true, ONE, CONFIDENCE_INPUT},
    [SPEC_DFLASH_CONFIDENCE_BIAS] = {"conf_proj.bias", MARKOV, true, ONE, ONE},
    [SPEC_DFLASH_PREDECESSOR] = {"selector_predecessor.weight", LATTICE, false, VOCAB,
                                 SELECTOR_RANK},
    [SPEC_DFLASH_SUCCESSOR] = {"selector_successor.weight", LATTICE, false, VOCAB, SELECTOR_RANK},
    [SPEC_DFLASH_SELECTOR] = {"selector_hidden.weight", LATTICE, false, SELECTOR_RANK, DIM},
    [SPEC_DFLASH_ATTENTION_NORM] = {"attn_norm.weight", ALL, false, ONE, DIM},
    [SPEC_DFLASH_QUERY] = {"attn_q.weight", ALL, false, QUERIES, DIM},
    [SPEC_DFLASH_KEY] = {"attn_k.weight", ALL, false, KEYS, DIM},
    [SPEC_DFLASH_VALUE] = {"attn_v.weight", ALL, true, KEYS, DIM},
    [SPEC_DFLASH_QUERY_NORM] = {"attn_q_norm.weight", ALL, false, ONE, HEAD_DIM},
    [SPEC_DFLASH_KEY_NORM] = {"attn_k_norm.weight", ALL, false, ONE, HEAD_DIM},
    [SPEC_DFLASH_ATTENTION_OUTPUT] = {"attn_output.weight", ALL, false, DIM, QUERIES},
    [SPEC_DFLASH_ATTENTION_POST_NORM] = {"post_attention_norm.weight", ALL, true, ONE, DIM},
    [SPEC_DFLASH_FFN_NORM] = {"ffn_norm.weight", ALL, false, ONE, DIM},
    [SPEC_DFLASH_GATE] = {"ffn_gate.weight", ALL, false, FFN, DIM},
    [SPEC_DFLASH_UP] = {"ffn_up.weight", ALL, false, FFN, DIM},
    [SPEC_DFLASH_DOWN] = {"ffn_down.weight", ALL, false, DIM, FFN},
    [SPEC_DFLASH_FFN_POST_NORM] = {"post_ffw_norm.weight", ALL, true, ONE, DIM},
    [SPEC_DFLASH_LAYER_SCALE] = {"layer_output_scale.weight", ALL, true, ONE, ONE},
    [SPEC_DFLASH_ATTENTION_CONV_BASE] = {"attn_conv_base", LATTICE, false, TAPS_OF_KERNELS, DIM},
    [SPEC_DFLASH_ATTENTION_CONV] = {"attn_conv_proj.weight", LATTICE, false, COEFFICIENTS, DIM},
    [SPEC_DFLASH_FFN_CONV_BASE] = {"ffn_conv_base", LATTICE, false, TAPS_OF_KERNELS, DIM},
    [SPEC_DFLASH_FFN_CONV] = {"ffn_conv_proj.weight", LATTICE, false, COEFFICIENTS, DIM},
    [SPEC_DFLASH_SINKS] = {"attn_sinks.weight", ALL, true, ONE, HEADS},
};

int spec_dflash_reach(const spec_dflash_shape *shape)
{
    return shape->from_anchor ? shape->block : shape->block - 1;
}

int spec_dflash_copies(spec_dflash_part part, const spec_dflash_shape *shape)
{
    if ((table[part].family == MARKOV && shape->kind != SPEC_DFLASH_MARKOV) ||
        (table[part].family == LATTICE && shape->kind != SPEC_DFLASH_LATTICE))
        return 0;
    return part < SPEC_DFLASH_ATTENTION_NORM ? 1 : shape->shape.n_layers;
}

bool spec_dflash_may_lack(spec_dflash_part part)
{
    return table[part].may_lack;
}

static int width_of(width what, const spec_dflash_shape *of)
{
    const spec_shape *s = &of->shape;
    switch (what) {
    case ONE: return 1;
    case DIM: return s->dim;
    case TAPS: return of->n_taps * s->dim;
    case VOCAB: return s->vocab;
    case DRAFT_VOCAB: return of->draft_vocab;
    case MARKOV_RANK: return of->markov_rank;
    case CONFIDENCE_INPUT: return s->dim + of->markov_rank;
    case SELECTOR_RANK: return of->selector_rank;
    case HEAD_DIM: return s->head_dim;
    case HEADS: return s->n_heads;
    case QUERIES: return s->n_heads * s->head_dim;
    case KEYS: return s->n_kv_heads * s->head_dim;
    case FFN: return s->ffn_dim;
    case TAPS_OF_KERNELS: return 2 * of->kernel;
    case COEFFICIENTS: return 2 * of->kernel * (s->dim / of->group);
    }
    return 0;
}

void spec_dflash_part_shape(int *ret_rows, int *ret_cols, spec_dflash_part part,
                            const spec_dflash_shape *shape)
{
    assert(spec_dflash_copies(part, shape) > 0);
    *ret_rows = width_of(table[part].rows, shape);
    *ret_cols = width_of(table[part].cols, shape);
}

bool spec_dflash_part_is_vector(spec_dflash_part part)
{
    return table[part].rows == ONE && part != SPEC_DFLASH_CONFIDENCE;
}

const char *spec_dflash_part_name(char name[SPEC_DFLASH_NAME_SIZE], spec_dflash_part part,
                                  int layer)
{
    if (part < SPEC_DFLASH_ATTENTION_NORM)
        snprintf(name, SPEC_DFLASH_NAME_SIZE, "%s", table[part].name);
    else
        snprintf(name, SPEC_DFLASH_NAME_SIZE, "blk.%d.%s", layer, table[part].name);
    return name;
}

void spec_dflash_free(spec_dflash *dflash)
{
    if (dflash->free_owned != NULL) dflash->free_owned(dflash->owned);
    free(dflash->opt_token);
    *dflash = (spec_dflash){0};
}
