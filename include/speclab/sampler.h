/* sampler: what a plug-in defines so that `speclab validate` can test a speculative sampler of anybody's.
 * The one header that an author reads: C99 or C++, no library, nothing to link. A plug-in is a shared library that
 * exports the five required functions below. The caller owns every array that it passes; docs/conformance.md has a
 * complete example. */
#ifndef SPECLAB_SAMPLER_H
#define SPECLAB_SAMPLER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a field changes its meaning. New fields come at the end of a struct, with its `size` telling which are
 * there, and do not raise it. */
enum { SPEC_SAMPLER_ABI = 1 };

/* What the sampler does itself, one bit each; a sampler may have several scopes and is tested in each. */
enum {
    SPEC_SCOPE_VERIFY = 1, /* V: it is given drafted tokens, and says which it keeps and what comes after */
    SPEC_SCOPE_DRAFT = 2,  /* DV: it is given rows alone, and draws the draft as well; chains only */
    SPEC_SCOPE_STREAM = 4  /* S: it is given two models as functions, and writes a text */
};

/* How the children of one node were drawn, one bit each. One child is drawn from its row, unless it is FIXED. */
enum {
    SPEC_DRAWN_FIXED = 1,  /* chosen without chance: the draft's law is one-hot, and `draft` is NULL */
    SPEC_DRAWN_IID = 2,    /* each from the row; a token may come twice */
    SPEC_DRAWN_WITHOUT = 4 /* without replacement: each from what its elders left of the row, in the order of nodes */
};

/* What the rows hold. */
enum { SPEC_ROWS_PROBABILITIES = 1, SPEC_ROWS_LOGITS = 2 };

/* Sampling parameters of a request, to be applied to target and draft rows alike, temperature first; then the filters,
 * all judged on the same renormalised probabilities. */
typedef struct {
    float temperature; /* 1: as it is; 0: the argmax, the lowest id among ties */
    int32_t top_k;     /* 0: all */
    float top_p;       /* 1: all */
    float min_p;       /* 0: all */
} spec_sampling;

/* What the sampler says of itself. The caller zeroes it, and sets size. */
typedef struct {
    uint32_t size;
    char name[64];
    uint32_t scopes;      /* SPEC_SCOPE_* */
    uint32_t chains;      /* SPEC_DRAWN_FIXED and SPEC_DRAWN_IID, as far as it takes such chains; 0: both */
    uint32_t trees;       /* SPEC_DRAWN_*, the kinds of siblings that it takes; 0: no trees */
    uint32_t rows;        /* SPEC_ROWS_*, one of them: what it wants; 0: probabilities */
    int32_t sampling;     /* 1: applies the sampling parameters itself; 0: is given processed rows */
    int32_t coins;        /* 1: can take its uniform numbers from the caller (spec_step.coin) */
    int32_t padding;      /* 1: takes drafts with padding (token -1 at the end) */
    int32_t seeded;       /* 1: the same seed and offset give the same tokens again */
    int32_t max_batch;    /* 0: any */
    int32_t max_nodes;    /* 0: any */
    int32_t max_vocab;    /* 0: any */
    int32_t lossy;        /* 1: not the target's law, on purpose: a difference is reported as LOSSY, with its size */
} spec_sampler_about;

/* One draft to verify (or to draw) in one request of a batch. Row 0 stands at the root, the end of the text so far;
 * row i+1 follows node i. Node i was drawn from draft row parent[i]+1 and is judged by target row parent[i]+1. Nothing
 * may be written but the outputs. */
typedef struct {
    uint32_t size;
    int32_t vocab;         /* V */
    int32_t n_nodes;       /* >= 0: drafted tokens, padding counted */
    const int32_t *token;  /* (n_nodes), -1: padding. NULL in scope DV: draw them, a chain of n_nodes */
    const int32_t *parent; /* (n_nodes) -1: the root; parents precede. NULL: a chain */
    const float *target;   /* (n_nodes+1, V) row-major */
    const float *draft;    /* (n_nodes+1, V), the last row of a chain being of no use in V; NULL: the draft is FIXED */
    uint32_t drawn;        /* SPEC_DRAWN_*, one of them */
    spec_sampling sampling;
    uint64_t request;      /* of which request: rows differ between requests */
    uint64_t seed, offset; /* of the request's random numbers: every round of a request has another offset */
    const float *coin;     /* (n_coins) uniform numbers in [0,1), in the order the sampler needs them; NULL, or all
                              of them used: its own */
    int32_t n_coins;

    int32_t *ret_token;      /* (n_nodes+1) the tokens that this round emits */
    int32_t *ret_n_emitted;  /* 1..n_nodes+1; accepted draft tokens, then one more: a correction or the bonus */
    int32_t *ret_n_accepted; /* n_emitted - 1 */
    int32_t *ret_draft;      /* (n_nodes) scope DV: the tokens it drafted; NULL otherwise */
} spec_step;

/* A model as scope S sees it: the row (V) after these tokens, probabilities or logits as the sampler asked. The row is
 * valid until the next call for the same model; NULL where there is none, and generate is to fail. */
typedef struct {
    void *self;
    int32_t vocab;
    const float *(*target)(void *self, const int32_t *context, int64_t n);
    const float *(*draft)(void *self, const int32_t *context, int64_t n);
} spec_models;

/* ---- required ---------------------------------------------------------------------------------------------------- */

uint32_t spec_sampler_abi(void); /* return SPEC_SAMPLER_ABI */

/* Each returns 0, or another number where it failed: the run then ends, without a verdict, with spec_sampler_error's
 * line if there is one. */
int spec_sampler_describe(spec_sampler_about *about);

/* An instance; *ret_self is handed back to every call. opt_options: what the user gave with --options, or NULL.
 * Instances of one process are never called at the same time. */
int spec_sampler_open(void **ret_self, const char *opt_options);

/* Verify a batch: n_steps drafts of independent requests. */
int spec_sampler_step(void *self, spec_step *steps, int32_t n_steps);

void spec_sampler_close(void *self);

/* ---- optional ---------------------------------------------------------------------------------------------------- */

/* Scope S: write n_tokens tokens after `context`, speculating up to K tokens a round. */
int spec_sampler_generate(void *self, const spec_models *models, const int32_t *context, int64_t n_context, int32_t K,
                          spec_sampling sampling, uint64_t seed, int32_t *ret_token, int64_t n_tokens);

/* What the sampler has counted since it was opened, to be compared with what came out. */
int spec_sampler_counters(void *self, uint64_t *ret_drafted, uint64_t *ret_accepted, uint64_t *ret_emitted);

/* Why the last call failed: one line, or NULL. */
const char *spec_sampler_error(void *self);

#ifdef __cplusplus
}
#endif

#endif
