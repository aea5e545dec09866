/* SPDX-License-Identifier: MIT */
/* sampler: the interface of a sampler plug-in that `speclab validate` tests.
 * A plug-in is a shared library that exports the five required functions below. It needs only this
 * header, in C99 or C++, and links no libraries. The caller owns every array that it passes;
 * docs/conformance.md has a complete example. */
#ifndef SPECLAB_SAMPLER_H
#define SPECLAB_SAMPLER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- declarations for bindings begin: plain C, without macros -------------------------------- */

/* The version of this interface. It increases when a field changes its meaning. New fields are
 * appended to a struct, whose `size` says which fields exist; they do not change the version. */
enum { SPEC_SAMPLER_ABI = 1 };

/* Scopes say what the sampler does itself; each is one bit. A sampler with several scopes is tested
 * in each of them. */
enum {
    SPEC_SCOPE_VERIFY = 1, /* V: verifies the draft tokens that it is given */
    SPEC_SCOPE_DRAFT = 2,  /* DV: draws the draft from the rows it is given, and verifies it; only
                              chains */
    SPEC_SCOPE_STREAM = 4  /* S: generates a whole text from two models, given as functions */
};

/* How the children of one node were drawn, one bit each. An only child is drawn from its row,
 * unless it is FIXED. */
enum {
    SPEC_DRAWN_FIXED = 1,  /* chosen without randomness: the draft is one-hot, `draft` is NULL */
    SPEC_DRAWN_IID = 2,    /* each from the row; siblings may hold the same token */
    SPEC_DRAWN_WITHOUT = 4 /* without replacement, in node order: each from its row with the tokens
                              of earlier siblings removed; if these hold all of the row's mass,
                              evenly from the other tokens */
};

/* What rows contain. */
enum { SPEC_ROWS_PROBABILITIES = 1, SPEC_ROWS_LOGITS = 2 };

/* The sampling parameters of a request. They apply to target and draft rows alike, in the order
 * that the sampler declares (spec_sampler_about.filters). */
typedef struct {
    float temperature; /* 1: unchanged; 0: the argmax, ties go to the lowest id */
    int32_t top_k;     /* 0: off */
    float top_p;       /* 1: off */
    float min_p;       /* 0: off */
} spec_sampling;

/* What a sampler declares about itself. The caller zeroes the struct and sets `size`. */
typedef struct {
    uint32_t size;
    char name[64];
    uint32_t scopes;   /* SPEC_SCOPE_*, at least one */
    uint32_t chains;   /* chains it accepts: SPEC_DRAWN_FIXED, SPEC_DRAWN_IID; 0: both */
    uint32_t trees;    /* siblings it accepts in trees: SPEC_DRAWN_*; 0: no trees */
    uint32_t rows;     /* rows it wants: one of SPEC_ROWS_*; 0: probabilities */
    int32_t sampling;  /* 1: applies the sampling parameters itself; 0: receives processed rows */
    int32_t coins;     /* 1: can take its uniform numbers from spec_step.coin */
    int32_t padding;   /* 1: accepts drafts with padding (tokens -1 at the end) */
    int32_t seeded;    /* 1: the same seed and offset always give the same tokens */
    int32_t max_batch; /* maximum drafts per call of step; 0: any number */
    int32_t max_nodes; /* maximum nodes of a draft; 0: any number */
    int32_t max_vocab; /* largest vocabulary; 0: any size */
    int32_t lossy;     /* 1: deliberately departs from the target's distribution: a difference is
                          reported as LOSSY, with its size, instead of FAIL */
    char filters[64];  /* with `sampling`: the order of the parameters, such as
                          "temperature,top_k,top_p,min_p". After ',' a filter sees the renormalised
                          row that the previous one left; filters joined by '+' see the same row. A
                          parameter that is not named is neither applied nor tested. "" means
                          "temperature,top_k+top_p+min_p" */
    int32_t uniform;   /* 1: all requests of a call must have the same sampling parameters and the
                          same kind of draft */
} spec_sampler_about;

