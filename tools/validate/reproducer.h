/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reproducer: the smallest case that shows that a sampler is not lossless, for debugging it.
 * It describes one state of one fixture: the next tokens that we expect there and those that came.
 * We run the rounds again with the same seeds, to tell draft tokens, corrections and bonus tokens
 * apart, and to keep one whole round. Owns its rows. */
#ifndef SPECLAB_REPRODUCER_H
#define SPECLAB_REPRODUCER_H

#include "tools/validate/evidence/evidence.h"

/* TOKENS: maximum tokens shown. ROWS: maximum probabilities in the rows of a round that is kept. */
enum { SPEC_REPRODUCER_TOKENS = 16, SPEC_REPRODUCER_ROWS = 1 << 14 };

/* Where a token came from. */
typedef enum {
    SPEC_CAME_DRAFT,      /* an accepted draft token */
    SPEC_CAME_CORRECTION, /* drawn after all draft tokens were rejected */
    SPEC_CAME_BONUS,      /* drawn where there were no draft tokens */
    SPEC_CAME_KINDS
} spec_came;

extern const char *const spec_came_names[SPEC_CAME_KINDS];

typedef struct {
    const spec_fixture_kind *kind;
    uint32_t scope;
    int state, vocab;
    double tv;   /* TV at this state beyond what chance explains; 0 if chance explains all of it */
    int n_shown; /* the tokens that differ most; for a small vocabulary all tokens, by id */
    int32_t token[SPEC_REPRODUCER_TOKENS];
    double target[SPEC_REPRODUCER_TOKENS], draft[SPEC_REPRODUCER_TOKENS];
    double expected[SPEC_REPRODUCER_TOKENS],
        seen[SPEC_REPRODUCER_TOKENS]; /* frequencies in the data of the verdict */
    /* number of tokens after the state in the data of the verdict, including forbidden ones */
    uint64_t n;
    const char *test;             /* the test that found it, or "hard" */
    spec_finding finding;         /* its result; only the name if it is "hard" */

    /* From the rounds that were run again: `again` rounds, with n_drafted visits of the state with
     * draft tokens and n_bonus visits without; how often each token was drafted, and how often it
     * came from each source. token_rule has the counts that the token rule would give (NaN for
     * trees); another lossless rule may split them differently. Scope S has no such counts. */
    uint64_t again, n_drafted, n_bonus;
    uint64_t drafted[SPEC_REPRODUCER_TOKENS], came[SPEC_CAME_KINDS][SPEC_REPRODUCER_TOKENS];
    double draft_expected[SPEC_REPRODUCER_TOKENS],
        token_rule[SPEC_CAME_KINDS][SPEC_REPRODUCER_TOKENS];

    /* One round with the mistake. In scope S, a text: `state` is its start, `seed` its seed, and
     * the n_emitted tokens end at index `index` of the text. */
    spec_exhibit round;
    int levels, parent[SPEC_FIXTURE_NODES_MAX];
    uint32_t drawn;
    int batch;                    /* rounds per call */
    spec_sampling sampling;
    /* (n_nodes+1, V) rows as the sampler received them; NULL if they are too large */
    float *target_row, *draft_row;
} spec_reproducer;

/* The run that found the mistake. */
typedef struct {
    const spec_fixture *fixture;
    const spec_evidence *evidence;
    const spec_finding *finding; /* (n_findings) */
    int n_findings;
    uint32_t scope;
    uint64_t seed, batches; /* of the trial; a batch has `rounds` rounds or `texts` texts */
    int rounds, texts;
} spec_reproducer_case;

/* Returns the state whose tokens differ most from its row. We measure the difference in total
 * variation and subtract what a lossless sampler shows on average. Returns 0 if no state differs by
 * three times this average. */
int spec_reproducer_state(const spec_fixture *fixture, const spec_evidence *evidence,
                          double *ret_tv);

/* The token after a state whose count is furthest from its expectation, in standard deviations. In
 * a large vocabulary the total variation may miss it, because of the noise in the other tokens. */
typedef struct {
    int state, token;
    double deviation;
} spec_reproducer_token;
spec_reproducer_token spec_reproducer_furthest(const spec_fixture *fixture,
                                               const spec_evidence *evidence);

/* Restarts `subject` on the fixture. If it fails now, or emits nothing, the split and the round are
 * empty; the counts of the verdict remain. Returns GSL_ENOMEM if out of memory. */
int spec_reproducer_find(spec_reproducer *ret, const spec_reproducer_case *found,
                         spec_subject *subject, spec_error *error);
void spec_reproducer_free(spec_reproducer *reproducer);

#endif
