/* drafter: where draft tokens come from.
 * A strategy, a line of spec_drafter_kinds, reads the context, asks the policy before each token and the chance for
 * each sampled one, and fills a draft. A drafter is one thread's instance; it owns its session of the draft model. */
#ifndef SPECLAB_DRAFTER_H
#define SPECLAB_DRAFTER_H

#include "models/model.h"
#include "sim/chance/chance.h"
#include "sim/draft/draft.h"
#include "sim/draft/policy.h"

typedef struct spec_drafter spec_drafter;
typedef struct spec_candidate spec_candidate;
typedef struct spec_growth spec_growth;

/* Most levels of a tree whose widths are given one by one, and of a dynamic one; most nodes of its levels that grow. */
enum { SPEC_LEVELS_MAX = 64, SPEC_TOP_MAX = 32 };

typedef struct {
    const char *name, *usage, *summary, *reference;
    bool needs_model;
    int (*nodes)(const spec_drafter *drafter, int K); /* most nodes of a draft to depth K, or any number above
                                                         SPEC_NODES_MAX; NULL: a chain, K */
    int (*init)(spec_drafter *drafter, spec_settings *settings, spec_error *error); /* NULL: no keys */
    /* Fill `ret_draft` (emptied before) with paths of at most policy->now tokens after the context. */
    int (*draft)(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n, const spec_policy *policy,
                 spec_chance *chance, spec_error *error);
} spec_drafter_kind;

struct spec_drafter {
    const spec_drafter_kind *kind;
    spec_session session;        /* of the draft model; zeroed where the strategy needs none */
    int n_calls;                 /* of the draft model, by the last draft: a chain's tokens, a tree's levels */
    int lookup_max, lookup_min;  /* prompt lookup: n-gram lengths tried, longest first */
    bool lookup_full;            /* prompt lookup: only matches that are followed by as many tokens as are wanted */
    spec_siblings siblings;      /* tree: how the children of one node are drawn */
    int n_widths;                /* trees: levels, or 0: as many as the policy's length, all as wide as the first */
    int width[SPEC_LEVELS_MAX];  /* tree: (n_widths) children of a node, by level */
    int *children, *first_child; /* tree of any form: (nodes+1) of the root and of each node, breadth first: how many
                                    children, and which node is the first; else NULL */
    int *place;                  /* tree of any form: (nodes) workspace: which node of the shape a drafted one is */
    int top, best;               /* dynamic: nodes a level that grow, and children of each; nodes that are submitted */
    spec_candidate *candidate;   /* dynamic: workspace, twice the most nodes that can grow */
    int widest;                  /* trees: the most children of a node; 0 for chains */
    int n_weights;               /* trees: rows of workspace; 0: one */
    double *weight;              /* trees: (n_weights, V) workspace */
    spec_growth *growth;         /* trees */
    spec_shared_noise noise;     /* gumbel, minhash */
};

extern const spec_drafter_kind *const spec_drafter_kinds[]; /* NULL-terminated */
extern const spec_drafter_kind spec_draft_chain, spec_draft_greedy, spec_draft_lookup, spec_draft_tree,
    spec_draft_dynamic, spec_draft_gumbel, spec_draft_minhash;

/* `spec` is e.g. "chain", "greedy", "lookup?max=3&min=1", "tree?widths=3.2.1&siblings=without",
 * "dynamic?nodes=60". GSL_EINVAL for an unknown name (the nearest is named), an unknown key, a bad value, and where the
 * strategy needs a model and opt_draft is NULL. */
int spec_drafter_init(spec_drafter *drafter, const char *spec, const spec_model *opt_draft, spec_error *error);
void spec_drafter_free(spec_drafter *drafter);

/* The same with a session of the draft model that somebody lends; it outlives the drafter. NULL: its own. */
int spec_drafter_init_lent(spec_drafter *drafter, const char *spec, const spec_model *opt_draft,
                           const spec_session *opt_session, spec_error *error);

/* The most nodes of a draft of this strategy to depth K, or SPEC_NODES_MAX + 1 where there may be more than
 * SPEC_NODES_MAX. */
int spec_drafter_nodes(const spec_drafter *drafter, int K);

/* Draft after the context of n tokens. One decision for each sampled token. Fails where the draft model does. */
int spec_drafter_draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                       const spec_policy *policy, spec_chance *chance, spec_error *error);

/* What it does first: the draft is empty, and knows its place; no call has been made. */
void spec_drafter_begin(spec_draft *ret_draft, spec_drafter *drafter, size_t n, const spec_policy *policy);

/* For strategies with trees: the nodes that grow, the root first and each after its parent. They are all that the draft
 * model is asked about, a level in one pass. */
struct spec_growth {
    int n;                                             /* of them, but the root */
    int token[SPEC_NODES_MAX], parent[SPEC_NODES_MAX]; /* parent: which of them, or -1 */
    int node[SPEC_NODES_MAX];                          /* of the draft, or of the strategy's own */
    const double *row[SPEC_NODES_MAX + 1];             /* after the root, and after each */
};

/* One call of the draft model: the rows from `first` on, of drafter->growth, as spec_session_score gives them. */
int spec_drafter_grow(spec_drafter *drafter, const int *context, size_t n, int first, double *scratch,
                      spec_error *error);

/* What chain and greedy share: extend the context with the draft model, token by token, sampled from its row, or the
 * row's argmax where opt_chance is NULL. Stops when the policy says so, and after the draft model's end of text. */
int spec_drafter_extend(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                        const spec_policy *policy, spec_chance *opt_chance, spec_error *error);

#endif
