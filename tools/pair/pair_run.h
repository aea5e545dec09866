/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_run: how well several drafts predict one target, along texts that the target writes.
 * The target writes each text once, and every draft reads it. Sums of each text come from both
 * models' rows (analysis/acceptance/text_rounds.h); nothing is drafted. Passes of the models are
 * timed at the end of each text. Owns its sums and borrows the models. docs/pair.md. */
#ifndef SPECLAB_PAIR_RUN_H
#define SPECLAB_PAIR_RUN_H

#include "tools/bench/timing_passes.h"

/* The most drafts, the longest draft, and the most texts. */
enum { SPEC_PAIR_DRAFTS = 7, SPEC_PAIR_K = 64, SPEC_PAIR_TEXTS = 100000 };

/* A text. The first n tokens come before it, and the models only read them. If n_given > 0 the text
 * itself is given, as the tokens after those; otherwise the target writes it. */
typedef struct {
    const int *token; /* (n + n_given) borrowed; n_given is 0 or at least the plan's K */
    size_t n, n_given;
    int category; /* index of one of the plan's categories; -1: none */
} spec_pair_text;

typedef struct {
    const spec_model *target, *draft[SPEC_PAIR_DRAFTS]; /* all have the target's vocabulary */
    int n_drafts;
    bool greedy; /* drafts propose their most probable token; else they draw it from their row */
    int K;       /* most draft tokens of a round, >= 1; fewer for drafts of smaller reach */
    const spec_pair_text *text; /* (n_texts) */
    int n_texts;
    int n_categories;
    const char *const *category; /* (n_categories) names */
    int tokens; /* positions of a text that the target writes where rounds may begin, >= 1 */
    uint64_t seed;
    spec_clock clock; /* off: passes are not timed */
    const volatile int *opt_stop;
    void (*opt_progress)(void *context, double share);
    void *context;
} spec_pair_plan;

/* What a block begins with. In a text that the target wrote itself, the log losses of the tokens
 * exceed the entropies of their rows by 0 on average, with this variance. */
typedef struct {
    double positions;        /* where rounds may begin */
    double excess, variance; /* only of given texts, nats */
} spec_pair_head;

/* The sums of one draft over a text, followed in the block by four arrays (K): rounds, emitted,
 * came, passed. For K = k + 1, [k] has rounds and the tokens that they emit; in rounds of the
 * longest K, came[k] reach draft token k, and passed[k] accept it. */
typedef struct {
    double overlap;         /* over the positions */
    double agree;           /* positions where both rows have the same largest token */
    double passes, seconds; /* timed passes: of one token, or of all if the draft makes one pass */
} spec_pair_sums;

typedef struct {
    spec_pair_plan plan;
    int K[SPEC_PAIR_DRAFTS]; /* most draft tokens of each */
    int n_columns;
    double
        *block; /* (n_texts, n_columns): spec_pair_head; passes of the target; the drafts' sums */
} spec_pair_run;

/* Measures. Returns GSL_EINVAL if a text does not fit into a model's window; GSL_EFAILED,
 * "interrupted", if *opt_stop is set; and the errors of models. Must be freed even on failure. */
int spec_pair_run_init(spec_pair_run *run, const spec_pair_plan *plan, spec_error *error);
void spec_pair_run_free(spec_pair_run *run);

/* Return indices in a row of `block`: the timed passes of the target of `width` tokens, 1..K+1 (a
 * count and, at the next index, seconds); the sums of a draft; its arrays. */
typedef enum {
    SPEC_PAIR_ROUNDS,
    SPEC_PAIR_EMITTED,
    SPEC_PAIR_CAME,
    SPEC_PAIR_PASSED
} spec_pair_array;
int spec_pair_run_pass(int width);
int spec_pair_run_sums(const spec_pair_run *run, int draft);
int spec_pair_run_array(const spec_pair_run *run, int draft, spec_pair_array array);

#endif
