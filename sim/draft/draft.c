/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/draft.h"

#include <assert.h>
#include <stdlib.h>

const char *const spec_siblings_names[] = {"iid", "without", "top", "hub", "greedy", "tail", NULL};

int spec_draft_init(spec_draft *draft, int capacity, int vocab, spec_error *error)
{
    assert(capacity >= 0 && capacity <= SPEC_NODES_MAX && vocab >= 1);
    *draft = (spec_draft){.capacity = capacity, .vocab = vocab};
    spec_draft_reset(draft);
    const size_t n = capacity > 0 ? (size_t)capacity : 1; /* malloc(0) may return NULL */
    draft->token = malloc(n * sizeof *draft->token);
    draft->parent = malloc(n * sizeof *draft->parent);
    draft->row = malloc(n * sizeof *draft->row);
    draft->sampled = malloc(n * sizeof *draft->sampled);
    draft->store = malloc(n * (size_t)vocab * sizeof *draft->store);
    if (draft->token == NULL || draft->parent == NULL || draft->row == NULL ||
        draft->sampled == NULL || draft->store == NULL) {
        spec_draft_free(draft);
        return spec_fail(error, GSL_ENOMEM, "out of memory for drafts of %d tokens over %d",
                         capacity, vocab);
    }
    return GSL_SUCCESS;
}

void spec_draft_free(spec_draft *draft)
{
    free(draft->token);
    free(draft->parent);
    free(draft->row);
    free(draft->sampled);
    free(draft->store);
    *draft = (spec_draft){0};
}

void spec_draft_reset(spec_draft *draft)
{
    draft->n_nodes = draft->n_scouts = 0;
    draft->siblings = SPEC_SIBLINGS_IID;
    draft->branches = false;
    draft->depth = draft->capacity;
    draft->opt_model = NULL;
}

double *spec_draft_slot(spec_draft *draft)
{
    assert(draft->n_nodes < draft->capacity);
    return draft->store + (size_t)draft->n_nodes * (size_t)draft->vocab;
}

void spec_draft_append(spec_draft *draft, int token, int parent, const double *opt_row,
                       bool sampled)
{
    const int node = draft->n_nodes;
    assert(node < draft->capacity && parent >= -1 && parent < node && token >= 0 &&
           token < draft->vocab && draft->n_scouts == 0);
    assert(!sampled ||
           (opt_row != NULL && (opt_row[token] > 0.0 || draft->siblings != SPEC_SIBLINGS_IID)));
    draft->token[node] = token;
    draft->parent[node] = parent;
    draft->row[node] = opt_row;
    draft->sampled[node] = sampled;
    draft->branches = draft->branches || parent != node - 1;
    draft->n_nodes = node + 1;
}

void spec_draft_append_scout(spec_draft *draft, int token, int parent)
{
    const int node = draft->n_nodes + draft->n_scouts;
    assert(node < draft->capacity && parent >= -1 && parent < node && token >= 0 &&
           token < draft->vocab);
    draft->token[node] = token;
    draft->parent[node] = parent;
    draft->branches = draft->branches || parent != node - 1;
    draft->n_scouts++;
}

void spec_draft_append_unseen(spec_draft *draft, int token, bool sampled)
{
    const int node = draft->n_nodes;
    assert(node < draft->capacity && token >= 0 && token < draft->vocab);
    draft->token[node] = token;
    draft->parent[node] = node - 1;
    draft->row[node] = NULL;
    draft->sampled[node] = sampled;
    draft->n_nodes = node + 1;
}

void spec_draft_retract(spec_draft *draft)
{
    assert(draft->n_nodes > 0);
    draft->n_nodes--;
}

const double *spec_draft_law(const spec_draft *draft, int node)
{
    return draft->sampled[node] ? draft->row[node] : NULL;
}

double spec_draft_confidence(const spec_draft *draft, int node)
{
    return draft->row[node] != NULL ? draft->row[node][draft->token[node]] : 1.0;
}
