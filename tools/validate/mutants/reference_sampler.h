/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reference_sampler: a correct, plainly written speculative sampler with a hook at every step.
 * Mutants replace hooks; a NULL hook means the correct step. The correct steps are public, so a
 * mutant contains only its mistake. It shares no code with the rules in sim, so it is an
 * independent check of them. Owns its rows; used by one thread. */
#ifndef SPECLAB_REFERENCE_SAMPLER_H
#define SPECLAB_REFERENCE_SAMPLER_H

#include "models/transform.h"
#include "sim/chance/rng.h"
#include "tools/validate/samplers/sampler_host.h"

typedef struct spec_reference_sampler spec_reference_sampler;

enum { SPEC_REFERENCE_TARGET, SPEC_REFERENCE_DRAFT };

/* What a random number is used for. */
typedef enum {
    SPEC_REFERENCE_DRAFTS,
    SPEC_REFERENCE_ACCEPTS,
    SPEC_REFERENCE_CORRECTS,
    SPEC_REFERENCE_CLOSES
} spec_reference_sampler_use;

/* Places are numbered like the rows of a step: 0 is the root, i+1 follows node i. */
typedef struct {
    /* Returns the uniform number in [0,1) for this use. */
    double (*uniform)(spec_reference_sampler *s, spec_reference_sampler_use use);
    /* Returns a row as the caller gave it. */
    const float *(*given)(spec_reference_sampler *s, int side, int place);
    /* Changes a row of probabilities before the parameters are applied. */
    void (*raw)(spec_reference_sampler *s, int side, int place, double *row);
    /* Changes the parameters that are applied to the row of a place. */
    void (*parameters)(spec_reference_sampler *s, int side, int place, spec_transform *transform);
    /* Changes a row of probabilities after the parameters are applied. */
    void (*shape)(spec_reference_sampler *s, int side, int place, double *row);
    /* Called at the start of a round; its result becomes s->applies, for other hooks. */
    bool (*applies)(spec_reference_sampler *s);
    /* Changes the seed of a round or text. */
    uint64_t (*seed)(const spec_reference_sampler *s, uint64_t seed);
    bool logits; /* rows are logits, which the sampler normalises */
    /* The order of the parameters, as filter_order.h parses it; NULL: the promised one. */
    const char *filters;
    /* Draws an index with probability proportional to weight (V). Used for every draw that no other
     * hook replaces. */
    int (*pick)(spec_reference_sampler *s, const double *weight, spec_reference_sampler_use use);
    /* Scope S: returns the draft length, at most K. */
    int (*length)(spec_reference_sampler *s, int K);
    /* Draws a token from the draft's row at s->place; scopes DV and S. */
    int (*draw)(spec_reference_sampler *s, const double *row);
    /* Orders the n children of a place for verification. */
    void (*order)(spec_reference_sampler *s, int *child, int n);
    /* Accepts or rejects the child, given s->target and s->draft. */
    bool (*accept)(spec_reference_sampler *s, int child);
    /* Turns s->target into the residual after the child was rejected, and updates s->draft for its
     * siblings. */
    void (*residual)(spec_reference_sampler *s, int child);
    /* Draws a round's last token from s->target, after a rejection or if there are no children. */
    int (*correct)(spec_reference_sampler *s);
    int (*bonus)(spec_reference_sampler *s);
    /* Performs the whole verification, over s->token, s->parent, s->n_nodes. */
    void (*round)(spec_reference_sampler *s);
    /* Scope S: called after a round, before its tokens join the text. */
    void (*ended)(spec_reference_sampler *s);
    /* Scopes V and DV: changes the outputs of an answered step. */
    void (*answer)(spec_reference_sampler *s, spec_step *step);
} spec_reference_sampler_hooks;

struct spec_reference_sampler {
    const spec_reference_sampler_hooks *hook;
    spec_filter_order filters;
    spec_rng_state chance;
    spec_reference_sampler_use use;            /* what the last number is used for */

