/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drawn_head: a draft head of any kind with random weights, for tests.
 * The same seed gives the same head on every machine. The caller frees it with spec_head_free. */
#ifndef SPECLAB_TESTS_DRAWN_HEAD_H
#define SPECLAB_TESTS_DRAWN_HEAD_H

#include "models/heads/head.h"
#include "models/model.h"

/* Options of a drawn head. Unless noted, they are for eagle3. */
enum {
    DRAWN_NORMED = 1,      /* eagle: normed_features; others: norm_before_residual */
    DRAWN_FC_NORM = 2,     /* norm_before_fc */
    DRAWN_EMBEDDING = 4,   /* own_embedding, also of nextn */
    DRAWN_NO_OUTPUT = 8,   /* borrows_output */
    DRAWN_OTHER_DIM = 16,  /* twice the target's width; requires DRAWN_EMBEDDING */
    DRAWN_DESCENDING = 32, /* the taps in the other order */
    DRAWN_NEXTN = 64,      /* mtp: blocks of a model's file, `reach` of them */
    DRAWN_OWN_OUTPUT = 128 /* nextn: own_output */
};

typedef struct {
    spec_head_kind kind;
    int reach;       /* reach, for kinds that have one */
    int draft_vocab; /* 0: the target's; fewer: its odd tokens descending, then its even ones */
    int options;     /* a sum of the above */
    uint64_t seed;
} drawn_head_config;

/* Draws the head. Weights have the scale that keeps that of activations; gains are near 1, biases
 * near 0. The head taps the target after its last layer, or after layer 0, half of its layers and
 * all of them. Its layers have the target's heads, and 3 dim / 2 for the feed-forward width. It has
 * no fingerprint. */
void drawn_head(spec_head *ret, const drawn_head_config *config, const spec_checkpoint *target);

/* Opens the head as a draft of a transformer, by way of a file; `keys` are those of its spec, such
 * as "temperature=0", or "". */
spec_model *drawn_head_open(const spec_head *head, const char *keys, const spec_model *target);

#endif