/* One draft to verify, or to draw and verify, for one request of a batch. Row 0 is the next-token
 * distribution at the root, the end of the text so far; row i+1 is the one after node i. Node i was
 * drawn from draft row parent[i]+1 and is verified against target row parent[i]+1. The sampler must
 * write only to the ret_ arrays. */
typedef struct {
    uint32_t size;
    int32_t vocab;         /* V */
    int32_t n_nodes;       /* draft tokens, including padding; >= 0 */
    const int32_t *token;  /* (n_nodes) -1: padding. NULL in scope DV: draw a chain of n_nodes */
    const int32_t *parent; /* (n_nodes) -1: the root; parents precede children. NULL: a chain */
    const float *target;   /* (n_nodes+1, V) row-major */
    const float *draft;    /* (n_nodes+1, V); in scope V a chain does not need the last row. NULL:
                              the draft is FIXED */
    uint32_t drawn;        /* one of SPEC_DRAWN_* */
    spec_sampling sampling;
    uint64_t request;      /* id of the request: rows differ between requests */
    uint64_t seed, offset; /* seed its random numbers; each round of a request has its own offset */
    const float *coin;     /* (n_coins) uniform numbers in [0,1), which the sampler uses in the
                              order in which it needs them. If this is NULL or all are used up, it
                              draws its own */
    int32_t n_coins;

    int32_t *ret_token;      /* (n_nodes+1) the tokens that this round emits */
    int32_t *ret_n_emitted;  /* 1..n_nodes+1: accepted draft tokens, then a correction or a bonus */
    int32_t *ret_n_accepted; /* n_emitted - 1 */
    int32_t *ret_draft;      /* (n_nodes) scope DV: the tokens it drafted; NULL in scope V */
} spec_step;

/* The two models of scope S. Each function returns the row (V) after the context, as probabilities
 * or logits according to spec_sampler_about.rows. The row is valid until the next call for the same
 * model. NULL means failure: spec_sampler_generate must then fail as well. */
typedef struct {
    void *self;
    int32_t vocab;
    const float *(*target)(void *self, const int32_t *context, int64_t n);
    const float *(*draft)(void *self, const int32_t *context, int64_t n);
} spec_models;

/* ---- declarations for bindings end ----------------------------------------------------------- */

/* ---- required -------------------------------------------------------------------------------- */

uint32_t spec_sampler_abi(void); /* returns SPEC_SAMPLER_ABI */

/* Fills in `about`. Describe, open, step, generate and counters return 0, or any other number on
 * failure. A failure ends the run without a verdict; the run reports the line of
 * spec_sampler_error, if there is one. Describe is called before open and again after it. The
 * second answer counts, so options passed to open may change it. */
int spec_sampler_describe(spec_sampler_about *about);

/* Creates an instance; *ret_self is passed to every later call. opt_options: the text of --options,
 * or NULL. speclab never calls two instances of one process at the same time. */
int spec_sampler_open(void **ret_self, const char *opt_options);

/* Verifies a batch: n_steps drafts of independent requests. */
int spec_sampler_step(void *self, spec_step *steps, int32_t n_steps);

void spec_sampler_close(void *self);

/* ---- optional -------------------------------------------------------------------------------- */

/* Scope S: generates n_tokens tokens after `context`, with up to K draft tokens per round. */
int spec_sampler_generate(void *self, const spec_models *models, const int32_t *context,
                          int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                          int32_t *ret_token, int64_t n_tokens);

/* Returns the sampler's own counters since open: draft tokens, accepted draft tokens, emitted
 * tokens. speclab compares them with the answers. */
int spec_sampler_counters(void *self, uint64_t *ret_drafted, uint64_t *ret_accepted,
                          uint64_t *ret_emitted);

/* Returns one line about the last failure, or NULL. */
const char *spec_sampler_error(void *self);

#ifdef __cplusplus
}
#endif

#endif
