/* transformer: a transformer as a model: rows after a context and after the nodes of a tree, in passes of at most
 * SPEC_COLUMNS_MAX tokens over a key-value cache that rolls back by comparing tokens.
 * The kinds llama2c, gguf and random load a checkpoint; layers and quantised are drafts made of such a target. A model
 * owns its checkpoint and weights, or borrows the target's; sessions own their caches, or share the target's. */
#ifndef SPECLAB_TRANSFORMER_H
#define SPECLAB_TRANSFORMER_H

#include "models/model.h"
#include "models/transformer/engine/forward.h"
#include "models/transformer/engine/sequence.h"

typedef struct {
    spec_model head;
    spec_checkpoint own_checkpoint;
    spec_weights own_weights;
    const spec_backend *own_device;    /* opened for it, or NULL */
    const spec_checkpoint *checkpoint; /* its own, or the target's */
    const spec_weights *weights;       /* its own, or the target's */
    int *layer, n_layers;              /* the layers that it runs, ascending */
    int context;                       /* positions of a text, that of the begin of text among them */
    double temperature;
    spec_tensor_type type;             /* of its own weights; SPEC_TENSOR_TYPES: as the checkpoint has them */
    spec_tensor_type kv_type;          /* of its keys and values */
} spec_transformer;

/* The transformer inside a model, through the wrappers around it; NULL where it is something else. */
const spec_transformer *spec_transformer_of(const spec_model *model);

/* Begin a model over a checkpoint, the layers all of them; for a kind's open, which fills what is its own before or
 * after. */
int spec_transformer_init(spec_transformer *model, const spec_checkpoint *checkpoint, const spec_weights *weights,
                          spec_settings *settings, spec_error *error);

/* For a kind's open: it will have weights of its own, of `type` as in spec_weights_init, on this backend, and keys and
 * values as the key `kv` says. */
int spec_transformer_plan_weights(spec_transformer *model, const spec_checkpoint *checkpoint, spec_tensor_type type,
                                  const spec_backend *backend, const spec_settings *settings, spec_error *error);

/* What the kinds share: a table line's functions. A score without scratch makes no rows: the logits of all that it asks
 * for, at most SPEC_COLUMNS_MAX, are in the forward's hands after _end. */
const double *spec_transformer_row(const spec_model *model, void *session, const int *context, size_t n,
                                   double *scratch, spec_error *error);
int spec_transformer_score(const spec_model *model, void *session, const int *context, size_t n, const int *token,
                           const int *parent, int n_nodes, int first, const double **ret_row, double *scratch,
                           spec_error *error);
int spec_transformer_score_begin(const spec_model *model, void *session, const int *context, size_t n,
                                 const int *token, const int *parent, int n_nodes, int first, const double **ret_row,
                                 double *scratch, spec_error *error);
int spec_transformer_score_end(const spec_model *model, void *session, spec_error *error);
extern const spec_chain_kind spec_transformer_chain; /* models/transformer/engine/transformer_chain.c */
int spec_transformer_session_init(const spec_model *model, void **ret_session, spec_error *error);
void spec_transformer_session_free(const spec_model *model, void *session);
bool spec_transformer_session_share(const spec_model *model, void *session, const spec_model *target,
                                    void *target_session);
size_t spec_transformer_token_text(const spec_model *model, int token, char *buffer, size_t size);
size_t spec_transformer_tokenize(const spec_model *model, const char *text, size_t length, int *token, size_t capacity);
void spec_transformer_close(spec_model *model);
int spec_transformer_load(spec_model *model, const spec_model *opt_target, spec_error *error);

/* Where a session computes. */
spec_forward *spec_transformer_forward(void *session);

#endif
