/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drafter: a draft strategy with its draft-model session; it proposes the tokens of a round.
 * A strategy is an entry of spec_drafter_kinds. It reads the context, asks the policy before each
 * token and the chance for each sampled token, and fills a draft. A drafter serves one thread and
 * owns its session. */
#ifndef SPECLAB_DRAFTER_H
#define SPECLAB_DRAFTER_H

#include "models/model.h"
#include "sim/chance/chance.h"
#include "sim/draft/draft.h"
#include "sim/draft/policy.h"

typedef struct spec_drafter spec_drafter;
typedef struct spec_growth spec_growth;

/* Maximum levels of a tree with `widths` and of a dynamic tree; maximum growing nodes per level. */
enum { SPEC_LEVELS_MAX = 64, SPEC_TOP_MAX = 32 };

typedef struct {
    const char *name, *usage, *summary, *reference;
    bool needs_model;
    bool ends_where_declined; /* asks spec_session_declines before each token */
    /* Returns the most nodes and scouts of a draft to depth K, or any number above SPEC_NODES_MAX
     * if there are more than that. NULL: a chain, which has K. */
    int (*nodes)(const spec_drafter *drafter, int K);
    /* Reads the keys; may make drafter->state. NULL: no keys. */
    int (*init)(spec_drafter *drafter, spec_settings *settings, spec_error *error);
    void (*free)(void *state); /* frees a state, even a half-built one; NULL: the kind has none */
    /* Completes the state for the target's vocabulary and drafts to depth K. NULL: it needs
     * none. */
    int (*open)(spec_drafter *drafter, const spec_model *target, int K, spec_error *error);
    /* Begins a text: forgets the last one and, with `all`, what earlier texts taught. NULL: no text
     * leaves a trace. */
    int (*reset)(spec_drafter *drafter, bool all, spec_error *error);
    /* Learns from a round: target_row[0] follows the context, target_row[i+1] follows node i,
     * scouts included. NULL: the kind learns only from the context. */
    void (*observe)(spec_drafter *drafter, const spec_draft *draft,
                    const double *const *target_row, const spec_round *round);
    /* Fills `ret_draft`, which is empty, with paths of at most policy->now tokens after the
     * context. */
    int (*draft)(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error);
} spec_drafter_kind;

struct spec_drafter {
    const spec_drafter_kind *kind;
    spec_session session;   /* session of the draft model; zeroed for strategies without a model */
    spec_session inner;     /* of the model that drafts for it in a cascade; opened by the caller
                               before _open, or zeroed */
    int n_calls; /* draft calls of the last draft: tokens of a chain, levels of a tree; one, if the
                    model has all rows from one pass */
    int n_wasted; /* passes that a device had queued behind the end of a text; not in n_calls, since
                     the draft does not need them */
    int n_rows;             /* rows of the draft model that the last draft read */
    int n_inner_calls;      /* calls of the inner draft */
    bool rows_by_round;     /* the draft model's spec_model_kind.rows_by_round */
    spec_siblings siblings; /* how the children of one node are drawn */
    int n_levels;           /* maximum levels of a draft; 0: as many as the policy allows */
    int widest;             /* maximum children of a node, 0 for chains */
    int n_weights;          /* rows of workspace, 0 for chains */
    double *weight;         /* (n_weights, V) workspace */
    spec_growth *growth;    /* workspace of trees, NULL for chains */
    spec_shared_noise noise; /* kind SPEC_NOISE_NONE for strategies that do not share noise */
    void *state;             /* settings and workspace of the kind, made by its init, or NULL */
};

/* The table, in this order, and NULL. DRAFT(name) is spec_draft_<name>. */
extern const spec_drafter_kind *const spec_drafter_kinds[];
#define SPEC_DRAFTS(DRAFT)                                                                         \
    DRAFT(chain)                                                                                   \
    DRAFT(greedy)                                                                                  \
    DRAFT(lookup)                                                                                  \
    DRAFT(lookahead)                                                                               \
    DRAFT(recycle)                                                                                 \
    DRAFT(suffix)                                                                                  \
    DRAFT(rest)                                                                                    \
    DRAFT(ngram_simple)                                                                            \
    DRAFT(ngram_map_k)                                                                             \
    DRAFT(ngram_map_k4v)                                                                           \
    DRAFT(ngram_mod)                                                                               \
    DRAFT(ngram_cache)                                                                             \
    DRAFT(trie)                                                                                    \
    DRAFT(tree)                                                                                    \
    DRAFT(dynamic)                                                                                 \
    DRAFT(marginals)                                                                               \
    DRAFT(gumbel)                                                                                  \
    DRAFT(minhash)                                                                                 \
    DRAFT(cascade)
