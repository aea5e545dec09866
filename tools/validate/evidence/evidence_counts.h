/* SPDX-License-Identifier: GPL-3.0-or-later */
/* evidence_counts: the counts behind an evidence object, private to evidence*.c and its readers.
 * The evidence*.c files count; tests_table.c judges, and detectable.c computes power. Only bets on
 * events keep sums of logarithms. All other counts are integers, from which the capital of the bets
 * is computed. */
#ifndef SPECLAB_EVIDENCE_COUNTS_H
#define SPECLAB_EVIDENCE_COUNTS_H

#include "tools/validate/evidence/evidence.h"
#include "tools/validate/evidence/evidence_laws.h"

/* LAMBDAS: stakes of bets on events. PIT_CELLS: cells of a PIT. SEED_ROUNDS: rounds that share a
 * seed and differ in offset. EDGE_ROUNDS: one round in this many has edge coins. */
enum { SPEC_LAMBDAS = 10, SPEC_PIT_CELLS = 32, SPEC_SEED_ROUNDS = 16, SPEC_EDGE_ROUNDS = 16 };

/* MIN_EXPECTED: cells with a smaller expected count are pooled. The priors of Dirichlet bets are in
 * draws per cell: small priors learn fast, large ones find small differences. */
enum { SPEC_MIN_EXPECTED = 10 };
extern const double spec_priors[SPEC_WEIGHTS];

/* Stakes in standard deviations of one event: stake x wins most if the difference is about x. */
extern const double spec_deviations[SPEC_LAMBDAS];

/* Probability integral transforms (PIT): the position of a token in its row's cumulative law,
 * randomised within the token's cell. Uniform under the null, in the order of ids or of ranks. */
enum {
    SPEC_PIT_ID,     /* all tokens, in the order of ids */
    SPEC_PIT_RANK,   /* all tokens, the most probable first */
    SPEC_PIT_FIRST,  /* first tokens of rounds, in the order of ids */
    SPEC_PIT_OPENER, /* first tokens of the first round of a call */
    SPEC_PIT_CLOSER, /* first tokens of the last round of a call */
    SPEC_PITS
};

/* Events whose probability is known given the past. */
enum {
    SPEC_EVENT_ECHO,      /* the first token equals the first token of the previous round */
    SPEC_EVENT_NEIGHBOUR, /* scope V: the first token is the first one drafted in the previous
                             round */
    SPEC_EVENT_FOLLOWER,  /* scope V: the first token of the previous round is the first one drafted
                             in this round */
    SPEC_EVENTS
};

/* Pairs of PITs whose circular distance is below 1/8; independent PITs are that close with
 * probability 1/4. */
enum {
    SPEC_NEAR_COINS,  /* first tokens of this round and the previous one */
    SPEC_NEAR_MIRROR, /* the same pair, but with 1 - PIT for the previous round */
    /* first tokens of this round and the round with the same offset of the previous seed, or of two
     * texts */
    SPEC_NEAR_SEEDS,
    SPEC_NEAR_PLACES, /* two consecutive tokens of a text */
    SPEC_NEARS
};

/* Events of one kind: how many were possible, how many happened, and the expectation. */
typedef struct {
    uint64_t n, hits;
    double expected, variance, third; /* sum, and second and third central moments */
    double gain[SPEC_LAMBDAS], factor[SPEC_LAMBDAS]; /* a bet's capital: exp(gain) * factor */
} spec_event_count;

/* An emitted token. `begins` is set for the first token of a text. `places` has bits 1 <<
 * SPEC_PLACE_* if the sampler emitted the token, and is 0 if speclab drew it to complete a
 * block. */
typedef struct {
    int32_t state, token;
    bool begins;
    uint8_t places;
} spec_came_token;

/* The tokens of a fork, in order, to be counted by the merge. */
typedef struct {
    spec_came_token *came; /* (capacity); NULL: the evidence is not a fork */
    size_t n, capacity;
} spec_evidence_queue;

/* The counts of evidence that is not a fork, and the bets that need its tokens in order. */
typedef struct {
    uint64_t *count;              /* (n_states, V) tokens after a state */
    uint64_t *visits;             /* (n_states) sums of `count` over tokens */
    uint64_t (*own)[SPEC_PLACES]; /* (n_states) `visits` by place */
    uint64_t *pair;               /* (n_states, V, V) a token and the next one; or empty */
    uint64_t *block;              /* (variants, V^block) whole blocks from level 0 on; or empty */
    uint64_t *none;               /* (cells of the largest table) zeros */
    size_t last;                  /* the cell of the last token in `count` */
    size_t code;                  /* the block so far, as an index into `block` */
    int in_block;                 /* tokens of the block so far */
    bool *often;                  /* (n_states, V) tokens that have come more often than expected */
    double *often_mass;           /* (n_states) the target's mass on these tokens */
    uint64_t *often_since;        /* (n_states) visits when `often` was last computed */
    uint64_t (*often_came)[2]; /* (n_states) in a merge: the number of tokens, and how many of them
                                  are in `often` */
    spec_event_count again;       /* bets that the next token is one of `often` */
} spec_evidence_tables;

struct spec_evidence {
    const spec_laws *laws; /* own_laws, or the laws of the evidence that this one was forked from */
    spec_laws own_laws;
    const spec_fixture *fixture;
    uint32_t scope;

    uint64_t rounds, tokens, accepted, emitted;
    uint64_t pit[SPEC_PITS][SPEC_PIT_CELLS];
    spec_event_count event[SPEC_EVENTS];
    uint64_t near[SPEC_NEARS][2];  /* number of pairs that are not near, and of pairs that are */
    double text_pit;               /* PIT of the first token of the previous text; -1: none */
    /* (n_states) first tokens of rounds: [first draft token was in the set draft > target][first
     * emitted token was] */
    uint64_t (*kept)[2][2];
    spec_exhibit hard;
    uint64_t salt;                 /* random bits that smooth counts */

    spec_evidence_queue queue;   /* used by a fork; otherwise empty */
    spec_evidence_tables tables; /* empty in a fork */
};

void spec_evidence_came(spec_evidence *evidence, const spec_came_token *came);

/* Returns whether round i of a batch has edge coins. */
bool spec_evidence_is_edge(const spec_round_batch *batch, int i);

/* Bets on an event of known probability; events of probability 0 or 1 are ignored. */
void spec_evidence_counts_event(spec_event_count *event, bool hit, double chance);
void spec_evidence_counts_events(spec_event_count *event, uint64_t hits, uint64_t n, double chance);

#endif
