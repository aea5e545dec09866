/* evidence_counts: what is counted of a fixture's texts, for evidence*.c, which count, and tests_table.c, which judges.
 * All but the bets on events are integers: what the other bets have won follows from the counts. Nobody else needs this
 * header. */
#ifndef SPECLAB_EVIDENCE_COUNTS_H
#define SPECLAB_EVIDENCE_COUNTS_H

#include "conformance/evidence/evidence.h"
#include "conformance/evidence/evidence_laws.h"

/* Sizes of bets on events; cells of a PIT; rounds of one seed, with other offsets; one round of so many is of edge
 * coins. */
enum { SPEC_LAMBDAS = 10, SPEC_PIT_CELLS = 32, SPEC_SEED_ROUNDS = 16, SPEC_EDGE_ROUNDS = 16 };

/* In standard deviations of one event: a bet of size x wins most where a difference is about x deviations. */
extern const double spec_deviations[SPEC_LAMBDAS];

/* The place of a token in its row's cumulative law, smoothed by chance: uniform, in the order of ids or of ranks. */
enum {
    SPEC_PIT_ID,     /* all tokens, in the order of ids */
    SPEC_PIT_RANK,   /* all tokens, the most probable first */
    SPEC_PIT_OPENER, /* first tokens of the first round of a call */
    SPEC_PIT_CLOSER, /* first tokens of the last round of a call */
    SPEC_PITS
};

/* What has a known chance, given what was there before. */
enum {
    SPEC_EVENT_ECHO,      /* the first token is that of the round before */
    SPEC_EVENT_NEIGHBOUR, /* the first token is the first token drafted in the round before */
    SPEC_EVENT_FOLLOWER,  /* the first token of the round before is the first token drafted in this one */
    SPEC_EVENTS
};

/* Two PITs that are within 1/8 on the circle, which has the chance 1/4. */
enum {
    SPEC_NEAR_COINS,  /* of first tokens: of this round and the one before */
    SPEC_NEAR_MIRROR, /* the same with 1 - PIT */
    SPEC_NEAR_SEEDS,  /* of this round and the one with the same offset of the seed before */
    SPEC_NEAR_PLACES, /* of two tokens of a text, one after the other */
    SPEC_NEARS
};

/* Events of a kind: how many, how many came, and what was expected. */
typedef struct {
    uint64_t n, hits;
    double expected, variance, third; /* moments, about the mean */
    double gain[SPEC_LAMBDAS], factor[SPEC_LAMBDAS]; /* each bet's capital: exp(gain) factor */
} spec_event_count;

/* A token that came; begins: none before it in its text. */
typedef struct {
    int32_t state, token;
    bool begins;
} spec_came_token;

struct spec_evidence {
    const spec_laws *laws;         /* own_laws, or those of the evidence that this one is forked from */
    spec_laws own_laws;
    const spec_fixture *fixture;
    uint32_t scope;

    uint64_t rounds, tokens, accepted, emitted;
    uint64_t pit[SPEC_PITS][SPEC_PIT_CELLS];
    spec_event_count event[SPEC_EVENTS];
    uint64_t near[SPEC_NEARS][2];  /* pairs that are not, and that are */
    uint64_t (*kept)[2][2];        /* (n_states) first tokens after a root: drafted, came of the draft's surplus */
    spec_exhibit hard;
    uint64_t salt;                 /* of our chance, to smooth counts by */

    /* Of a fork: the tokens in order, to be counted where it is merged. */
    spec_came_token *came;         /* (capacity); NULL otherwise */
    size_t n_came, capacity;

    /* Otherwise: */
    uint64_t *count;               /* (n_states, V) tokens that came after a state */
    uint64_t *visits;              /* (n_states) */
    uint64_t *pair;                /* (n_states, V, V) a token, and the next; or NULL */
    uint64_t *block;               /* (variants, V^block) whole blocks from level 0 on; or NULL */
    uint64_t *none;                /* (most cells of a table) zeros */
    size_t last, code;             /* the cell of the token before; the block so far, of which */
    int in_block;                  /* so many tokens are known: its place in `block` in the end */
    bool *often;                   /* (n_states, V) tokens that had come more often than promised */
    double *often_mass;            /* (n_states) target's */
    uint64_t *often_since;         /* (n_states) visits when that was looked at last */
    uint64_t (*often_came)[2];     /* (n_states) of one merge: tokens, those among them */
    spec_event_count again;        /* events: one of those comes */
};

/* A token of a text. */
void spec_evidence_came(spec_evidence *evidence, int state, int token, bool begins);

/* Were the coins of round i of a batch on the edges? */
bool spec_evidence_is_edge(const spec_batch *batch, int i);

/* Bet on an event of known chance; a chance of 0 or 1 says nothing. */
void spec_event_add(spec_event_count *event, bool hit, double chance);
void spec_event_add_many(spec_event_count *event, uint64_t hits, uint64_t n, double chance);

#endif
