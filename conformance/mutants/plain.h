/* plain: a speculative sampler that is right, written as plainly as can be, with a hook at every step that somebody
 * has got wrong. It shares no code with the rules in sim: two routes. A hook that is NULL is the right step; the right
 * steps are public, so that a wrong one says only what is wrong. Owns its rows; one thread's. */
#ifndef SPECLAB_PLAIN_H
#define SPECLAB_PLAIN_H

#include "conformance/samplers/caller.h"
#include "models/transform.h"
#include "sim/chance/rng.h"

typedef struct spec_plain spec_plain;

enum { SPEC_PLAIN_TARGET, SPEC_PLAIN_DRAFT };

/* What a random number is for. */
typedef enum { SPEC_PLAIN_DRAFTS, SPEC_PLAIN_ACCEPTS, SPEC_PLAIN_CORRECTS, SPEC_PLAIN_CLOSES } spec_plain_use;

/* Places are numbered as the rows of a step: 0 is the root, i+1 comes after node i. */
typedef struct {
    /* The uniform number in [0,1) for this use. */
    double (*uniform)(spec_plain *s, spec_plain_use use);
    /* A row as it was given. */
    const float *(*given)(spec_plain *s, int side, int place);
    /* Changes the parameters before they are applied to a row of that place. */
    void (*parameters)(spec_plain *s, int side, int place, spec_transform *transform);
    /* Changes a row of probabilities after they are. */
    void (*shape)(spec_plain *s, int side, int place, double *row);
    /* Draws a token from the draft's row at s->place; scopes DV and S. */
    int (*draw)(spec_plain *s, const double *row);
    /* The order in which the n children of a place are judged. */
    void (*order)(spec_plain *s, int *child, int n);
    /* Is the child accepted, given s->target and s->draft? */
    bool (*accept)(spec_plain *s, int child);
    /* Turns s->target into what is left of it after the child was rejected, and s->draft for its siblings. */
    void (*residual)(spec_plain *s, int child);
    /* The last token of a round, drawn from s->target: after a rejection, and where there were no children. */
    int (*correct)(spec_plain *s);
    int (*bonus)(spec_plain *s);
    /* All of the verification, over s->token, s->parent, s->n_nodes. */
    void (*round)(spec_plain *s);
    /* Scope S: looks at a round when it is over, before its tokens go into the text. */
    void (*ended)(spec_plain *s);
    /* Scopes V and DV: changes what is handed back of a step that is answered. */
    void (*answer)(spec_plain *s, spec_step *step);
} spec_plain_hooks;

struct spec_plain {
    const spec_plain_hooks *hook;
    spec_rng_state chance;
    spec_plain_use use;            /* of the last number that was asked for */

    spec_step *steps, *step;       /* the batch, and the draft that is verified; NULL in scope S */
    int at;                        /* its number in the batch */
    int n_coins;                   /* used of the caller's */
    const spec_models *models;     /* scope S */
    int32_t *text;                 /* scope S: the context, with room for the draft behind it */
    int64_t n_text;
    spec_sampling sampling;

    int vocab, n_nodes;            /* without padding */
    uint32_t drawn;                /* SPEC_DRAWN_*; FIXED: there are no draft rows */
    int32_t token[SPEC_FIXTURE_NODES_MAX], parent[SPEC_FIXTURE_NODES_MAX];

    int place;                     /* where rows are being judged */
    double *target, *draft;        /* (V) its rows; the target's becomes the residual */
    double *spare;                 /* (V) a hook's own */
    int *order;                    /* (V) workspace of the filters */

    int32_t emitted[SPEC_FIXTURE_NODES_MAX + 1];
    int n_emitted;
    bool failed;                   /* a model had no row */

    double number[2];              /* a hook's own; both are 0 at the beginning of a call */
    int64_t memory[2];
};

/* ---- the right steps --------------------------------------------------------------------------------------------- */

double spec_plain_uniform(spec_plain *s, spec_plain_use use); /* through the hook */
double spec_plain_fresh(spec_plain *s);                       /* past it */
void spec_plain_reseed(spec_plain *s, uint64_t seed, uint64_t offset);

/* An index with probability proportional to weight (V), by one uniform number; never one of weight 0. */
int spec_plain_pick(spec_plain *s, const double *weight, spec_plain_use use);

int spec_plain_argmax(const double *row, int vocab); /* the lowest id among ties */

const float *spec_plain_given(spec_plain *s, int side, int place);
void spec_plain_load(spec_plain *s, int side, int place, double *row); /* with hooks and parameters */
bool spec_plain_accept(spec_plain *s, int child);
void spec_plain_residual(spec_plain *s, int child);

/* row (V) to sum 1; false, and unchanged, where nothing is left. */
bool spec_plain_normalise(double *row, int vocab);

/* Children of a place, in order; returns how many. */
int spec_plain_children(const spec_plain *s, int place, int *ret_child);

void spec_plain_emit(spec_plain *s, int token);
void spec_plain_walk(spec_plain *s); /* the right round: from the root down the first accepted children */

/* ---- the functions of a spec_sampler_api, but for open ----------------------------------------------------------- */

int spec_plain_open(void **ret_self, const spec_plain_hooks *hooks);
int spec_plain_step(void *self, spec_step *steps, int32_t n_steps);
int spec_plain_generate(void *self, const spec_models *models, const int32_t *context, int64_t n_context, int32_t K,
                        spec_sampling sampling, uint64_t seed, int32_t *ret_token, int64_t n_tokens);
void spec_plain_close(void *self);

#endif
