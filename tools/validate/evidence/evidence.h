/* SPDX-License-Identifier: GPL-3.0-or-later */
/* evidence: counts and tests of the tokens that a sampler emits on one fixture in one scope.
 * The null hypothesis: after any state, the next token has that state's law. The sampler's own
 * tokens have it too, given that it emits one there (docs/formulas/statistics.md#own). Batches are
 * counted in forks and merged in order, so the result is the same for any number of threads. */
#ifndef SPECLAB_EVIDENCE_H
#define SPECLAB_EVIDENCE_H

#include "tools/validate/samplers/subject.h"

#include <gsl/gsl_rng.h>

/* Hard rules: breaking one once is a FAIL. */
typedef enum {
    SPEC_HARD_NONE,
    SPEC_HARD_IMPOSSIBLE, /* a token whose probability is 0 */
    SPEC_HARD_RANGE,      /* a token outside the vocabulary */
    SPEC_HARD_COUNTS,     /* n_emitted outside 1..n_nodes+1, or not n_accepted + 1 */
    SPEC_HARD_PATH,       /* accepted tokens that are not a path of the draft */
    SPEC_HARD_INPUT,      /* input modified */
    SPEC_HARD_OVERRUN,    /* written past the output */
    SPEC_HARD_UNTOUCHED,  /* output not filled in */
    /* the same seed and offset gave different tokens, although the sampler declares that it is
     * seeded */
    SPEC_HARD_REPEAT,
    SPEC_HARD_COUNTERS, /* the sampler's counters contradict its answers */
    SPEC_HARD_KINDS
} spec_hard;

extern const char *const spec_hard_reasons[]; /* one line each */

/* The place of an emitted token in its round. Each token has one of the first three places. The
 * last token of a round may also be a correction, after rejected draft tokens, or a bonus token, if
 * none was rejected. */
typedef enum {
    SPEC_PLACE_FIRST, /* a round's first token */
    SPEC_PLACE_LATER, /* any later token of a round */
    SPEC_PLACE_TEXT,  /* any token in scope S, where rounds are not visible */
    SPEC_PLACE_CORRECTION,
    SPEC_PLACE_BONUS,
    SPEC_PLACES
} spec_place;

/* "first", "later", "text", "correction", "bonus", NULL. */
extern const char *const spec_place_names[];

/* One round, kept for the report. */
typedef struct {
    spec_hard hard;
    int state, n_nodes, n_emitted, n_accepted;
    int32_t token[SPEC_FIXTURE_NODES_MAX], node_state[SPEC_FIXTURE_NODES_MAX + 1];
    int32_t emitted[SPEC_FIXTURE_NODES_MAX + 1];
    uint64_t seed, offset, request;
    uint64_t index; /* the round's number in the fixture's run */
} spec_exhibit;

/* The result of one test. WEIGHTS: Dirichlet bets on the tokens after one state. */
enum { SPEC_BETS_MAX = 10, SPEC_WEIGHTS = 4 };
typedef struct {
    const char *name;
    double log_e;     /* log of its e-value: under the null E[e] <= 1 at any stopping time */
    double statistic; /* statistic of the fixed-sample test; NaN if there is none */
    double df, p;     /* if df is 0, p is not uniform under the null but stochastically larger */
    double n;         /* draws that the test counts */
    double seen, expected; /* observed and expected mean, if the test is about one; else NaN */
    /* (n_bets) log capitals of its bets, each starting at 1; log_e is the log of their mean */
    double gain[SPEC_BETS_MAX];
    int n_bets; /* the same bets on all fixtures, so their products are bets as well */
} spec_finding;

typedef struct spec_evidence spec_evidence;

/* What a test is about. */
typedef enum {
    SPEC_ABOUT_TOKENS,  /* the law of single tokens */
    SPEC_ABOUT_TEXTS,   /* whether tokens of one text depend on each other */
    SPEC_ABOUT_CALLS,   /* the law of tokens by the position of their round in a call */
    SPEC_ABOUT_REQUESTS /* whether tokens of one request depend on another request */
} spec_test_about;

typedef struct {
    const char *name, *reason; /* one line: the mistakes that it finds */
    bool (*applies)(const spec_evidence *evidence); /* NULL: always */
    void (*finding)(spec_finding *ret, const spec_evidence *evidence, int setting);
    int setting;               /* argument of `finding`, for tests that share a function */
    spec_test_about about;
} spec_test;

extern const spec_test spec_tests[]; /* ends with a name of NULL; tests_table.c */
enum { SPEC_TESTS_MAX = 32 };

