/* draft: the tokens that one round submits for verification, as a tree. A chain is a tree without branches. Node i
 * has a token, a parent (-1: the root) and the draft model's row at its place, which it shares with its siblings; a
 * node chosen without chance is one-hot, whatever its row says. The draft owns its arrays. */
#ifndef SPECLAB_DRAFT_H
#define SPECLAB_DRAFT_H

#include "speclab/round.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the children of one node came from the draft model's row at their place. What some tokens leave of a row is
 * the row with these set to zero, renormalised; where that leaves nothing, every other token alike. Where all tokens
 * are taken a node has fewer children than were asked for. Rules take siblings in the order of their nodes. One
 * child alone is drawn from the row, or chosen, whatever the kind. */
typedef enum {
    SPEC_SIBLINGS_IID,     /* each from the row: a token may come again, as a node of its own */
    SPEC_SIBLINGS_WITHOUT, /* without replacement: each from what the ones before it left. In another order they
                              have another law */
    SPEC_SIBLINGS_TOP,     /* chosen: the most probable tokens (lowest id among ties), the most probable first */
    SPEC_SIBLINGS_HUB,     /* a pair: one from the row, then the row's argmax; or, if that came first, one from what
                              it left [SunR24] */
    SPEC_SIBLINGS_GREEDY,  /* all but one chosen as the most probable, then one from what these left [Hu25] */
    SPEC_SIBLINGS_KINDS
} spec_siblings;

extern const char *const spec_siblings_names[]; /* "iid", "without", "top", "hub", "greedy", NULL */

typedef struct {
    int capacity, vocab;
    int n_nodes;        /* 0..capacity */
    uint64_t text;      /* number of the text that it goes on with, for shared noise */
    size_t place;       /* tokens in the text before it */
    spec_siblings siblings;
    bool branches;      /* some node's parent is not the node before it */
    int depth;          /* tokens that a chain was to have, had none ended it */
    int end_of_text;    /* the token that ends a chain, or -1 */
    int *token;         /* (capacity) */
    int *parent;        /* (capacity) parents before children */
    const double **row; /* (capacity) row (V) of the draft model at the node's place, or NULL where there is no model */
    bool *sampled;      /* (capacity) true: drawn, as `siblings` says; false: chosen, its law is one-hot */
    double *store;      /* (capacity, V) room for rows */
} spec_draft;

int spec_draft_init(spec_draft *draft, int capacity, int vocab, spec_error *error);
void spec_draft_free(spec_draft *draft);

/* No nodes, siblings iid, and nothing that ends a chain before it has `capacity` tokens. */
void spec_draft_reset(spec_draft *draft);

/* Room for the row of the next node, and of its siblings after it. */
double *spec_draft_slot(spec_draft *draft);

/* Append a node, or take the last one back. `opt_row` may be the slot, a row of the model's own, or NULL. */
void spec_draft_append(spec_draft *draft, int token, int parent, const double *opt_row, bool sampled);
void spec_draft_retract(spec_draft *draft);

/* Append a token that was drawn after the last node from a row which is not at hand. No rule may judge such a draft. */
void spec_draft_append_unseen(spec_draft *draft, int token);

/* The law that node i was really drawn from, if it is the first of its siblings or these are iid: its row, or NULL
 * for one-hot at its token. */
const double *spec_draft_law(const spec_draft *draft, int node);

/* The draft model's probability of node i's token: its confidence; 1 where there is no model. */
double spec_draft_confidence(const spec_draft *draft, int node);

#endif
