/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skip_scores: what a draft of the target that skips sublayers would gain.
 * Acceptance is measured along texts, cost is counted, and the speed-up follows in closed form.
 * Sets are as in tools/tune/skip_search.h; each is measured once. */
#ifndef SPECLAB_SKIP_SCORES_H
#define SPECLAB_SKIP_SCORES_H

#include "analysis/acceptance/exact_walk.h"
#include "models/model.h"

typedef struct {
    double alpha;   /* mean overlap of the draft's rows with the target's, in [0,1] */
    double c;       /* bytes of weights that a pass of the draft reads, divided by the target's */
    double best_K;  /* the K >= 1 with the largest speed-up, at most SPEC_K_MAX */
    double speedup; /* [Leviathan23] Theorem 3.8 at this alpha, c and K */
} spec_skip_score;

typedef struct {
    const spec_model *target; /* a transformer */
    spec_context *opt_context;
    double temperature; /* temperature of the target, and so of the draft */
    int sublayers, texts, length, first;
    int *token; /* (texts, length) */
    float *row; /* (texts, length, V): the target's row after each token */
    double *scratch;
    const double **at;      /* rows of a pass */
    int n, capacity;        /* number of measured sets; capacity of the arrays */
    unsigned char *set;     /* (n, sublayers) */
    spec_skip_score *score; /* (n) */
} spec_skip_scores;

/* Texts (texts, length) of the target: the tokens of each after token `first` were sampled from its
 * rows; the earlier ones are a prompt. */
typedef struct {
    const int *token;
    int texts, length, first;
} spec_skip_texts;

/* Computes the target's rows along texts, whose tokens are copied. Returns GSL_EINVAL if the target
 * is not a transformer, GSL_ENOMEM if its rows need too much memory, or the target's failure. */
int spec_skip_scores_init(spec_skip_scores *scores, const spec_model *target,
                          const spec_skip_texts *texts, spec_context *opt_context,
                          spec_error *error);
void spec_skip_scores_free(spec_skip_scores *scores); /* may be zeroed */

/* Scores a set, as a mean over all positions from `first` on. The draft reads each text separately,
 * with its own keys and values, many tokens in a pass. */
int spec_skip_scores_get(spec_skip_score *ret_score, spec_skip_scores *scores,
                         const unsigned char *set, spec_error *error);

/* Adds tokens per round for K up to walk->K, as decoding emits them: the draft shares the target's
 * KV cache. Exact for these texts (analysis/acceptance/exact_walk.h). Makes one pass of target and
 * draft per token; K must be below the length minus `first`. */
int spec_skip_scores_walk(spec_exact_walk *walk, spec_skip_scores *scores, const unsigned char *set,
                          spec_error *error);

/* Writes the draft as users type it, such as layers?of=target&skip=0a.3: (size) is at least
 * SPEC_SKIP_SPEC_SIZE. */
enum { SPEC_SKIP_SPEC_SIZE = 4096 };
void spec_skip_scores_spec(char *ret_spec, size_t size, const spec_skip_scores *scores,
                           const unsigned char *set);

#endif
