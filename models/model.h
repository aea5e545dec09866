/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model: a source of next-token distributions, and its session on one text.
 * A model is immutable and shared by threads; a session holds the state for one text and one
 * thread. Tokens are 0..vocab-1; a row is a normalised distribution over them, in double. The
 * caller owns models and sessions. */
#ifndef SPECLAB_MODEL_H
#define SPECLAB_MODEL_H

#include "base/settings.h"
#include "models/text_ends.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The most tokens of context that a stateless model reads (spec_model.order), and the largest
 * vocabulary of a synthetic model, a transformer or a file of rows. */
enum { SPEC_ORDER_MAX = 16, SPEC_VOCAB_MAX = 1 << 20 };

typedef struct spec_context spec_context; /* models/context.h */
typedef struct spec_model spec_model;
typedef struct spec_model_kind spec_model_kind;
typedef struct spec_session spec_session;
typedef struct spec_chain_kind spec_chain_kind; /* models/chain.h */

/* The part that all models have in common; the struct of each kind begins with it. The function
 * `open` of a kind sets vocab, order, ends, window and one_hot, and where they are not 0, reach,
 * one_pass, by_depth and declines. spec_model_open sets kind and spec, and spec_model_close frees
 * spec. */
struct spec_model {
    const spec_model_kind *kind;
    char *spec;      /* the spec it was opened from */
    int vocab;       /* V >= 1 */
    int order; /* a row depends on the last `order` tokens, 0..SPEC_ORDER_MAX; -1: on all tokens
                  (stateful) */
    spec_text_ends ends; /* tokens that end a text; use spec_model_ends_text to test one */
    int window; /* the most tokens of a context and a draft path together; 0: no limit */
    bool one_hot;    /* every row has all its mass on a single token (temperature 0) */
    int reach; /* most tokens of a draft path: rows exist up to this depth; 0: no limit */
    bool one_pass;   /* the rows of all depths after a context come from one pass of the model */
    bool by_depth;   /* a row after a node depends on its depth, but not on the path's tokens */
    bool declines;   /* it may ask to end a draft: spec_session_declines */
};

/* A request for the rows after a context and after the nodes of a tree; see spec_session_score. */
typedef struct {
    const int *context; /* (n_context) oldest first */
    size_t n_context;
    const int *token;      /* (n_nodes) */
    const int *opt_parent; /* (n_nodes) -1: the root; parents precede children; NULL: a chain */
    int n_nodes;           /* 0..SPEC_NODES_MAX */
    int first;             /* rows first..n_nodes are computed, 0 <= first <= n_nodes */
    const double **ret_row; /* (n_nodes+1) filled from `first` on; row 0 follows the context, row
                               i+1 follows node i */
    double *scratch;        /* (n_nodes+1, V) rows from `first` on are used */
} spec_score_request;

#define SPEC_TOKENS_LOST SIZE_MAX /* returned by _tokenize: out of memory */

/* A kind of model: one line of the table spec_model_kinds. */
struct spec_model_kind {
    const char *name;
    const char *usage; /* "zipf?V=1000&s=1.1": every key with its default; a ':' only if the kind
                          takes a path */
    const char *summary;   /* one line */
    const char *reference; /* key of docs/references.md, or "" */
    bool needs_target;     /* it is built from another model (perturb?of=target) */
    bool reads_target; /* a draft head: it reads the target's hidden states of the context */
    /* Rows depend on where the round begins, so the row after a node is not the row after a context
     * with the same tokens. This also holds for heads, which have no states of the target at
     * nodes. */
    bool rows_by_round;
    /* `open` reads and applies `temperature`, because the kind has logits */
    bool applies_temperature;

    /* Builds a model. `opt_target` is the model that "of=target" means, or NULL; it must outlive
     * the new model. The kind reads its own keys from `settings`. The caller checks for unknown
     * keys and applies temperature, top_k, top_p and min_p. */
    int (*open)(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                spec_context *opt_context, spec_error *error);
    void (*close)(spec_model *model);

    /* Loads the weights, if open did not; NULL if open does it. First checks that they fit into
     * memory together with one text of this model and one of opt_target, and returns GSL_ENOMEM,
     * with a line, if they do not. */
    int (*load)(spec_model *model, const spec_model *opt_target, spec_error *error);

    /* Returns the distribution after `context` (n tokens, oldest first; a stateless model reads the
     * last `order` of them). It is a row of the model, valid until the model is closed, or the
     * filled `scratch` (V). On failure returns NULL and sets `error`. */
    const double *(*row)(const spec_model *model, void *session, const int *context, size_t n,
                         double *scratch, spec_error *error);

    /* The members below may be NULL: if sessions have no data, if the kind is not a wrapper, if
     * there is nothing to share, if rows are computed one at a time, or if tokens have no text. */
    int (*session_init)(const spec_model *model, void **ret_session, spec_error *error);
    void (*session_free)(const spec_model *model, void *session);

    /* Returns the session of the base model; for wrappers. */
    spec_session *(*session_base)(void *session);

