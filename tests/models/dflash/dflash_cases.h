/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dflash_cases: dflash drafts with every setting that a file can have, for tests of their rows. */
#ifndef SPECLAB_TESTS_DFLASH_CASES_H
#define SPECLAB_TESTS_DFLASH_CASES_H

#include "tests/support/drawn_dflash.h"

enum {
    CAUSAL = 1 << 0,
    WINDOW = 1 << 1, /* of 5 positions, in the last layer */
    SCALES = 1 << 2,
    CAPPED = 1 << 3,
    GELU = 1 << 4,
    POST_NORMS = 1 << 5, /* and layer scales */
    NO_VALUES = 1 << 6,
    EMBEDDING = 1 << 7,
    OUTPUT = 1 << 8,
    FACTORS = 1 << 9,
    APART = 1 << 10, /* the anchor drafts nothing */
    WIDE = 1 << 11,  /* a block of 6 from 3 taps, kernels of 4 over groups of 1 */
    NO_BIAS = 1 << 12,
    SINKS = 1 << 13
};

typedef struct {
    const char *name;
    spec_dflash_kind kind;
    int with, draft_vocab; /* 0: the target's */
} dflash_case;

static const dflash_case dflash_cases[] = {
    {"plain", SPEC_DFLASH_PLAIN, 0, 0},
    {"plain, causal with a window", SPEC_DFLASH_PLAIN, CAUSAL | WINDOW, 0},
    {"plain, sinks", SPEC_DFLASH_PLAIN, WINDOW | SINKS, 0},
    {"plain, wide with a window", SPEC_DFLASH_PLAIN, WIDE | WINDOW, 0},
    {"plain, scales", SPEC_DFLASH_PLAIN, SCALES | CAPPED | FACTORS, 0},
    {"plain of 5 tokens, GELU", SPEC_DFLASH_PLAIN, GELU | POST_NORMS | OUTPUT, 5},
    {"plain, own embedding, values from keys", SPEC_DFLASH_PLAIN, EMBEDDING | NO_VALUES, 0},
    {"markov", SPEC_DFLASH_MARKOV, 0, 0},
    {"markov, anchor apart", SPEC_DFLASH_MARKOV, APART | NO_BIAS, 0},
    {"markov of 5 tokens, all else", SPEC_DFLASH_MARKOV,
     WIDE | WINDOW | SCALES | GELU | POST_NORMS | NO_VALUES | EMBEDDING | OUTPUT | FACTORS | SINKS,
     5},
    {"lattice", SPEC_DFLASH_LATTICE, 0, 0},
    {"lattice, wide, capped", SPEC_DFLASH_LATTICE, WIDE | CAPPED, 0},
    {"lattice of 5 tokens, norms", SPEC_DFLASH_LATTICE, POST_NORMS | OUTPUT | SCALES, 5},
};
enum { DFLASH_CASES = sizeof dflash_cases / sizeof dflash_cases[0] };

static inline drawn_dflash_config dflash_case_config(const dflash_case *c, const spec_shape *target)
{
    static const float factor[] = {1.0f, 2.7f};
    drawn_dflash_config config = drawn_dflash(c->kind, target);
    spec_dflash_shape *shape = &config.shape;
    const int with = c->with;
    uint64_t has = 0;
    if (c->draft_vocab > 0) shape->draft_vocab = c->draft_vocab;
    if (with & CAUSAL) shape->causal = true;
    if (with & WINDOW) shape->window = 5;
    if (with & SCALES) {
        shape->shape.embedding_scale = 1.7f;
        shape->shape.query_scale = 0.83f;
        shape->value_scale = 0.6f;
    }
    if (with & CAPPED) {
        shape->logit_scale = 0.7f;
        shape->shape.logit_cap = 1.3f;
    }
    if (with & GELU) shape->shape.gate = SPEC_GATE_GELU;
    if (with & FACTORS) shape->shape.rope.opt_factor = factor;
    if (with & APART) shape->from_anchor = false;
    if (with & WIDE) {
        shape->block = 6;
        shape->n_taps = 3;
        shape->tap[2] = 0;
        if (c->kind == SPEC_DFLASH_LATTICE) {
            shape->kernel = 4;
            shape->group = 1;
            shape->candidates = 3;
        }
    }
#define HAS(part) (UINT64_C(1) << SPEC_DFLASH_##part)
    if (with & POST_NORMS) has |= HAS(ATTENTION_POST_NORM) | HAS(FFN_POST_NORM) | HAS(LAYER_SCALE);
    if (with & SINKS) has |= HAS(SINKS);
    if (with & EMBEDDING) has |= HAS(EMBEDDING);
    if (with & OUTPUT) has |= HAS(OUTPUT);
    config.lacks &= ~has;
    if (with & NO_VALUES) config.lacks |= HAS(VALUE);
    if (with & NO_BIAS) config.lacks |= HAS(CONFIDENCE_BIAS);
#undef HAS
    config.seed += (uint64_t)(c - dflash_cases);
    return config;
}

#endif
