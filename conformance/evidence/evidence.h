/* evidence: what the tokens that a sampler emits on one fixture, in one scope, say against the promised law.
 * The null is about the text: after any state, the next token has the law of that state. Texts are cut at a fixed
 * number of tokens, never of rounds: what a round leaves over is completed by exact draws of ours. Batches are counted
 * in forks and merge in order, so that the result is the same for any number of threads. Tests are lines of the table
 * spec_tests. */
#ifndef SPECLAB_EVIDENCE_H
#define SPECLAB_EVIDENCE_H

#include "conformance/samplers/subject.h"

#include <gsl/gsl_rng.h>

/* What was seen that may never be: a single one is a FAIL. */
typedef enum {
    SPEC_HARD_NONE,
    SPEC_HARD_IMPOSSIBLE,  /* a token whose probability is 0 */
    SPEC_HARD_RANGE,       /* a token outside the vocabulary */
    SPEC_HARD_COUNTS,      /* n_emitted outside 1..n_nodes+1, or not n_accepted + 1 */
    SPEC_HARD_PATH,        /* accepted tokens that are no path of the draft */
    SPEC_HARD_INPUT,       /* input modified */
    SPEC_HARD_OVERRUN,     /* written past the output */
    SPEC_HARD_UNTOUCHED,   /* output not filled in */
    SPEC_HARD_REPEAT,      /* the same seed and offset gave other tokens, from a sampler that says it is seeded */
    SPEC_HARD_COUNTERS,    /* its own counters differ from what came out */
    SPEC_HARD_KINDS
} spec_hard;

extern const char *const spec_hard_reasons[]; /* one line each */

/* One round, kept to be shown. */
typedef struct {
    spec_hard hard;
    int state, n_nodes, n_emitted, n_accepted;
    int32_t token[SPEC_FIXTURE_NODES_MAX], node_state[SPEC_FIXTURE_NODES_MAX + 1];
    int32_t emitted[SPEC_FIXTURE_NODES_MAX + 1];
    uint64_t seed, offset, request, index; /* index: of the round, in the fixture's run */
} spec_exhibit;

/* What one test says. */
enum { SPEC_BETS_MAX = 10 };
typedef struct {
    const char *name;
    double log_e;     /* natural logarithm of its e-value: under the null, E[e] <= 1 at any time of stopping */
    double statistic; /* of the test with a fixed number of draws; NaN: none */
    double df, p;     /* df: 0 where p is no uniform number under the null, but at least one */
    double n;         /* draws it is about */
    double seen, expected; /* of a test about one number: its mean, and what that should be; else NaN */
    double gain[SPEC_BETS_MAX]; /* logarithms of the capitals of its bets, each of which began with 1; log_e is of */
    int n_bets;                 /* their mean. The same bets on all fixtures: their product is a bet, too */
} spec_finding;

typedef struct spec_evidence spec_evidence;

typedef struct {
    const char *name, *reason; /* one line: which mistakes it is made for */
    bool (*applies)(const spec_evidence *evidence); /* NULL: always */
    void (*finding)(spec_finding *ret, const spec_evidence *evidence, int setting);
    int setting;               /* for tests that share a function */
} spec_test;

extern const spec_test spec_tests[]; /* ends with a name of NULL; conformance/evidence/tests_table.c */
enum { SPEC_TESTS_MAX = 32 };

int spec_evidence_init(spec_evidence **ret, const spec_fixture *fixture, uint32_t scope, spec_error *error);

/* An evidence for one thread's batches of at most n_tokens, to be merged into `of`, whose tables it shares. Of its
 * counts of tokens nothing can be read before it is merged. */
int spec_evidence_fork(spec_evidence **ret, const spec_evidence *of, size_t n_tokens, spec_error *error);
void spec_evidence_free(spec_evidence *evidence);

/* Fill the batch's inputs with n rounds, from round first_index of the fixture's run on. A round's start, draft and
 * coins are drawn from `rng` alone; the seeds that the sampler is given are hashes of `seed` and the index. Where the
 * batch has coins, those of every 16th round lie on the edges of [0,1), 0 and the last float below 1 among them: such a
 * round is judged by the hard rules alone. */
void spec_evidence_ask(const spec_evidence *evidence, spec_batch *batch, int n, uint64_t first_index, uint64_t seed,
                       gsl_rng *rng);

/* Count n answered rounds; what they leave of their texts is drawn from `rng`. */
void spec_evidence_add(spec_evidence *evidence, const spec_batch *batch, int n, uint64_t first_index, gsl_rng *rng);

/* Count a text of scope S that began in `start`. */
void spec_evidence_add_text(spec_evidence *evidence, int start, const int32_t *token, int64_t n, gsl_rng *rng);

/* Take in a fork, in order: every bet on it is made with what was learnt from those before. */
void spec_evidence_merge(spec_evidence *into, const spec_evidence *fork);
void spec_evidence_clear(spec_evidence *fork); /* nothing counted; for the next batch */

/* Break a hard rule that is about no single round. */
void spec_evidence_blame(spec_evidence *evidence, spec_hard hard);

/* What the tests say: ret (SPEC_TESTS_MAX); returns how many apply, which does not depend on what came. */
int spec_evidence_findings(spec_finding *ret, const spec_evidence *evidence);

/* Tokens and rounds so far; the first round that broke a hard rule, or NULL. */
uint64_t spec_evidence_tokens(const spec_evidence *evidence);
uint64_t spec_evidence_rounds(const spec_evidence *evidence);
const spec_exhibit *spec_evidence_hard(const spec_evidence *evidence);

/* How often `token` came after `state`, and how often that state was left at all. */
uint64_t spec_evidence_count(const spec_evidence *evidence, int state, int token);
uint64_t spec_evidence_visits(const spec_evidence *evidence, int state);

/* Add what was accepted and emitted to sums. */
void spec_evidence_add_totals(const spec_evidence *evidence, uint64_t *accepted, uint64_t *emitted);

/* Mean n_accepted of a round. */
double spec_evidence_accepted(const spec_evidence *evidence);

/* The noncentrality that a difference of total variation TV in the row of one state gives that state's chi-square is at
 * least this times TV^2, whichever state and difference: 4 times the visits of the state that has fewest.
 * ret_df: the most degrees of freedom of a state. NaN where cells had to be pooled. */
double spec_evidence_sensitivity(const spec_evidence *evidence, double *ret_df);

#endif