    /* Lets a draft's session share the state of its target's session for the same text; returns
     * false if they cannot share. `target` must be the model that the draft was built from; its
     * session outlives this one, and one thread uses both. */
    bool (*session_share)(const spec_model *model, void *session, const spec_model *target,
                          void *target_session);

    /* Computes the rows after the context and after each node of a tree, in one pass; see
     * spec_session_score. A stateful model compares tokens to find how much of its cached state is
     * still valid, and this is how it rolls back. */
    int (*score)(const spec_model *model, void *session, const spec_score_request *request,
                 spec_error *error);

    /* Do the same in two halves: see spec_session_score_begin. A kind has both or neither. */
    int (*score_begin)(const spec_model *model, void *session, const spec_score_request *request,
                       spec_error *error);
    int (*score_end)(const spec_model *model, void *session, spec_error *error);

    /* See spec_session_declines; only for kinds that may decline. */
    bool (*declines)(const spec_model *model, const void *session);

    /* Drafting and verification on the device, see spec_chain_init. */
    const spec_chain_kind *chain;

    /* Writes a token's bytes into `buffer` (NUL-terminated, cut at `size`); returns their
     * number. */
    size_t (*token_text)(const spec_model *model, int token, char *buffer, size_t size);

    /* Tokenizes a text into at most `capacity` tokens. Returns the number of tokens of the whole
     * text, or SPEC_TOKENS_LOST if out of memory. Text outside the vocabulary becomes the model's
     * unknown token. */
    size_t (*tokenize)(const spec_model *model, const char *text, size_t length, int *token,
                       size_t capacity);

    /* Writes a starting context for draw number `index`, of up to `capacity` tokens; returns their
     * number. NULL: the empty context. */
    size_t (*prompt)(const spec_model *model, uint64_t index, int *token, size_t capacity);
};

extern const spec_model_kind *const spec_model_kinds[]; /* NULL-terminated, models/model_kinds.c */

void spec_model_close(spec_model *model); /* accepts NULL */

/* Loads the weights of a model opened by spec_model_open_unloaded. */
int spec_model_load(spec_model *model, const spec_model *opt_target, spec_error *error);

/* The state of one text, read by one thread. */
struct spec_session {
    const spec_model *model;
    void *data;   /* the kind's own state */
    int *history; /* (SPEC_ORDER_MAX + SPEC_NODES_MAX) for the default _score; NULL if the kind
                     has its own */
    bool lent;    /* _free leaves the memory to the session it was lent from */
};

int spec_session_init(spec_session *session, const spec_model *model, spec_error *error);
void spec_session_free(spec_session *session); /* accepts a zeroed one */

/* Returns a view of the session for a second user, who has another text. The two take turns: the
 * rows are those of separate sessions, and tokens that their texts do not share are computed again.
 * The session must outlive the view. */
spec_session spec_session_lend(const spec_session *session);

/* Returns the row after `context`; see spec_model_kind.row. `scratch` (V) must live as long as the
 * row is used. */
const double *spec_session_row(spec_session *session, const int *context, size_t n, double *scratch,
                               spec_error *error);

/* Computes the requested rows in one pass, for drafting or verification. A tree that grows level by
 * level requests only its new rows, and a stateful model then computes only these. A row does not
 * depend on how many nodes are scored with it, bit for bit. */
int spec_session_score(spec_session *session, const spec_score_request *request, spec_error *error);

/* Do the same in two halves, to overlap with other work: _begin starts the work, _end waits for it
 * and fills ret_row. In between the session takes no other call and the request's arrays must not
 * change; the request itself is copied. A session that cannot run in the background computes in
 * _begin. The rows equal those of spec_session_score, bit for bit. After a failed _begin, do not
 * call _end. */
int spec_session_score_begin(spec_session *session, const spec_score_request *request,
                             spec_error *error);
int spec_session_score_end(spec_session *session, spec_error *error);

/* Returns whether the model asks not to draw a token from the last row that was scored, because its
 * confidence head predicts that the token would probably be rejected. The answer depends only on
 * the context and the path before that token, so ending the draft there does not bias the result.
 * Works through wrappers; returns false for models that never decline. */
bool spec_session_declines(const spec_session *session);

/* Lets a draft's session share the state of the target's session, if its kind can; see
 * spec_model_kind.session_share. Works through wrappers on either side. */
bool spec_session_share(spec_session *draft, spec_session *target);

/* Returns whether a token ends a text of the model. All code must ask this function. */
static inline bool spec_model_ends_text(const spec_model *model, int token)
{
    return spec_text_ends_has(&model->ends, token);
}

/* Returns whether any token ends a text of the model. */
static inline bool spec_model_has_ends(const spec_model *model)
{
    return model->ends.n > 0;
}

/* Takes the text that ends at `node` of a tree (-1: the root), which is the context followed by the
 * path, and writes its last `order` tokens into ret_tail (order), oldest first. Returns how many
 * there are, fewer than `order` if the text is shorter. */
size_t spec_session_tail(int *ret_tail, int order, const int *context, size_t n, const int *token,
                         const int *opt_parent, int node);

#endif
