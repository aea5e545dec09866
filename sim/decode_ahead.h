/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decode_ahead: drafts the chain of the next round while the target verifies the chain of this one.
 * It guesses that the whole chain is accepted and that the bonus token is the draft model's most
 * probable one, g, and continues after g. If the round does end this way, the chain is used;
 * otherwise it is discarded before any rule sees it. The guess makes no random decision:
 * docs/formulas/lengths.md#ahead. [Liu25] [McDanel24] [Kumar26] */
#ifndef SPECLAB_DECODE_AHEAD_H
#define SPECLAB_DECODE_AHEAD_H

#include "sim/decode_device.h"
#include "sim/draft/drafter.h"
#include "speclab/round.h"

typedef struct {
    bool on;
    bool drafted;     /* a chain was drafted while the last round was verified */
    bool there;       /* that round ended as guessed, so the chain can be used */
    int guess;        /* g */
    size_t place;     /* number of tokens before the chain */
    int n_calls;      /* draft calls during the last verification; one of them is the guess */
    int n_wasted;     /* as in spec_drafter */
    int n_rows;       /* rows that these calls returned */
    spec_draft draft; /* the chain */
    double *row;      /* (V) */
} spec_ahead;

/* Returns GSL_EINVAL if the strategy is not a chain of a draft model, or if the policy reads tokens
 * or charges by acceptance. */
int spec_decode_ahead_init(spec_ahead *ahead, const spec_drafter *drafter,
                           const spec_policy *policy, int vocab, spec_error *error);
void spec_decode_ahead_free(spec_ahead *ahead); /* a zeroed one is allowed */

/* The current round; the next chain is drafted before it ends. */
typedef struct {
    const spec_draft *chain; /* the chain being verified */
    int *context;            /* (n), with room for the chain and one more token, which are written
                              * there */
    size_t n;
    const spec_policy *next; /* the policy after full acceptance, cut to the room that then
                              * remains */
} spec_ahead_request;

/* Drafts the next chain during a round. Nothing is drafted after the draft model's end of text,
 * after an empty chain, or at length 0. The drafter's n_calls, n_wasted and n_rows still
 * describe this round's chain. */
int spec_decode_ahead_draft(spec_ahead *ahead, spec_drafter *drafter, spec_device_chain *device,
                            const spec_ahead_request *request, spec_chance *chance,
                            spec_error *error);

/* Compares the finished round with the guess. Fills the round's guess_tested and guess_right. */
void spec_decode_ahead_settle(spec_ahead *ahead, spec_round *round);

/* Returns whether the chain continues the context of n tokens; if so it becomes *draft. */
bool spec_decode_ahead_take(spec_ahead *ahead, spec_device_chain *device, spec_draft *draft,
                            size_t n);

/* Discards the chain, because the text does not continue as guessed. */
void spec_decode_ahead_forget(spec_ahead *ahead);

#endif
