/* model: what is the next-token distribution?
 * A model is immutable and shared by threads; what changes while it reads one text lives in a session, one a text and
 * thread. Tokens are 0..vocab-1; a row is a normalised distribution over them, double. Both are the caller's. */
#ifndef SPECLAB_MODEL_H
#define SPECLAB_MODEL_H

#include "base/settings.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Most tokens of context that a stateless model may look back on (spec_model.order), and the largest vocabulary of a
 * synthetic model, of a transformer, and of a file of rows. */
enum { SPEC_ORDER_MAX = 16, SPEC_VOCAB_MAX = 1 << 20 };

typedef struct spec_model spec_model;
typedef struct spec_model_kind spec_model_kind;
typedef struct spec_session spec_session;
typedef struct spec_chain_kind spec_chain_kind; /* models/chain.h */

/* The common head of every model; a kind's own struct begins with it. A kind's open fills vocab, order, end_of_text,
 * window and one_hot; spec_model_open fills kind and spec, and spec_model_close frees spec. */
struct spec_model {
    const spec_model_kind *kind;
    char *spec;      /* the text it was opened from */
    int vocab;       /* V >= 1 */
    int order;       /* a row depends on the last `order` tokens, 0..SPEC_ORDER_MAX; -1: on all of them (stateful) */
    int end_of_text; /* the token that ends a text, or -1 */
    int window;      /* most tokens of a context and a path of a draft after it together; 0: no limit */
    bool one_hot;    /* every row has all its mass on one token (temperature 0) */
};

/* A kind of model: a line of the table spec_model_kinds. */
struct spec_model_kind {
    const char *name;
    const char *usage;     /* "zipf?V=1000&s=1.1": every key with its default; a ':' only where the kind takes a path */
    const char *summary;   /* one line */
    const char *reference; /* key of docs/references.md, or "" */
    bool needs_target;     /* built from another model (perturb?of=target) */
    bool heats;            /* open reads `temperature` itself and applies it: the kind has the logits */

    /* Build a model. `opt_target` is the model that "of=target" means, or NULL; it must outlive the new one. The kind
     * reads its own keys from `settings`; the caller checks for unknown ones and applies temperature, top_k, top_p,
     * min_p. */
    int (*open)(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target, spec_error *error);
    void (*close)(spec_model *model);

    /* For a kind whose open has only looked: bring in what the model computes with, if that is not there yet.
     * GSL_ENOMEM, with the line, before anything is, where there is no room for it and for one text, that of opt_target
     * too. NULL: open did it all. */
    int (*load)(spec_model *model, const spec_model *opt_target, spec_error *error);

    /* The distribution after `context` (n tokens, oldest first; a stateless model reads the last `order` of them).
     * Returns a row of the model's own, valid until it is closed, or `scratch` (V), filled. NULL and `error` where
     * there is none. */
    const double *(*row)(const spec_model *model, void *session, const int *context, size_t n, double *scratch,
                         spec_error *error);

    /* Those below may be NULL: no session data; not a wrapper; nothing to share; rows one at a time; no text. */
    int (*session_init)(const spec_model *model, void **ret_session, spec_error *error);
    void (*session_free)(const spec_model *model, void *session);

    /* The session of the model that a wrapper changes the rows of. */
    spec_session *(*session_base)(void *session);

    /* Let a draft's session read what the session of the very target it was built from keeps of the same text; false
     * where they have nothing in common. `target` outlives the session, and one thread uses both. */
    bool (*session_share)(const spec_model *model, void *session, const spec_model *target, void *target_session);

    /* Rows after the context and after each node of a tree, in one pass; see spec_session_score. A stateful model keeps
     * what it computed for the context and finds how much of it still holds by comparing tokens: that is the roll
     * back. */
    int (*score)(const spec_model *model, void *session, const int *context, size_t n, const int *token,
                 const int *parent, int n_nodes, int first, const double **ret_row, double *scratch, spec_error *error);

    /* The same in two halves, see spec_session_score_begin; both or neither. */
    int (*score_begin)(const spec_model *model, void *session, const int *context, size_t n, const int *token,
                       const int *parent, int n_nodes, int first, const double **ret_row, double *scratch,
                       spec_error *error);
    int (*score_end)(const spec_model *model, void *session, spec_error *error);

    /* Drafting and verifying where the rows are, see spec_chain_init. */
    const spec_chain_kind *chain;

    /* The bytes a token stands for, into `buffer` (NUL-terminated, cut at `size`); returns their number. */
    size_t (*token_text)(const spec_model *model, int token, char *buffer, size_t size);