/* Creates evidence without tokens. Call spec_evidence_fill once an empty fixture has been
 * filled. */
int spec_evidence_init(spec_evidence **ret, const spec_fixture *fixture, uint32_t scope,
                       spec_error *error);
int spec_evidence_fill(spec_evidence *evidence, spec_error *error);

/* Creates a fork of `of` for the batches of one thread, which have at most n_tokens tokens each. It
 * shares the laws of `of` and is later merged into it; its token counts can be read only after the
 * merge. */
int spec_evidence_fork(spec_evidence **ret, const spec_evidence *of, size_t n_tokens,
                       spec_error *error);
void spec_evidence_free(spec_evidence *evidence);

/* Fills the batch with n rounds, starting with round first_index of the fixture's run. Starts,
 * drafts and coins are drawn from `rng`; the sampler's seeds are hashes of `seed` and the index. If
 * the batch has coins, every 16th round gets coins at the edges of [0,1), such as 0 and the last
 * float below 1; only the hard rules judge such a round. */
void spec_evidence_ask(const spec_evidence *evidence, spec_round_batch *batch, int n,
                       uint64_t first_index, uint64_t seed, gsl_rng *rng);

/* Counts n answered rounds; `rng` draws the tokens that complete blocks, and is used to randomise
 * PITs. */
void spec_evidence_add(spec_evidence *evidence, const spec_round_batch *batch, int n,
                       uint64_t first_index, gsl_rng *rng);

/* Copies round i of the batch, marked as one that breaks no hard rule. */
void spec_evidence_exhibit(spec_exhibit *ret, const spec_round_batch *batch, int i, uint64_t index);

/* Counts a text of scope S that starts in state `start`. */
void spec_evidence_add_text(spec_evidence *evidence, int start, const int32_t *token, int64_t n,
                            gsl_rng *rng);

/* Merges a fork, in order: its bets use only what was learnt from the forks before it. */
void spec_evidence_merge(spec_evidence *into, const spec_evidence *fork);
void spec_evidence_clear(spec_evidence *fork); /* empties a fork for its next batch */

/* Records that a hard rule was broken in a way that concerns no single round. */
void spec_evidence_blame(spec_evidence *evidence, spec_hard hard);

/* Runs the tests: ret (SPEC_TESTS_MAX). Returns how many apply, which does not depend on the
 * data. */
int spec_evidence_findings(spec_finding *ret, const spec_evidence *evidence);

/* Returns which rounds share random numbers: those whose first tokens have close PITs more often
 * than independent rounds would, by at least `deviations` standard deviations. A wrong law alone
 * does not make them close. */
typedef enum {
    SPEC_SHARED_NOTHING,
    SPEC_SHARED_BY_CALL,  /* the rounds of a call */
    SPEC_SHARED_BY_SEED,  /* rounds with the same seed, whose offsets differ */
    SPEC_SHARED_BY_SEEDS, /* rounds with the same offset, whose seeds differ */
    SPEC_SHARED_MIRRORED, /* a round and the next one: u and 1 - u */
} spec_sharing;
spec_sharing spec_evidence_sharing(const spec_evidence *evidence, double deviations);

/* Returns the places of token k of round i, one bit 1 << SPEC_PLACE_* each. Siblings may hold the
 * same token. If only some of these siblings have children, a last token after them is neither a
 * correction nor a bonus. The round must break no hard rule. */
unsigned spec_evidence_places(const spec_fixture *fixture, const spec_round_batch *batch, int i,
                              int k);

/* Return the sampler's tokens and rounds so far; the first round to break a hard rule, or NULL. */
uint64_t spec_evidence_tokens(const spec_evidence *evidence);
uint64_t spec_evidence_rounds(const spec_evidence *evidence);
const spec_exhibit *spec_evidence_hard(const spec_evidence *evidence);

/* Return how often the sampler emitted `token` after `state`, how often any token, and how often
 * any token at this place. */
uint64_t spec_evidence_count(const spec_evidence *evidence, int state, int token);
uint64_t spec_evidence_visits(const spec_evidence *evidence, int state);
uint64_t spec_evidence_own(const spec_evidence *evidence, int state, spec_place place);

/* Adds the sampler's accepted and emitted tokens to the sums. */
void spec_evidence_add_totals(const spec_evidence *evidence, uint64_t *accepted, uint64_t *emitted);

/* Returns the mean n_accepted of a round. */
double spec_evidence_accepted(const spec_evidence *evidence);

#endif
