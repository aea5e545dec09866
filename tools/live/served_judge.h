/* SPDX-License-Identifier: GPL-3.0-or-later */
/* served_judge: the verdict on captured texts, with the name of what is wrong.
 * Uses the bets of `speclab validate --trace`, and also bets that a text goes wrong at some
 * position and stays wrong, and looks for copies among the texts. */
#ifndef SPECLAB_SERVED_JUDGE_H
#define SPECLAB_SERVED_JUDGE_H

#include "tools/live/scorer_noise.h"
#include "tools/validate/traces/trace.h"

typedef enum {
    SPEC_SERVED_RIGHT,
    SPEC_SERVED_STATE, /* from some position on, the tokens of some texts do not fit the text before
                          them */
    SPEC_SERVED_SAMPLER, /* tokens are drawn from another distribution */
    SPEC_SERVED_FILTER,  /* tokens that the filters exclude, or filters that were not declared */
    SPEC_SERVED_TOKEN,   /* greedy: tokens that are not the most probable ones */
    SPEC_SERVED_UNDECIDED,
    SPEC_SERVED_VERDICTS
} spec_served_verdict;

extern const char *const spec_served_verdict_names[]; /* "no difference", "wrong state", ... */

/* A text that goes wrong. */
typedef struct {
    uint64_t key; /* of its request in the trace (spec_trace_text) */
    int from;     /* the first wrong token */
    double log_e;
} spec_served_suspect;

enum { SPEC_SERVED_SUSPECTS = 5, SPEC_SERVED_REASON = 512 };

typedef struct {
    spec_served_verdict verdict;
    char reason[SPEC_SERVED_REASON];
    uint64_t texts, tokens;
    double needed; /* log capital that a verdict needs */
    double trace_log_e, state_log_e, filter_log_e;
    double detectable;     /* TV; NaN: nothing was judged */
    const char *best_test; /* of the trace, or NULL */
    int wrong_texts;       /* texts that go wrong, of which the worst are kept */
    spec_served_suspect suspect[SPEC_SERVED_SUSPECTS];
    int n_suspects;
    uint64_t excluded; /* tokens that the filters exclude */
    int copies;        /* texts that are copies of an earlier one */
} spec_served_judgement;

/* Judges the trace in `file`, which is rewound. A right server gets a verdict other than RIGHT or
 * UNDECIDED with probability at most `rate`. */
int spec_served_judge(spec_served_judgement *ret, FILE *file, const char *name,
                      const spec_scorer_noise *noise, double rate, uint64_t seed,
                      spec_error *error);

#endif
