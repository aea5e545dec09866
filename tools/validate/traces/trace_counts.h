/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_counts: the counts and bets of a trace, private to trace_evidence.c and trace_tests.c.
 * trace_evidence.c fills them in, token by token; trace_tests.c turns them into findings. */
#ifndef SPECLAB_TRACE_COUNTS_H
#define SPECLAB_TRACE_COUNTS_H

#include "tools/validate/traces/trace_bets.h"
#include "tools/validate/traces/trace_evidence.h"

/* Numbers of cells for the PIT of a token, its position in the cumulative law: for one token, for
 * each token of a pair, and for tokens at one position of a round. */
enum {
    SPEC_TRACE_CELLS = 32,
    SPEC_TRACE_LAG_CELLS = 8,
    SPEC_TRACE_STRATUM_CELLS = 16,
    SPEC_TRACE_STRATA = 8
};

/* Sets of tokens with a known probability. */
enum {
    SPEC_TRACE_SET_DRAFT_MORE,  /* draft > target */
    SPEC_TRACE_SET_TARGET_MORE, /* target > draft */
    SPEC_TRACE_SET_TARGET_MODE, /* the target's argmax */
    SPEC_TRACE_SET_DRAFT_MODE,  /* the draft's argmax */
    SPEC_TRACE_SET_FIRST,       /* token 0 */
    SPEC_TRACE_SET_LAST,        /* token V - 1 */
    SPEC_TRACE_SET_TAIL,        /* tokens far less probable than the mode */
    SPEC_TRACE_SETS
};

/* Bets on other temperatures: powers of the target, with two bets on each. */
enum { SPEC_TRACE_POWERS = 4 };

/* Laws that tilts bet on: the draft, the uniform law, and laws that prefer probable tokens. */
enum { SPEC_TRACE_SURE = 3 };
enum {
    SPEC_TRACE_TILT_DRAFT,
    SPEC_TRACE_TILT_FLAT,
    SPEC_TRACE_TILT_SURE,
    SPEC_TRACE_TILTS = SPEC_TRACE_TILT_SURE + SPEC_TRACE_SURE
};

/* Kinds of PITs, as in evidence_counts.h. */
enum {
    SPEC_TRACE_PIT_ID,      /* emitted tokens, in the order of ids */
    SPEC_TRACE_PIT_RANK,    /* emitted tokens, the most probable first */
    SPEC_TRACE_PIT_DRAFTED, /* draft tokens, in the draft's row */
    SPEC_TRACE_PIT_COIN,    /* logged random numbers */
    SPEC_TRACE_PITS
};

/* Pairs of PITs: a token and the previous token of its text, the token before that, or the last
 * token of another request. */
enum { SPEC_TRACE_LAG_ONE, SPEC_TRACE_LAG_TWO, SPEC_TRACE_LAG_REQUESTS, SPEC_TRACE_LAGS };

struct spec_trace_evidence {
    int vocab;
    double discount; /* factor on ratios, because logged log-probabilities are rounded */
    gsl_rng *rng;
    uint64_t tokens, rows, accepted, rounds;
    spec_hard hard;
    uint64_t hard_line;
    spec_trace_tilt tilt[SPEC_TRACE_TILTS];
    spec_trace_bet power[2 * SPEC_TRACE_POWERS];
    spec_trace_event event[SPEC_TRACE_SETS];
    uint64_t pit[SPEC_TRACE_PITS][SPEC_TRACE_CELLS];
    uint64_t lag[SPEC_TRACE_LAGS][SPEC_TRACE_LAG_CELLS][SPEC_TRACE_LAG_CELLS];
    uint64_t stratum[SPEC_TRACE_STRATA][SPEC_TRACE_STRATUM_CELLS];
    uint64_t last_key; /* text of the last token that had a row */
    float last_pit;
};

#endif