    /* Tokens of a text, at most `capacity`; returns how many the text has. Unknown pieces become the model's unknown
     * token. */
    size_t (*tokenize)(const spec_model *model, const char *text, size_t length, int *token, size_t capacity);

    /* A starting context for draw number `index`: up to `capacity` tokens; returns how many. NULL: the empty
     * context. */
    size_t (*prompt)(const spec_model *model, unsigned long index, int *token, size_t capacity);
};

extern const spec_model_kind *const spec_model_kinds[]; /* NULL-terminated, models/model_kinds.c */

/* Open the model that `spec` names (grammar: base/settings.h; a file alone that ends in .gguf, .bin or .rows is of
 * the kind gguf, llama2c or rows), apply temperature, top_k, top_p, min_p where given, and refuse unknown kinds and
 * keys by the nearest name, before any work is done. GSL_EINVAL for what is not understood or lacks its path or target,
 * else the kind's own failure. Units and domains of the keys stand in each kind's usage. */
int spec_model_open(spec_model **ret_model, const char *spec, const spec_model *opt_target, spec_error *error);
void spec_model_close(spec_model *model); /* NULL is fine */

/* The same in two steps, so that the room for several models can be asked for before any is loaded: _look says what the
 * model is, and it may be the target of another one that is looked at; it has no sessions before _load, nor a draft
 * before its target has been loaded. */
int spec_model_look(spec_model **ret_model, const char *spec, const spec_model *opt_target, spec_error *error);
int spec_model_load(spec_model *model, const spec_model *opt_target, spec_error *error);

/* The kind that would open `spec`; NULL where there is none. */
const spec_model_kind *spec_model_kind_of(const char *spec);

/* One text being read by one thread. */
struct spec_session {
    const spec_model *model;
    void *data;   /* the kind's own */
    int *history; /* (SPEC_ORDER_MAX + SPEC_NODES_MAX) for the default _score; NULL where the kind has its own */
    bool lent;    /* another one's: _free leaves what it points to */
};

int spec_session_init(spec_session *session, const spec_model *model, spec_error *error);
void spec_session_free(spec_session *session); /* a zeroed one is fine */

/* The same session for somebody who reads another text with it in turn: rows stay as they are, and what the one text
 * has not in common with the other is computed anew. The session outlives it. */
spec_session spec_session_lend(const spec_session *session);

/* The row after `context`; see spec_model_kind.row. `scratch` (V) must live as long as the row is used. */
const double *spec_session_row(spec_session *session, const int *context, size_t n, double *scratch, spec_error *error);

/* Rows for verification in one pass: ret_row[0] after `context`, ret_row[i+1] after node i, whose tokens are token[i]
 * and whose parents parent[i] (-1: the root; parents come before children; NULL: a chain). Only ret_row[first..n_nodes]
 * are filled, 0 <= first <= n_nodes: a tree that grows level by level asks for its new rows alone, and a stateful model
 * then computes no more than these. `scratch` is (n_nodes+1, V), of which the rows from `first` on are used.
 * A row does not depend on how many nodes are scored with it, bit for bit. */
int spec_session_score(spec_session *session, const int *context, size_t n, const int *token, const int *parent,
                       int n_nodes, int first, const double **ret_row, double *scratch, spec_error *error);

/* The same in two halves, so that something else is done meanwhile: _begin hands the work over, _end waits for it and
 * fills ret_row. In between the session is not to be asked for anything, and the arrays stay as they are. A session that
 * can do no work by itself does it in _begin. The rows are those of spec_session_score, bit for bit. Where _begin fails
 * there is nothing to end. */
int spec_session_score_begin(spec_session *session, const int *context, size_t n, const int *token, const int *parent,
                             int n_nodes, int first, const double **ret_row, double *scratch, spec_error *error);
int spec_session_score_end(spec_session *session, spec_error *error);

/* Let a draft's session share what the target's session keeps of the same text, where its kind can; see
 * spec_model_kind.session_share. Through wrappers on either side. */
bool spec_session_share(spec_session *draft, spec_session *target);

/* The end of the text that leads to `node` of a tree (-1: the root): the last `order` tokens of the context followed by
 * the path, or fewer where there are not as many. Fills ret_tail (order), oldest first; returns how many. */
size_t spec_session_tail(int *ret_tail, int order, const int *context, size_t n, const int *token,
                         const int *opt_parent, int node);

#endif
