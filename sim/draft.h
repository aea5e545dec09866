/* draft: the tokens that one round submits for verification, as a tree.
 * A chain is a tree without branches. Node i has a token, a parent (-1: the root) and the draft model's row from which
 * it was drawn; a node chosen without chance is one-hot, whatever its row says. The draft owns its arrays. */
#ifndef SPECLAB_DRAFT_H
#define SPECLAB_DRAFT_H

#include "speclab/round.h"
#include "speclab/status.h"

#include <stdbool.h>

typedef struct {
    int capacity, vocab;
    int n_nodes;        /* 0..capacity */
    bool branches;      /* some node's parent is not the node before it */
    int *token;         /* (capacity) */
    int *parent;        /* (capacity) parents before children */
    const double **row; /* (capacity) row (V) of the draft model at the node's place, or NULL where there is no model */
    bool *sampled;      /* (capacity) true: token ~ row; false: chosen, its law is one-hot */
    double *store;      /* (capacity, V) room for rows */
} spec_draft;

int spec_draft_init(spec_draft *draft, int capacity, int vocab, spec_error *error);
void spec_draft_free(spec_draft *draft);

/* No nodes. */
void spec_draft_reset(spec_draft *draft);

/* Room for the row of the next node. */
double *spec_draft_slot(spec_draft *draft);

/* Append a node, or take the last one back. `opt_row` may be the slot, a row of the model's own, or NULL. */
void spec_draft_append(spec_draft *draft, int token, int parent, const double *opt_row, bool sampled);
void spec_draft_retract(spec_draft *draft);

/* The law that node i was really drawn from: its row, or NULL for one-hot at its token. */
const double *spec_draft_law(const spec_draft *draft, int node);

/* The draft model's probability of node i's token: its confidence; 1 where there is no model. */
double spec_draft_confidence(const spec_draft *draft, int node);

#endif