#define DECLARE(name) extern const spec_drafter_kind spec_draft_##name;
SPEC_DRAFTS(DECLARE)
#undef DECLARE

/* Returns where the model begins in "STRATEGY:MODEL", such as "greedy:zipf?V=9"; `text` itself if
 * there is no strategy. For a strategy without a model, such as "rest:FILE", returns what follows
 * the colon. */
const char *spec_drafter_model_of(const char *text);

/* Makes a drafter from a spec such as "chain", "greedy", "lookup?max=3&min=1",
 * "tree?widths=3.2.1&siblings=without" or "rest:FILE?nodes=16". Returns GSL_EINVAL for an unknown
 * key or name (the message suggests the nearest name), or if opt_draft is NULL but the strategy
 * needs a model; GSL_EINVAL or GSL_EDOM for a bad value. */
int spec_drafter_init(spec_drafter *drafter, const char *spec, const spec_model *opt_draft,
                      spec_error *error);
void spec_drafter_free(spec_drafter *drafter);

/* Does the same with a borrowed session of the draft model, which must outlive the drafter. NULL:
 * the drafter opens its own. */
int spec_drafter_init_lent(spec_drafter *drafter, const char *spec, const spec_model *opt_draft,
                           const spec_session *opt_session, spec_error *error);

/* Prepares the first draft: reads the strategy's files and allocates what it keeps about the
 * target's tokens, for drafts to depth K. On failure a message of one line names the file and says
 * what is wrong with it. */
int spec_drafter_open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error);

/* Begins a text: from here on, each context continues the one before. Some strategies learn from
 * earlier texts; with `all` they forget these too, and the drafter is as after _open. */
int spec_drafter_reset(spec_drafter *drafter, bool all, spec_error *error);

/* Tells the strategy about a verified draft: the target's rows (n_nodes + n_scouts + 1, V) as
 * spec_session_score gives them, and the outcome. A draft depends only on the text and on rows of
 * earlier rounds, so it anticipates nothing. */
void spec_drafter_observe(spec_drafter *drafter, const spec_draft *draft,
                          const double *const *target_row, const spec_round *round);

/* Returns the maximum nodes of a draft of this strategy to depth K, including scouts;
 * SPEC_NODES_MAX + 1 if that may exceed SPEC_NODES_MAX. */
int spec_drafter_nodes(const spec_drafter *drafter, int K);

/* Returns GSL_EINVAL if the draft model's reach ends before K tokens. */
int spec_drafter_check_reach(const spec_model *opt_draft, int K, spec_error *error);

/* Returns the draft calls of a chain of K tokens. */
int spec_drafter_calls(const spec_model *opt_draft, int K);

/* Drafts after the context of n tokens, with one decision per sampled token. Fails if the draft
 * model does. */
int spec_drafter_draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                       const spec_policy *policy, spec_chance *chance, spec_error *error);

/* Does the first step of spec_drafter_draft: empties the draft, sets its position, and sets the
 * numbers of calls and rows to 0. */
void spec_drafter_begin(spec_draft *ret_draft, spec_drafter *drafter, size_t n,
                        const spec_policy *policy);

/* For tree strategies: the growing nodes, each after its parent. The draft model scores only these,
 * one level per pass. */
struct spec_growth {
    int n;                                             /* number of nodes, without the root */
    int token[SPEC_NODES_MAX], parent[SPEC_NODES_MAX]; /* parent: index in the growth, or -1 */
    int node[SPEC_NODES_MAX];              /* index in the draft, or the strategy's own */
    const double *row[SPEC_NODES_MAX + 1]; /* row after the root and after each node */
};

/* Makes one call of the draft model, which fills the rows of drafter->growth from `first` on, as
 * spec_session_score gives them. */
int spec_drafter_grow(spec_drafter *drafter, const int *context, size_t n, int first,
                      double *scratch, spec_error *error);

/* Extends the context with the draft model, token by token, for chain and greedy: each token is
 * sampled from its row, or is the row's argmax if opt_chance is NULL. Stops when the policy says
 * so, before a token that the draft model declines, or after its end of text. */
int spec_drafter_extend(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                        const spec_policy *policy, spec_chance *opt_chance, spec_error *error);

#endif