    spec_step *steps, *step;       /* the batch, and the step being verified; NULL in scope S */
    int at, n_steps;               /* its index in the batch, and the number of steps in the
                                    * batch */
    int n_coins;                   /* coins of the step that are used up */
    int length;                    /* nodes of the requested draft, with padding */
    bool applies;                  /* what hook->applies returned for this round */
    const spec_models *models;     /* scope S */
    int32_t *text; /* scope S: the text so far, with memory for the draft after it */
    int64_t n_text, missing;       /* tokens so far, and tokens still to generate */
    spec_sampling sampling;

    int vocab, n_nodes;            /* without padding */
    uint32_t drawn;                /* SPEC_DRAWN_*; FIXED: there are no draft rows */
    int32_t token[SPEC_FIXTURE_NODES_MAX], parent[SPEC_FIXTURE_NODES_MAX];

    int place;                     /* the place being judged */
    double *target, *draft;        /* (V) the rows of the place; `target` becomes the residual */
    double *spare;                 /* (V) scratch for hooks */
    int *order;                    /* (V) workspace of the filters */

    int32_t emitted[SPEC_FIXTURE_NODES_MAX + 1];
    int n_emitted;
    bool failed;                   /* a model returned no row */

    double number[2];              /* scratch for hooks; 0 at the start of a call */
    int64_t memory[2];
    double coin[2][SPEC_FIXTURE_NODES_MAX + 1]; /* scratch for hooks, per place */
};

/* ---- the right steps ------------------------------------------------------------------------- */

double spec_reference_sampler_uniform(spec_reference_sampler *s,
                                      spec_reference_sampler_use use); /* calls the hook */
double spec_reference_sampler_fresh(spec_reference_sampler *s); /* bypasses the hook */
void spec_reference_sampler_reseed(spec_reference_sampler *s, uint64_t seed, uint64_t offset);

/* Draw an index with probability proportional to weight (V), never one of weight 0. scan uses one
 * uniform number; pick calls the hook. */
int spec_reference_sampler_pick(spec_reference_sampler *s, const double *weight,
                                spec_reference_sampler_use use);
int spec_reference_sampler_scan(spec_reference_sampler *s, const double *weight,
                                spec_reference_sampler_use use);

int spec_reference_sampler_argmax(const double *row, int vocab); /* ties go to the lowest id */

const float *spec_reference_sampler_given(spec_reference_sampler *s, int side, int place);
void spec_reference_sampler_load(spec_reference_sampler *s, int side, int place,
                                 double *row); /* applies hooks and parameters */
bool spec_reference_sampler_accept(spec_reference_sampler *s, int child);
void spec_reference_sampler_residual(spec_reference_sampler *s, int child);

/* Scales row (V) to sum to 1; returns false, leaving it unchanged, if it has no mass. */
bool spec_reference_sampler_normalise(double *row, int vocab);

/* Lists the children at a place, in order; returns how many there are. */
int spec_reference_sampler_children(const spec_reference_sampler *s, int place, int *ret_child);

void spec_reference_sampler_emit(spec_reference_sampler *s, int token);
/* Runs a correct round, which follows the first accepted child of each node. */
void spec_reference_sampler_walk(spec_reference_sampler *s);

/* ---- the functions of a spec_sampler_api, but for open --------------------------------------- */

int spec_reference_sampler_open(void **ret_self, const spec_reference_sampler_hooks *hooks);
/* Sets the order of the parameters, joint after _open, unless the hooks have one. */
void spec_reference_sampler_promise(void *self, const spec_filter_order *order);
int spec_reference_sampler_step(void *self, spec_step *steps, int32_t n_steps);
int spec_reference_sampler_generate(void *self, const spec_models *models, const int32_t *context,
                                    int64_t n_context, int32_t K, spec_sampling sampling,
                                    uint64_t seed, int32_t *ret_token, int64_t n_tokens);
void spec_reference_sampler_close(void *self);

#endif
