/* SPDX-License-Identifier: GPL-3.0-or-later */
/* draft: the tokens that one round submits for verification, as a tree; a chain has no branches.
 * Node i has a token, a parent (-1: the root) and the draft model's row at its position, which it
 * shares with its siblings. A node that was chosen without chance is one-hot, whatever its row. The
 * draft owns its arrays. */
#ifndef SPECLAB_DRAFT_H
#define SPECLAB_DRAFT_H

#include "models/model.h"
#include "speclab/round.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the children of one node were drawn from the draft model's row at their position. By the rest
 * of a row we mean the row with some tokens set to zero and renormalised; if nothing remains, it is
 * uniform over all other tokens. A node has fewer children than requested once all tokens are
 * taken. Rules take siblings in node order. For every kind, a single child is drawn from the row,
 * or chosen. */
typedef enum {
    SPEC_SIBLINGS_IID, /* each from the row: a token may repeat, as a separate node */
    /* without replacement: each from the rest of the row; the law depends on the order */
    SPEC_SIBLINGS_WITHOUT,
    /* chosen: the most probable tokens, in descending order (lowest id among ties) */
    SPEC_SIBLINGS_TOP,
    /* a pair: one drawn from the row, and the row's argmax; if the draw gave the argmax, the other
     * is drawn from the rest [SunR24] */
    SPEC_SIBLINGS_HUB,
    /* all but one chosen as the most probable, then one from the rest [Hu25] */
    SPEC_SIBLINGS_GREEDY,
    /* the most probable token, chosen; one drawn from the rest; then the most probable of the
     * others, chosen. Which tokens are chosen after the draw, and how many, may depend on it
     * [HuQ26] */
    SPEC_SIBLINGS_TAIL,
    SPEC_SIBLINGS_KINDS
} spec_siblings;

extern const char *const spec_siblings_names[]; /* "iid", ..., "tail", NULL */

typedef struct {
    int capacity, vocab;
    int n_nodes;     /* 0..capacity */
    /* Scouts: nodes n_nodes..n_nodes+n_scouts-1, which the target scores but no rule judges. They
     * are last in the arrays, and count as nodes only for the capacity and for `branches`. */
    int n_scouts;
    uint64_t text;   /* number of the text that the draft continues, for shared noise */
    size_t place;    /* tokens in the text before the draft */
    spec_siblings siblings;
    bool branches;   /* the parent of some node is not the node before it */
    int depth;       /* number of tokens that a chain would have if it did not end early */
    const spec_model *opt_model; /* a token that ends this model's texts also ends a chain */
    int *token;      /* (capacity) */
    int *parent;     /* (capacity) parents before children */
    /* (capacity) row (V) of the draft model at the node's position, or NULL without a model */
    const double **row;
    bool *sampled; /* (capacity) true: drawn as `siblings` says; false: chosen, one-hot */
    double *store; /* (capacity, V) storage for rows */
} spec_draft;

/* Returns whether nothing is drafted after a token. */
static inline bool spec_draft_ends_at(const spec_draft *draft, int token)
{
    return draft->opt_model != NULL && spec_model_ends_text(draft->opt_model, token);
}

int spec_draft_init(spec_draft *draft, int capacity, int vocab, spec_error *error);
void spec_draft_free(spec_draft *draft);

/* Removes all nodes and scouts; afterwards siblings are iid, and nothing ends a chain before it has
 * `capacity` tokens. */
void spec_draft_reset(spec_draft *draft);

/* Returns storage for the row of the next node and its siblings. */
double *spec_draft_slot(spec_draft *draft);

/* Appends a node, or removes the last one. `opt_row` may be the slot, a row that the model owns, or
 * NULL. */
void spec_draft_append(spec_draft *draft, int token, int parent, const double *opt_row,
                       bool sampled);
void spec_draft_retract(spec_draft *draft);

/* Appends a scout, after all nodes. Its parent is the root, a node or a scout. */
void spec_draft_append_scout(spec_draft *draft, int token, int parent);

/* Appends a token that was drawn, or chosen, after the last node from a row that the host does not
 * have. Rules on the host cannot judge such a draft. */
void spec_draft_append_unseen(spec_draft *draft, int token, bool sampled);

/* Returns the law that node i was drawn from, if it is the first of its siblings or these are iid:
 * its row, or NULL for one-hot at its token. */
const double *spec_draft_law(const spec_draft *draft, int node);

/* Returns the draft model's probability of node i's token, its confidence; 1 without a model. */
double spec_draft_confidence(const spec_draft *draft, int node);

#endif
