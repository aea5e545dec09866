/* evidence_counts: what is counted of a fixture's texts, for evidence.c, which counts, and tests_table.c, which judges.
 * Nobody else needs this header. */
#ifndef SPECLAB_EVIDENCE_COUNTS_H
#define SPECLAB_EVIDENCE_COUNTS_H

#include "experiments/conformance/evidence.h"

/* Weights of Dirichlet bets, fractions of bets on events, sets of tokens, kinds of pairings, cells of a PIT. */
enum { SPEC_WEIGHTS = 4, SPEC_LAMBDAS = 6, SPEC_SETS = 7, SPEC_PITS = 4, SPEC_PIT_CELLS = 32, SPEC_EVENTS = 5 };

/* Sets of tokens, by the rows of a state: one bit a set. */
enum {
    SPEC_SET_DRAFT_MORE,  /* draft > target */
    SPEC_SET_TARGET_MORE, /* target > draft */
    SPEC_SET_TARGET_MODE, /* the target's argmax */
    SPEC_SET_DRAFT_MODE,  /* the draft's argmax */
    SPEC_SET_FIRST,       /* token 0 */
    SPEC_SET_LAST,        /* token V - 1 */
    SPEC_SET_TAIL         /* the least probable tokens, that hold at most 2 % of the target */
};

/* The place of a token in its row's cumulative law, smoothed by chance: uniform, in the order of ids or of ranks. */
enum {
    SPEC_PIT_ID,     /* all tokens, in the order of ids */
    SPEC_PIT_RANK,   /* all tokens, the most probable first */
    SPEC_PIT_OPENER, /* first tokens of the first round of a call */
    SPEC_PIT_CLOSER  /* first tokens of the last round of a call */
};

/* What has a known chance, given what was there before. */
enum {
    SPEC_EVENT_ECHO,      /* the first token is that of the round before */
    SPEC_EVENT_NEIGHBOUR, /* the first token is the first token drafted in the round before */
    SPEC_EVENT_COINS,     /* the first tokens' PITs of this round and the one before are within 1/8 on the circle */
    SPEC_EVENT_MIRROR,    /* the same with 1 - PIT */
    SPEC_EVENT_PLACES     /* the PITs of the first two tokens of a text are within 1/8 on the circle */
};

/* Events of a kind: how many, how many came, and what was expected. */
typedef struct {
    uint64_t n, hits;
    double expected, variance;
    double gain[SPEC_LAMBDAS], factor[SPEC_LAMBDAS]; /* each bet's capital: exp(gain) factor */
} spec_event_count;

struct spec_evidence {
    const spec_fixture *fixture;
    uint32_t scope;
    int levels;
    size_t cells;              /* n_states V */
    bool pairs;                /* vocabularies small enough for pairs of tokens */

    double *target_cdf;        /* (n_states, V) */
    double *draft_cdf;         /* (n_states, V) */
    double *rank_below;        /* (n_states, V) target's mass on more probable tokens (of equals, lower ids) */
    uint8_t *set;              /* (n_states, V) bits */
    double (*set_mass)[SPEC_SETS]; /* (n_states) */

    uint64_t rounds, tokens, accepted, drafted, emitted;
    uint64_t *count;           /* (n_states, V) tokens that came after a state */
    uint64_t *visits;          /* (n_states) */
    uint64_t *pair;            /* (n_states, V, V) a token, and the next; or NULL */
    uint64_t pit[SPEC_PITS][SPEC_PIT_CELLS];
    spec_event_count event[SPEC_EVENTS];
    spec_exhibit hard;

    /* Capitals, as logarithms, of what was merged. */
    double (*count_gain)[SPEC_WEIGHTS]; /* (n_states) */
    double pair_gain[SPEC_WEIGHTS];
    double set_gain[SPEC_SETS][SPEC_LAMBDAS];
    double pit_gain[SPEC_PITS][SPEC_WEIGHTS];
};

/* Are the cells of its pairs few enough to be counted? */
bool spec_evidence_counts_pairs(const spec_fixture *fixture);

/* The first token whose cumulative mass exceeds a uniform share of all: never one of mass zero. */
int spec_evidence_draw(const double *cdf, int V, gsl_rng *rng);

#endif
